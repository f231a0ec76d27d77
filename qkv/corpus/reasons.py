"""Why a pair is dropped, as a number of one byte; 0 is for pairs that are kept."""

import numpy as np
from numpy.typing import NDArray

from qkv.corpus.filters import FILTERS

OTHER_SCRIPT = "other script"
OTHER_LANGUAGE = "other language"
HELD_OUT = "in a test set"
DUPLICATE = "duplicate"
NEAR_DUPLICATE = "near duplicate"
MISALIGNED = "misaligned"

KEPT = 0
REASONS = ("kept", *FILTERS, OTHER_SCRIPT, OTHER_LANGUAGE, HELD_OUT, DUPLICATE, NEAR_DUPLICATE, MISALIGNED)
NUMBER = {reason: number for number, reason in enumerate(REASONS)}

Reasons = NDArray[np.uint8]
"""One for each pair of a corpus, in its order."""
