"""Types of options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

ComputeType = Literal["float32", "bf16", "int8"]
OutputFolder = Annotated[Path, tyro.conf.arg(aliases=["-o", "--out"], metavar="DIR")]
OptionalOutput = Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE", help_behavior_hint="")]
OptionalFile = Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")]
OptionalModel = Annotated[Path | None, tyro.conf.arg(metavar="MODEL", help_behavior_hint="")]
OptionalFolder = Annotated[Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="")]
OptionalLanguage = Annotated[str | None, tyro.conf.arg(metavar="CODE", help_behavior_hint="")]
SomeFiles = Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE [FILE ...]", help_behavior_hint="")]
