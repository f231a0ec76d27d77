"""Transformers of Marian as ours, with self-attention or SSRU in the decoder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from qkv.core.pairs import TranslationStep
from qkv.core.stack_config import StackConfig
from qkv.decoding.greedy import greedy
from qkv.decoding.step import Without
from qkv.errors import DataError
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.ctranslate2 import names_of, source_names_of
from qkv.families.translator.defaults import Languages, TranslatorDefaults
from qkv.families.translator.hub_defaults import MAX_SOURCE_LENGTH
from qkv.families.translator.hub_vocabularies import in_order, new_name, source_order
from qkv.families.translator.marian_shortlist import read_shortlist
from qkv.families.translator.model import Translator as TranslatorModel
from qkv.families.translator.options import STRONGEST_PENALTY, WIDEST_BEAM
from qkv.families.translator.product import Translator
from qkv.families.translator.shortlist import Shortlist
from qkv.hub.folder import check_size
from qkv.hub.importing_marian import MarianImporter
from qkv.hub.marian_file import MarianWeights
from qkv.hub.marian_folder import MarianFolder, number_of
from qkv.hub.marian_yaml import Value
from qkv.hub.naming import build_model
from qkv.text.marian_tokenizer import MarianTokenizer, reject_half_characters
from qkv.text.plain_tokens import PlainTokenizer
from qkv.text.unigram import UnigramModel, piece_names
from qkv.text.vocabulary import Vocabulary

PROBES = 8
POSITIONS = 1_024  # Marian computes more when a text is longer
NORM_EPS = 1e-6  # fixed in Marian
END, UNKNOWN = "</s>", "<unk>"
ACTIVATIONS = {"relu": "relu", "swish": "swish", "gelu": "gelu"}
WANTED = {  # settings with one supported value; an absent one has it
    "type": ("transformer",),
    "transformer-ffn-depth": ("2",), "transformer-decoder-ffn-depth": ("2", "0"),
    "transformer-decoder-autoreg": ("self-attention", "rnn"), "transformer-postprocess-emb": ("d", ""),
    "transformer-no-projection": ("false",), "transformer-rnn-projection": ("false",), "transformer-pool": ("false",),
    "transformer-train-positions": ("false",), "transformer-train-position-embeddings": ("false",),
    "transformer-disable-position-embeddings": ("false",), "transformer-attention-mask": ("default",),
    "transformer-no-bias": ("false",), "transformer-no-affine": ("false",), "ulr": ("false",), "lemma-dim-emb": ("0",),
    "layer-normalization": ("false",), "input-types": ("",), "factors-combine": ("sum",), "lemma-dependency": ("",),
}  # fmt: skip
ATTENTION = {"query": "q", "key": "k", "value": "v", "output": "o"}
FEED_FORWARD = {"expand": "1", "contract": "2"}


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """The tokens of targets with padding, those of sources in our order if they are others, and their rows in Marian's table."""

    target: list[str]
    source: list[str] | None
    rows: list[int]
    end: int
    unknown: int

    @property
    def pad(self) -> int:
        """It comes last and its embedding is zero, which is what Marian's decoder reads first."""
        return len(self.target) - 1


def read(folder: MarianFolder, language: str | None) -> Translator:
    check_settings(folder)
    stored, tokens = folder.weights, tokens_of(folder)
    weights = dict(embedding_weights(folder, tokens))
    width = weights["tokens.weight"].shape[1]
    positions = computed_positions(width)
    weights |= {f"{side}_positions.table": positions.clone() for side in ("source", "target")}
    cell = "ssru" if folder.model.get("transformer-decoder-autoreg") == "rnn" else "attention"
    stacks = {side: stack_of(folder, side, width) for side in ("encoder", "decoder")}
    for side, stack in stacks.items():
        weights |= dict(stack_weights(folder, side, stack, cell if side == "decoder" else "attention"))
    check_unread(stored)
    own = weights.get("source_tokens.weight")
    try:
        config = TranslatorConfig(
            vocab_size=len(tokens.target),
            max_length=POSITIONS,
            pad=tokens.pad,
            start=tokens.pad,
            end=tokens.end,
            positions="learned",
            label_smoothing=0.1,
            output_bias="bias" in weights,
            decoder_cell=cell,  # type: ignore[arg-type]
            source_vocab_size=None if own is None else len(own),
            tied_output="output_tokens.weight" not in weights,
            encoder=stacks["encoder"],
            decoder=stacks["decoder"],
        )
    except ValueError as error:
        raise DataError(f"{folder.where}: this model cannot be built: {error}.") from None
    model = build_model(
        lambda: TranslatorModel(config), weights, config.encoder.depth + config.decoder.depth, folder.where
    )
    tokenizer = read_tokenizer(folder, tokens, language)
    return Translator(
        model, tokenizer, defaults_of(folder), stored_shortlist=shortlist_of(folder, tokens, tokenizer)
    )


# Settings --------------------------------------------------------------------------------------------------------


def check_settings(folder: MarianFolder) -> None:
    wrong = [
        f"{name} {text_of(folder.model[name]) or 'none'}"
        for name, values in WANTED.items()
        if name in folder.model and text_of(folder.model[name]) not in values
    ]
    if folder.model.get("transformer-decoder-autoreg") == "rnn" and folder.model.get("dec-cell") != "ssru":
        wrong.append(f"dec-cell {folder.model.get('dec-cell')}")
    if wrong:
        raise DataError(f"{folder.where} is a model that qkv does not support: {', '.join(wrong)}.")


def text_of(value: Value) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else value


def flag(settings: Mapping[str, Value], name: str) -> bool:
    return settings.get(name) == "true"


def size(folder: MarianFolder, name: str, default: int | None = None) -> int:
    value = folder.model.get(name, None if default is None else str(default))
    if not isinstance(value, str) or not value.isdecimal() or len(value) > 7:
        raise DataError(f"{folder.weights.where}: {name} should be a size, not {value!r}.")
    return int(value)


def norm_of(folder: MarianFolder) -> str:
    """The order of operations around a layer: dropout (d), addition (a) and norm (n)."""
    before, after, top = (
        text_of(folder.model.get(f"transformer-{name}", "")).replace("d", "")
        for name in ("preprocess", "postprocess", "postprocess-top")
    )
    if (before, after, top) == ("", "an", ""):
        return "post"
    if (before, after, top) == ("n", "a", "n"):
        return "pre"
    raise DataError(
        f"{folder.where}: the order of norms is '{before}', '{after}', '{top}'; qkv supports pre-norm and post-norm only."
    )


def stack_of(folder: MarianFolder, side: str, width: int) -> StackConfig:
    activation = text_of(folder.model.get("transformer-ffn-activation", "swish"))
    if activation not in ACTIVATIONS:
        raise DataError(
            f"{folder.where}: the activation is '{activation}'; qkv supports {', '.join(ACTIVATIONS)} in Marian's models."
        )
    hidden = size(folder, "transformer-dim-ffn")
    if side == "decoder":
        hidden = size(folder, "transformer-decoder-dim-ffn", 0) or hidden
    try:
        return StackConfig(
            depth=size(folder, "enc-depth" if side == "encoder" else "dec-depth"),
            width=width,
            heads=size(folder, "transformer-heads"),
            ffn_width=hidden,
            norm=norm_of(folder),  # type: ignore[arg-type]
            activation=ACTIVATIONS[activation],  # type: ignore[arg-type]
            dropout=0.1,
            norm_eps=NORM_EPS,
        )
    except ValueError as error:
        raise DataError(f"{folder.where}: this model cannot be built: {error}.") from None


def defaults_of(folder: MarianFolder) -> TranslatorDefaults:
    """Marian divides by the length to the power of `normalize`, with the end token."""
    beam, penalty = folder.number("beam-size", 12), folder.number("normalize", 0.0)
    return TranslatorDefaults(
        languages=Languages.of(*languages_of(folder)),
        max_source_length=MAX_SOURCE_LENGTH,
        beam_size=int(beam) if 1 <= beam <= WIDEST_BEAM else 1,
        length_penalty=penalty if 0 <= penalty <= STRONGEST_PENALTY else 1.0,
        length_norm="length",
    )


def languages_of(folder: MarianFolder) -> tuple[str | None, str | None]:
    """Firefox names its files after the pair: vocab.enpt.spm, lex.50.50.enpt.s2t.bin."""
    for path in (folder.vocabularies[0].path, folder.shortlist):
        for part in () if path is None else path.name.split("."):
            if len(part) == 4 and part.isalpha() and part.islower():
                return part[:2], part[2:]
    return None, None


# Tokens ----------------------------------------------------------------------------------------------------------


def tokens_of(folder: MarianFolder) -> Tokens:
    source, target = (names_in(folder, place) for place in (0, 1))
    for name in (END, UNKNOWN):
        if name not in target or name not in source:
            raise DataError(f"{folder.where}: a vocabulary lacks {name}.")
    complete = [*target, new_name(target)]
    end, unknown, pad = complete.index(END), complete.index(UNKNOWN), len(target)
    if source == target:
        return Tokens(target=complete, source=None, rows=[], end=end, unknown=unknown)
    ordered, rows = source_order(source, complete, {end, unknown, pad})
    return Tokens(target=complete, source=ordered, rows=rows, end=end, unknown=unknown)


def names_in(folder: MarianFolder, place: int) -> list[str]:
    """The tokens of a side, as many as the model has."""
    vocabulary, sizes = folder.vocabularies[place], folder.model.get("dim-vocabs")
    names = list(vocabulary.tokens)
    if vocabulary.content is not None:
        names = piece_names(vocabulary.content, str(vocabulary.path))
    if len(set(names)) != len(names):
        raise DataError(f"{vocabulary.path}: a token occurs twice.")
    count = sizes[place] if isinstance(sizes, list) and len(sizes) == 2 else None
    if count != str(len(names)):
        raise DataError(
            f"{folder.where}: {vocabulary.path.name} has {len(names):,} tokens, but the model has {count}. These files do not belong "
            "together."
        )
    reject_half_characters(names, str(vocabulary.path))
    return names


def read_tokenizer(folder: MarianFolder, tokens: Tokens, language: str | None) -> Vocabulary:
    first, second = folder.vocabularies
    ids: dict[str, Any] = {
        "pad": tokens.pad, "start": tokens.pad, "end": tokens.end, "unknown": tokens.unknown, "source_vocabulary": tokens.source,
    }  # fmt: skip
    if first.content is not None and second.content is not None:
        models = [UnigramModel(first.content, str(first.path))]
        models.append(models[0] if second is first else UnigramModel(second.content, str(second.path)))
        return MarianTokenizer(tokens.target, (models[0], models[1]), language=language, **ids)
    if folder.segmenters is not None and is_plain(folder):
        source, target = (
            UnigramModel(check_size(path).read_bytes(), str(path)) for path in folder.segmenters
        )
        return MarianTokenizer(tokens.target, (source, target), language=language, **ids)
    if language is not None:
        raise DataError(
            f"{folder.where} translates into one language: a target language is only for models with several."
        )
    if first.content is not None or second.content is not None:
        raise DataError(
            f"{folder.where} has a SentencePiece model for one language only, which qkv does not support."
        )
    return PlainTokenizer(tokens.target, **ids)


def is_plain(folder: MarianFolder) -> bool:
    """Marian reads tokens that are separated by spaces, not texts."""
    return all(each.content is None for each in folder.vocabularies)


def shortlist_of(folder: MarianFolder, tokens: Tokens, tokenizer: Vocabulary) -> Shortlist | None:
    """Only for languages that share their tokens, as our shortlists do."""
    if folder.shortlist is None or tokens.source is not None:
        return None
    named = folder.decoding.get("shortlist")
    limits = [str(each) for each in named[1:]] if isinstance(named, list) else []
    ids = {token: id for id, token in enumerate(tokens.target)}
    return read_shortlist(folder.shortlist, ids, ids, pad=tokens.pad, end=tokens.end, limits=limits)


# Weights ---------------------------------------------------------------------------------------------------------


def embedding_weights(folder: MarianFolder, tokens: Tokens) -> Iterator[tuple[str, Tensor]]:
    stored, settings = folder.weights, folder.model
    all_tied = flag(settings, "tied-embeddings-all")
    shared = all_tied or flag(settings, "tied-embeddings-src")
    own = "Wemb" if shared else "decoder_Wemb"
    counts = {own: len(tokens.target) - 1}
    if not shared:
        counts["encoder_Wemb"] = (
            sum(row >= 0 for row in tokens.rows) if tokens.rows else len(tokens.target) - 1
        )
    for name, count in counts.items():
        shape = stored.find(name).shape
        if len(shape) != 2 or shape[0] != count or (shared and tokens.source is not None):
            raise DataError(
                f"{stored.where}: {name} has the shape {shape}, which does not fit the vocabulary of {count:,} tokens."
            )
    table = with_row(stored.rows(own))
    yield "tokens.weight", table
    if not shared:
        sources = stored.rows("encoder_Wemb")
        yield "source_tokens.weight", in_order(sources, tokens.rows) if tokens.rows else with_row(sources)
    if not (all_tied or flag(settings, "tied-embeddings")):
        untied = "decoder_ff_logit_out_Wt"
        output = stored.rows(untied) if untied in stored.items else stored.linear("decoder_ff_logit_out_W")
        if output.shape != (len(table) - 1, table.shape[1]):
            raise DataError(
                f"{stored.where}: the output layer has the shape {tuple(output.shape)}, not that of {own}."
            )
        yield "output_tokens.weight", with_row(output)
    if not flag(settings, "output-omit-bias"):
        yield "bias", torch.cat([stored.vector("decoder_ff_logit_out_b"), torch.zeros(1)])


def with_row(table: Tensor) -> Tensor:
    """With zeros for padding."""
    return torch.cat([table, table.new_zeros(1, table.shape[1])])


def computed_positions(width: int) -> Tensor:
    """Marian's sines and cosines: all sines first, and a slowest wave of length 10,000."""
    columns, half = torch.arange(width, dtype=torch.float64), max(1, width // 2)
    speed = 1e-4 ** ((columns % half) / max(1, half - 1))
    angles = torch.arange(POSITIONS, dtype=torch.float64)[:, None] * speed
    return torch.where(columns < half, angles.sin(), angles.cos()).float()


def stack_weights(
    folder: MarianFolder, side: str, stack: StackConfig, cell: str
) -> Iterator[tuple[str, Tensor]]:
    stored, mark = folder.weights, "_pre" if stack.norm == "pre" else ""
    for block in range(stack.depth):
        theirs, ours = f"{side}_l{tied_layer(folder, side, block)}", f"{side}.blocks.{block}"
        if cell == "ssru":
            yield from cell_weights(stored, f"{theirs}_rnn", f"{ours}.cell")
            middle = "_ln" if mark else "_ffn_ln"
            yield from norm_weights(stored, f"{theirs}_rnn{middle}", mark, f"{ours}.cell.norm")
        else:
            yield from layers(stored, f"{theirs}_self", f"{ours}.attention", ATTENTION)
            yield from norm_weights(stored, f"{theirs}_self_Wo_ln", mark, f"{ours}.attention.norm")
        if side == "decoder":
            yield from layers(stored, f"{theirs}_context", f"{ours}.cross_attention", ATTENTION)
            yield from norm_weights(stored, f"{theirs}_context_Wo_ln", mark, f"{ours}.cross_attention.norm")
        yield from layers(stored, f"{theirs}_ffn", f"{ours}.feed_forward", FEED_FORWARD)
        yield from norm_weights(stored, f"{theirs}_ffn_ffn_ln", mark, f"{ours}.feed_forward.norm")
    if stack.norm == "pre":
        yield from norm_weights(stored, f"{side}_top_ln", "", f"{side}.norm")


def tied_layer(folder: MarianFolder, side: str, block: int) -> int:
    """The number of the layer whose weights a block of the decoder has. Blocks may share them."""
    tied = folder.model.get("transformer-tied-layers")
    if side == "encoder" or not isinstance(tied, list) or not tied:
        return block + 1
    found = int(number_of(tied[block], 0)) if block < len(tied) else 0
    if not 1 <= found <= len(tied):
        raise DataError(
            f"{folder.weights.where}: transformer-tied-layers does not fit the depth of the decoder."
        )
    return found


def layers(
    stored: MarianWeights, theirs: str, ours: str, parts: Mapping[str, str]
) -> Iterator[tuple[str, Tensor]]:
    for name, letter in parts.items():
        yield f"{ours}.sublayer.{name}.weight", stored.linear(f"{theirs}_W{letter}")
        yield f"{ours}.sublayer.{name}.bias", stored.vector(f"{theirs}_b{letter}")


def cell_weights(stored: MarianWeights, theirs: str, ours: str) -> Iterator[tuple[str, Tensor]]:
    yield f"{ours}.sublayer.input.weight", stored.linear(f"{theirs}_W")
    yield f"{ours}.sublayer.forget.weight", stored.linear(f"{theirs}_Wf")
    yield f"{ours}.sublayer.forget.bias", stored.vector(f"{theirs}_bf")


def norm_weights(stored: MarianWeights, theirs: str, mark: str, ours: str) -> Iterator[tuple[str, Tensor]]:
    yield f"{ours}.weight", stored.vector(f"{theirs}_scale{mark}")
    yield f"{ours}.bias", stored.vector(f"{theirs}_bias{mark}")


def check_unread(stored: MarianWeights) -> None:
    """Scales of activations ("alphas") are for Marian's own int8; qkv measures each row."""
    left = [name for name in stored.unread() if not name.endswith("_QuantMultA")]
    if left:
        raise DataError(
            f"{stored.where} has parts that qkv does not support: {', '.join(left[:10])}. Nothing was written."
        )


# Comparison ------------------------------------------------------------------------------------------------------


def probe_lines(product: Translator, folder: MarianFolder) -> list[tuple[str, str]]:
    """Texts made of the model's own tokens, and the same as Marian reads them.

    None for pre-norm models with self-attention in the decoder: from the second token on, Marian's decoder leaves out the norm
    of keys and values, which its training has. qkv computes what was trained.
    """
    tokenizer, config = product.tokenizer, product.model.config
    if config.decoder.norm == "pre" and config.decoder_cell == "attention":
        return []
    special = {config.pad, config.end}
    shown = [tokenizer.show([id])[0] for id in range(tokenizer.source_size) if id not in special]
    names = [name for name in shown if tokenizer.encode(name) and name != UNKNOWN]
    chance = torch.Generator().manual_seed(1)
    picked = torch.randint(len(names), (PROBES, 9), generator=chance).tolist()
    lines = [" ".join(names[number] for number in row[: 2 + place]) for place, row in enumerate(picked)]
    if not is_plain(folder):
        return [(line, line) for line in lines]
    own = source_names_of(tokenizer)
    return [(line, " ".join(own[id] for id in tokenizer.encode(line))) for line in lines]


@torch.inference_mode()
def translate_greedily(
    product: Translator, folder: MarianFolder, lines: Sequence[str], factor: int
) -> list[str]:
    """Plain greedy decoding by the torch model, as Marian writes it."""
    model, config, found = product.model.eval(), product.model.config, []
    for line in lines:
        source = config.complete_source(product.tokenizer.encode(line))
        step = Without(TranslationStep(model, torch.tensor([source])), config.pad)
        limit = torch.tensor([min(factor * len(source), config.max_length - 1)])
        [hypothesis] = greedy(step, torch.tensor([config.start]), config.end, limit)
        names = names_of(product.tokenizer)
        pieces = " ".join(names[id] for id in hypothesis.ids)
        found.append(pieces if is_plain(folder) else product.tokenizer.decode(hypothesis.ids))
    return found


IMPORTER = MarianImporter(read=read, lines=probe_lines, translate=translate_greedily)
