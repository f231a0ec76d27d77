"""Whatever stands in the files of a published model, it is opened with the same outputs, or refused with a sentence."""

import copy
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from published import write_bert, write_gpt1, write_gpt2, write_marian, write_vit
from safetensors.torch import load_file, save_file
from transformers import BertForSequenceClassification, BertModel

from qkv import load
from qkv.errors import DataError, ModelError, QkvError
from qkv.hub.exporting import export_to_transformers
from qkv.hub.importing import import_model

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses:UserWarning")
KINDS: dict[str, Callable[[Path], Any]] = {
    "marian": lambda folder: write_marian(folder, ("fra",)),
    "gpt2": write_gpt2,
    "openai-gpt": write_gpt1,
    "bert": lambda folder: write_bert(folder, BertModel),
    "classes": lambda folder: write_bert(folder, BertForSequenceClassification, num_labels=1),
    "vit": write_vit,
}
USES: dict[str, Callable[[Any], Any]] = {
    "marian": lambda model: model.translate("the dog", beam=1),
    "gpt2": lambda model: model.generate("the dog"),
    "openai-gpt": lambda model: model.generate("the dog"),
    "bert": lambda model: model.embed(["the dog"]),
    "classes": lambda model: model.classify([("the dog",) * (2 if model._defaults.pairs else 1)]),
    "vit": lambda model: model._probabilities(np.zeros((1, 3, 12, 12), dtype=np.uint8)),
}
BAD = [
    None, True, False, [], {}, [[]], [None, "x"], {"x": 1}, "", "x", "\ud800", "../x", -1, 0, 1, 2, 3, 10**7, 2**31, 2**70,
    10**400, -(2**63), 0.5, 1.5, -1e308, float("nan"), float("inf"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """As others publish them; and each once more as we write it, with notes and the files of sentence-transformers."""
    found = {}
    for name, write in KINDS.items():
        place = tmp_path_factory.mktemp(name)
        write(place / "theirs")
        import_model(place / "theirs", place / "bundle", origin="here")
        export_to_transformers(place / "bundle", place / "ours")
        found[name] = place
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of everything in a JSON value; of long lists and vocabularies the first."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in list(inside)[:40]:
        yield (*path, key)
        yield from places(each, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any, remove: bool) -> Any:
    value = copy.deepcopy(value)
    inside = value
    for key in path[:-1]:
        inside = inside[key]
    if remove:
        del inside[path[-1]]
    else:
        inside[path[-1]] = new
    return value


def refused_or_the_same(name: str, folder: Path, *, by_transformers: bool) -> str | None:
    """The error message, in which case nothing is written. What is written can be used, or says why not."""
    out = folder.parent / "out"
    with pytest.MonkeyPatch.context() as patch:
        if not by_transformers:
            patch.setattr("qkv.hub.proof.has_transformers", lambda: False)
        try:
            found = import_model(folder, out, origin="here")
        except (DataError, ModelError) as error:  # which exit with 3
            assert [each.name for each in folder.parent.iterdir()] == [folder.name]
            return str(error)
    assert found.proof is None or found.proof.difference < 1e-3
    try:
        USES[name](load(out))
    except QkvError as error:
        return str(error)
    return None


def holds_with_one_value_changed(name: str, published: Path, data: st.DataObject) -> bool:
    """A refusal is a sentence; everything else that may go wrong is raised."""
    written_by = data.draw(st.sampled_from(["theirs", "ours"]))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "published"
        shutil.copytree(published / written_by, folder)
        files = sorted(each for each in folder.rglob("*.json"))
        file = data.draw(st.sampled_from(files), label="file")
        value = json.loads(file.read_text(encoding="utf-8"))
        path = data.draw(st.sampled_from([(), *places(value)]), label="place")
        new = data.draw(st.sampled_from(BAD), label="value")
        remove = data.draw(st.booleans())
        value = changed(value, path, new, remove) if path else new
        file.write_text(json.dumps(value), encoding="utf-8")
        compare = data.draw(st.integers(0, 5)) == 0  # transformers takes its time
        said = refused_or_the_same(name, folder, by_transformers=compare)
        return said is None or said.endswith((".", "?"))


def tried(times: int) -> Any:
    health = list(HealthCheck)
    return settings(max_examples=times, deadline=None, derandomize=True, suppress_health_check=health)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
@tried(20)
def test_a_changed_value_in_any_file_is_an_error_or_changes_nothing(
    name: str, folders: dict[str, Path], data: st.DataObject
) -> None:
    assert holds_with_one_value_changed(name, folders[name], data)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
@tried(300)
def test_many_changed_values_are_errors_or_change_nothing(
    name: str, folders: dict[str, Path], data: st.DataObject
) -> None:
    assert holds_with_one_value_changed(name, folders[name], data)


@pytest.mark.parametrize("name", KINDS)
def test_a_weight_of_any_other_shape_is_named(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "published"
    shutil.copytree(folders[name] / "theirs", folder)
    weights = load_file(folder / "model.safetensors")
    chance = random.Random(1)
    special = [
        each for each in weights if any(part in each for part in ("c_attn", "classifier", "embeddings"))
    ]
    for weight in {*special, *chance.sample(sorted(weights), 2)}:
        for other in (torch.tensor(0.5), torch.zeros(0), torch.zeros(5), torch.zeros(2, 1, 1, 1, 3)):
            save_file({**weights, weight: other}, folder / "model.safetensors", metadata={"format": "pt"})
            said = refused_or_the_same(name, folder, by_transformers=False)
            assert said is not None, (weight, other.shape)


def test_damaged_bytes_of_a_sentencepiece_model_are_an_error_or_change_nothing(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "published"
    shutil.copytree(folders["marian"] / "theirs", folder)
    whole, chance = (folder / "source.spm").read_bytes(), random.Random(2)
    said = []
    for round_ in range(8):
        content = bytearray(whole if round_ % 3 else whole[: chance.randrange(len(whole))])
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        (folder / "source.spm").write_bytes(content)
        said.append(refused_or_the_same("marian", folder, by_transformers=False))
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    assert all(said[::3]), "what has lost its end is refused each time"


def fingerprint_of(folder: Path, new: Any) -> None:
    notes = json.loads((folder / "qkv.json").read_text())
    (folder / "qkv.json").write_text(json.dumps({**notes, "fingerprint": new}))


@pytest.mark.parametrize("new", [{}, {"logits": []}, {"logits": [10**400]}, {"logits": {}}, {"logits": "x"}])
def test_an_empty_fingerprint_is_not_accepted_as_proof(
    new: Any, folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "published"
    shutil.copytree(folders["gpt2"] / "ours", folder)
    fingerprint_of(folder, new)
    said = refused_or_the_same("gpt2", folder, by_transformers=False)
    assert said is not None
    assert "fingerprint" in said


def test_a_target_language_is_rejected_for_other_models_than_translators(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(QkvError, match="is not a translator: it has no target language"):
        import_model(folders["gpt2"] / "theirs", tmp_path / "out", origin="here", language="fra")
    assert not (tmp_path / "out").exists()
