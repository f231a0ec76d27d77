"""`qkv explore`: HTML files, images, heat maps, and the server."""

import re
import signal
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import code_of, process, refused
from explorable import SENTENCE, random_recurrent, save_explorable
from family_bundles import save_bert, save_gpt, save_vit

from qkv.families.loading import load
from qkv.families.tracing import trace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explore") / "model"
    save_explorable(path)
    return path


def test_the_html_file_is_self_contained(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    assert code_of("explore", folder, "--text", f"{SENTENCE} </script>", "--html", out) == 0
    html = out.read_text(encoding="utf-8")
    assert "Content-Security-Policy" in html
    assert not re.findall(r'(?:src|href)="/', html)
    assert html.count("</script>") == 2  # the text's own is no end of anything
    assert "import {" not in html


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explore") / "recurrent"
    save_explorable(path, random_recurrent)
    return path


def test_a_recurrent_model_can_be_explored(
    recurrent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    out, picture = tmp_path / "out.html", tmp_path / "out.png"
    assert code_of("explore", recurrent, "--text", SENTENCE, "--html", out) == 0
    assert "weights/cross_attention.query.weight" in out.read_text(encoding="utf-8")
    assert code_of("explore", recurrent, "--text", SENTENCE, "--png", picture, "--head", "3") == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert code_of("explore", recurrent, "--text", SENTENCE, "--terminal") == 0
    assert capsys.readouterr().out.startswith("decoder cross-attention, layer 1, head 1\n")
    code = code_of("explore", recurrent, "--text", SENTENCE, "--terminal", "--station", "15")
    shown = capsys.readouterr()
    assert "--station must be one of 1, 2, 4, 5, 6, 7, 8, 9, 10, 13, 14, 16, 18" in refused(
        shown.err, shown.out, code
    )


@pytest.mark.parametrize(("option", "name"), [("--html", "out.html"), ("--png", "out.png")])
def test_an_existing_file_is_replaced_only_with_overwrite(
    folder: Path, tmp_path: Path, option: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / name
    out.write_bytes(b"mine")
    command = ("explore", folder, "--text", SENTENCE, option, out)
    code = code_of(*command)
    shown = capsys.readouterr()
    assert f"{name} already exists" in refused(shown.err, shown.out, code)
    assert "--overwrite" in shown.err
    assert out.read_bytes() == b"mine"
    assert code_of(*command, "--overwrite") == 0
    assert len(out.read_bytes()) > 1000


@pytest.mark.parametrize("station", [1, 7, 19])
def test_a_station_can_be_written_as_an_image(folder: Path, tmp_path: Path, station: int) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "station.png"
    assert code_of("explore", folder, "--text", "one $2 two", "--png", out, "--station", str(station)) == 0
    assert out.read_bytes().startswith(b"\x89PNG")


def test_the_terminal_shows_attention(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("explore", folder, "--text", SENTENCE, "--terminal", "--layer", "2") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("decoder cross-attention, layer 2, head 1\n")
    source = load(folder).tokenizer.show(load(folder).tokenizer.encode(SENTENCE))
    assert all(piece.strip() in shown.out for piece in source)
    assert set("░▒▓█") & set(shown.out)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--station", "21", "--png", "x.png"], "--station must be one of 1, 2, "),
        (["--layer", "9", "--png", "x.png"], "--layer must be from 1 to 3"),
        (["--layer", "0", "--png", "x.png"], "--layer must be from 1 to 3"),
        (["--head", "9", "--png", "x.png"], "--head must be from 1 to 3"),
        (
            ["--side", "middle", "--station", "8", "--png", "x.png"],
            "--side must be encoder or decoder or cross",
        ),
        (["--station", "4", "--terminal"], "--station must be 8, 15 or 16"),
        (["--png", "x.png", "--html", "x.html"], "cannot be combined"),
        (["--port", "99999"], "--port must be from 0 to 65535"),
        (["--text", "!", "--png", "x.png"], "at least one letter"),
        (
            ["--host", "192.0.2.1", "--port", "0"],
            "cannot listen on 192.0.2.1: give --host an address of this machine",
        ),
        (["--text", "", "--png", "x.png"], "--text is empty"),
        (["--text", "  "], "--text is empty"),
        (["--text", "x" * 1001, "--png", "x.png"], "1,001 characters, but the limit is 1,000"),
        (["--html", "nowhere/x.html"], "there is no folder nowhere: create it, or give another --html"),
        (["--png", "."], "--png . is a folder"),
        (["--png", "cat.txt"], "--png must end in .png, but cat.txt does not"),
        (["--side", "foo"], "--side, --layer and --head need --png or --terminal"),
        (["--side", "foo", "--terminal"], "--side must be cross for this station, not 'foo'"),
    ],
)
def test_a_mistake_is_one_error_message(
    options: list[str], sentence: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    code = code_of("explore", folder, *options)
    shown = capsys.readouterr()
    assert sentence in refused(shown.err, shown.out, code)


@pytest.mark.parametrize(("host", "name"), [("127.0.0.1", "localhost"), ("127.0.0.2", "127.0.0.2")])
def test_the_page_is_served_until_it_is_stopped(folder: Path, host: str, name: str) -> None:
    running = process("explore", str(folder), "--host", host, "--port", "0", "--no-open")
    assert running.stderr is not None
    try:
        line = running.stderr.readline().decode()
        address = re.search(rf"http://{name}:\d+/", line)
        assert address, line
        for _ in range(100):
            try:
                with urllib.request.urlopen(address[0], timeout=5) as answer:
                    assert b"qkv" in answer.read()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise AssertionError("nobody answered")
    finally:
        running.send_signal(signal.SIGINT)
        out, error = running.communicate(timeout=20)
    assert out == b""
    assert b"Traceback" not in error


@pytest.mark.parametrize("save", [save_gpt, save_bert, save_vit])
def test_without_cross_attention_the_heat_map_shows_self_attention(
    save: Callable[[Path], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = save(tmp_path / "model")
    assert code_of("explore", tmp_path / "model", "--text", text, "--terminal") == 0
    assert "self-attention, layer 1, head 1\n" in capsys.readouterr().out
    code = code_of(
        "explore", tmp_path / "model", "--text", text, "--terminal", "--station", "8", "--side", "cross"
    )
    shown = capsys.readouterr()
    [own] = trace(tmp_path / "model", text).sides
    assert f"--side must be {own.name} for this station" in refused(shown.err, shown.out, code)
    assert code_of("explore", tmp_path / "model", "--text", text, "--terminal", "--station", "16") == 2
    assert "--station must be one of 1, 2, " in capsys.readouterr().err
