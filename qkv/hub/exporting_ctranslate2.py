"""Our models for CTranslate2: written, opened there, and compared before anybody sees them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from qkv.checkpoint.bundle import TOKENIZER_FILE, read_config
from qkv.checkpoint.files import write_file
from qkv.errors import UserError
from qkv.families.bert.hub import BertFamily
from qkv.families.bert.product import Bert
from qkv.families.gpt.hub import GptFamily
from qkv.families.gpt.product import Generator
from qkv.families.loading import load
from qkv.families.translator.hub import MarianFamily
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.options import Decoding
from qkv.families.translator.product import Translator
from qkv.families.translator.search import Request
from qkv.hub.ctranslate2 import Numbers, save_bert, save_ctranslate2, save_gpt
from qkv.hub.importing import all_or_nothing, refuse_taken
from qkv.hub.proof import Proof, allowed_of
from qkv.text.sentence_pieces import SentencePieces
from qkv.text.vocabulary import Vocabulary

OPENED_AS = {"translator": "Translator", "gpt": "Generator", "bert": "Encoder"}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Of our outputs and those of CTranslate2."""

    difference: float
    allowed: float
    same: int
    asked: int


@dataclass(frozen=True, kw_only=True)
class ExportedToCTranslate2:
    opened_as: str
    proof: Proof
    allowed: float
    """The largest difference with which the outputs count as the same."""
    same: int
    """Greedy outputs that are the same, of …"""
    asked: int
    translations: tuple[list[str], list[str]] | None
    """Of the lines that were given: ours and those of CTranslate2, both greedily, for beams are scored differently."""

    @property
    def is_the_same(self) -> bool:
        return self.proof.difference <= self.allowed and self.same == self.asked


def export_to_ctranslate2(
    model: Path, out: Path, numbers: Numbers = "float32", lines: Sequence[str] = ()
) -> ExportedToCTranslate2:
    refuse_taken(out)
    kind = read_config(model)["kind"]
    if kind not in OPENED_AS:
        raise UserError(
            f"{model} holds a {kind}, which CTranslate2 cannot run: it is for translators, GPTs and BERTs."
        )
    if lines and kind != "translator":
        raise UserError("--source and --target are for translators.")
    product = load(model)
    with all_or_nothing(out) as temporary:
        write_model(product, temporary, numbers)
        write_file(temporary / TOKENIZER_FILE, (model / TOKENIZER_FILE).read_bytes())
        exported = checked(product, temporary, numbers, lines)
        if numbers == "float32" and not exported.is_the_same:
            raise UserError(
                f"{out}: CTranslate2 computes something else ({exported.proof.sentence()}; {exported.same} of "
                f"{exported.asked} greedy outputs are the same): nothing was written."
            )
        return exported


def write_model(product: Any, folder: Path, numbers: Numbers) -> None:
    if isinstance(product, Translator):
        if not isinstance(product.model, TranslatorModel):
            raise UserError(
                "CTranslate2 has translators of an encoder and a decoder, both of blocks, and this is none: it cannot be written for it."
            )
        tokenizer = product.tokenizer
        unknown = tokenizer.unknown if isinstance(tokenizer, SentencePieces) else None
        save_ctranslate2(product.model, names_of(tokenizer), folder, numbers=numbers, unknown=unknown)
    elif isinstance(product, Generator):
        pieces = [str(product.tokenizer.pieces.id_to_token(n)) for n in range(len(product.tokenizer))]
        save_gpt(product.model, pieces, folder, numbers=numbers)
    else:
        pieces = product.pieces.show(range(len(product.pieces)))
        save_bert(product.model, pieces, product.pieces.unknown, folder, numbers=numbers)


def names_of(tokenizer: Vocabulary) -> list[str]:
    """The pieces as CTranslate2 is asked with them."""
    if isinstance(tokenizer, SentencePieces):
        return list(tokenizer.vocabulary)
    own: Any = tokenizer
    return [str(own.pieces.id_to_token(number)) for number in range(len(tokenizer))]


@torch.inference_mode()
def checked(product: Any, folder: Path, numbers: Numbers, lines: Sequence[str]) -> ExportedToCTranslate2:
    import ctranslate2

    how = {"compute_type": numbers, "intra_threads": torch.get_num_threads()}
    against = f"CTranslate2 {ctranslate2.__version__} in {numbers}"
    if isinstance(product, Translator):
        engine = ctranslate2.Translator(str(folder), **how)
        found = compare_translator(product, engine)
        told = None if not lines else (greedily(product, lines), translated(product, engine, lines))
    elif isinstance(product, Generator):
        found = compare_generator(product, ctranslate2.Generator(str(folder), **how))
        told = None
    else:
        found = compare_encoder(product, ctranslate2.Encoder(str(folder), **how))
        told = None
    return ExportedToCTranslate2(
        opened_as=OPENED_AS[
            "translator"
            if isinstance(product, Translator)
            else "gpt"
            if isinstance(product, Generator)
            else "bert"
        ],
        proof=Proof(difference=found.difference, against=against),
        allowed=found.allowed,
        same=found.same,
        asked=found.asked,
        translations=told,
    )


def compare_translator(product: Translator, engine: Any) -> Comparison:
    """Log-probabilities of given targets, and what is said greedily to given sources."""
    family, config, pieces = MarianFamily(), product.model.config, names_of(product.tokenizer)
    inputs = family.probe(product)
    sources = [
        [number for number in row if number not in (config.pad, config.end)]
        for row in inputs["input_ids"].tolist()
    ]
    targets = [row[1:] for row in inputs["decoder_input_ids"].tolist()]
    asked = [[pieces[number] for number in row] for row in sources]
    scored = engine.score_batch(asked, [[pieces[number] for number in row] for row in targets])
    logits = family.computed(product, inputs)["logits"]  # (B, T, V)
    if config.pad == config.start:
        logits[..., config.pad] = float("-inf")
    ours = logits.log_softmax(-1)
    wanted = [
        ours[row].gather(1, torch.tensor([*ids, config.end])[:, None])[:, 0]
        for row, ids in enumerate(targets)
    ]
    theirs = torch.cat([torch.tensor(each.log_probs) for each in scored])
    answers, settings = family.greedy(product, inputs)
    limit = settings["generation"]["max_new_tokens"]
    found = engine.translate_batch(asked, beam_size=1, max_decoding_length=limit)
    said = [[pieces[number] for number in answer] for answer in answers]
    same = sum(each.hypotheses[0] == own for each, own in zip(found, said, strict=True))
    return comparison(torch.cat(wanted), theirs, same, len(sources))


def asked_for(product: Translator, lines: Sequence[str]) -> tuple[list[Request], list[int]]:
    """Each line as it is read, and how many pieces an answer to it may have."""
    requests = [Request(source=product.tokenizer.encode(line)[: product.limit]) for line in lines]
    searcher = product.texts.searcher(Decoding())
    return requests, [searcher.limit(request) for request in requests]


def greedily(product: Translator, lines: Sequence[str]) -> list[str]:
    """The likeliest piece at each step, as other libraries are asked: nothing is promised, and nothing tried again."""
    requests, _ = asked_for(product, lines)
    found = product.texts.searcher(Decoding()).find(
        requests, product.texts.search(Decoding(beam=1)), lambda count: None
    )
    return [product.tokenizer.decode(best.ids) for best, *_ in found]


def translated(product: Translator, engine: Any, lines: Sequence[str]) -> list[str]:
    """By CTranslate2, greedily."""
    tokenizer, pieces = product.tokenizer, names_of(product.tokenizer)
    numbers = {piece: number for number, piece in enumerate(pieces)}
    config = product.model.config
    requests, limits = asked_for(product, lines)
    asked = [[pieces[number] for number in request.source] for request in requests]
    found = engine.translate_batch(
        asked,
        beam_size=1,
        max_decoding_length=config.context,
        max_batch_size=2_048,
        batch_type="tokens",
    )
    said = [each.hypotheses[0][:limit] for each, limit in zip(found, limits, strict=True)]
    return [tokenizer.decode([numbers[piece] for piece in each]) for each in said]


def compare_generator(product: Generator, engine: Any) -> Comparison:
    family, config, tokens = GptFamily(), product.model.config, product.tokenizer
    inputs = family.probe(product)
    pieces = [str(tokens.pieces.id_to_token(number)) for number in range(len(tokens))]
    rows = [[pieces[number] for number in row] for row in inputs["input_ids"].tolist()]
    theirs = torch.tensor([each.tolist() for each in as_arrays(engine.forward_batch(rows))])
    ours = family.computed(product, inputs)["logits"]
    answers, settings = family.greedy(product, inputs)
    begun = [row[: settings["begun"]] for row in rows]
    found = engine.generate_batch(
        begun,
        beam_size=1,
        sampling_topk=1,
        max_length=settings["generation"]["max_new_tokens"],
        include_prompt_in_result=False,
        end_token=[pieces[config.end]],
    )
    said = [[pieces[number] for number in answer] for answer in answers]
    same = sum(list(each.sequences[0]) == own for each, own in zip(found, said, strict=True))
    return comparison(ours, theirs, same, len(rows))


def as_arrays(view: Any) -> Any:
    """A view of CTranslate2's memory as an array."""
    import numpy as np

    return np.array(view)


def compare_encoder(product: Bert, engine: Any) -> Comparison:
    """States of real places; segments cannot be left out there, so they are given."""
    inputs = BertFamily().probe(product)
    ids, segments = inputs["input_ids"], inputs["token_type_ids"]
    lengths = inputs["attention_mask"].sum(1).tolist()
    rows = [row[:length] for row, length in zip(ids.tolist(), lengths, strict=True)]
    kinds = [row[:length] for row, length in zip(segments.tolist(), lengths, strict=True)]
    output = engine.forward_batch(rows, token_type_ids=kinds)
    theirs = torch.from_numpy(as_arrays(output.last_hidden_state))
    ours = product.model.eval().encoder(ids, segments)
    real = inputs["attention_mask"].bool()
    return comparison(ours[real], theirs[real], len(rows), len(rows))


def comparison(ours: Tensor, theirs: Tensor, same: int, asked: int) -> Comparison:
    difference = float((ours - theirs).abs().max())
    return Comparison(difference=difference, allowed=allowed_of(ours), same=same, asked=asked)
