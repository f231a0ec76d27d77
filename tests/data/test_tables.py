"""Pairs and texts are the same from every format, and a damaged file is an error message."""

import json
from pathlib import Path

import pytest

from qkv.data.documents import read_documents
from qkv.data.parallel import read_pairs
from qkv.data.patterns import all_matching
from qkv.errors import DataError

PAIRS = [("one", "eins"), ("a\nbreak", "ein\r\nUmbruch"), ("", "leer"), ("naïve 文", "naiv 文")]
READ = [("one", "eins"), ("a break", "ein Umbruch"), ("", "leer"), ("naïve 文", "naiv 文")]


def pairs_in(path: Path) -> list[tuple[str, str]]:
    pairs = read_pairs(path, source_language="en", target_language="de")
    return list(zip(pairs.source, pairs.target, strict=True))


def test_parquet_and_arrow_files_are_read_as_jsonl_files(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    columns = {"source": [one for one, _ in PAIRS], "target": [two for _, two in PAIRS], "id": [1, 2, 3, 4]}
    languages = {"en": columns["source"], "de": columns["target"]}
    nested = {"translation": [dict(zip(languages, pair, strict=True)) for pair in PAIRS]}
    for number, content in enumerate((columns, languages, nested)):
        table = pyarrow.table(content)
        path = tmp_path / f"{number}.parquet"
        parquet.write_table(table, path)
        assert pairs_in(path) == READ
        for make in (ipc.new_file, ipc.new_stream):
            with make(tmp_path / "x.arrow", table.schema) as writer:
                writer.write_table(table, max_chunksize=3)
            assert pairs_in(tmp_path / "x.arrow") == READ
    parquet.write_table(pyarrow.table({"text": ["a\nb", "c"]}), tmp_path / "text.parquet")
    assert read_documents([tmp_path / "text.parquet"]).texts == ["a\nb", "c"]
    for name in ("0.parquet", "x.arrow"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 3])
        with pytest.raises(DataError, match="damaged"):
            pairs_in(tmp_path / name)
    with pytest.raises(DataError, match="there is no file"):
        pairs_in(tmp_path / "absent.parquet")


def test_zstd_files_are_read_as_plain_files(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")

    def compress(content: bytes) -> bytes:
        return pyarrow.Codec("zstd").compress(content, asbytes=True)

    lines = "".join(json.dumps({"source": one, "target": two}) + "\n" for one, two in PAIRS).encode()
    path = tmp_path / "pairs.jsonl.zst"
    frames = [compress(part) for part in (lines[:40], lines[40:])]
    path.write_bytes(b"".join(frames))
    assert pairs_in(path) == READ
    for content in (b"no zstd", path.read_bytes()[:-9], frames[0] + b"rest"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="damaged zstd"):
            pairs_in(path)


def test_a_pattern_stands_for_all_files_that_it_matches(tmp_path: Path) -> None:
    for name in ("b.tsv", "a.tsv", "c.txt", "d[1].tsv"):
        (tmp_path / name).touch()
    names = [path.name for path in all_matching([tmp_path / "?.tsv", tmp_path / "d[1].tsv"])]
    assert names == ["a.tsv", "b.tsv", "d[1].tsv"]
    with pytest.raises(DataError, match="no file matches"):
        all_matching([tmp_path / "*.jsonl"])
