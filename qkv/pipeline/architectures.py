"""What a translator can be made of. Everybody else knows what all of these have in common (core/pairs.py)."""

from typing import Any

from qkv.configs import from_dict
from qkv.core.pairs import PairModel
from qkv.errors import UserError
from qkv.models.recurrent import Recurrent, RecurrentConfig
from qkv.models.translator import Translator, TranslatorConfig

ARCHITECTURES: dict[str, tuple[type[Any], type[PairModel]]] = {
    Translator.architecture: (TranslatorConfig, Translator),
    Recurrent.architecture: (RecurrentConfig, Recurrent),
}


def built(architecture: str, config: Any, where: str) -> PairModel:
    """A model with its first weights, from its configuration as a file has it."""
    if str(architecture) not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise UserError(
            f"{where}: this version of qkv knows the architectures {known}, not {architecture!r}."
        )
    kind, model = ARCHITECTURES[architecture]
    return model(from_dict(kind, config, where))
