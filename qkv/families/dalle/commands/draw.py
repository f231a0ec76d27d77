"""`qkv draw`: draw images of a caption."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from qkv.cli.options import read_options
from qkv.cli.picture_files import check_picture_path
from qkv.cli.threads import use_threads
from qkv.errors import QkvError
from qkv.families.dalle.options import DrawingOptions
from qkv.flags import Flag, Positional
from qkv.runtime.running import DEFAULT_RUNNING, Running

if TYPE_CHECKING:
    from qkv.families.dalle.product import Drawing

GAP = 2  # white pixels between the images of a sheet


@dataclass(frozen=True, kw_only=True)
class Draw:
    model: Positional[Path]
    """Folder of the model."""
    caption: Positional[str]
    """What to draw."""
    output: Annotated[Path, Flag(aliases=["-o", "--out"])]
    """File for the image, .png."""
    top_k: int = 1
    """Put this many of the best candidates on one sheet, the best first."""
    scale: int = 8
    """Enlarge each pixel to this many on a side."""
    how: Annotated[DrawingOptions, Flag(name="")] = field(default_factory=DrawingOptions)
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
    check_picture_path("--output", command.output)
    if not 1 <= command.top_k <= command.how.candidates:
        raise QkvError("--top-k must be from 1 to the number of candidates.")
    if not 1 <= command.scale <= 64:
        raise QkvError("--scale must be from 1 to 64.")
    from qkv.cli.texts import check_text

    check_text(command.caption)
    use_threads(command.running.threads)
    from qkv.families.dalle.product import ImageGenerator
    from qkv.families.loading import load_for
    from qkv.progress.terminal import count_progress, say, warn

    painter = load_for(command.model, "draw", ImageGenerator, command.running, warn)
    with count_progress("drawing", command.how.candidates) as done:
        drawings = painter.draw(command.caption, command.how, done=done)
    write_sheet(command.output, drawings[: command.top_k], command.scale)
    for drawing in drawings[: command.top_k]:
        say(f"likelihood {drawing.likelihood:.3f}, contrast {drawing.contrast:.3f} per code")
    if not command.json:
        print(command.output)
        return
    from qkv.cli.reports import print_json

    scores = [
        {"likelihood": each.likelihood, "contrast": each.contrast} for each in drawings[: command.top_k]
    ]
    print_json({"output": str(command.output), "drawings": scores})


def write_sheet(path: Path, drawings: "list[Drawing]", scale: int) -> None:
    """Arrange the images in rows, on a sheet that is as square as possible."""
    import io

    from PIL import Image

    from qkv.checkpoint.files import write_file

    side = drawings[0].pixels.shape[1]
    across = math.ceil(math.sqrt(len(drawings)))
    down = math.ceil(len(drawings) / across)
    sheet = Image.new("RGB", (across * (side + GAP) - GAP, down * (side + GAP) - GAP), "white")
    for number, drawing in enumerate(drawings):
        picture = Image.fromarray(drawing.pixels.transpose(1, 2, 0).copy())
        sheet.paste(picture, (number % across * (side + GAP), number // across * (side + GAP)))
    large = sheet.resize((sheet.width * scale, sheet.height * scale), Image.Resampling.NEAREST)
    content = io.BytesIO()
    large.save(content, format="PNG")
    write_file(path, content.getvalue())
