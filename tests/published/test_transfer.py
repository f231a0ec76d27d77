"""Downloads: resumed, bounded, verified, and complete or absent."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest
from publisher_stand_in import StandIn, serving

from qkv.errors import ModelError
from qkv.published.transfer import Remote, UnreachableError, download

CONTENT = Random(1).randbytes(100_000)
OTHER = Random(2).randbytes(100_000)


@pytest.fixture
def server() -> Iterator[StandIn]:
    with serving(StandIn(files={"model": CONTENT})) as made:
        yield made


def remote(server: StandIn, path: str = "model", known: bool = True) -> Remote:
    facts = {"size": len(CONTENT), "sha256": sha256(CONTENT).hexdigest()} if known else {}
    return Remote(
        address=server.address + path,
        hosts=frozenset((server.address.split("/")[2],)),
        scheme="http",
        **facts,
    )


@pytest.mark.parametrize("known", [True, False])
def test_an_interrupted_download_resumes_where_it_was(server: StandIn, tmp_path: Path, known: bool) -> None:
    server.cut = 30_000
    assert download(remote(server, known=known), tmp_path / "model") == sha256(CONTENT).hexdigest()
    assert [wanted for _, wanted in server.requests] == ["", "bytes=30000-", "bytes=60000-", "bytes=90000-"]
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_a_download_in_tiny_pieces_is_complete(server: StandIn, tmp_path: Path) -> None:
    server.piece = 97
    download(remote(server), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == CONTENT


def test_what_arrived_is_kept_for_the_next_call(server: StandIn, tmp_path: Path) -> None:
    server.files["model"], server.says_length = CONTENT[:40_000], True
    with pytest.raises(ModelError, match="has 40,000 bytes instead of 100,000"):
        download(remote(server), tmp_path / "model")
    server.files["model"], server.cut = CONTENT, 40_000
    server.knows_ranges = False  # it sends the same part again and again
    with pytest.raises(ModelError, match=r"was interrupted .* 40,000 bytes are kept"):
        download(remote(server), tmp_path / "model")
    server.cut, server.knows_ranges = None, True
    server.requests.clear()
    download(remote(server), tmp_path / "model")
    assert [wanted for _, wanted in server.requests] == ["bytes=40000-"]
    assert (tmp_path / "model").read_bytes() == CONTENT


@pytest.mark.parametrize("version", ["two", ""])
def test_two_versions_of_a_file_are_never_mixed(server: StandIn, tmp_path: Path, version: str) -> None:
    """Also if the server has no versions, and nobody knows the hash."""
    server.cut, server.knows_ranges, server.version = 40_000, False, "one" if version else ""
    with pytest.raises(ModelError, match="interrupted"):
        download(remote(server, known=False), tmp_path / "model")
    server.files["model"], server.cut, server.knows_ranges, server.version = OTHER, None, True, version
    assert download(remote(server, known=False), tmp_path / "model") == sha256(OTHER).hexdigest()


def test_a_damaged_file_is_rejected_and_a_damaged_part_is_replaced(server: StandIn, tmp_path: Path) -> None:
    (tmp_path / "model.part").write_bytes(b"?" * 50_000)
    download(remote(server), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == CONTENT
    server.files["model"] = OTHER
    with pytest.raises(ModelError, match="is damaged or was changed: its sha256 is"):
        download(remote(server), tmp_path / "again")
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_a_server_cannot_fill_the_disk(server: StandIn, tmp_path: Path) -> None:
    server.files["model"], server.says_length = CONTENT + OTHER, False
    with pytest.raises(ModelError, match="sends more bytes than it should"):
        download(remote(server), tmp_path / "model")
    assert (tmp_path / "model.part").stat().st_size <= len(CONTENT)
    server.says_length = True
    with pytest.raises(ModelError, match="has 200,000 bytes instead of 100,000: it was changed"):
        download(remote(server), tmp_path / "other")


def test_redirects_stay_with_the_publisher(server: StandIn, tmp_path: Path) -> None:
    server.redirects = {"there": f"{server.address}model", "loop": f"{server.address}loop"}
    download(remote(server, "there"), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == CONTENT
    with pytest.raises(UnreachableError, match="302"):
        download(remote(server, "loop"), tmp_path / "loop")
    host = server.address.split("/")[2]
    for elsewhere in (
        "http://127.0.0.1:1/model",
        f"https://{host}/model",
        f"ftp://{host}/model",
        f"http://{host}@x.example/",
    ):
        server.redirects = {"out": elsewhere}
        with pytest.raises(ModelError, match="which is not of this publisher"):
            download(remote(server, "out"), tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_a_missing_file_and_a_missing_server_are_told_apart(server: StandIn, tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="the server answers 404"):
        download(remote(server, "missing"), tmp_path / "model")
    with pytest.raises(UnreachableError, match="cannot be reached"):
        download(replace(remote(server), address="http://127.0.0.1:1/model"), tmp_path / "model")
