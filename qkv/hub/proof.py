"""Check that a model computes the same in qkv and elsewhere: compare outputs for a few fixed inputs."""

import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from qkv.errors import DataError
from qkv.hub.folder import Published
from qkv.hub.mapping import NOTES, HubMapping
from qkv.hub.tokenizer_settings import LINES

TOLERANCE = 1e-4  # of a logit in float32; relative to the largest logit if that exceeds 1
SHOWN = 64  # numbers of each output in a fingerprint


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The largest difference between outputs."""

    difference: float
    against: str
    translations: int = 0
    """Instead of outputs, so many greedy translations were compared, and all were the same."""

    def sentence(self) -> str:
        if self.translations:
            return (
                f"{self.translations} greedy translations in float32 are the same as those of {self.against}"
            )
        return f"largest output difference from {self.against}: {self.difference:.1e}"


def has_transformers() -> bool:
    return importlib.util.find_spec("transformers") is not None


@torch.inference_mode()
def prove(mapping: HubMapping, product: Any, published: Published) -> Proof | None:
    """Compare with transformers if it is installed, else with a fingerprint in the folder; None if there is neither."""
    inputs = mapping.probe(product)
    ours = mapping.compute(product, inputs)
    fingerprint = published.json(NOTES).get("fingerprint")
    if has_transformers():
        theirs, against = compute_with_transformers(mapping, product, published.folder, inputs)
        check_tokenizer(mapping, product, published)
    elif isinstance(fingerprint, dict):
        ours, theirs = sample_outputs(ours), read_fingerprint(fingerprint, published.where)
        against = "the fingerprint that came with it"
    else:
        return None
    return compare(ours, theirs, against, published.where)


def check_tokenizer(mapping: HubMapping, product: Any, published: Published) -> None:
    """Check that lines of mixed scripts have the same ids in transformers' tokenizer, if it can open one."""
    ours = {line: mapping.encode(product, line) for line in LINES}
    theirs = {} if None in ours.values() else encode_with_transformers(published.folder)
    for line, ids in theirs.items():
        if ids != ours[line]:
            raise DataError(
                f"{published.where}: the tokenizer of transformers splits '{line.strip()}' into other tokens than qkv. "
                "Nothing was written."
            )


def encode_with_transformers(folder: Path) -> dict[str, list[int]]:
    """The ids of each line; none if transformers cannot open the tokenizer."""
    import transformers

    kind: Any = transformers.AutoTokenizer
    with quiet():
        try:
            tokenizer = kind.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
            return {line: tokenizer(line, add_special_tokens=False)["input_ids"] for line in LINES}
        except Exception:  # transformers can raise anything
            return {}


def compare(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor], against: str, where: str) -> Proof:
    worst = 0.0
    for name, tensor in ours.items():
        other = theirs.get(name)
        if (
            other is None
            or other.shape != tensor.shape
            or not bool((tensor.isfinite() & other.isfinite()).all())
        ):
            raise DataError(
                f"{where}: the {name} differ in shape from those of {against}, or are not finite. Nothing was written."
            )
        difference = float((tensor - other).abs().max())
        allowed = tolerance_for(other)
        if not difference <= allowed:
            raise DataError(
                f"{where}: the {name} differ by up to {difference:.1e} from those of {against}, but only {allowed:.1e} is "
                "allowed. Nothing was written."
            )
        worst = max(worst, difference)
    return Proof(difference=worst, against=against)


def tolerance_for(tensor: Tensor) -> float:
    """The largest difference that float32 rounding explains, relative to the size of the numbers."""
    return TOLERANCE * max(1.0, float(tensor.abs().max()))


def compute_with_transformers(
    mapping: HubMapping, product: Any, folder: Path, inputs: Mapping[str, Tensor]
) -> tuple[dict[str, Tensor], str]:
    import transformers

    name, wanted = mapping.their_class(product), mapping.compute(product, inputs)
    with quiet():
        model = open_with_transformers(folder, name)
        try:
            output = model(**inputs)
        except Exception as error:  # any failure means that it does not compute the same
            raise DataError(
                f"{folder}: transformers cannot compute it as {name} ({first_line(error)})."
            ) from None
    return {name: getattr(output, name) for name in wanted}, f"transformers {transformers.__version__}"


def open_with_transformers(folder: Path, name: str) -> Any:
    """Open it in float32, from local files only and without running code from the folder."""
    import transformers

    kind: Any = getattr(transformers, name)
    try:
        model = kind.from_pretrained(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            dtype=torch.float32,
            attn_implementation="eager",  # a config could name a kernel to download and run
        )
    except Exception as error:
        raise DataError(f"{folder}: transformers cannot open it as {name} ({first_line(error)}).") from None
    return model.eval()


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' progress bars and warnings."""
    from transformers.utils import logging

    theirs: Any = logging

    level, bars = theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    theirs.set_verbosity_error()
    theirs.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        theirs.set_verbosity(level)
        if bars:
            theirs.enable_progress_bar()


# Fingerprints ----------------------------------------------------------------------------------------------------


@torch.inference_mode()
def fingerprint(mapping: HubMapping, product: Any) -> dict[str, list[float]]:
    """A few numbers of every output, to compare with another computation of the same model."""
    found = sample_outputs(mapping.compute(product, mapping.probe(product)))
    return {name: [float(f"{number:.7g}") for number in tensor.tolist()] for name, tensor in found.items()}


def sample_outputs(outputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Numbers spread over each output."""
    flat = {name: tensor.flatten() for name, tensor in outputs.items()}
    return {name: each[torch.linspace(0, len(each) - 1, SHOWN).long()] for name, each in flat.items()}


def read_fingerprint(stored: Mapping[str, Any], where: str) -> dict[str, Tensor]:
    try:
        return {name: torch.tensor(numbers, dtype=torch.float32) for name, numbers in stored.items()}
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise DataError(f"{where}/{NOTES}: its fingerprint cannot be read ({error}).") from None
