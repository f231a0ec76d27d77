"""Documents as training data of a language model."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from qkv.data.documents import Documents, count_of, hold_out_text
from qkv.data.holding_out import share_to_hold_out
from qkv.data.windows import stream_of
from qkv.evaluation.perplexity import perplexity_from
from qkv.families.gpt.options import GenerationOptions
from qkv.families.gpt.product import LanguageModel, TokenType
from qkv.families.gpt.settings import GPTSettings, TextSettings
from qkv.families.gpt.stream import Stream
from qkv.text.characters import CharacterTokenizer
from qkv.text.tokenizer import Tokenizer
from qkv.training.task import Example

EXAMPLE_LENGTH = 60  # characters


@dataclass(frozen=True)
class TextData:
    """Documents to train on, and optionally to validate on."""

    train: Documents
    valid: Documents | None

    @property
    def amount(self) -> int:
        return self.train.characters

    def parts(
        self, settings: TextSettings, seed: int, say: Callable[[str], None]
    ) -> tuple[Documents, Documents]:
        train, valid = self.train, self.valid
        if valid is None:
            share = min(
                share_to_hold_out(settings.valid_size, train.characters),
                settings.max_valid_characters / max(1, train.characters),
            )
            train, valid = hold_out_text(train, share, seed)
        say(
            f"{train.characters:,} characters in {count_of(len(train), 'document')} to train on, "
            f"{valid.characters:,} to validate on"
        )
        return train, valid


@dataclass(frozen=True)
class TextParts:
    train: Documents
    valid: Documents

    @property
    def origin(self) -> str:
        return self.train.origin

    def fingerprint(self) -> dict[str, str]:
        return {"training text": self.train.fingerprint(), "validation text": self.valid.fingerprint()}

    def streams(self, tokenizer: Tokenizer) -> tuple[Stream, Stream]:
        train, valid = (
            stream_of(tokenizer.encode_all(part.texts), tokenizer.end) for part in (self.train, self.valid)
        )
        return lambda seed: train, lambda seed: valid

    def results(self, product: LanguageModel, loss: float, tokens: int) -> dict[str, str]:
        size = sum(len(text.encode()) for text in self.valid.texts)
        return {
            "validation loss": f"{loss:.4f} per token, {tokens:,} tokens",
            "perplexity": f"{perplexity_from(loss)} per token",
            "bits per byte": f"{loss * tokens / size / math.log(2):.4f}",
        }

    def example(self) -> Example[LanguageModel] | None:
        prompt = example_prompt(self.valid.texts[0])
        options = GenerationOptions(max_new_tokens=EXAMPLE_LENGTH)
        return Example(f"Continuation of   {prompt}", lambda product: product.generate(prompt, options))


def example_prompt(text: str) -> str:
    """The beginning of a line with several words. The first line may start inside a word, where the text was cut."""
    first, *others = [line for line in text.splitlines() if line.strip()]
    lines = [*others, first.partition(" ")[2], first]
    return next((line for line in lines if len(line.split()) > 1), first)[:EXAMPLE_LENGTH]


@dataclass(frozen=True)
class LearnableText(TextParts):
    settings: GPTSettings

    @property
    def token_type(self) -> TokenType:
        return self.settings.token_type

    def learn(self) -> Tokenizer:
        """Learn subwords from the training part. Characters are taken from both parts, so that none is unknown."""
        if self.token_type == "characters":
            return CharacterTokenizer.of([*self.train.texts, *self.valid.texts])
        return Tokenizer.learn(self.train.texts, self.settings.vocab_size, sentences=False)
