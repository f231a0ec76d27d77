"""Types of options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

from qkv.flags import Flag

ComputeType = Literal["float32", "bf16", "int8"]
OutputFolder = Annotated[Path, Flag(aliases=["-o", "--out"], metavar="DIR")]
OptionalOutput = Annotated[Path | None, Flag(aliases=["-o"], metavar="FILE")]
OptionalFile = Annotated[Path | None, Flag(metavar="FILE")]
OptionalModel = Annotated[Path | None, Flag(metavar="MODEL")]
OptionalFolder = Annotated[Path | None, Flag(metavar="DIR")]
OptionalLanguage = Annotated[str | None, Flag(metavar="CODE")]
SomeFiles = Annotated[tuple[Path, ...], Flag(metavar="FILE [FILE ...]")]
