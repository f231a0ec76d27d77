"""Translator: text in, text out."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from qkv.checkpoint.bundle import CONFIG_FILE, MODEL_FILE, TOKENIZER_FILE, Bundle, save_bundle
from qkv.configs import from_dict, to_dict, to_saved
from qkv.core.translation import TranslationConfig, TranslationRunner
from qkv.engine import Engine
from qkv.errors import ModelError, check_rules
from qkv.families.translator.config import TranslatorConfig, config_from
from qkv.families.translator.defaults import TranslatorDefaults
from qkv.families.translator.lines import LineTranslation
from qkv.families.translator.options import (
    ANY_CONFIDENCE,
    ANY_FILE,
    DEFAULTS,
    NO_MEMORY,
    PLAIN_LINES,
    ConfidenceOptions,
    FileOptions,
    LineOptions,
    MemoryOptions,
    TranslationOptions,
)
from qkv.families.translator.pipeline import AttentionMap, Pipeline
from qkv.families.translator.recall import Recall, identity_of, open_recall
from qkv.families.translator.runner import build_translator, open_translator
from qkv.families.translator.shortlist import SHORTLIST_FILE, Shortlist
from qkv.families.translator.translating import Translating, options_from
from qkv.families.translator.translations import Links, Translation
from qkv.flags import OptionMessageError
from qkv.runtime.inputs import check_count, check_text
from qkv.runtime.network import Network, network_of
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.signatures import split_options, with_options
from qkv.text.vocabulary import Vocabulary, load_vocabulary

if TYPE_CHECKING:
    from qkv.keywords import AlternativesKeywords, StreamKeywords, TranslateFileKeywords

GREEDY = TranslationOptions(beam_size=1)


class Translator(Translating):
    """A translation model with its vocabulary.

    Open one with `qkv.load` or `Translator.load`.

    Example:
        >>> translator = qkv.load("runs/en-de")
        >>> translator
        Translator(en → de, 290 tokens)
        >>> len(translator.translate(["one two three", "four"]))
        2
    """

    _what = "a translator"
    _does = ("translate", "translate_file", "stream", "alternatives", "align")

    tokenizer: Vocabulary
    """The vocabulary: `encode(text)` gives token ids, `decode(ids)` gives text."""

    def __init__(
        self,
        runner: TranslationRunner,
        tokenizer: Vocabulary,
        defaults: TranslatorDefaults,
        others: Sequence["Translator"] = (),
        network: Network[TranslationConfig, Any] | None = None,
        stored_shortlist: Shortlist | None = None,
    ):
        """Models are opened with `qkv.load`; this is for code that builds them.

        Args:
            runner: What computes the model: the compiled engine, NumPy, or a torch model.
            tokenizer: Its vocabulary.
            defaults: Languages, beam size and whatever else the model was saved with.
            others: More models of the same vocabulary, for an ensemble.
            network: Config and weights of the model; not needed if the runner is a torch model.
            stored_shortlist: The target tokens that a translation may use; used if its loss is known.
        """
        if defaults.aligner is not None:
            defaults.aligner.check(runner.config)
        self._runner, self.tokenizer, self._defaults = runner, tokenizer, defaults
        self._others, self._shortlist = tuple(others), stored_shortlist
        self._drafters: dict[str, Engine | None] = {}  # by folder
        self._network = Network.of(runner) if network is None else network

    @property
    def _pipeline(self) -> Pipeline:
        runners = [self._runner, *(each._runner for each in self._others)]
        return Pipeline(
            runners,
            self.tokenizer,
            self._defaults,
            open_drafter=self._open_drafter,
            stored_shortlist=self._shortlist,
        )

    def _summary(self) -> str:
        languages = self._defaults.languages
        return f"{languages.source} → {languages.target}, {len(self.tokenizer):,} tokens"

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), bundle.folder
        kind, values = config.pop("architecture", "transformer"), config.pop("model", None)
        architecture = config_from(kind, values, f"{where}/config.json")
        defaults = from_dict(TranslatorDefaults, config, f"{where}/config.json")
        tokenizer = load_vocabulary(where / TOKENIZER_FILE)
        check_vocabulary(tokenizer, architecture, where)
        network = network_of(bundle, architecture, build_translator)
        shortlist = Shortlist.load(where, architecture.vocab_size)
        runner = open_translator(network, running, warn)
        return cls(runner, tokenizer, defaults, network=network, stored_shortlist=shortlist)

    def info(self) -> dict[str, str]:
        config, defaults = self._network.config, self._defaults
        return {
            "kind": f"translator, {defaults.languages.source} → {defaults.languages.target}",
            "parameters": f"{self._network.parameters:,}",
            "vocabulary": f"{config.vocab_size:,} tokens",
            **config.facts(),
            "longest source": f"{self._pipeline.limit:,} tokens; longer text is translated in segments",
            "decoding": f"beam {defaults.beam_size}, length penalty {defaults.length_penalty:g}",
            **({} if self._shortlist is None else {"shortlist": self._shortlist.sentence()}),
        }

    def to_bundle(self, folder: Path) -> None:
        config = {
            "architecture": self._network.config.architecture,
            "model": to_saved(self._network.config),
            **to_saved(self._defaults),
        }
        files: dict[str, str | bytes] = {TOKENIZER_FILE: self.tokenizer.text()}
        if self._shortlist is not None:
            files[SHORTLIST_FILE] = self._shortlist.content()
        save_bundle(folder, "translator", config, self._network.weights, files)

    # Files ---------------------------------------------------------------------------------------------------

    @with_options(TranslationOptions, ConfidenceOptions, LineOptions, FileOptions, MemoryOptions)
    def translate_file(
        self,
        input: str | Path,
        output: str | Path,
        options: TranslationOptions = DEFAULTS,
        *,
        overwrite: bool = False,
        ensemble: "Sequence[Translator | str | Path]" = (),
        progress: bool = True,
        **keywords: "Unpack[TranslateFileKeywords]",
    ) -> None:
        """Translate a file into another file, as `qkv translate --input --output` does.

        Plain text is translated line by line. If it is interrupted, the same call resumes it. In other files the texts are
        translated, and every other byte stays; OUTPUT.report.jsonl says what was done with each text. The output appears
        under its name when it is complete.

        Formats: .po, .pot, .json, .arb, .properties, .strings, .xliff, .xlf, .xml (Android), .resx, .ts (Qt), .yaml, .yml,
        .docx, .pptx, .xlsx, .odt, .epub, .html, .htm, .md, .markdown, .mdx, .ipynb, .srt, .vtt, .csv, .tsv and .jsonl.

        Args:
            input: The file to translate, or a folder. Plain text is in UTF-8.
            output: The file for the translations, or a folder.
            options: Options as an object. Keywords replace its fields.
            overwrite: Replace the output file if it exists.
            ensemble: Other models with the same vocabulary, open or as folders.
            progress: Show a progress bar on standard error.

        Example:
            >>> Path("letters.en").write_text("one two\\nthree\\n") > 0
            True
            >>> qkv.load("runs/en-de").translate_file("letters.en", "letters.de", progress=False)
            >>> Path("letters.de").read_text().count("\\n")
            2
            >>> Path("en.json").write_text('{"title": "one two", "size": 3}') > 0
            True
            >>> qkv.load("runs/en-de").translate_file("en.json", "de.json", progress=False)
            >>> Path("de.json").read_text().endswith(', "size": 3}')
            True
        """
        decoding, confidence, form, files, memory = split_options(
            keywords, options, ANY_CONFIDENCE, PLAIN_LINES, ANY_FILE, NO_MEMORY
        )
        self._translate_file(
            Path(input),
            Path(output),
            LineTranslation(options=decoding, confidence=confidence, form=form, memory=memory),
            files,
            overwrite=overwrite,
            ensemble=ensemble,
            progress=progress,
        )

    def _translate_file(
        self,
        source: Path,
        output: Path,
        lines: LineTranslation,
        files: FileOptions = ANY_FILE,
        *,
        overwrite: bool = False,
        ensemble: "Sequence[Translator | str | Path]" = (),
        progress: bool = True,
    ) -> None:
        self._check_confidence(lines.confidence)
        model = self._together_with(ensemble)
        with model._open_recall(lines) as recall:
            one = partial(
                model._translate_one, lines=lines, recall=recall, overwrite=overwrite, progress=progress
            )
            if not source.is_dir():
                one(source, output, files)
                return
            from qkv.families.translator.files.folders import say_summary, translate_folder

            if files.format is not None:
                raise OptionMessageError("{format} is for one file: leave it out for a folder.")
            names, wanted = self._defaults.languages.named(), lines.options.target_language
            found = translate_folder(
                source,
                output,
                (names[0], wanted or names[1]),
                lambda given, made: one(given, made, ANY_FILE if given.suffix == ".txt" else files),
                overwrite=overwrite,
            )
        if progress:
            say_summary(found, output)

    def _translate_one(
        self,
        source: Path,
        output: Path,
        files: FileOptions,
        *,
        lines: LineTranslation,
        recall: Recall | None,
        overwrite: bool,
        progress: bool,
    ) -> None:
        from qkv.families.translator.files.choice import catalog_format, check_catalog_options
        from qkv.runtime.file_job import FileJob

        pipeline, identity = self._pipeline, self._identity(lines)
        format = catalog_format(source, files)
        if format is not None:
            from qkv.families.translator.files.job import CatalogJob

            check_catalog_options(lines)
            job = CatalogJob(source, output, format, identity, overwrite=overwrite)
            job.run(pipeline, lines, files, recall=recall, progress=progress)
            return
        FileJob(source, output, identity, overwrite=overwrite).run(
            lambda first, part, done: lines.records(pipeline, part, done, first, recall), progress=progress
        )

    def _open_recall(self, lines: LineTranslation) -> AbstractContextManager[Recall | None]:
        """The memory of the options, while it is used."""
        source, target = self._defaults.languages.named()
        return open_recall(lines.memory, (source, lines.options.target_language or target))

    def _identity(self, lines: LineTranslation) -> dict[str, Any]:
        """Identifies a job: the models, and every option that can change a translation."""
        options = asdict(lines)
        options["memory"] = identity_of(lines.memory)
        del options["options"]["batch_tokens"], options["options"]["draft"]  # they change no translation
        running = {} if self._opened is None else asdict(self._opened.running)
        running.pop("threads", None)
        models = [each._content_hash() for each in (self, *self._others)]
        return {"options": options, "running": running, "models": models}

    def _content_hash(self) -> list[str]:
        from qkv.checkpoint.arrays import arrays_hash, as_array
        from qkv.checkpoint.files import HASH, bytes_hash, canonical, file_hash
        from qkv.checkpoint.header import read_header

        if (
            self._opened is not None
        ):  # computing the hash of the weights would take longer than opening a large model
            folder = self._opened.folder
            return [str(read_header(folder / MODEL_FILE).metadata.get(HASH)), file_hash(folder / CONFIG_FILE)]
        weights = {name: as_array(each) for name, each in self._network.weights.items()}
        return [arrays_hash(weights), bytes_hash(canonical(to_dict(self._defaults)))]

    # Other ways to decode -----------------------------------------------------------------------------------

    @with_options(GREEDY)
    def stream(
        self, text: str, options: TranslationOptions = GREEDY, **keywords: "Unpack[StreamKeywords]"
    ) -> Iterator[str]:
        """Translate a text in parts, as it is decoded: greedy, or sampled.

        A segment with protected spans, terms or tags can only be checked as a whole, so it comes in one part.

        Args:
            text: What to translate.
            options: Options as an object. Keywords replace its fields.

        Returns:
            An iterator of the parts. Together they are the translation.

        Raises:
            OptionError: An option is for beam search or for several hypotheses.

        Example:
            >>> translator = qkv.load("runs/en-de")
            >>> "".join(translator.stream("one two")) == "".join(translator.stream("one two"))
            True
        """
        check_text("stream", "text", text)
        decoding, _ = options_from(options, keywords)
        check_streaming(decoding)
        return (part for part in self._pipeline.stream(text, decoding) if part)

    @with_options(TranslationOptions, without=["prefix"])
    def alternatives(
        self,
        text: str,
        prefix: str = "",
        count: int = 5,
        options: TranslationOptions = DEFAULTS,
        **keywords: "Unpack[AlternativesKeywords]",
    ) -> list[Translation]:
        """Translations that begin with the prefix and continue with different tokens, best first.

        Args:
            text: One sentence.
            prefix: The beginning of the translation.
            count: The number of tokens to try after the prefix.
            options: Options as an object. Keywords replace its fields.

        Returns:
            The translations, with their scores.

        Example:
            >>> found = qkv.load("runs/en-de").alternatives("one two", "", 3)
            >>> 0 < len({each.text for each in found}) <= 3
            True
        """
        check_text("alternatives", "text", text)
        check_text("alternatives", "prefix", prefix)
        check_count("count", count, len(self.tokenizer))
        decoding, _ = options_from(options, keywords)
        return self._pipeline.alternatives(text, prefix, count, decoding)

    def align(self, source: str, target: str) -> Links:
        """Align the words of a translation with those of its source. A punctuation mark counts as a word.

        Args:
            source: A text.
            target: Its translation.

        Returns:
            Pairs of a source word and a target word, both counted from 0.

        Example:
            >>> links = qkv.load("runs/en-de").align("one two", "eins zwei")
            >>> all(source < 2 and target < 2 for source, target in links)
            True
        """
        check_text("align", "source", source)
        check_text("align", "target", target)
        return self._pipeline.word_links(source, target)

    def attention(self, text: str) -> AttentionMap:
        """Translate a sentence greedily, and return the attention of every block and head on the source.

        Args:
            text: One sentence.

        Returns:
            The tokens of source and target, and `weights` (blocks, heads, target tokens, source tokens).

        Example:
            >>> found = qkv.load("runs/en-de").attention("one two")
            >>> found.weights.shape[2:] == (len(found.target), len(found.source))
            True
        """
        check_text("attention", "text", text)
        return self._pipeline.attention(text)

    def _open_drafter(self, folder: str) -> Engine | None:
        """The model that drafts, opened once; None if the compiled engine does not compute it."""
        if folder not in self._drafters:
            drafter = Translator.load(folder, **self._running_options())
            if drafter.tokenizer.text() != self.tokenizer.text():
                raise ModelError(f"{folder} cannot draft: it has another vocabulary than the model.")
            self._drafters[folder] = drafter._runner if isinstance(drafter._runner, Engine) else None
        return self._drafters[folder]

    # The same model in other company ------------------------------------------------------------------------

    def _running(self, running: Running, warn: Warn = silent) -> "Translator":
        """The same translator, computed in another way. `warn` is called if the compiled engine is unavailable."""
        return Translator(
            open_translator(self._network, running, warn),
            self.tokenizer,
            self._defaults,
            [each._running(running, warn) for each in self._others],
            self._network,
            self._shortlist,
        )

    def _with_shortlist(self, shortlist: Shortlist | None) -> "Translator":
        """The same translator with another shortlist, or without one."""
        made = Translator(
            self._runner, self.tokenizer, self._defaults, self._others, self._network, shortlist
        )
        made._opened = self._opened
        return made

    def _together_with(self, others: "Sequence[Translator | str | Path]") -> Self:
        """An ensemble with more models: the mean of their probabilities decides."""
        if isinstance(others, str | Path | Translator):
            others = (others,)
        opened = [
            other if isinstance(other, Translator) else Translator.load(other, **self._running_options())
            for other in others
        ]
        for other in opened:
            if other.tokenizer.text() != self.tokenizer.text():
                raise ModelError("the models of an ensemble must share one vocabulary.")
        if not opened:
            return self
        more = [each for other in opened for each in (other, *other._others)]
        everyone = [*self._others, *more]
        made = type(self)(
            self._runner, self.tokenizer, self._defaults, everyone, self._network, self._shortlist
        )
        made._opened = self._opened
        return made


def check_vocabulary(tokenizer: Vocabulary, config: TranslationConfig, where: Path) -> None:
    """The tokenizer and the model must have the same tokens on both sides."""
    sides = [("tokens", len(tokenizer), config.vocab_size)]
    if isinstance(config, TranslatorConfig):
        sides.append(("source tokens", tokenizer.source_size, config.source_size))
    for name, found, wanted in sides:
        if found != wanted:
            raise ModelError(
                f"{where}: the tokenizer has {found} {name}, but the model has {wanted}. These files do not belong together."
            )


def check_streaming(options: TranslationOptions) -> None:
    """A part that was given to the caller cannot be replaced by a better one. So nothing is searched for."""
    greedy = "must be left out: stream() decodes greedily, or samples"
    check_rules(
        [("beam_size", greedy, options.beam_size in (None, 1))]
        + [
            (name, greedy, getattr(options, name) == getattr(DEFAULTS, name))
            for name in ("num_hypotheses", "length_penalty", "patience", "coverage_penalty", "alignments")
        ]
    )
