"""`qkv evaluate` of DALL-E and its codebooks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from qkv.cli.fields import names_in
from qkv.cli.options import read_options
from qkv.cli.picture_files import check_picture_path, side_of_scenes
from qkv.cli.picture_scores import check_scenes_or_images, show_scores
from qkv.cli.threads import use_threads
from qkv.errors import QkvError
from qkv.families.dalle.options import DrawingOptions
from qkv.flags import Flag, Positional
from qkv.runtime.running import DEFAULT_RUNNING, Running

if TYPE_CHECKING:
    from qkv.data.captioned import Captioned
    from qkv.families.dalle.codes import Codebook
    from qkv.families.dalle.product import ImageGenerator
    from qkv.pictures import Exhibit

ON_SHEET = 24  # images of each part on a sheet
FEW_CANDIDATES = 8


@dataclass(frozen=True, kw_only=True)
class EvaluateDrawing:
    model: Positional[Path]
    """Folder of the model."""
    scenes: int = 0
    """Evaluate on this many built-in scenes. DALL-E draws captions of seen and of unseen combinations; a codebook
    encodes and decodes images. The results are compared with the captions."""
    part: Literal["test", "valid"] = "test"
    """Captions of --scenes: tune options such as --guidance on valid, and report scores on test."""
    images: Path | None = None
    """DALL-E: its training images, for --sheet. A codebook: any images of its size."""
    captions: Path | None = None
    """Captions of --images, as for training."""
    sheet: Path | None = None
    """DALL-E: write the drawings with their captions to this .png file."""
    json: bool = False
    """Print everything as one JSON document."""
    how: Annotated[DrawingOptions, Flag(name="")] = field(
        default_factory=lambda: DrawingOptions(candidates=FEW_CANDIDATES)
    )
    running: Annotated[Running, Flag(name="")] = DEFAULT_RUNNING


def main(arguments: list[str]) -> None:
    command = read_options(
        EvaluateDrawing,
        arguments,
        prog="qkv evaluate",
        description="Measure how much of its captions DALL-E draws, or how well a codebook reconstructs images.",
    )
    check_scenes_or_images(command.scenes, command.images)
    if command.sheet is not None:
        check_picture_path("--sheet", command.sheet)
    use_threads(command.running.threads)
    from qkv.families.dalle.codes import Codebook
    from qkv.families.dalle.product import ImageGenerator
    from qkv.families.loading import load_for
    from qkv.progress.terminal import warn

    if command.sheet is not None:
        from qkv.pictures import figure_class, sheet_picture

        figure_class()  # fails now, not after minutes of drawing, if matplotlib is missing
    model: Any = load_for(command.model, "evaluate", object, command.running, warn)
    exhibits: list[Exhibit] = []
    if isinstance(model, ImageGenerator):
        if command.images is not None and "--part" in names_in(arguments):
            raise QkvError("--part needs --scenes.")
        found, exhibits = draw_scenes(command, model) if command.scenes else draw_own_captions(command, model)
    elif isinstance(model, Codebook):
        reject_drawing_options(names_in(arguments), command.model)
        found = evaluate_codebook(command, model)
    else:
        raise QkvError(f"{command.model} is neither a DALL-E nor a codebook.")
    show_scores(found, command.json)
    if command.sheet is not None:
        sheet_picture(command.sheet, exhibits)


def reject_drawing_options(given: set[str], model: Path) -> None:
    kept = {"--scenes", "--images", "--json"}
    others = sorted(
        {f"--{field.name.replace('_', '-')}" for field in (*fields(EvaluateDrawing), *fields(DrawingOptions))}
        - kept
    )
    drawing = [name for name in others if name in given]
    if drawing:
        raise QkvError(f"{model} is a codebook and cannot draw: leave out {drawing[0]}.")


def evaluate_codebook(command: EvaluateDrawing, codes: Codebook) -> dict[str, Any]:
    """Reconstruction error and use of the codes; for scenes also what the reconstructions show."""
    from qkv.data.captioned import read_plain, scene_pictures
    from qkv.families.dalle.codes import reconstruction
    from qkv.families.dalle.scene_scores import reconstructed_scenes

    side = codes.config.side
    if command.images is None:
        pictures = scene_pictures("valid", command.scenes, side_of_scenes(side)).pictures
        known = {"part": "valid", **reconstructed_scenes(codes, command.scenes)["scenes"]}
    else:
        pictures, known = read_plain(command.images, side if command.images.is_dir() else None), {}
    if pictures.shape[2] != side:
        raise QkvError(
            f"the images of {command.images} have {pictures.shape[2]} pixels on a side, but the codebook needs {side}."
        )
    return {"pictures": len(pictures), "reconstruction": reconstruction(codes, pictures), **known}


def draw_scenes(command: EvaluateDrawing, painter: ImageGenerator) -> tuple[dict[str, Any], list[Exhibit]]:
    from qkv.families.dalle.scene_scores import PARTS, scene_scores
    from qkv.pictures import Exhibit
    from qkv.progress.terminal import count_progress

    if not painter._defaults.words:
        raise QkvError(f"{command.model} was not trained on the built-in scenes.")
    exhibits: list[Exhibit] = []

    def keep(name: str, captions: list[str], drawings: list[Any]) -> None:
        best = [each[0].pixels for each in drawings[:ON_SHEET]]
        exhibits.append(Exhibit(f"{name} of colour and shape", captions[:ON_SHEET], best))

    with count_progress("drawing", len(PARTS[command.part]) * command.scenes, lines=True) as done:
        found = scene_scores(painter, command.scenes, command.how, command.part, done=done, keep=keep)
    return {"part": command.part, "captions": command.scenes, "how": asdict(command.how), **found}, exhibits


def draw_own_captions(
    command: EvaluateDrawing, painter: ImageGenerator
) -> tuple[dict[str, Any], list[Exhibit]]:
    """Drawings of captions from the training data and of held-out captions, next to the real images."""
    from qkv.checkpoint.files import read_json
    from qkv.configs import from_dict
    from qkv.families.dalle.commands.files import CaptionedPictures
    from qkv.families.dalle.settings import DalleSettings

    if command.sheet is None or command.images is None:
        raise QkvError("to evaluate a DALL-E on --images, give --sheet too.")
    report = command.model / "report.json"
    settings = from_dict(DalleSettings, read_json(report)["settings"], str(report))
    size = painter.codebook.config.side if command.images.is_dir() else None  # as --size in training
    files = CaptionedPictures(images=command.images, captions=command.captions, size=size)
    train, held_out = files.parts(settings.data.valid_size)
    exhibits = [
        each
        for part, name in ((train, "in the training data"), (held_out, "held out"))
        for each in side_by_side(painter, part, name, command.how)
    ]
    return {"sheet": str(command.sheet), "in training": len(train), "held out": len(held_out)}, exhibits


def side_by_side(painter: ImageGenerator, part: Captioned, name: str, how: DrawingOptions) -> list[Exhibit]:
    from qkv.pictures import Exhibit
    from qkv.progress.terminal import count_progress

    step = max(1, len(part) // (ON_SHEET // 2))
    chosen = part.take(range(0, len(part), step)[: ON_SHEET // 2])
    captions = [each[0] for each in chosen.captions]
    with count_progress("drawing", len(captions), lines=True) as done:
        drawings = painter._draw_each(captions, how, done=done)
    return [
        Exhibit(f"{name}: drawn", captions, [each[0].pixels for each in drawings]),
        Exhibit(f"{name}: real images", captions, list(chosen.pictures)),
    ]
