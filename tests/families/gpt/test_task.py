"""Training a language model: interrupted runs end in the same bits, recipes have the sizes of the papers."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from digit_runs import Recorder, hashes, send
from language_models import counting_text

from qkv.data.chorales import Music
from qkv.data.documents import Documents
from qkv.families.gpt.model import GPT
from qkv.families.gpt.music_data import MusicParts
from qkv.families.gpt.recipes import RECIPES
from qkv.families.gpt.settings import GPTModelSettings, GPTSettings, MusicSettings
from qkv.families.gpt.task import LearnableData, architecture, gpt_task
from qkv.families.gpt.text_data import LearnableText
from qkv.text.notes import Notes
from qkv.training.runs import train
from qkv.training.settings import TrainingSettings
from qkv.training.trainable import Setup

MODEL = GPTModelSettings(width=16, depth=1, heads=2, ffn_width=24, max_length=16, dropout=0.1)
TRAINING = TrainingSettings(
    batch_tokens=64, learning_rate=0.01, warmup_steps=2, optimizer="muon", validate_every=6, processes=1
)


def text() -> tuple[LearnableData, GPTSettings]:
    settings = GPTSettings(vocab_size=280, steps=20, model=MODEL, training=TRAINING)
    documents = [
        Documents(texts=[counting_text(lines)[: 40 * lines]], origin="counting") for lines in (10, 4)
    ]
    return LearnableText(*documents, settings), settings


def music() -> tuple[LearnableData, MusicSettings]:
    settings = MusicSettings(steps=20, model=MODEL, training=TRAINING)
    piece = [(60 + n % 5, 55, 52, 48) for n in range(12)]
    return MusicParts(Music(train=[piece] * 4, valid=[piece], test=[piece], origin="x"), settings), settings


@pytest.mark.parametrize("made", [text, music])
def test_twenty_steps_equal_eleven_an_interruption_and_nine_more(
    made: Callable[[], tuple[LearnableData, GPTSettings]], tmp_path: Path
) -> None:
    material, settings = made()
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(gpt_task(material, settings, Setup()), whole, watch=lambda _: Recorder())
    stopping = Recorder(at=10, action=send(signal.SIGINT))
    outcome = train(gpt_task(material, settings, Setup()), parts, watch=lambda _: stopping)
    assert (outcome.report, outcome.exit_code) == (None, 130)
    assert stopping.steps[-1] == 11
    train(gpt_task(material, settings, Setup()), parts, watch=lambda _: Recorder(), resume=True)
    assert hashes(whole, 20) == hashes(parts, 20)


def test_pieces_at_the_edge_of_what_is_sung_are_learned_in_other_keys() -> None:
    """Moved any further, a note could not be said."""
    music = Music(train=[[(95, 60, 52, 26)]], valid=[[(60, 55, 52, 48)]], test=[], origin="x")
    material = MusicParts(music, MusicSettings(transpose=11, steps=1, model=MODEL, training=TRAINING))
    notes = Notes.all()
    train, _ = material.streams(notes)
    heard = {notes.decode_frames(train(seed).tolist())[0][0] for seed in range(40)}
    assert heard == {93, 94, 95, 96}


@pytest.mark.parametrize(("name", "millions"), [("gpt1", 116.5), ("gpt2", 124.4)])
def test_the_papers_recipes_have_the_papers_sizes(name: str, millions: float) -> None:
    settings = RECIPES[name](1_000_000)
    vocab = {"gpt1": 40_478, "gpt2": 50_257}[name]  # of the published weights
    with torch.device("meta"):
        model = GPT(architecture(settings.model, vocab, end=2))
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, abs=0.1)


def test_the_small_recipe_has_no_more_weights_than_nanogpts() -> None:
    settings = RECIPES["shakespeare-small"](1_000_000)
    with torch.device("meta"):
        model = GPT(architecture(settings.model, 3 + 65, end=2))
    assert sum(p.numel() for p in model.parameters()) <= 804_096  # nanoGPT's, positions included
    assert (settings.training.batch_tokens, settings.model.max_length) == (12 * 64, 64)


@pytest.mark.parametrize("amount", [1_000, 1_000_000, 100_000_000])
def test_automatic_settings_can_be_built(amount: int) -> None:
    settings = replace(RECIPES["automatic"](amount))
    assert settings.steps is not None
    with torch.device("meta"):
        assert architecture(settings.model, settings.vocab_size, end=2).stack.depth == settings.model.depth
