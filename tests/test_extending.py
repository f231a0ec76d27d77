"""A family of another package, as docs/extending.md shows it, works without a change to qkv."""

import os
import re
import subprocess
import sys
from pathlib import Path

import forked
import pytest

from qkv.runtime.model import FOR_FAMILIES

PAGE = (Path(__file__).parent.parent / "docs" / "extending.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The family of the page, installed: its module, and the metadata that names its entry point."""
    folder = tmp_path_factory.mktemp("package")
    [code] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    [entry] = re.findall(r"```toml\n.*?\n(.*?)```", PAGE, flags=re.DOTALL)
    (folder / "book.txt").write_text("abcabcabd" * 30)
    return install(folder, "bigram", code, entry.replace('"', ""))


def install(folder: Path, name: str, code: str, entry: str) -> Path:
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[qkv.families]\n{entry}")
    return folder


def run(package: Path, *arguments: str) -> forked.Ended:
    paths = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    return forked.run(*arguments, environment={"PYTHONPATH": paths}, folder=package)


def test_a_family_of_another_package_trains_saves_loads_and_runs(package: Path) -> None:
    trained = run(
        package, "train", "bigram", "--text", "book.txt", "--output", "out", "--learning-rate", "0.2"
    )
    assert trained.returncode == 0, trained.stderr
    assert run(package, "next", "out", "b").stdout == "c\n"
    assert "bigram, a model of characters" in run(package, "info", "out").stdout
    resumed = run(package, "train", "bigram", "--resume", "--output", "out")
    assert resumed.returncode == 0, resumed.stderr
    assert "complete" in resumed.stderr


def test_a_family_of_another_package_is_trained_from_python(package: Path) -> None:
    paths = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    program = (
        "import qkv; model = qkv.train('bigram', text='book.txt', output='python', learning_rate=0.2, progress=False); "
        "print(type(model).__name__, model.info()['kind'])"
    )
    given = [sys.executable, "-c", program]
    ended = subprocess.run(
        given,
        capture_output=True,
        text=True,
        cwd=package,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    assert ended.stdout == "Bigram bigram, a model of characters\n", ended.stderr


def test_the_help_lists_families_of_other_packages(package: Path) -> None:
    shown = run(package, "--help").stdout
    assert "qkv train bigram" in shown
    assert "qkv next" in shown
    assert "--text" in run(package, "train", "bigram", "--help").stdout


CLAIM = """
from qkv.families.family import BundleKind, Command, Family

FAMILY = Family(
    name="claim",
    bundles=(BundleKind(name="claimed", product="claim:nothing", commands=()),),
    commands=(Command(name="harmless", summary="claimed", run="claim:run"), {other}),
)
"""


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import no_such_module", "ModuleNotFoundError"),
        ("FAMILY = 5", "claim:FAMILY is not a Family"),
        (CLAIM.format(other='Command(name="translate", summary="claimed", run="claim:run")'), "the command translate"),
        (CLAIM.format(other='Command(name="info", summary="claimed", run="claim:run")'), "the command info"),
        (CLAIM.replace('"claimed", product', '"gpt", product').format(other=""), "the bundle kind gpt"),
    ],
)  # fmt: skip
def test_a_package_that_does_not_work_is_left_out_with_one_warning(
    code: str, problem: str, tmp_path: Path
) -> None:
    shown = run(install(tmp_path, "claim", code, "claim = claim:FAMILY"), "--help")
    assert shown.returncode == 0, shown.stderr
    assert "qkv translate" in shown.stdout
    assert "claimed" not in shown.stdout
    assert shown.stderr.count("claim ") == 1
    assert problem in shown.stderr
    assert "Traceback" not in shown.stderr


def test_the_example_implements_only_public_names() -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    implemented = set(re.findall(r"def (\w+)", code)) - {"__init__"}
    assert not [name for name in implemented if name.startswith("_")]
    assert implemented >= FOR_FAMILIES


def test_the_example_is_as_short_as_the_page_says() -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    lines = [line for line in code.splitlines() if line.strip() and not line.startswith(("from ", "import "))]
    assert len(lines) <= 60
