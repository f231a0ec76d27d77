"""`qkv evaluate` of models that see or draw: with --scenes, or with --images."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from qkv.cli.fields import names_in
from qkv.cli.options import read_options
from qkv.cli.picture_files import check_picture_path, side_of_scenes
from qkv.cli.threads import check_threads, use_threads
from qkv.errors import UserError
from qkv.families.dalle.options import Drawn

if TYPE_CHECKING:
    from qkv.data.captioned import Captioned
    from qkv.families.dalle.codes import Codes
    from qkv.families.dalle.product import Painter
    from qkv.families.vit.product import PictureClassifier
    from qkv.pictures import Exhibit

ON_SHEET = 24  # pictures of each part on a sheet
FEW_CANDIDATES = 8


@dataclass(frozen=True, kw_only=True)
class EvaluatePictures:
    model: tyro.conf.Positional[Path]
    """Folder of the model."""
    scenes: int = 0
    """So many built-in scenes. A painter: captions of seen and of unseen combinations to draw, and to read off what the
    pictures show. A codebook: pictures to read after they have been codes. A classifier of scenes: pictures to classify."""
    part: Literal["test", "valid"] = "test"
    """Captions of --scenes: choose --guidance, --ranking and the like by valid ones, and measure with test ones."""
    images: Path | None = None
    """A classifier: folder with classes, or idx files, as for training; its test part, else its validation part, else all
    of it, made to fit. A painter: the pictures it was trained on, for --sheet. A codebook: any pictures of its size."""
    captions: Path | None = None
    """Captions of --images, as for training."""
    sheet: Path | None = None
    """A painter: a picture of the drawings with their captions, .png."""
    json: bool = False
    """Everything as one JSON document."""
    how: Annotated[Drawn, tyro.conf.arg(name="")] = field(
        default_factory=lambda: Drawn(candidates=FEW_CANDIDATES)
    )
    threads: int | None = None
    """Cores to use; by default all."""


def main(arguments: list[str]) -> None:
    command = read_options(
        EvaluatePictures,
        arguments,
        prog="qkv evaluate",
        description="How many pictures a classifier gets right, how much of its captions a painter draws, or what a codebook "
        "leaves of pictures.",
    )
    if bool(command.scenes) == (command.images is not None):
        raise UserError("give --scenes with a number of captions, or --images; one of them.")
    if command.scenes < 0 or command.scenes > 10_000:
        raise UserError("--scenes must lie between 1 and 10,000.")
    if command.sheet is not None:
        check_picture_path("--sheet", command.sheet)
    check_threads(command.threads)
    from qkv.families.dalle.codes import Codes
    from qkv.families.dalle.product import Painter
    from qkv.families.loading import load
    from qkv.families.vit.product import PictureClassifier

    use_threads(command.threads)
    if command.sheet is not None:
        from qkv.pictures import figure_class, sheet_picture

        figure_class()  # what is not installed is said before minutes of drawing
    model = load(command.model)
    exhibits: list[Exhibit] = []
    if isinstance(model, Painter):
        if command.images is not None and "--part" in names_in(arguments):
            raise UserError("--part is for --scenes: leave it out.")
        found, exhibits = on_scenes(command, model) if command.scenes else on_own_pictures(command, model)
    elif isinstance(model, PictureClassifier | Codes):
        refuse_drawing(names_in(arguments), command.model)
        found = (
            of_classifier(command, model)
            if isinstance(model, PictureClassifier)
            else of_codebook(command, model)
        )
    else:
        raise UserError(f"{command.model} neither draws nor reads pictures: leave out --scenes and --images.")
    show(found, command.json)
    if command.sheet is not None:
        sheet_picture(command.sheet, exhibits)


def show(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    for name, value in found.items():
        if isinstance(value, dict):
            print(f"{name}\t" + "\t".join(f"{key} {shown(each)}" for key, each in value.items()))
        else:
            print(f"{name}\t{shown(value)}")


def shown(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def refuse_drawing(given: set[str], model: Path) -> None:
    kept = {"--scenes", "--images", "--json", "--threads"}
    others = sorted(
        {f"--{field.name.replace('_', '-')}" for field in (*fields(EvaluatePictures), *fields(Drawn))} - kept
    )
    drawing = [name for name in others if name in given]
    if drawing:
        raise UserError(f"{model} draws nothing: leave out {drawing[0]}.")


def of_classifier(command: EvaluatePictures, model: PictureClassifier) -> dict[str, Any]:
    from qkv.cli.terminal import warn
    from qkv.data.labelled_pictures import read_images_to_judge
    from qkv.data.worlds.labelled_scenes import scenes_to_judge
    from qkv.families.vit.task import accuracy

    if command.images is not None:
        name, part = read_images_to_judge(command.images, model.form, model.classes)
        if name == "all":
            warn(
                f"{command.images} has neither a test nor a validation part: it may hold pictures of the training."
            )
    else:
        name, part = "test", scenes_to_judge(command.scenes, model.form).numbered_as(model.classes)
    return {"part": name, "pictures": len(part), "accuracy": round(accuracy(model, part), 5)}


def of_codebook(command: EvaluatePictures, codes: Codes) -> dict[str, Any]:
    """Reconstruction error and use of the codes; of scenes also what can be read off them."""
    from qkv.data.captioned import read_plain, scene_pictures
    from qkv.families.dalle.codebook_task import reconstruction
    from qkv.families.dalle.scene_scores import reconstructed_scenes

    side = codes.model.config.side
    if command.images is None:
        pictures = scene_pictures("valid", command.scenes, side_of_scenes(side)).pictures
        known = {"part": "valid", **reconstructed_scenes(codes, command.scenes)["scenes"]}
    else:
        pictures, known = read_plain(command.images, side if command.images.is_dir() else None), {}
    if pictures.shape[2] != side:
        raise UserError(
            f"the pictures of {command.images} are {pictures.shape[2]} pixels large, and those of the codebook {side}."
        )
    return {"pictures": len(pictures), "reconstruction": reconstruction(codes, pictures), **known}


def on_scenes(command: EvaluatePictures, painter: Painter) -> tuple[dict[str, Any], list[Exhibit]]:
    from qkv.cli.terminal import counting
    from qkv.families.dalle.scene_scores import PARTS, scene_scores
    from qkv.pictures import Exhibit

    if not painter.defaults.words:
        raise UserError(f"{command.model} was not trained on the built-in scenes.")
    exhibits: list[Exhibit] = []

    def keep(name: str, captions: list[str], drawings: list[Any]) -> None:
        best = [each[0].pixels for each in drawings[:ON_SHEET]]
        exhibits.append(Exhibit(f"{name} of colour and shape", captions[:ON_SHEET], best))

    with counting("drawing", len(PARTS[command.part]) * command.scenes, lines=True) as done:
        found = scene_scores(painter, command.scenes, command.how, command.part, done=done, keep=keep)
    return {"part": command.part, "captions": command.scenes, "how": asdict(command.how), **found}, exhibits


def on_own_pictures(command: EvaluatePictures, painter: Painter) -> tuple[dict[str, Any], list[Exhibit]]:
    """Drawings of captions that training has shown, and of others that it has not, beside the real pictures."""
    from qkv.checkpoint.files import read_json
    from qkv.cli.picture_files import CaptionedPictures

    if command.sheet is None or command.images is None:
        raise UserError("--images of a painter are for a sheet of drawings: give --sheet too.")
    settings = read_json(command.model / "report.json")["settings"]
    size = painter.codes.model.config.side if command.images.is_dir() else None  # as --size of the training
    files = CaptionedPictures(images=command.images, captions=command.captions, size=size)
    shown, unshown = files.parts(settings["data"]["valid"])
    exhibits = [
        each
        for part, name in ((shown, "in the training data"), (unshown, "never seen in training"))
        for each in side_by_side(painter, part, name, command.how)
    ]
    return {"sheet": str(command.sheet), "in training": len(shown), "held out": len(unshown)}, exhibits


def side_by_side(painter: Painter, part: Captioned, name: str, how: Drawn) -> list[Exhibit]:
    from qkv.cli.terminal import counting
    from qkv.pictures import Exhibit

    step = max(1, len(part) // (ON_SHEET // 2))
    chosen = part.take(range(0, len(part), step)[: ON_SHEET // 2])
    captions = [each[0] for each in chosen.captions]
    with counting("drawing", len(captions), lines=True) as done:
        drawings = painter.draw_each(captions, how, done=done)
    return [
        Exhibit(f"{name}: drawn", captions, [each[0].pixels for each in drawings]),
        Exhibit(f"{name}: the real ones", captions, list(chosen.pictures)),
    ]
