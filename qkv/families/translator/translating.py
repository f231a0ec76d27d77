"""`translate` and `atranslate`: one text, many or an iterator; the best translation or several; strings or details."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload

from qkv.errors import ModelError
from qkv.families.translator.defaults import TranslatorDefaults
from qkv.families.translator.options import ANY_CONFIDENCE, DEFAULTS, ConfidenceOptions, TranslationOptions
from qkv.families.translator.pipeline import Done, Pipeline
from qkv.families.translator.translations import UNSURE, Translation, judged
from qkv.runtime.asynchronous import Work, in_thread
from qkv.runtime.inputs import Column, texts_for
from qkv.runtime.model import Model
from qkv.runtime.running import silent
from qkv.signatures import split_options, with_options

if TYPE_CHECKING:
    from qkv.families.translator.product import Translator
    from qkv.keywords import TranslateKeywords

TEXTS = texts_for("translate")
Shown = str | Translation
"""A translation as `translate` returns it."""


class Translating(Model):
    """The part of `Translator` that translates texts."""

    _defaults: TranslatorDefaults

    @property
    def _pipeline(self) -> Pipeline:
        raise NotImplementedError

    def _together_with(self, others: "Sequence[Translator | str | Path]") -> Self:
        raise NotImplementedError

    # One overload for each kind of input (text, iterator, many texts), with and without details, for the best
    # translation and for several. A str is also a Column; type checkers take the first signature that fits.

    @overload
    def translate(
        self,
        texts: str,
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> list[Translation]: ...

    @overload
    def translate(
        self,
        texts: Iterator[str],
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Iterator[list[Translation]]: ...

    @overload
    def translate(
        self,
        texts: Column,
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> list[list[Translation]]: ...

    @overload
    def translate(
        self,
        texts: str,
        options: TranslationOptions = ...,
        *,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: Iterator[str],
        options: TranslationOptions = ...,
        *,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Iterator[Translation]: ...

    @overload
    def translate(
        self,
        texts: Column,
        options: TranslationOptions = ...,
        *,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> list[Translation]: ...

    @overload
    def translate(
        self,
        texts: str,
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> list[str]: ...

    @overload
    def translate(
        self,
        texts: Iterator[str],
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Iterator[list[str]]: ...

    @overload
    def translate(
        self,
        texts: Column,
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> list[list[str]]: ...

    @overload
    def translate(
        self,
        texts: str,
        options: TranslationOptions = ...,
        *,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> str: ...

    @overload
    def translate(
        self,
        texts: Iterator[str],
        options: TranslationOptions = ...,
        *,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Iterator[str]: ...

    @overload
    def translate(
        self,
        texts: Column,
        options: TranslationOptions = ...,
        *,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> list[str]: ...

    @overload
    def translate(
        self,
        texts: str | Iterator[str] | Column,
        options: TranslationOptions = ...,
        *,
        details: bool,
        num_hypotheses: int = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Any: ...

    @with_options(TranslationOptions, ConfidenceOptions)
    def translate(
        self,
        texts: str | Iterator[str] | Column,
        options: TranslationOptions = DEFAULTS,
        *,
        details: bool = False,
        ensemble: "Sequence[Translator | str | Path]" = (),
        done: Done | None = None,
        **keywords: Any,
    ) -> Any:
        """Translate one text or many.

        Long texts are translated in segments. Text without letters is returned unchanged.

        Args:
            texts: A text, a list of texts (also an array, a Series or a column), or an iterator of texts.
            options: Options as an object. Keywords replace its fields.
            details: Return `Translation` objects with scores, confidence, words and alignments instead of strings.
            ensemble: Other models with the same vocabulary, open or as folders. The mean of the probabilities decides.
            done: Called with the number of segments that were newly translated, for progress.

        Returns:
            A translation for a text, a list for many texts, a lazy iterator for an iterator. With the
            keyword `num_hypotheses`, even if it is 1, each translation is a list, best first.

        Raises:
            InputTypeError: Something is not a text.
            OptionError: An option has a value that cannot work.

        Example:
            >>> translator = qkv.load("runs/en-de")
            >>> translator.translate("one two", glossary={"two": "zwei"}, beam=2).count("zwei")
            1
            >>> [type(each) for each in translator.translate(["one", "two"], num_hypotheses=2)]
            [<class 'list'>, <class 'list'>]
            >>> translator.translate("one two", details=True).confidence
            >>> lines = translator.translate(line for line in ["one", "two"])
            >>> next(lines) == translator.translate("one")
            True
        """
        decoding, confidence = options_from(options, keywords)
        self._check_confidence(confidence)
        decoding = replace(decoding, alignments=decoding.alignments or details)
        pipeline = self._together_with(ensemble)._pipeline
        several = decoding.num_hypotheses > 1 or "num_hypotheses" in keywords
        only_text = not (details or several or confidence.min_confidence is not None)

        def many(part: list[str]) -> list[Any]:
            if only_text:
                return pipeline.best(part, decoding, done or silent)
            found = pipeline.hypotheses(part, decoding, done or silent)
            each = [
                [shown(judged(hypothesis, confidence), confidence, details) for hypothesis in row]
                for row in found
            ]
            return each if several else [row[0] for row in each]

        return TEXTS.apply(texts, many)

    @overload
    def atranslate(
        self,
        texts: str,
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Work[list[Translation]]: ...

    @overload
    def atranslate(
        self,
        texts: Iterator[str],
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> AsyncIterator[list[Translation]]: ...

    @overload
    def atranslate(
        self,
        texts: Column,
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Work[list[list[Translation]]]: ...

    @overload
    def atranslate(
        self,
        texts: str,
        options: TranslationOptions = ...,
        *,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Work[Translation]: ...

    @overload
    def atranslate(
        self,
        texts: Iterator[str],
        options: TranslationOptions = ...,
        *,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> AsyncIterator[Translation]: ...

    @overload
    def atranslate(
        self,
        texts: Column,
        options: TranslationOptions = ...,
        *,
        details: Literal[True],
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Work[list[Translation]]: ...

    @overload
    def atranslate(
        self,
        texts: str,
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Work[list[str]]: ...

    @overload
    def atranslate(
        self,
        texts: Iterator[str],
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> AsyncIterator[list[str]]: ...

    @overload
    def atranslate(
        self,
        texts: Column,
        options: TranslationOptions = ...,
        *,
        num_hypotheses: int,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Work[list[list[str]]]: ...

    @overload
    def atranslate(
        self,
        texts: str,
        options: TranslationOptions = ...,
        *,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Work[str]: ...

    @overload
    def atranslate(
        self,
        texts: Iterator[str],
        options: TranslationOptions = ...,
        *,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> AsyncIterator[str]: ...

    @overload
    def atranslate(
        self,
        texts: Column,
        options: TranslationOptions = ...,
        *,
        details: Literal[False] = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Work[list[str]]: ...

    @overload
    def atranslate(
        self,
        texts: str | Iterator[str] | Column,
        options: TranslationOptions = ...,
        *,
        details: bool,
        num_hypotheses: int = ...,
        **keywords: "Unpack[TranslateKeywords]",
    ) -> Any: ...

    @with_options(TranslationOptions, ConfidenceOptions)
    def atranslate(
        self,
        texts: str | Iterator[str] | Column,
        options: TranslationOptions = DEFAULTS,
        *,
        details: bool = False,
        ensemble: "Sequence[Translator | str | Path]" = (),
        done: Done | None = None,
        **keywords: Any,
    ) -> Any:
        """Like `translate`, for asyncio: other tasks run while it works.

        Args:
            texts: A text, a list of texts, or an iterator of texts, which is read in another thread.
            options: Options as an object. Keywords replace its fields.
            details: Return `Translation` objects.
            ensemble: Other models with the same vocabulary.
            done: Called with the number of segments that were newly translated, in another thread.

        Returns:
            What `translate` returns, to be awaited. For an iterator, an asynchronous iterator. If the task is cancelled, the
            work ends after the batch that is being translated.

        Example:
            >>> translator = qkv.load("runs/en-de")
            >>> asyncio.run(translator.atranslate("one two")) == translator.translate("one two")
            True
            >>> async def print_all(lines):
            ...     async for translation in translator.atranslate(lines):
            ...         print(translation == translator.translate("one"))
            >>> asyncio.run(print_all(line for line in ["one"]))
            True
        """
        return in_thread(
            self.translate, texts, options, details=details, ensemble=ensemble, done=done, **keywords
        )

    def _check_confidence(self, options: ConfidenceOptions) -> None:
        if options.min_confidence is not None and self._defaults.confidence is None:
            where = "this model" if self._opened is None else self._opened.folder
            raise ModelError(
                f"{where} has no calibrated confidence: it was trained by an older version of qkv, or with too little "
                "validation data. Train it again with more."
            )


def options_from(
    options: TranslationOptions, keywords: Mapping[str, Any]
) -> tuple[TranslationOptions, ConfidenceOptions]:
    decoding, confidence = split_options(as_options(keywords), options, ANY_CONFIDENCE)
    return decoding, confidence


def as_options(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """`protect="none"` protects nothing, as on the command line."""
    found = dict(keywords)
    if found.get("protect") in ("none", ("none",), ["none"]):
        found["protect"] = ()
    return found


def shown(translation: Translation, confidence: ConfidenceOptions, details: bool) -> Shown:
    if details:
        return translation
    marked = translation.unsure and not confidence.withhold
    return f"{UNSURE}{translation.text}" if marked else translation.text
