"""`qkv draw`: draw images of a caption."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from qkv.cli.options import read_options
from qkv.cli.threads import use_threads
from qkv.families.dalle.options import DEFAULTS, ONE, DrawingOptions, SheetOptions
from qkv.flags import Flag, Positional
from qkv.runtime.running import DEFAULT_RUNNING, Running


@dataclass(frozen=True, kw_only=True)
class Draw:
    model: Positional[Path]
    """Folder of the model."""
    caption: Positional[str]
    """What to draw."""
    output: Annotated[Path, Flag(aliases=["-o", "--out"])]
    """File for the image, .png."""
    sheet: Annotated[SheetOptions, Flag(name="")] = ONE
    how: Annotated[DrawingOptions, Flag(name="")] = DEFAULTS
    json: bool = False
    """Print one JSON document: the file, and the scores of each drawing in it."""
    running: Annotated[Running, Flag(name="")] = DEFAULT_RUNNING


def main(arguments: list[str]) -> None:
    command = read_options(
        Draw,
        arguments,
        prog="qkv draw",
        description='Draw a caption, for example\n  qkv draw runs/scenes "a red circle above a blue square" -o out.png',
    )
    from qkv.families.dalle.sheet import check_picture_path

    check_picture_path(command.output, overwrite=command.sheet.overwrite)
    command.sheet.check(command.how)
    from qkv.cli.texts import check_text

    check_text(command.caption)
    use_threads(command.running.threads)
    from qkv.families.dalle.product import ImageGenerator
    from qkv.families.loading import load_for
    from qkv.progress.terminal import count_progress, say, warn

    generator = load_for(command.model, "draw", ImageGenerator, command.running, warn)
    with count_progress("drawing", command.how.candidates) as done:
        options = {"output": command.output, **asdict(command.sheet)}
        found = generator.draw(command.caption, command.how, done=done, **options)
    drawings = found if isinstance(found, list) else [found]
    for drawing in drawings:
        say(f"likelihood {drawing.likelihood:.3f}, contrast {drawing.contrast:.3f} per code")
    if not command.json:
        print(command.output)
        return
    from qkv.cli.reports import print_json

    scores = [{"likelihood": each.likelihood, "contrast": each.contrast} for each in drawings]
    print_json({"output": str(command.output), "drawings": scores})
