"""Draw images of a caption."""

import difflib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

import numpy as np

from qkv.checkpoint.bundle import CONFIG_FILE, TOKENIZER_FILE, Bundle, load_bundle, save_bundle
from qkv.configs import from_dict, to_saved
from qkv.data.captioned import words_of
from qkv.data.images import Bytes
from qkv.decoding.arrays import arrays_for
from qkv.decoding.guidance import Guided
from qkv.decoding.sampling import Sampling, sample
from qkv.decoding.step import Step
from qkv.engine.reference.functions import Ints, log_softmax
from qkv.errors import InputError, ModelError
from qkv.families.dalle.codes import Codebook
from qkv.families.dalle.config import DalleConfig
from qkv.families.dalle.options import DEFAULTS, ONE, DrawingOptions, Ranking, SheetOptions, drawing_rules
from qkv.families.dalle.runner import DalleRunner, build_dalle, open_dalle
from qkv.families.dalle.sheet import check_picture_path, image_of, png_of, sheet_of, write_sheet
from qkv.runtime.asynchronous import Work, in_thread
from qkv.runtime.inputs import Column, Done, texts_for
from qkv.runtime.model import Model
from qkv.runtime.network import Network, network_of
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.signatures import split_options, with_options
from qkv.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from PIL.Image import Image

    from qkv.keywords import DrawKeywords

CODEBOOK = "codebook"  # its folder in the bundle
ROWS_AT_ONCE = 64  # images drawn together
CAPTIONS = texts_for("draw", argument="captions", one="caption", at_once=1)
NEVER = -1  # the id of an end that never comes: an image ends at its last position


@dataclass(frozen=True, kw_only=True)
class ImageGeneratorDefaults:
    """What a painter needs besides its weights."""

    words: tuple[str, ...]  # the words that a caption may use; empty for any
    temperature: float
    top_p: float
    guidance: float

    def __post_init__(self) -> None:
        for name, must, holds in drawing_rules(self.temperature, self.top_p, self.guidance):
            if not holds:
                raise ValueError(f"{name} {must}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawing:
    """An image that a model has drawn.

    Example:
        >>> drawing = qkv.load("runs/scenes").draw("a ring", candidates=1)
        >>> drawing.image.size
        (8, 8)
        >>> drawing.save("small-ring.png")
    """

    pixels: Bytes = field(repr=False)
    """Bytes, (3, side, side)."""
    likelihood: float
    """Log-probability of the image given the caption, per code."""
    contrast: float
    """How much the caption raises the log-probability, per code."""

    @property
    def image(self) -> "Image":
        """The drawing as a Pillow image."""
        return image_of(self.pixels)

    def save(
        self, output: str | Path, *, scale: int = SheetOptions.scale, overwrite: bool = SheetOptions.overwrite
    ) -> None:
        """Write the drawing as a PNG file.

        Args:
            output: The file, .png.
            scale: Enlarge each pixel to this many on a side.
            overwrite: Replace the file if it exists.

        Example:
            >>> qkv.load("runs/scenes").draw("a ring", candidates=1).save("large-ring.png", scale=4)
            >>> PIL.Image.open("large-ring.png").size
            (32, 32)
        """
        sheet = SheetOptions(scale=scale, overwrite=overwrite)
        check_picture_path(Path(output), overwrite=sheet.overwrite)
        write_sheet(Path(output), [self.pixels], sheet.scale)

    def _repr_png_(self) -> bytes:
        """For notebooks."""
        return png_of(sheet_of([self.pixels], SheetOptions.scale))


class ImageGenerator(Model):
    """A model that draws captions (DALL-E).

    Example:
        >>> model = qkv.load("runs/scenes")
        >>> [drawing.image.size for drawing in model.draw("a ring", candidates=3, top_k=2)]
        [(8, 8), (8, 8)]
    """

    _what = "an image generator"
    _does = ("draw",)

    tokenizer: Tokenizer
    """The vocabulary of captions."""
    codebook: Codebook
    """The codes that images are made of."""

    def __init__(
        self,
        runner: DalleRunner,
        tokenizer: Tokenizer,
        codebook: Codebook,
        defaults: ImageGeneratorDefaults,
        network: Network[DalleConfig, Any] | None = None,
    ):
        """Models are opened with `qkv.load`; this is for code that builds them.

        Args:
            runner: What computes the model: NumPy, or a torch model.
            tokenizer: The vocabulary of captions.
            codebook: What turns codes into images.
            defaults: Words and sampling.
            network: Config and weights of the model; not needed if the runner is a torch model.
        """
        self._runner, self.tokenizer, self.codebook, self._defaults = runner, tokenizer, codebook, defaults
        self._network = Network.of(runner) if network is None else network

    def _summary(self) -> str:
        side, words = self.codebook.config.side, self._defaults.words
        return f"{side} × {side} pixels, {f'{len(words)} words' if words else 'any words'}"

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), bundle.folder
        architecture = from_dict(DalleConfig, config.pop("model", None), f"{where}/{CONFIG_FILE}")
        defaults = from_dict(ImageGeneratorDefaults, config, f"{where}/{CONFIG_FILE}")
        tokenizer = Tokenizer.load(where / TOKENIZER_FILE)
        codebook = Codebook.from_bundle(load_bundle(where / CODEBOOK), running, warn)
        own = codebook.config
        if (len(tokenizer), own.codes, own.grid) != (
            architecture.vocab_size,
            architecture.codes,
            architecture.grid,
        ):
            raise ModelError(f"{where}: the tokenizer, codebook and model do not belong together.")
        network = network_of(bundle, architecture, build_dalle)
        return cls(open_dalle(network, running), tokenizer, codebook, defaults, network)

    def to_bundle(self, folder: Path) -> None:
        if not (folder / CODEBOOK / CONFIG_FILE).exists():
            self.codebook.to_bundle(folder / CODEBOOK)
        config = {"model": to_saved(self.config), **to_saved(self._defaults)}
        files = {TOKENIZER_FILE: self.tokenizer.text()}
        save_bundle(folder, "dalle", config, self._network.weights, files)

    def info(self) -> dict[str, str]:
        config, book = self.config, self.codebook.config
        knows = f"{len(self._defaults.words)} words" if self._defaults.words else "any words"
        return {
            "kind": "image generator (DALL-E)",
            "parameters": f"{self._network.parameters:,} plus its codebook",
            "captions": f"up to {config.places - 2} tokens, {knows}",
            "images": f"{book.side} × {book.side}, {config.grid} × {config.grid} of {config.codes} codes",
            "blocks": config.stack.sentence(),
        }

    def _read(self, caption: str) -> list[int]:
        """The ids of a caption: words, end, blanks. A word that the model does not know is an error."""
        text, known = " ".join(caption.split()), self._defaults.words
        if known:  # such captions are lower-case, without a full stop
            text = text.lower().rstrip(" .!")
        if not text:
            raise InputError("the caption is empty. Say what to draw.")
        strange = [word for word in words_of(text) if known and word not in known]
        if strange:
            near = difflib.get_close_matches(strange[0], known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it knows {', '.join(known[:12])} and others."
            raise InputError(f"this model does not know the word '{strange[0]}'; {hint}")
        places, config = self.config.places, self.config
        ids = self.tokenizer.encode(text)
        if len(ids) > places - 2:
            raise InputError(
                f"the caption has {len(ids)} tokens, and the model reads at most {places - 2}. Shorten it."
            )
        return [*ids, config.end, *[config.pad] * (places - 1 - len(ids))]

    @overload
    def draw(
        self, captions: str, options: DrawingOptions = ..., *, top_k: int, **keywords: "Unpack[DrawKeywords]"
    ) -> list[Drawing]: ...

    @overload
    def draw(
        self,
        captions: Iterator[str],
        options: DrawingOptions = ...,
        *,
        top_k: int,
        **keywords: "Unpack[DrawKeywords]",
    ) -> Iterator[list[Drawing]]: ...

    @overload
    def draw(
        self,
        captions: Column,
        options: DrawingOptions = ...,
        *,
        top_k: int,
        **keywords: "Unpack[DrawKeywords]",
    ) -> list[list[Drawing]]: ...

    @overload
    def draw(
        self, captions: str, options: DrawingOptions = ..., **keywords: "Unpack[DrawKeywords]"
    ) -> Drawing: ...

    @overload
    def draw(
        self, captions: Iterator[str], options: DrawingOptions = ..., **keywords: "Unpack[DrawKeywords]"
    ) -> Iterator[Drawing]: ...

    @overload
    def draw(
        self, captions: Column, options: DrawingOptions = ..., **keywords: "Unpack[DrawKeywords]"
    ) -> list[Drawing]: ...

    @with_options(DrawingOptions, SheetOptions)
    def draw(
        self,
        captions: str | Iterator[str] | Column,
        options: DrawingOptions = DEFAULTS,
        *,
        output: str | Path | None = None,
        done: Done = silent,
        **keywords: Any,
    ) -> Any:
        """Draw images of one caption or many.

        Args:
            captions: A caption, a list of captions or an iterator of captions.
            options: Options as an object. Keywords replace its fields.
            output: A file for the image, .png; for one caption. Several drawings are put on one sheet.
            done: Called with the number of images that were newly drawn, for progress.

        Returns:
            The best drawing of a caption, with `top_k` above 1 a list of the best, best first; a list for many captions, a lazy
            iterator for an iterator.

        Example:
            >>> model = qkv.load("runs/scenes")
            >>> model.draw("a ring", candidates=2, output="ring.png").image.size
            (8, 8)
            >>> len(model.draw(["a ring", "a red ring"], candidates=1))
            2
        """
        how, sheet = split_options(keywords, options, ONE)
        sheet.check(how)
        if output is not None:
            check_picture_path(Path(output), overwrite=sheet.overwrite)
            if not isinstance(captions, str):
                raise InputError("output is for one caption: save the drawings of several one by one.")

        def one(caption: str) -> Any:
            best = self._draw(caption, how, done)[: sheet.top_k]
            if output is not None:
                write_sheet(Path(output), [each.pixels for each in best], sheet.scale)
            return best if sheet.top_k > 1 else best[0]

        return CAPTIONS.apply(captions, lambda part: list(map(one, part)))

    @overload
    def adraw(
        self, captions: str, options: DrawingOptions = ..., *, top_k: int, **keywords: "Unpack[DrawKeywords]"
    ) -> Work[list[Drawing]]: ...

    @overload
    def adraw(
        self,
        captions: Iterator[str],
        options: DrawingOptions = ...,
        *,
        top_k: int,
        **keywords: "Unpack[DrawKeywords]",
    ) -> AsyncIterator[list[Drawing]]: ...

    @overload
    def adraw(
        self,
        captions: Column,
        options: DrawingOptions = ...,
        *,
        top_k: int,
        **keywords: "Unpack[DrawKeywords]",
    ) -> Work[list[list[Drawing]]]: ...

    @overload
    def adraw(
        self, captions: str, options: DrawingOptions = ..., **keywords: "Unpack[DrawKeywords]"
    ) -> Work[Drawing]: ...

    @overload
    def adraw(
        self, captions: Iterator[str], options: DrawingOptions = ..., **keywords: "Unpack[DrawKeywords]"
    ) -> AsyncIterator[Drawing]: ...

    @overload
    def adraw(
        self, captions: Column, options: DrawingOptions = ..., **keywords: "Unpack[DrawKeywords]"
    ) -> Work[list[Drawing]]: ...

    @with_options(DrawingOptions, SheetOptions)
    def adraw(
        self,
        captions: str | Iterator[str] | Column,
        options: DrawingOptions = DEFAULTS,
        *,
        output: str | Path | None = None,
        done: Done | None = None,
        **keywords: Any,
    ) -> Any:
        """Like `draw`, for asyncio: other tasks run while it works.

        Args:
            captions: A caption, a list of captions or an iterator of captions.
            options: Options as an object. Keywords replace its fields.
            output: A file for the image, .png; for one caption.
            done: Called with the number of images that were newly drawn, in another thread.

        Returns:
            What `draw` returns, to be awaited. For an iterator, an asynchronous iterator.

        Example:
            >>> asyncio.run(qkv.load("runs/scenes").adraw("a ring", candidates=1)).image.size
            (8, 8)
        """
        return in_thread(self.draw, captions, options, output=output, done=done, **keywords)

    def _draw(self, caption: str, how: DrawingOptions, done: Done = silent) -> list[Drawing]:
        """All candidates, the best first."""
        places = np.array(self._read(caption))
        seeds = [how.seed * 1024 + number for number in range(how.candidates)]
        drawings: list[Drawing] = []
        for start in range(0, len(seeds), ROWS_AT_ONCE):
            own = seeds[start : start + ROWS_AT_ONCE]
            drawings += self._draw_rows(np.tile(places, (len(own), 1)), own, how)
            done(len(own))
        return rank(drawings, how.ranking)

    def _draw_each(
        self,
        captions: Sequence[str],
        how: DrawingOptions,
        *,
        done: Done = silent,
    ) -> list[list[Drawing]]:
        """Draw images of many captions, several captions at a time."""
        found = []
        at_once = max(1, ROWS_AT_ONCE // how.candidates)
        for start in range(0, len(captions), at_once):
            part = captions[start : start + at_once]
            places = np.repeat([self._read(caption) for caption in part], how.candidates, axis=0)
            numbers = range(start * how.candidates, start * how.candidates + len(places))
            drawings = self._draw_rows(places, [how.seed * 2**24 + number for number in numbers], how)
            for first in range(0, len(drawings), how.candidates):
                found.append(rank(drawings[first : first + how.candidates], how.ranking))
            done(len(part))
        return found

    def _draw_rows(self, captions: Ints, seeds: Sequence[int], how: DrawingOptions) -> list[Drawing]:
        """Draw one image for each row of ids, (B, places)."""
        blank = np.full_like(captions, self.config.pad)
        codes = self._draw_codes(captions, blank, seeds, how)
        given, free = (self._likelihood(each, codes) for each in (captions, blank))
        return [
            Drawing(pixels=pixels, likelihood=one, contrast=one - other)
            for pixels, one, other in zip(self.codebook.decode(codes), given, free, strict=True)
        ]

    def _draw_codes(self, captions: Ints, blank: Ints, seeds: Sequence[int], how: DrawingOptions) -> Ints:
        """Sample codes for each caption; `blank` are empty captions, for guidance.  (B, places) -> (B, grid²)"""
        defaults, arrays = self._defaults, arrays_for(self._runner.device)
        guidance = defaults.guidance if how.guidance is None else how.guidance
        sampling = Sampling(
            temperature=how.temperature or defaults.temperature, top_p=how.top_p or defaults.top_p
        )
        given = arrays.asarray(captions)
        step: Step = self._runner.begin(given)
        if guidance != 1:
            step = Guided(step, self._runner.begin(arrays.asarray(blank)), guidance)
        limits = arrays.full((len(captions),), self.config.area)
        return np.array([each.ids for each in sample(step, given[:, -1], NEVER, limits, sampling, seeds)])

    def _likelihood(self, captions: Ints, codes: Ints) -> list[float]:
        """Mean log-probability of each image's codes."""
        logits = log_softmax(self._runner.logits(captions, codes))  # (B, grid², codes)
        own: list[float] = np.take_along_axis(logits, codes[:, :, None], axis=2)[:, :, 0].mean(1).tolist()
        return own


def rank(drawings: Sequence[Drawing], ranking: Ranking) -> list[Drawing]:
    return sorted(drawings, key=lambda drawing: -float(getattr(drawing, ranking)))
