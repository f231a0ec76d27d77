"""Evaluate a DALL-E: how much of its captions it draws; or a codebook: how well it reconstructs images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import read_json
from qkv.checkpoint.outputs import check_new_file
from qkv.configs import from_dict
from qkv.data.captioned import Captioned, read_captioned, read_plain, scene_pictures
from qkv.data.given_images import fitted_images
from qkv.data.images import Bytes, Form
from qkv.data.labelled_pictures import hold_out
from qkv.data.python_rows import as_path, is_path
from qkv.data.worlds.labelled_scenes import check_side
from qkv.errors import ModelError, QkvError
from qkv.evaluation.display import SILENT, Display
from qkv.evaluation.evaluator import NOTHING, Evaluator
from qkv.evaluation.picture_report import PictureReport, check_scenes_or_images
from qkv.families.dalle.codes import Codebook, reconstruction
from qkv.families.dalle.evaluation_options import DrawingEvaluation
from qkv.families.dalle.options import DrawingOptions
from qkv.families.dalle.product import ImageGenerator
from qkv.families.dalle.scene_scores import PARTS, reconstructed_scenes, scene_scores
from qkv.families.dalle.settings import DalleSettings
from qkv.families.products import open_to_evaluate
from qkv.flags import OptionMessageError
from qkv.pictures import Exhibit, figure_class
from qkv.runtime.running import EXACT, Running

ON_SHEET = 24  # images of each part on a sheet
OF_CODEBOOKS = {"scenes", "images"}


@dataclass(frozen=True, repr=False)
class DrawingReport(PictureReport):
    """What a DALL-E draws, from `qkv.evaluate`: the share of right attributes for seen and unseen combinations.

    Example:
        >>> report = qkv.DrawingReport({"part": "test", "captions": 100, "unseen combinations": {"attributes": 0.93}})
        >>> report["unseen combinations"]["attributes"]
        0.93
    """

    scores: dict[str, Any]
    sheet: Path | None = None
    exhibits: tuple[Exhibit, ...] = ()

    def save_sheet(self) -> None:
        """Write the drawings with their captions, if a sheet was asked for."""
        from qkv.pictures import sheet_picture

        if self.sheet is not None:
            sheet_picture(self.sheet, self.exhibits)

    def __getitem__(self, name: str) -> Any:
        return self.scores[name]

    def to_dict(self) -> dict[str, Any]:
        return self.scores


@dataclass(frozen=True, repr=False)
class CodebookReport(DrawingReport):
    """How well a codebook reconstructs images, from `qkv.evaluate`.

    Example:
        >>> from PIL import Image
        >>> report = qkv.evaluate("runs/codebook", images=[Image.new("RGB", (8, 8))])
        >>> report["images"]
        1
        >>> report.psnr == report["reconstruction"]["psnr"]
        True
    """

    @property
    def psnr(self) -> float:
        """The peak signal-to-noise ratio of the reconstructions."""
        return float(self.scores["reconstruction"]["psnr"])


def evaluate_drawings(
    model: Any,
    options: DrawingEvaluation = DrawingEvaluation(),  # noqa: B008  (it is frozen)
    running: Running = EXACT,
    display: Display = SILENT,
    given: Mapping[str, Any] = NOTHING,
) -> DrawingReport:
    """Draw captions, or encode and decode images."""
    report = measure_drawings(model, options, running, display, given)
    report.save_sheet()
    return report


EVALUATOR = Evaluator(options=DrawingEvaluation, evaluate=evaluate_drawings, positional=("images",))


def measure_drawings(
    model: Any, options: DrawingEvaluation, running: Running, display: Display, given: Mapping[str, Any]
) -> DrawingReport:
    """The report. Its sheet is not written yet: if that fails, the scores must not be lost."""
    check_scenes_or_images(options.scenes, options.images)
    sheet = None if options.sheet is None else as_path(options.sheet)
    if sheet is not None:
        check_sheet(sheet, options.overwrite)
        figure_class()  # fails now, not after minutes of drawing, if matplotlib is missing
    opened, name = open_to_evaluate(model, object, running, display.warn)
    if isinstance(opened, Codebook):
        reject_drawing_options(given, name)
        return CodebookReport(evaluate_codebook(options, opened))
    if not isinstance(opened, ImageGenerator):
        raise ModelError(f"{name} is neither a DALL-E nor a codebook.")
    if options.images is not None and "part" in given:
        raise OptionMessageError("{part} needs {scenes}.")
    draw = draw_scenes if options.scenes else draw_own_captions
    scores, exhibits = draw(options, opened, name, display)
    return DrawingReport(scores, sheet, tuple(exhibits))


def check_sheet(path: Path, overwrite: bool) -> None:
    """Before minutes of drawing: can this image be written?"""
    if path.suffix.lower() != ".png":
        raise OptionMessageError("{sheet} must end in .png, but {name} does not.", name=path.name)
    check_new_file("sheet", path, overwrite=overwrite)


def reject_drawing_options(given: Mapping[str, Any], name: str) -> None:
    others = {field.name for field in (*fields(DrawingEvaluation), *fields(DrawingOptions))} - OF_CODEBOOKS
    drawing = sorted(others & set(given))
    if drawing:
        raise OptionMessageError(
            f"{{model}} is a codebook and cannot draw: leave out {{{drawing[0]}}}.", model=name
        )


def evaluate_codebook(options: DrawingEvaluation, codes: Codebook) -> dict[str, Any]:
    """Reconstruction error and use of the codes; for scenes also what the reconstructions show."""
    side, known = codes.config.side, {}
    if options.images is None:
        check_side(side)
        pictures = scene_pictures("valid", options.scenes, side).pictures
        known = {"part": "valid", **reconstructed_scenes(codes, options.scenes)["scenes"]}
    else:
        pictures = pictures_of(options.images, side)
    if pictures.shape[2] != side:
        raise QkvError(
            f"the images of {options.images} have {pictures.shape[2]} pixels on a side, but the codebook needs {side}."
        )
    return {"images": len(pictures), "reconstruction": reconstruction(codes, pictures), **known}


def pictures_of(given: Any, side: int) -> Bytes:
    if not is_path(given):
        return fitted_images(given, "images", Form(side, side, "colour"))
    path = as_path(given)
    return read_plain(path, side if path.is_dir() else None)


def draw_scenes(
    options: DrawingEvaluation, painter: ImageGenerator, name: str, display: Display
) -> tuple[dict[str, Any], list[Exhibit]]:
    if not painter._defaults.words:
        raise QkvError(f"{name} was not trained on the built-in scenes.")
    exhibits: list[Exhibit] = []

    def keep(kind: str, captions: list[str], drawings: list[Any]) -> None:
        best = [each[0].pixels for each in drawings[:ON_SHEET]]
        exhibits.append(Exhibit(f"{kind} of color and shape", captions[:ON_SHEET], best))

    with display.progress("drawing", len(PARTS[options.part]) * options.scenes) as done:
        found = scene_scores(painter, options.scenes, options.how, options.part, done=done, keep=keep)
    return {"part": options.part, "captions": options.scenes, "how": asdict(options.how), **found}, exhibits


def draw_own_captions(
    options: DrawingEvaluation, painter: ImageGenerator, name: str, display: Display
) -> tuple[dict[str, Any], list[Exhibit]]:
    """Drawings of captions from the training data and of held-out captions, next to the real images."""
    if options.sheet is None or options.images is None:
        raise OptionMessageError("to evaluate a DALL-E on {images}, give {sheet} too.")
    train, held_out = own_parts(options, painter, Path(name))
    exhibits = [
        each
        for part, title in ((train, "in the training data"), (held_out, "held out"))
        for each in side_by_side(painter, part, title, options.how, display)
    ]
    return {"sheet": str(options.sheet), "in training": len(train), "held out": len(held_out)}, exhibits


def own_parts(
    options: DrawingEvaluation, painter: ImageGenerator, folder: Path
) -> tuple[Captioned, Captioned]:
    """The training and validation part, divided as in training."""
    images = as_path(options.images)
    report = folder / "report.json"
    settings = from_dict(DalleSettings, read_json(report)["settings"], str(report))
    size = painter.codebook.config.side if images.is_dir() else None  # as the size in training
    captions = None if options.captions is None else as_path(options.captions)
    given = read_captioned(images, captions, size)
    kept, out = hold_out(len(given), settings.data.valid_size, seed=1)
    return given.take(kept), given.take(out)


def side_by_side(
    painter: ImageGenerator, part: Captioned, title: str, how: DrawingOptions, display: Display
) -> list[Exhibit]:
    step = max(1, len(part) // (ON_SHEET // 2))
    chosen = part.take(range(0, len(part), step)[: ON_SHEET // 2])
    captions = [each[0] for each in chosen.captions]
    with display.progress("drawing", len(captions)) as done:
        drawings = painter._draw_each(captions, how, done=done)
    return [
        Exhibit(f"{title}: drawn", captions, [each[0].pixels for each in drawings]),
        Exhibit(f"{title}: real images", captions, list(chosen.pictures)),
    ]
