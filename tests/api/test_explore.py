"""qkv.trace and qkv.explore: values by name, a picture in notebooks, and a page that can be closed."""

import inspect
import re
import sys
import types
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from explorable import SENTENCE, random_recurrent, random_translator

import qkv
from qkv.cli.explore import Explore
from qkv.cli.fields import option_fields

MODELS = Path(__file__).parents[1] / "compatibility" / "format-1"


def test_every_option_is_a_keyword_with_the_same_default() -> None:
    parameters = inspect.signature(qkv.explore).parameters
    for option in option_fields(Explore)[1:]:
        assert parameters[option.path[-1]].default == option.default


def test_a_trace_of_a_folder_and_of_an_open_model_are_equal() -> None:
    first = qkv.trace(MODELS / "translator", "one two")
    second = qkv.trace(qkv.load(MODELS / "translator"), "one two")
    assert list(first) == first.names == list(second.keys())
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert dict(first).keys() == first.keys()
    assert "nothing" not in first


@pytest.mark.parametrize("make", [random_translator, random_recurrent])
def test_the_picture_of_a_trace_has_a_cell_for_each_weight_and_escaped_words(
    make: Callable[[], qkv.Translator],
) -> None:
    trace = qkv.trace(make(), "one <b>two</b> & three")
    shown = trace._repr_html_()
    weights = [name for name in trace if re.fullmatch(r"\w+\.0\.\w*attention\.weights", name)]
    assert shown.count("<rect") == sum(trace[name][0].size for name in weights)
    assert shown.count("<svg") == len(weights)
    assert "<b>" not in shown
    assert "&lt;b&gt;two&lt;/b&gt; &amp; three" in shown
    assert f"{len(trace)} arrays" in shown


def test_a_large_trace_has_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qkv.tracing.heat_map.MOST_CELLS", 10)
    shown = qkv.trace(random_translator(), SENTENCE)._repr_html_()
    assert "too many for a map" in shown
    assert "<svg" not in shown


def test_the_page_is_served_until_it_is_closed() -> None:
    with qkv.explore(random_translator(), SENTENCE, no_open=True, port=0) as page:
        address = page.address
        assert address is not None
        assert urllib.request.urlopen(address.split("#")[0]).status == 200
    assert page.address is None
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address.split("#")[0], timeout=5)


def test_a_port_in_use_is_replaced_unless_it_was_given() -> None:
    model = MODELS / "translator"
    with qkv.explore(model, "one", no_open=True, port=0) as first:
        assert first.address is not None
        port = int(first.address.split(":")[2].split("/")[0])
        with pytest.raises(qkv.QkvError, match="cannot listen"):
            qkv.explore(model, "one", no_open=True, port=port)
        with qkv.explore(model, "one", no_open=True) as second:
            assert second.address != first.address


def test_a_notebook_gets_the_page_in_a_frame_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    page = qkv.explore(MODELS / "translator", "one two")
    assert page.address is None
    shown = page._repr_html_()
    assert re.fullmatch(r'<iframe srcdoc="[^"]*" sandbox="allow-scripts"[^<>]*></iframe>', shown)
    page.close()
    assert "closed" in page._repr_html_()
    with pytest.raises(qkv.QkvError, match="this explorer is closed"):
        page.serve()


def test_files_and_heat_maps_are_those_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from commands import code_of

    for model in (MODELS / "translator", qkv.load(MODELS / "translator")):
        assert qkv.explore(model, "one two", html=tmp_path / "own.html", overwrite=True) is None
        assert qkv.explore(model, "one two", terminal=True) is None
        shown = capsys.readouterr().out
        written = ["--html", tmp_path / "a.html", "--overwrite"]
        assert code_of("explore", MODELS / "translator", "--text", "one two", *written) == 0
        assert (tmp_path / "own.html").read_bytes() == (tmp_path / "a.html").read_bytes()
        capsys.readouterr()
        assert code_of("explore", MODELS / "translator", "--text", "one two", "--terminal") == 0
        assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: qkv.trace(MODELS / "translator", None), "text is None; expected str."),
        (lambda: qkv.trace(None, "one"), "the model is None; expected a folder"),
        (lambda: qkv.trace(MODELS / "dalle", "one"), "a model of kind 'dalle' cannot be traced."),
        (lambda: qkv.explore(MODELS / "dalle"), "a model of kind 'dalle' cannot be traced."),
        (lambda: qkv.explore(MODELS / "translator", " "), "`text` is empty"),
        (lambda: qkv.explore(MODELS / "translator", port=-1), "port must be from 0 to 65535."),
        (lambda: qkv.explore(MODELS / "translator", html="a.html", png="a.png"), "`html`, `png` and `terminal` cannot be combined"),
        (lambda: qkv.explore(MODELS / "translator", terminal=True, station=3), "`station` must be 8, 15 or 16."),
    ],
)  # fmt: skip
def test_a_mistake_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(qkv.QkvError) as raised:
        call()
    assert message in str(raised.value)
