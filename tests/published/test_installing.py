"""A published translator is installed once, complete, and only from verified files."""

import gzip
import io
import json
import multiprocessing
import zipfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from publisher_stand_in import StandIn, serving

from qkv.errors import DataError, InputError, ModelError
from qkv.published.installing import Ways, install
from qkv.published.listing import Listed, listing
from qkv.published.store import Place

MODEL = b"weights " * 5_000


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.setenv("QKV_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("QKV_MODELS", raising=False)
    with serving(
        StandIn(files={"a.argosmodel": MODEL, "b.zip": archive(), "c.bin.gz": gzip.compress(MODEL)})
    ) as made:
        yield made


def archive(names: tuple[str, ...] = ("en-de/model.npz", "en-de/source.spm")) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as made:
        for name in names:
            made.writestr(name, MODEL)
    return content.getvalue()


def ways(importer: object = None) -> Ways:
    return Ways(
        importer=importer or keep,  # type: ignore[arg-type]
        say=lambda sentence: None,
        progress=lambda name, size, before: nullcontext(lambda count: None),
    )


def keep(found: Path, bundle: Path, origin: str) -> None:
    """Stands for the import: the names and sizes of what it is given."""
    files = [found] if found.is_file() else sorted(found.iterdir())
    bundle.mkdir()
    (bundle / "config.json").write_text(json.dumps({each.name: each.stat().st_size for each in files}))


def content(bundle: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((bundle / "config.json").read_text())
    return found


@pytest.mark.parametrize(
    ("paths", "imported"),
    [
        (["a.argosmodel"], {"a.argosmodel": len(MODEL)}),
        (["b.zip"], {"model.npz": len(MODEL), "source.spm": len(MODEL)}),
        (["c.bin.gz"], {"c.bin": len(MODEL)}),
    ],
)
def test_each_publishers_files_reach_the_import(
    server: StandIn, paths: list[str], imported: dict[str, int]
) -> None:
    """Argos packages as they are, OPUS-MT's archives without folders, Firefox's files unpacked; then never again."""
    listed = server.listed(*paths)
    bundle = install(listed, ways())
    assert content(bundle) == imported
    assert install(listed, ways()) == bundle
    assert len(server.requests) == len(paths)
    assert sorted(each.name for each in Place(listed=listed).folder.iterdir()) == [
        "hashes.json",
        "lock",
        "model",
    ]


def test_the_first_download_records_the_hash(server: StandIn) -> None:
    listed = server.listed("a.argosmodel", hashes=False)
    place = Place(listed=listed)
    assert not place.verified
    bundle = install(listed, ways())
    assert place.verified
    assert place.recorded() == {"a.argosmodel": sha256(MODEL).hexdigest()}
    (bundle / "config.json").unlink()
    bundle.rmdir()
    server.files["a.argosmodel"] = MODEL + b"!"
    with pytest.raises(ModelError, match="is damaged or was changed"):
        install(listed, ways())
    assert not place.installed


def test_a_failed_import_leaves_no_model_and_no_hash(server: StandIn) -> None:
    """What a captive portal sent is not remembered as the model. Without torch, the download is not repeated."""

    def fails(found: Path, bundle: Path, origin: str) -> None:
        raise DataError("this is not a package.")

    def has_no_torch(found: Path, bundle: Path, origin: str) -> None:
        raise ImportError

    listed = server.listed("a.argosmodel", hashes=False)
    with pytest.raises(ModelError, match="not a package"):
        install(listed, ways(fails))
    assert [each.name for each in Place(listed=listed).folder.iterdir()] == ["lock"]
    with pytest.raises(ImportError):
        install(listed, ways(has_no_torch))
    install(listed, ways())
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("name", "hostile", "message"),
    [
        ("b.zip", archive(("../model.npz",)), "outside of its own folder"),
        ("b.zip", archive(("/etc/model.npz",)), "outside of its own folder"),
        ("b.zip", archive(("a/model.npz", "b/model.npz")), "two files of the same name"),
        ("b.zip", archive()[:-30], "not a complete archive"),
        ("c.bin.gz", gzip.compress(bytes(40 << 20)), "unpacks to more bytes"),
        ("c.bin.gz", gzip.compress(MODEL)[:-9], "not a complete .gz file"),
    ],
    ids=[
        "outside",
        "absolute",
        "same name",
        "half an archive",
        "a bomb",
        "half a file",
    ],  # their bytes hold the time
)
def test_hostile_archives_are_rejected(
    server: StandIn, tmp_path: Path, name: str, hostile: bytes, message: str
) -> None:
    server.files[name] = hostile
    with pytest.raises((ModelError, DataError), match=message):
        install(server.listed(name), ways())
    assert {each.name for each in tmp_path.iterdir()} == {"cache"}
    assert not (tmp_path / "cache" / "published" / "argos" / "tiny--ende" / "model").exists()


def install_with_others(listed: Listed) -> None:
    install(listed, ways())


def test_two_processes_download_once(server: StandIn) -> None:
    listed = server.listed("a.argosmodel", "b.zip")
    start = multiprocessing.get_context("fork").Process
    processes = [start(target=install_with_others, args=(listed,)) for _ in range(3)]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    assert [each.exitcode for each in processes] == [0, 0, 0]
    assert sorted(path for path, _ in server.requests) == ["a.argosmodel", "b.zip"]


def test_a_mirror_replaces_the_publisher(
    server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a network: the error says what to copy where, and following it works."""
    listed = server.listed("a.argosmodel")
    unreachable = replace(listed.publisher, address="http://127.0.0.1:1/")
    listed = replace(listed, publisher=unreachable)
    with pytest.raises(ModelError) as error:
        install(listed, ways())
    advice = "copy the file to FOLDER/argos/a.argosmodel and set QKV_MODELS=FOLDER."
    assert str(error.value).endswith(advice)
    monkeypatch.setenv("QKV_MODELS", str(tmp_path / "folder"))
    with pytest.raises(ModelError, match=r"folder/argos/a\.argosmodel, and QKV_MODELS names .*copy http"):
        install(listed, ways())
    (tmp_path / "folder" / "argos").mkdir(parents=True)
    (tmp_path / "folder" / "argos" / "a.argosmodel").write_bytes(b"damaged")
    with pytest.raises(ModelError, match="is damaged or was changed"):
        install(listed, ways())
    (tmp_path / "folder" / "argos" / "a.argosmodel").write_bytes(MODEL)
    assert content(install(listed, ways())) == {"a.argosmodel": len(MODEL)}
    server.files["argos/b.zip"] = server.files["b.zip"]
    monkeypatch.setenv("QKV_MODELS", server.address)
    install(replace(server.listed("b.zip"), name="other", publisher=unreachable), ways())
    assert server.requests == [("argos/b.zip", "")]
    monkeypatch.setenv("QKV_MODELS", "ftp://somewhere")
    with pytest.raises(InputError, match="QKV_MODELS must be a folder or an address"):
        install(replace(listed, name="third"), ways())


def test_every_entry_of_the_list_names_its_source() -> None:
    """Nothing in it is relative, unencrypted or made up: hashes are those of Git LFS, or absent."""
    found = listing()
    assert {each.publisher.name for each in found} == {"argos", "firefox", "opus", "tatoeba"}
    assert len({(each.publisher.name, each.name) for each in found}) == len(found) > 1_800
    for each in found:
        publisher = each.publisher
        assert len(publisher.commit) == 40
        assert publisher.address.startswith("https://")
        assert each.listed
        assert publisher.address.split("/")[2] in publisher.hosts
        assert each.files
        assert all(".." not in file.path and not file.path.startswith("/") for file in each.files)
        known = [bool(file.sha256) for file in each.files] + [file.size is not None for file in each.files]
        assert set(known) == {publisher.name == "firefox"}
