"""The options of evaluating a text classifier, each stated once."""

from dataclasses import dataclass

from qkv.flags import OptionalFile, OrData


@dataclass(frozen=True, kw_only=True)
class LabelEvaluation:
    """How a text classifier is evaluated. In Python, labeled texts can be rows, or two lists."""

    labels: OrData[OptionalFile] = None
    """File of labeled texts."""
    columns: str = ""
    """Columns of the labeled texts: text,label or text,second,label, by name or by number from 1."""
