"""What all tests share.

Every test uses one thread: small matrices gain nothing from more, and busy cores make two much slower.

Hypothesis tries the same examples every time, so that a result depends on the change alone. `make test-all` looks for
new ones (--hypothesis-profile search). A slow machine makes no test fail. Hypothesis draws from the constants of all
modules that are imported. So all are imported here, whichever test comes first.
"""

import importlib
import os
import pkgutil
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from commands import save_untrained
from digits import digit_lines
from distillation_runs import train_models
from hypothesis import HealthCheck, settings

import qkv
from qkv.engine.int16 import Int16
from qkv.engine.library import NoEngineError
from qkv.pictures import learning_curve_picture

torch.set_num_threads(1)

settings.register_profile(
    "search",
    settings.get_profile("default"),
    derandomize=False,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("steady", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("steady")

for module in pkgutil.walk_packages(qkv.__path__, "qkv."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)


TESTS = Path(__file__).parent
SLOWEST_FILES = (  # roughly in order
    "families/translator/commands/test_train.py",
    "training/test_torchrun.py",
    "training/test_distributed.py",
    "learning/test_learns.py",
    "faults/test_every_kind.py",
    "examples/test_notebooks.py",
    "hub/test_minilm_round_trip.py",
    "faults/test_runs.py",
    "faults/test_kills.py",
    "benchmarks/test_multi30k.py",
    "benchmarks/test_training.py",
    "hub/test_download.py",
    "test_readme.py",
    "hub/test_hostile_folders.py",
    "hub/test_minilm.py",
    "families/translator/commands/test_recurrent.py",
    "hub/test_uses_of_imports.py",
    "families/gpt/commands/test_fine_tune.py",
    "data/test_sentences.py",
    "evaluation/test_significance.py",
    "test_docs_pictures.py",
    "faults/test_tampered_bundles.py",
    "test_extending.py",
    "families/translator/commands/test_demo.py",
    "engine/test_library.py",
    "training/test_extension.py",
    "learning/test_language_models.py",
)
assert all((TESTS / path).is_file() for path in SLOWEST_FILES)

BLANK_PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest files first: two processes then end at about the same time."""
    place = {path: n for n, path in enumerate(SLOWEST_FILES)}
    items.sort(key=lambda item: place.get(item.path.relative_to(TESTS).as_posix(), len(place)))


@pytest.fixture(scope="session", autouse=True)
def blank_learning_curves() -> Iterator[None]:
    """Drawing takes as long as the training of a tiny model. Tests of the plot use `real_learning_curves`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qkv.pictures.learning_curve_picture", lambda path, _: path.write_bytes(BLANK_PNG))
        yield


@pytest.fixture
def real_learning_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qkv.pictures.learning_curve_picture", learning_curve_picture)


@pytest.fixture
def int16() -> Int16:
    """Products in 16 bits, where this machine has them."""
    try:
        return Int16()
    except NoEngineError as error:
        pytest.skip(f"no products in 16 bits here: {error}")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "untrained"
    save_untrained(folder, digit_lines(50), beam=1, length_penalty=1.0)
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with good files and bad ones."""
    lines = "\n".join(digit_lines(60)) + "\n"
    (tmp_path / "a.en").write_text(lines)
    (tmp_path / "a.xx").write_text(lines)
    (tmp_path / "shorter.xx").write_text("one\ntwo\n")
    (tmp_path / "empty.xx").write_text("")
    (tmp_path / "latin1.xx").write_bytes("Größe\n".encode("latin1"))
    return tmp_path


@pytest.fixture(scope="session")
def distillation_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the translators one, two (the same vocabulary), other (another one) and reverse, and pairs.tsv."""
    folder = tmp_path_factory.mktemp("distillation")
    train_models(folder)
    return folder
