"""What people write who translate a file with CTranslate2: `tokenizers` before and after it. See end_to_end.py."""

import sys
from pathlib import Path
from typing import Any


def translate(engine: Any, tokenizer: Any, lines: list[str], beam: int) -> list[str]:
    tokens = [each.tokens for each in tokenizer.encode_batch(lines, add_special_tokens=False)]
    results = engine.translate_batch(tokens, beam_size=beam, max_batch_size=2_048, batch_type="tokens")
    ids = [[tokenizer.token_to_id(token) for token in result.hypotheses[0]] for result in results]
    return [str(each) for each in tokenizer.decode_batch(ids)]


def main() -> None:
    model, bundle, given, made, *numbers = sys.argv[1:]
    beam, workers, threads = map(int, numbers)
    import ctranslate2
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(bundle) / "tokenizer.json"))
    engine = ctranslate2.Translator(model, compute_type="int8", inter_threads=workers, intra_threads=threads)
    lines = Path(given).read_text(encoding="utf-8").splitlines()
    Path(made).write_text("\n".join(translate(engine, tokenizer, lines, beam)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
