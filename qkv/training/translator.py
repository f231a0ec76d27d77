"""How a translator is trained: sentence pairs in, a bundle with its report out."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from qkv import __version__
from qkv.checkpoint.bundle import save_report
from qkv.checkpoint.files import read_json, read_tensors, write_file, write_json
from qkv.checkpoint.state import load_latest
from qkv.core.block import StackConfig
from qkv.data.batching import pad_rows, token_batches
from qkv.data.cleaning import clean, hold_out
from qkv.data.parallel import ParallelText
from qkv.errors import UserError
from qkv.evaluation.scores import TranslationScores, score_translations
from qkv.models.translator import TranslationBatch, TranslatorConfig
from qkv.models.translator import Translator as TranslatorModel
from qkv.pipeline import Languages, Translator, TranslatorDefaults
from qkv.text.tokenizer import Tokenizer
from qkv.training.card import model_card
from qkv.training.loop import Plan, Run, Watch, validation_loss
from qkv.training.randomness import seed_for
from qkv.training.settings import DataSettings, ModelSettings, TranslatorSettings, check_settings
from qkv.training.signals import StopRequest

RUN_FILE = "run.json"
ALWAYS_WHOLE = (
    64  # pieces: a sentence of this length is not cut, even where training has shown shorter ones only
)
SCORED = 1_000  # validation pairs translated for the report: enough for BLEU, and soon done


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Cleaned pairs, what was dropped on the way, and where they came from."""

    train: ParallelText
    valid: ParallelText
    dropped: dict[str, int]
    languages: Languages
    origin: str  # for the model card

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for part in (self.train, self.valid):
            for source, target in zip(part.source, part.target, strict=True):
                digest.update(f"{source}\t{target}\n".encode())
        return digest.hexdigest()


def prepare_corpus(
    pairs: ParallelText,
    valid: ParallelText | None,
    languages: Languages,
    settings: DataSettings,
    seed: int,
    origin: str,
) -> Corpus:
    """Clean the pairs, and hold some out for validation where none are given."""
    cleaned = clean(pairs, longest=settings.longest, ratio=settings.ratio)
    if valid is None:
        train, valid = hold_out(cleaned.pairs, count=settings.valid, seed=seed)
    else:
        train, valid = cleaned.pairs, clean(valid, longest=settings.longest, ratio=settings.ratio).pairs
    return Corpus(train=train, valid=valid, dropped=cleaned.dropped, languages=languages, origin=origin)


class PairData:
    """Encoded pairs in batches of like length (the loop's Data protocol)."""

    def __init__(self, pairs: ParallelText, tokenizer: Tokenizer, batch_tokens: int, shuffled: bool):
        self.sources = tokenizer.encode_all(pairs.source)
        self.targets = tokenizer.encode_all(pairs.target)
        self.tokenizer, self.batch_tokens, self.shuffled = tokenizer, batch_tokens, shuffled

    def keep_within(self, context: int) -> int:
        """Drop what has more pieces than the model has positions, and say how many that were."""
        fits = [
            max(len(source), len(target)) < context
            for source, target in zip(self.sources, self.targets, strict=True)
        ]
        self.sources = [ids for ids, fit in zip(self.sources, fits, strict=True) if fit]
        self.targets = [ids for ids, fit in zip(self.targets, fits, strict=True) if fit]
        return fits.count(False)

    def epoch(self, seed: int) -> list[list[int]]:
        lengths = [
            1 + max(len(source), len(target))
            for source, target in zip(self.sources, self.targets, strict=True)
        ]
        return token_batches(lengths, self.batch_tokens, seed if self.shuffled else None)

    def batch(self, rows: list[int]) -> TranslationBatch:
        tokens = self.tokenizer
        return TranslationBatch(
            source=pad_rows([[*self.sources[row], tokens.end] for row in rows], tokens.pad),
            shifted=pad_rows([[tokens.start, *self.targets[row]] for row in rows], tokens.pad),
            target=pad_rows([[*self.targets[row], tokens.end] for row in rows], tokens.pad),
        )

    def tokens(self, rows: list[int]) -> int:
        return sum(len(self.targets[row]) + 1 for row in rows)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended."""

    translator: Translator
    report: dict[str, Any] | None  # None where the run was interrupted
    exit_code: int


def train_translator(
    corpus: Corpus,
    settings: TranslatorSettings,
    out: Path,
    *,
    watch: Callable[[Translator], Watch],
    resume: bool = False,
    exact_vocabulary: bool = False,
    remember: Mapping[str, Any] | None = None,
) -> Outcome:
    """Learn the vocabulary, train, keep the best of what was seen, and write the bundle with its report.

    `remember` is kept in the run folder for whoever resumes; with `exact_vocabulary`, data that cannot
    fill the vocabulary are refused instead of given a smaller one.
    """
    check_settings(settings)
    if not resume:
        refuse_to_overwrite(out)
    tokenizer = vocabulary_for(corpus, settings, out, resume, exact_vocabulary)
    training = settings.training
    train = PairData(corpus.train, tokenizer, training.batch_tokens, shuffled=True)
    valid = PairData(corpus.valid, tokenizer, training.batch_tokens, shuffled=False)
    beyond = train.keep_within(settings.model.context)
    valid.keep_within(settings.model.context)
    if not train.sources or not valid.sources:
        raise UserError(f"no sentence pair fits into a context of {settings.model.context} pieces.")

    device = choose_device()
    torch.manual_seed(seed_for(settings.seed, "weights", 0))
    model = TranslatorModel(architecture(settings.model, len(tokenizer), tokenizer)).to(device)
    longest = max(ALWAYS_WHOLE, *map(len, train.sources))
    defaults = TranslatorDefaults(languages=corpus.languages, longest=longest, **asdict(settings.decoding))
    translator = Translator(model, tokenizer, defaults)
    seen = watch(translator)
    plan = Plan(
        settings=training,
        seed=settings.seed,
        steps=settings.steps,
        minutes=settings.minutes,
        folder=out / "training",
    )
    run = Run(model, train, valid, plan, keep=lambda: translator.save(out), watch=seen, device=device)
    if resume:
        go_on(run, corpus, seen)
    else:
        facts = {"settings": asdict(settings), "data": corpus.fingerprint(), **(remember or {})}
        plan.folder.mkdir(parents=True, exist_ok=True)
        write_file(plan.folder / "tokenizer.json", tokenizer.text().encode())
        write_json(plan.folder / RUN_FILE, facts)  # last: where it is, the run can be resumed
    with StopRequest() as stop:
        run.go(stop)
    if stop.asked is not None:
        return Outcome(translator=translator, report=None, exit_code=stop.exit_code)

    chosen = keep_the_better(run, translator, out)
    report = make_report(run, translator, corpus, settings, chosen, beyond)
    save_report(out, report, model_card(report))
    return Outcome(translator=translator, report=report, exit_code=0)


def refuse_to_overwrite(out: Path) -> None:
    if (out / "training" / RUN_FILE).exists():
        raise UserError(
            f"{out} already holds a training run: give --resume to go on with it, or another --out."
        )
    if (out / "config.json").exists() or out.is_file():
        raise UserError(f"{out} already exists: give another --out.")


def vocabulary_for(
    corpus: Corpus, settings: TranslatorSettings, out: Path, resume: bool, exact: bool
) -> Tokenizer:
    """One vocabulary for both languages, learned from the training part alone."""
    if resume:
        return Tokenizer.load(out / "training" / "tokenizer.json")
    tokenizer = Tokenizer.learn([*corpus.train.source, *corpus.train.target], settings.vocabulary)
    if exact and len(tokenizer) < settings.vocabulary:
        raise UserError(
            f"the data fill a vocabulary of {len(tokenizer)} pieces at most: "
            f"give --vocabulary {len(tokenizer)} or less, not {settings.vocabulary}."
        )
    return tokenizer


def architecture(model: ModelSettings, vocab: int, tokenizer: Tokenizer) -> TranslatorConfig:
    try:
        stack = StackConfig(
            depth=model.encoder_depth,
            width=model.width,
            heads=model.heads,
            hidden=model.hidden,
            norm=model.norm,
            activation=model.activation,
            dropout=model.dropout,
            attention_dropout=model.attention_dropout,
        )
        return TranslatorConfig(
            vocab=vocab,
            context=model.context,
            pad=tokenizer.pad,
            start=tokenizer.start,
            end=tokenizer.end,
            positions=model.positions,
            encoder=stack,
            decoder=replace(stack, depth=model.decoder_depth),
            smoothing=model.smoothing,
        )
    except ValueError as error:
        raise UserError(f"such a model cannot be built: {error}.") from None


def go_on(run: Run, corpus: Corpus, watch: Watch) -> None:
    """Take up the newest whole state; a run that was ended before its first one starts anew."""
    stored = read_json(run.plan.folder / RUN_FILE)
    if stored["data"] != corpus.fingerprint():
        raise UserError(
            "the training or validation data are not those of the run: resume with the same files."
        )
    state, warnings = load_latest(run.plan.folder)
    for sentence in warnings:
        watch.warn(sentence)
    if state is not None:
        run.resume(state)
    else:
        run.log_path.unlink(missing_ok=True)


def keep_the_better(run: Run, translator: Translator, out: Path) -> str:
    """The bundle holds the best snapshot; where the average of the last ones is better, it takes its place."""
    position, model = run.position, translator.model
    if len(position.snapshots) > 1:
        model.load_state_dict(run.averaged())
        averaged_loss = validation_loss(model, run.valid, run.device)
        if averaged_loss < position.best_loss:
            position.best_loss = averaged_loss
            translator.save(out)
            return f"average of the snapshots at steps {', '.join(map(str, position.snapshots))}"
    model.load_state_dict(read_tensors(out / "model.safetensors"))
    return f"snapshot at step {position.best_step}"


def make_report(
    run: Run,
    translator: Translator,
    corpus: Corpus,
    settings: TranslatorSettings,
    chosen: str,
    beyond: int,
) -> dict[str, Any]:
    position = run.position
    scores, decoding = validation_scores(translator, corpus.valid), translator.defaults
    return {
        "kind": "translator",
        "languages": asdict(corpus.languages),
        "data": {
            "origin": corpus.origin,
            "pairs": len(run.train.sources),  # type: ignore[attr-defined]
            "dropped": {**corpus.dropped, "more pieces than positions": beyond},
            "validation_pairs": len(corpus.valid),
        },
        "vocabulary": len(translator.tokenizer),
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "training": {
            "steps": position.step,
            "epochs": round(position.epoch + position.cursor / max(1, len(run.train.epoch(0))), 2),
            "minutes": round(position.seconds / 60, 2),
            "tokens_per_second": round(position.tokens / max(1e-9, position.seconds)),
            "seed": settings.seed,
            "weights": chosen,
        },
        "validation": {
            "loss": round(position.best_loss, 4),
            "beam": decoding.beam,
            "length_penalty": decoding.length_penalty,
            **scores.to_dict(),
        },
        "settings": asdict(settings),
        "made_with": {"qkv": __version__, "torch": torch.__version__, "threads": torch.get_num_threads()},
    }


def validation_scores(translator: Translator, valid: ParallelText) -> TranslationScores:
    return score_translations(translator.translate(valid.source[:SCORED]), valid.target[:SCORED])


def choose_device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
