"""Trains a BERT on documents."""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from qkv.checkpoint.bundle import TOKENIZER_FILE, save_report
from qkv.core.stack_config import StackConfig
from qkv.data.batching import Batches, pad_rows, token_batches
from qkv.data.documents import count_of
from qkv.data.holding_out import share_to_hold_out
from qkv.data.sentences import Prose, all_sentences, hold_out_prose
from qkv.errors import QkvError
from qkv.families.bert.config import BertConfig, EncoderConfig
from qkv.families.bert.masking import Document, MaskedExample, mask_tokens, pairs_of, passages_of
from qkv.families.bert.model import Bert as BertModel
from qkv.families.bert.model import MaskedBatch
from qkv.families.bert.product import Bert, BertDefaults
from qkv.families.bert.settings import BertModelSettings, BertSettings
from qkv.flags import OptionMessageError
from qkv.text.wordpiece import WordPieceTokenizer
from qkv.training.card import Purpose, model_card
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.report import facts_of_run
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, Example, Task
from qkv.training.trainable import Setup

PURPOSE = Purpose(
    task="fill-mask",
    command='qkv fill . "… [MASK] …"',
    python='model.fill("… [MASK] …")',
    use="The model predicts masked words, and its vectors compare texts. Fine-tune it for other tasks.",
)

NORM_EPS = 1e-12  # the paper's
SHOWN = (4, 12)  # words of the example sentence


@dataclass(frozen=True, kw_only=True)
class ProseParts:
    """The training part and the validation part."""

    train: Prose
    valid: Prose


@dataclass(frozen=True)
class ProseData:
    """Text to train on, and optionally to validate on."""

    train: Prose
    valid: Prose | None

    @property
    def amount(self) -> int:
        return self.train.characters


def bert_task(data: ProseData, inputs: Any, settings: BertSettings, setup: Setup) -> "BertTask":
    """Train on documents. Without a validation part, some of the text is held out."""
    train, valid = data.train, data.valid
    if settings.next_sentence and "next_sentence" not in setup.given and not has_next_sentences(train):
        setup.say(
            f"no document of {train.origin} has two sentences: training without next-sentence prediction. A blank line ends "
            "a document"
        )
        settings = replace(settings, next_sentence=False)
    if settings.next_sentence:
        check_next_sentences(train)
    if valid is None:
        train, valid = hold_out_prose(
            train, share_to_hold_out(settings.data.valid_size, train.characters), settings.seed
        )
    setup.say(
        f"{train.sentences:,} sentences in {count_of(len(train.documents), 'document')} to train on, "
        f"{valid.sentences:,} to validate on"
    )
    settings = with_precision(settings, settings.model.width, choose_device(settings.training), setup.group)
    return BertTask(ProseParts(train=train, valid=valid), settings)


def guesses(bert: Bert, text: str) -> str:
    try:
        return ", ".join(f"{guess.word} {guess.probability:.2f}" for guess in bert.fill(text, top_k=4)[0])
    except QkvError:  # longer than the model can read
        return ""


@dataclass(frozen=True)
class BertTask(Task[Bert]):
    parts: ProseParts
    settings: BertSettings

    @property
    def width(self) -> int:
        return self.settings.model.width

    def fingerprint(self) -> dict[str, str]:
        parts = {"training text": self.parts.train, "validation text": self.parts.valid}
        return {name: part.fingerprint() for name, part in parts.items()}

    def files(self) -> dict[str, bytes]:
        settings = self.settings
        texts = all_sentences(self.parts.train)
        tokenizer = WordPieceTokenizer.learn(texts, settings.vocab_size, lowercase=not settings.cased)
        MaskedData(self.parts.valid, tokenizer, settings, shuffled=False)  # fails before anything is written
        return {TOKENIZER_FILE: tokenizer.text().encode()}

    def assemble(self, folder: Path) -> Assembled[Bert]:
        settings = self.settings
        tokenizer = WordPieceTokenizer.load(folder / TOKENIZER_FILE)
        model = BertModel(
            BertConfig(
                encoder=architecture(settings.model, tokenizer),
                pooler=settings.next_sentence,
                next_sentence=settings.next_sentence,
            )
        )
        train, valid = (
            MaskedData(part, tokenizer, settings, shuffled=shuffled)
            for part, shuffled in ((self.parts.train, True), (self.parts.valid, False))
        )
        defaults = BertDefaults(max_length=settings.model.max_length)
        return Assembled(product=Bert(model, tokenizer, defaults), train=train, valid=valid)

    def finish(self, product: Bert, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        parts, valid = self.parts, run.valid
        assert isinstance(valid, MaskedData)
        report = {
            **facts_of_run(run, product.model, chosen, self.settings),
            "kind": "bert",
            "data": {
                "origin": parts.train.origin,
                "documents": len(parts.train.documents),
                "sentences": parts.train.sentences,
                "validation_sentences": parts.valid.sentences,
            },
            "vocab_size": len(product.tokenizer),
            "validation": {"loss": round(chosen.loss, 4)},
            "results": results(product.model, valid),
        }
        card = model_card("BERT", PURPOSE, report)
        save_report(out, report, card)
        return report

    def example(self) -> Example[Bert] | None:
        """A validation sentence with one word masked."""
        fewest, most = SHOWN
        sentences = (sentence.split() for sentence in all_sentences(self.parts.valid))
        words = next((words for words in sentences if fewest <= len(words) <= most), None)
        if words is None:
            return None
        middle = len(words) // 2
        masked = " ".join([*words[:middle], "[MASK]", *words[middle + 1 :]])
        return Example(f"Predictions for [MASK] in   {masked}", lambda bert: guesses(bert, masked))


def architecture(model: BertModelSettings, tokenizer: WordPieceTokenizer) -> EncoderConfig:
    sizes = asdict(model)
    context = sizes.pop("max_length")
    try:
        stack = StackConfig(**sizes, norm_eps=NORM_EPS)
    except ValueError as error:
        raise QkvError(f"this model cannot be built: {error}.") from None
    return EncoderConfig(
        vocab_size=len(tokenizer), max_length=context, pad=tokenizer.pad, segments=2, stack=stack
    )


class MaskedData:
    """Masked examples in batches of similar length (implements the loop's Data protocol).

    If shuffled, every epoch has new pairs and masks. Otherwise they are fixed, so that validation losses are comparable.
    """

    def __init__(
        self, prose: Prose, tokenizer: WordPieceTokenizer, settings: BertSettings, *, shuffled: bool
    ):
        self.tokenizer, self.settings, self.shuffled = tokenizer, settings, shuffled
        special = 3 if settings.next_sentence else 2
        self.room = settings.model.max_length - special
        self.documents = [
            split_long_sentences(tokenizer.encode_all(document), self.room // 2)
            for document in prose.documents
        ]
        self.documents = [document for document in self.documents if document]
        if settings.next_sentence:
            check_next_sentences(prose)
        self.rows: list[tuple[MaskedExample, list[int], int]] = []
        self.make_rows(0)
        if not self.rows:
            raise QkvError(
                f"{prose.origin} has no word in the vocabulary of the training text, so there is nothing to predict: "
                "give text in the same language."
            )

    def __len__(self) -> int:
        return len(self.rows)

    def make_rows(self, seed: int) -> None:
        generator, tokenizer = random.Random(seed), self.tokenizer
        joined: list[tuple[tuple[list[int], list[int]], int]]
        if self.settings.next_sentence:
            pairs = pairs_of(self.documents, self.room, generator)
            joined = [(tokenizer.join_texts([pair.first, pair.second]), 1 - pair.follows) for pair in pairs]
        else:
            joined = [
                (tokenizer.join_texts([run]), 0) for run in passages_of(self.documents, self.room, generator)
            ]
        masking = self.settings.masking
        self.rows = [
            (
                mask_tokens(ids, tokenizer.special, tokenizer.continues, tokenizer.mask, masking, generator),
                segments,
                follows,
            )
            for (ids, segments), follows in joined
            if not tokenizer.special.issuperset(ids)
        ]

    def epoch(self, seed: int) -> Batches:
        if self.shuffled:
            self.make_rows(seed)
        lengths = [len(masked.ids) for masked, _, _ in self.rows]
        return token_batches(lengths, self.settings.training.batch_tokens, seed if self.shuffled else None)

    def batch(self, rows: list[int]) -> MaskedBatch:
        chosen = [self.rows[row] for row in rows]
        ids = pad_rows([masked.ids for masked, _, _ in chosen], self.tokenizer.pad)
        width = ids.shape[1]
        return MaskedBatch(
            ids=ids,
            segments=pad_rows([segments for _, segments, _ in chosen], 0),
            places=torch.tensor(
                [
                    line * width + place
                    for line, (masked, _, _) in enumerate(chosen)
                    for place in masked.places
                ]
            ),
            words=torch.tensor([word for masked, _, _ in chosen for word in masked.words]),
            follows=torch.tensor([f for _, _, f in chosen] if self.settings.next_sentence else []),
        )

    def tokens(self, rows: list[int]) -> int:
        """The number of masked tokens, over which the loss is averaged."""
        return sum(len(self.rows[row][0].places) for row in rows)


def split_long_sentences(sentences: Sequence[list[int]], longest: int) -> Document:
    """Split long sentences, so that any two fit into one example."""
    return [
        sentence[start : start + longest]
        for sentence in sentences
        for start in range(0, len(sentence), longest)
    ]


def has_next_sentences(prose: Prose) -> bool:
    return any(len(document) > 1 for document in prose.documents)


def check_next_sentences(prose: Prose) -> None:
    if not has_next_sentences(prose):
        raise OptionMessageError(
            "no document of {origin} has two sentences, so next sentences cannot be learned. Give text with several "
            "sentences between blank lines, or turn {next_sentence} off.",
            origin=prose.origin,
        )


@torch.no_grad()
def results(model: BertModel, data: MaskedData) -> dict[str, str]:
    """The accuracy of masked words and of next sentences on the validation part."""
    model.eval()
    device = model.encoder.tokens.weight.device
    right = words = agreed = texts = following = 0
    for rows in data.epoch(0):
        batch = data.batch(rows).to(device)
        states = model.encoder(batch.ids, batch.segments)
        guesses = model.word_logits(states.flatten(0, 1)[batch.places]).argmax(-1)
        right, words = right + int((guesses == batch.words).sum()), words + len(guesses)
        if len(batch.follows):
            predictions = model.next_logits(states).argmax(-1)
            agreed, texts = agreed + int((predictions == batch.follows).sum()), texts + len(predictions)
            following += int((batch.follows == 0).sum())
    found = {"masked-token accuracy": f"{100 * right / words:.2f} % of {words:,}"}
    if texts:
        found["next-sentence accuracy"] = (
            f"{100 * agreed / texts:.2f} % of {texts:,}, of which {following:,} follow"
        )
    return found
