"""The tape records every intermediate and disturbs none."""

from dataclasses import replace

import pytest
import torch

from qkv.core.stack_config import StackConfig
from qkv.core.tape import Tape, inside
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator

B, T, S, H, K = 2, 5, 7, 3, 4
D, F, V, DEPTH = H * K, 13, 11, 2
PAD = 0
STACK = StackConfig(depth=DEPTH, width=D, heads=H, ffn_width=F, norm="post", activation="relu", dropout=0.0)
SOURCE = torch.tensor([[3, 4, 5, 6, 7, 8, 2], [9, 10, 3, 2, PAD, PAD, PAD]])
SHIFTED = torch.tensor([[1, 5, 6, 7, 8], [1, 9, 10, PAD, PAD]])

ATTENTION = {"query", "key", "value", "scores", "scaled", "masked", "weights", "heads", "output", "result"}
FEED_FORWARD = {"hidden", "output", "result"}


def translator(norm: str) -> Translator:
    torch.manual_seed(1)
    stack = replace(STACK, norm=norm)
    config = TranslatorConfig(
        vocab_size=V,
        max_length=8,
        pad=PAD,
        start=1,
        end=2,
        positions="interleaved",
        encoder=stack,
        decoder=replace(stack, depth=DEPTH + 1),
    )
    return Translator(config).eval()


def expected_names(norm: str) -> set[str]:
    between = "normed" if norm == "pre" else "sum"
    names = {"logits"}
    for side, depth in [("encoder", DEPTH), ("decoder", DEPTH + 1)]:
        names |= {f"{side}.{name}" for name in ("tokens", "positions", "embedded", "output")}
        for block in range(depth):
            sublayers = {"attention": ATTENTION, "feed_forward": FEED_FORWARD}
            if side == "decoder":
                sublayers["cross_attention"] = ATTENTION
            for sublayer, parts in sublayers.items():
                names |= {f"{side}.{block}.{sublayer}.{part}" for part in parts | {between}}
    return names


def recorded(norm: str) -> tuple[Tape, torch.Tensor, torch.Tensor]:
    model, tape = translator(norm), Tape()
    return tape, model(SOURCE, SHIFTED, tape), model(SOURCE, SHIFTED)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_recording_changes_no_output(norm: str) -> None:
    _, with_tape, without = recorded(norm)
    torch.testing.assert_close(with_tape, without, atol=1e-5, rtol=0)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_intermediate_has_a_name_and_there_are_no_others(norm: str) -> None:
    tape, _, _ = recorded(norm)
    assert set(tape.tensors) == expected_names(norm)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_weights_sum_to_one_and_masked_cells_are_exactly_zero(norm: str) -> None:
    tape, _, _ = recorded(norm)
    padded = (SOURCE == PAD)[:, None, None, :]
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    hidden_from = {
        **{f"encoder.{block}.attention": padded for block in range(DEPTH)},
        **{f"decoder.{block}.attention": future for block in range(DEPTH + 1)},
        **{f"decoder.{block}.cross_attention": padded for block in range(DEPTH + 1)},
    }
    assert {name for name in tape.tensors if name.endswith(".weights")} == {
        f"{name}.weights" for name in hidden_from
    }
    for name, forbidden in hidden_from.items():
        weights = tape[f"{name}.weights"]
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert (weights[forbidden.expand_as(weights)] == 0).all()
        assert (weights[~forbidden.expand_as(weights)] > 0).all()
        assert (tape[f"{name}.masked"][forbidden.expand_as(weights)] == float("-inf")).all()


def test_shapes_are_those_of_the_decks() -> None:
    tape, _, _ = recorded("post")
    shapes = {
        "encoder.embedded": (B, S, D),
        "decoder.positions": (T, D),
        "encoder.1.attention.query": (B, H, S, K),
        "encoder.1.attention.scores": (B, H, S, S),
        "decoder.2.cross_attention.query": (B, H, T, K),
        "decoder.2.cross_attention.key": (B, H, S, K),
        "decoder.2.cross_attention.weights": (B, H, T, S),
        "decoder.2.cross_attention.heads": (B, H, T, K),
        "decoder.0.attention.output": (B, T, D),
        "decoder.0.feed_forward.hidden": (B, T, F),
        "decoder.output": (B, T, D),
        "logits": (B, T, V),
    }
    assert {name: tuple(tape[name].shape) for name in shapes} == shapes


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_each_step_on_the_tape_follows_from_the_one_before(norm: str) -> None:
    tape, _, _ = recorded(norm)
    for name in ("encoder.0.attention", "decoder.1.attention", "decoder.2.cross_attention"):
        part = tape.inside(name)
        torch.testing.assert_close(part["scores"], part["query"] @ part["key"].mT)
        torch.testing.assert_close(part["weights"], part["masked"].softmax(-1))
        torch.testing.assert_close(part["heads"], part["weights"] @ part["value"])
    torch.testing.assert_close(tape["encoder.embedded"], tape["encoder.tokens"] + tape["encoder.positions"])


def test_cross_attention_of_every_block_reads_the_topmost_encoders_output() -> None:
    model, tape = translator("post"), Tape()
    model(SOURCE, SHIFTED, tape)
    for index, block in enumerate(model.decoder.blocks):
        attention = block.cross_attention.sublayer  # type: ignore[union-attr]
        keys, values = attention.project(tape["encoder.output"])
        torch.testing.assert_close(tape[f"decoder.{index}.cross_attention.key"], keys)
        torch.testing.assert_close(tape[f"decoder.{index}.cross_attention.value"], values)


def test_recorded_tensors_hold_no_graph() -> None:
    tape, with_tape, _ = recorded("post")
    assert with_tape.requires_grad
    assert not any(tensor.requires_grad for tensor in tape.tensors.values())


def test_a_view_from_inside_writes_to_the_same_tape() -> None:
    tape = Tape()
    tape.inside("decoder").inside("0").record("weights", torch.ones(1))
    assert tape["decoder.0.weights"] is tape.inside("decoder")["0.weights"]


def test_inside_no_tape_is_no_tape() -> None:
    assert inside(None, "encoder") is None


def test_an_empty_tape_still_records() -> None:
    """A tape without content must not be taken for no tape."""
    tape = inside(Tape(), "encoder")
    assert tape is not None
