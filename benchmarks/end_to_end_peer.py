"""What people write who translate a file with CTranslate2: `tokenizers` or `sentencepiece` before and after it.

See end_to_end.py. A bundle with a SentencePiece model comes from argos_bundle.py.
"""

import sys
from pathlib import Path
from typing import Any


class Tokens:
    """With `tokenizers`."""

    def __init__(self, bundle: Path):
        from tokenizers import Tokenizer

        self.library = Tokenizer.from_file(str(bundle / "tokenizer.json"))

    def encode(self, lines: list[str]) -> list[list[str]]:
        return [each.tokens for each in self.library.encode_batch(lines, add_special_tokens=False)]

    def decode(self, tokens: list[list[str]]) -> list[str]:
        ids = [[self.library.token_to_id(token) for token in each] for each in tokens]
        return [str(each) for each in self.library.decode_batch(ids)]


class Pieces:
    """With `sentencepiece`."""

    def __init__(self, path: Path):
        import sentencepiece

        self.library = sentencepiece.SentencePieceProcessor(model_file=str(path))

    def encode(self, lines: list[str]) -> list[list[str]]:
        return [list(each) for each in self.library.encode(lines, out_type=str)]

    def decode(self, tokens: list[list[str]]) -> list[str]:
        return [
            "".join(each).replace("▁", " ").strip() for each in tokens
        ]  # the model's pieces, not only the library's


def open_tokenizer(bundle: Path) -> Tokens | Pieces:
    pieces = bundle / "sentencepiece.model"
    return Pieces(pieces) if pieces.exists() else Tokens(bundle)


def translate(engine: Any, tokenizer: Tokens | Pieces, lines: list[str], beam: int) -> list[str]:
    results = engine.translate_batch(
        tokenizer.encode(lines), beam_size=beam, max_batch_size=2_048, batch_type="tokens"
    )
    return tokenizer.decode([result.hypotheses[0] for result in results])


def main() -> None:
    model, bundle, given, made, *numbers = sys.argv[1:]
    beam, workers, threads = map(int, numbers)
    import ctranslate2

    tokenizer = open_tokenizer(Path(bundle))
    engine = ctranslate2.Translator(model, compute_type="int8", inter_threads=workers, intra_threads=threads)
    lines = Path(given).read_text(encoding="utf-8").splitlines()
    Path(made).write_text("\n".join(translate(engine, tokenizer, lines, beam)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
