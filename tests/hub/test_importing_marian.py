"""Models of Marian become bundles that compute the same. The models here are tiny, random, and written with NumPy."""

import io
import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from marian_files import (
    HEADS,
    INTGEMM_8,
    NEW_INTGEMM_8,
    SOURCES,
    TARGETS,
    WIDTH,
    binary,
    plain_folder,
    random_weights,
)
from published import mixed_lines

import qkv
from qkv.errors import QkvError
from qkv.families.translator.marian_import import computed_positions
from qkv.families.translator.marian_shortlist import read_shortlist
from qkv.hub.importing import Imported
from qkv.hub.importing_marian import import_from_marian
from qkv.hub.marian_file import MarianWeights
from qkv.hub.marian_yaml import read_mapping, read_vocabulary
from qkv.text.unigram import piece_names


def read(folder: Path, out: Path) -> Imported:
    return import_from_marian(folder, out, origin="here")


def marian_logits(
    weights: dict[str, Any], source: list[int], target: list[int], *, pre: bool, cell: bool
) -> Any:
    """Marian's computation in NumPy, written from its documentation apart from qkv's code."""

    def norm(x: Any, name: str, mark: str = "") -> Any:
        centered = x - x.mean(-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-6)
        return scaled * weights[f"{name}_scale{mark}"] + weights[f"{name}_bias{mark}"]

    def around(x: Any, name: str, inner: Any, before: str = "") -> Any:
        return x + inner(norm(x, before or name, "_pre")) if pre else norm(x + inner(x), name)

    def attend(name: str, causal: bool = False) -> Any:
        def inner(x: Any, memory: Any = None) -> Any:
            m = x if memory is None else memory
            q, k, v = (
                (each @ weights[f"{name}_W{letter}"] + weights[f"{name}_b{letter}"]).reshape(
                    len(each), HEADS, -1
                )
                for letter, each in (("q", x), ("k", m), ("v", m))
            )
            scores = np.einsum("thk,shk->hts", q, k) / np.sqrt(WIDTH // HEADS)
            if causal:
                scores = np.where(np.tril(np.ones(scores.shape[1:])) > 0, scores, -1e9)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            y = np.einsum("hts,shk->thk", shares, v).reshape(len(x), -1)
            return y @ weights[f"{name}_Wo"] + weights[f"{name}_bo"]

        return inner

    def feed(name: str) -> Any:
        def inner(x: Any) -> Any:
            hidden = x @ weights[f"{name}_W1"] + weights[f"{name}_b1"]
            return (hidden / (1 + np.exp(-hidden))) @ weights[f"{name}_W2"] + weights[f"{name}_b2"]

        return inner

    def recur(x: Any) -> Any:
        new, gate = (
            x @ weights["decoder_l1_rnn_W"],
            x @ weights["decoder_l1_rnn_Wf"] + weights["decoder_l1_rnn_bf"],
        )
        keep, state, found = 1 / (1 + np.exp(-gate)), np.zeros(WIDTH), []
        for row, share in zip(new, keep, strict=True):
            state = share * state + (1 - share) * row
            found.append(np.maximum(state, 0))
        return np.array(found)

    weights = {name: each.astype(np.float64) for name, each in weights.items()}
    waves = computed_positions(WIDTH).double().numpy()
    own = weights.get("decoder_Wemb", weights.get("Wemb"))
    x = weights.get("encoder_Wemb", own)[source] * WIDTH**0.5 + waves[: len(source)]
    for number in (1, 2):
        x = around(x, f"encoder_l{number}_self_Wo_ln", attend(f"encoder_l{number}_self"))
        x = around(x, f"encoder_l{number}_ffn_ffn_ln", feed(f"encoder_l{number}_ffn"))
    memory = norm(x, "encoder_top_ln") if pre else x
    y = np.vstack([np.zeros(WIDTH), own[target] * WIDTH**0.5]) + waves[: len(target) + 1]
    if cell:
        y = around(y, "decoder_l1_rnn_ffn_ln", recur, "decoder_l1_rnn_ln")
    else:
        y = around(y, "decoder_l1_self_Wo_ln", attend("decoder_l1_self", causal=True))
    context = attend("decoder_l1_context")
    y = around(y, "decoder_l1_context_Wo_ln", lambda each: context(each, memory))
    y = around(y, "decoder_l1_ffn_ffn_ln", feed("decoder_l1_ffn"))
    y = norm(y, "decoder_top_ln") if pre else y
    return y @ weights.get("decoder_ff_logit_out_Wt", own).T + weights["decoder_ff_logit_out_b"]


@pytest.mark.parametrize(
    ("tied", "cell", "pre", "name"),
    [
        ("tied-embeddings-all", True, False, "model.bin"),
        ("tied-embeddings-src", False, True, "model.npz"),
        ("tied-embeddings", True, True, "model.npz"),
        ("none", False, False, "model.bin"),
    ],
)
def test_all_ways_to_tie_embeddings_compute_what_marian_does(
    tied: str, cell: bool, pre: bool, name: str, tmp_path: Path
) -> None:
    sizes = (
        (TARGETS, TARGETS) if tied in ("tied-embeddings-all", "tied-embeddings-src") else (SOURCES, TARGETS)
    )
    weights = random_weights(tied, cell=cell, pre=pre, sizes=sizes)
    imported = read(plain_folder(tmp_path / "marian", weights, name), tmp_path / "bundle")
    product = imported.product
    source, target = [5, 1, 7, 2, 0], [4, 6, 3]
    tokens = [product.tokenizer.own[id] for id in range(product.tokenizer.source_size)]
    originals = [f"s{number}" for number in range(sizes[0] - 3)]
    ours = [tokens.index(["</s>", "<unk>", '"', *originals][id]) for id in source]
    with torch.inference_mode():
        shifted = torch.tensor([[product.model.config.start, *target]])
        found = product.model.eval()(torch.tensor([ours]), shifted)[0, :, :TARGETS]
    expected = marian_logits(weights, source, target, pre=pre, cell=cell)
    assert np.allclose(found.numpy(), expected, atol=1e-4)
    loaded = qkv.load(tmp_path / "bundle", compute_type="float32")  # the compiled engine
    last = loaded._runner.begin([ours])([[product.model.config.start, *target]])[0, :TARGETS]
    assert np.allclose(last, expected[-1], atol=1e-4)
    assert (loaded._defaults.beam_size, loaded._defaults.length_penalty, loaded._defaults.length_norm) == (
        3,
        0.6,
        "length",
    )
    compared = str(qkv.info(loaded)["compared"])
    assert "8 greedy translations" in compared if imported.proof else "not compared" in compared


@pytest.mark.parametrize("kind", [INTGEMM_8, NEW_INTGEMM_8])
def test_matrices_for_intgemm_are_multiplied_out(kind: int, tmp_path: Path) -> None:
    weights = random_weights("tied-embeddings-all", cell=True, sizes=(TARGETS, TARGETS))
    alphas = {
        f"{name}_QuantMultA": np.ones((1, 1), np.float32) for name in ("Wemb", "decoder_l1_rnn_W", "none")
    }
    folder = plain_folder(tmp_path / "marian", weights | alphas, "model.alphas.bin", kind)
    imported = read(folder, tmp_path / "bundle")
    assert imported.weights == "stored in int8, dequantized to float32"
    state = imported.product.model.state_dict()
    for name, theirs in (
        ("decoder.blocks.0.cell.sublayer.forget.weight", weights["decoder_l1_rnn_Wf"].T),
        ("encoder.blocks.1.feed_forward.sublayer.expand.weight", weights["encoder_l2_ffn_W1"].T),
        ("tokens.weight", np.vstack([weights["Wemb"], np.zeros((1, WIDTH), np.float32)])),
    ):
        factor = 127 / np.abs(theirs).max()
        assert np.allclose(state[name].numpy(), np.round(theirs * factor) / factor, atol=1e-6)


def test_a_folder_of_firefox_is_read_with_its_pieces_shortlist_and_languages(tmp_path: Path) -> None:
    """No settings say which file is what. The list is in Marian's binary format."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(mixed_lines(200, 2)), model_writer=model, vocab_size=600, hard_vocab_limit=False,
        eos_id=0, unk_id=1, bos_id=-1, eos_piece="</s>", minloglevel=2,
    )  # fmt: skip
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    size = theirs.vocab_size()
    folder = tmp_path / "ende"
    folder.mkdir()
    weights = random_weights("tied-embeddings-all", cell=True, sizes=(size, size))
    (folder / "model.ende.intgemm.alphas.bin").write_bytes(binary(weights, INTGEMM_8))
    (folder / "vocab.ende.spm").write_bytes(model.getvalue())
    lists = [[(id * 3) % size, (id * 5) % size] for id in range(size)]
    offsets = np.arange(size + 1, dtype=np.uint64) * 2
    listed = np.array([id for each in lists for id in sorted(each)], np.uint32)
    header = struct.pack("<6Q", 0xF11A48D5013417F5, 0, 7, 2, size + 1, len(listed))
    (folder / "lex.50.50.ende.s2t.bin").write_bytes(header + offsets.tobytes() + listed.tobytes())
    product = read(folder, tmp_path / "bundle").product
    for line in mixed_lines(20, 9):
        assert product.tokenizer.encode(line) == theirs.encode(line)
    assert (product._defaults.languages.source, product._defaults.languages.target) == ("en", "de")
    loaded = qkv.load(tmp_path / "bundle", compute_type="float32")
    assert loaded._shortlist is not None
    assert loaded._shortlist.ids([11]) == sorted({*range(7), 11, *lists[11]})
    assert loaded.translate(mixed_lines(3, 4), beam_size=1)  # with the list
    text = tmp_path / "lex.txt"
    names = [theirs.id_to_piece(id) for id in range(size)]
    text.write_text(
        f"{names[9]} {names[5]} 0.5\nNULL {names[5]} 0.9\n{names[8]} {names[5]} 0.25\n{names[7]} {names[5]} 0.125\n"
    )
    ids = {name: id for id, name in enumerate(names)}
    found = read_shortlist(text, ids, ids, pad=size, end=0, limits=["3", "2"])
    assert found.ids([5]) == [0, 1, 2, 5, 8, 9]


def test_a_folder_of_opus_mt_has_a_plain_vocabulary_and_pieces_before_it(tmp_path: Path) -> None:
    """The tokens of a SentencePiece model for each language, in one vocabulary with other ids."""
    models = []
    for seed in (2, 3):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(mixed_lines(150, seed)), model_writer=model, vocab_size=560, hard_vocab_limit=False, minloglevel=2
        )  # fmt: skip
        models.append(model.getvalue())
    theirs = sentencepiece.SentencePieceProcessor(model_proto=models[0])
    pieces = sorted(
        {piece for each in models for piece in piece_names(each, "here")} - {"<s>", "</s>", "<unk>"}
    )
    names = ["</s>", "<unk>", *pieces, ">>fra<<", ">>spa<<"]
    weights = random_weights("tied-embeddings-all", sizes=(len(names), len(names)))
    folder = plain_folder(tmp_path / "opus", weights)
    quoted = (json.dumps(name, ensure_ascii=False) for name in names)
    (folder / "src.yml").write_text("".join(f"{name}: {id}\n" for id, name in enumerate(quoted)))
    (folder / "trg.yml").write_text((folder / "src.yml").read_text())
    for side, content in zip(("source", "target"), models, strict=True):
        (folder / f"{side}.spm").write_bytes(content)
    imported = import_from_marian(folder, tmp_path / "bundle", origin="here", language="spa")
    tokenizer = imported.product.tokenizer
    for line in mixed_lines(20, 9):
        expected = [">>spa<<", *theirs.encode(line, out_type=str)]
        unknown = names.index("<unk>")
        assert tokenizer.encode(line) == [
            names.index(piece) if piece in names else unknown for piece in expected
        ]
    assert qkv.load(tmp_path / "bundle").translate("the cat", target_language="fra", beam_size=1) is not None
    (folder / "source.bpe").write_text("")
    with pytest.raises(QkvError, match="tokenizer of Moses"):
        read(folder, tmp_path / "other")


def test_damaged_and_hostile_files_are_errors(tmp_path: Path) -> None:
    weights = random_weights("tied-embeddings-all", sizes=(TARGETS, TARGETS))
    whole = binary(weights, INTGEMM_8)
    path = tmp_path / "model.bin"
    chance = random.Random(5)
    for end in [0, 8, 15, 16, 100, *(chance.randrange(len(whole)) for _ in range(60)), len(whole) - 1]:
        path.write_bytes(whole[:end])
        with pytest.raises(QkvError, match=r"damaged|cannot be read|not a model"):
            MarianWeights(path)
    header = whole.index(b"special:model.yml") + 3_000
    for _ in range(300):  # a flipped bit is noticed, or changes one number
        changed = bytearray(whole)
        changed[chance.randrange(header)] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        try:
            stored = MarianWeights(path)
        except QkvError:
            continue
        assert sum(item.size for item in stored.items.values()) <= len(whole)
    for place, number, message in (
        (0, 2, "encrypted"), (0, 7, "Update qkv"), (8, 1 << 60, "claims"), (16 + 8, 0x1801, "packed for"), (16 + 8, 0x605, "does not know"),
        (16 + 24, 1 << 50, "needs"),
    ):  # fmt: skip
        path.write_bytes(whole[:place] + struct.pack("<Q", number) + whole[place + 8 :])
        with pytest.raises(QkvError, match=message):
            MarianWeights(path)
    path = tmp_path / "model.npz"
    np.savez(path, a=np.zeros(3, np.complex64))
    with pytest.raises(QkvError, match="number format"):
        MarianWeights(path)
    np.savez_compressed(path, a=np.zeros(30_000, np.float32))
    with pytest.raises(QkvError, match="compressed"):
        MarianWeights(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("type: transformer", "type: amun"), "type amun"),
        (("dec-cell: ssru", "dec-cell: gru"), "dec-cell gru"),
        (("activation: swish", "activation: sigmoid"), "the activation is 'sigmoid'"),
        (("postprocess: dan", "postprocess: dhn"), "the order of norms"),
        (("dim-ffn: 24", "dim-ffn: 9999999999"), "should be a size"),
        (("enc-depth: 2", "enc-depth: 1"), "parts that qkv does not support: encoder_l2"),
        (("dec-depth: 1", "dec-depth: 2"), "has no weight decoder_l2"),
        (("heads: 2", "heads: 3"), "not a multiple"),
        (("  - 19\n  - 19", "  - 19\n  - 20"), "do not belong together"),
    ],
)
def test_other_architectures_and_vocabularies_are_named(
    change: tuple[str, str], message: str, tmp_path: Path
) -> None:
    weights = random_weights("tied-embeddings-all", cell=True, sizes=(TARGETS, TARGETS))
    text = weights["special:model.yml"].tobytes().decode()
    assert change[0] in text
    weights["special:model.yml"] = np.frombuffer(text.replace(*change).encode(), np.int8)
    with pytest.raises(QkvError, match=message):
        read(plain_folder(tmp_path / "marian", weights), tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()


def test_yaml_of_marian_is_read() -> None:
    text = 'a: b\nlist:\n  - 1\n  - "x: y"\nempty: []\ninline: [3, four]\nquoted: "\\u00e9\\"\\x41"\nsingle: \'it\'\'s\'\n# no\n'
    assert read_mapping(text, "here") == {
        "a": "b", "list": ["1", "x: y"], "empty": [], "inline": ["3", "four"], "quoted": 'é"A', "single": "it's",
    }  # fmt: skip
    assert read_vocabulary('</s>: 0\n"\\"": 2\n::: 1\n', "here") == ["</s>", "::", '"']
    assert read_vocabulary("a\nb\n", "here") == ["a", "b"]
    for wrong in ("a\n", "  - b\n", "a: 1\n  b: 2\n"):
        with pytest.raises(QkvError, match="not a file that Marian writes"):
            read_mapping(wrong, "here")
