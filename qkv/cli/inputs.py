"""Types of options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

from qkv.flags import Flag
from qkv.flags import OptionalFile as OptionalFile
from qkv.flags import OptionalLanguage as OptionalLanguage

ComputeType = Literal["float32", "bf16", "int8"]
OutputFolder = Annotated[Path, Flag(aliases=["-o", "--out"], metavar="DIR")]
OptionalOutput = Annotated[Path | None, Flag(aliases=["-o", "--out"], metavar="FILE")]
