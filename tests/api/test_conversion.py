"""qkv.import_model, qkv.export and qkv.info do what the commands do, for folders and for open models."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import code_of
from explorable import random_translator

import qkv
from qkv.cli.export_model import Export
from qkv.cli.fields import is_missing, option_fields
from qkv.cli.import_model import Import

PRESENTATION = {"json", "quiet", "verbose"}
MODELS = Path(__file__).parents[1] / "compatibility" / "format-1"


@pytest.mark.parametrize(("command", "function"), [(Import, qkv.import_model), (Export, qkv.export)])
def test_every_option_is_a_keyword_with_the_same_default(
    command: type, function: Callable[..., object]
) -> None:
    parameters = inspect.signature(function).parameters
    options = [each for each in option_fields(command) if each.name not in PRESENTATION]
    assert list(parameters) == [each.path[-1] for each in options]
    for option in options:
        found = parameters[option.path[-1]]
        assert is_missing(option.default) if found.default is found.empty else found.default == option.default


def test_an_export_says_what_was_verified_and_comes_back(model: Path, tmp_path: Path) -> None:
    report = qkv.export(qkv.load(model), "huggingface", tmp_path / "hf")
    assert report.opened_as == "PegasusForConditionalGeneration"
    assert report.difference <= 1e-4
    assert report.same == report.compared
    assert f"transformers opens {tmp_path / 'hf'} as {report.opened_as}" in str(report)
    back = qkv.import_model(tmp_path / "hf", out=tmp_path / "back")
    texts = ["one two three", "four"]
    assert back.translate(texts) == qkv.load(model).translate(texts)
    assert report.to_dict()["difference"] <= 1e-4
    assert "difference from transformers" in qkv.info(back)["compared"]


def test_a_model_in_memory_is_exported_with_test_sentences(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    translator, texts = random_translator(), ["one two", "three"]
    report = qkv.export(translator, "ctranslate2", tmp_path / "out", source=texts, target=texts)
    assert report.translations is not None
    assert report.bleu is not None
    assert report.translations[0] == report.translations[1]
    assert "greedy BLEU on 2 sentences" in str(report)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda out: qkv.export(MODELS / "gpt", "onnx", out), "to must be huggingface or ctranslate2, not 'onnx'."),
        (lambda out: qkv.export(None, "huggingface", out), "the model is None; expected a folder"),
        (lambda out: qkv.export(MODELS / "dalle", "huggingface", out), "transformers has no class"),
        (lambda out: qkv.export(MODELS / "gpt", "huggingface", out, compute_type="int8"), "`compute_type`, `source` and `target` are for CTranslate2."),
        (lambda out: qkv.export(MODELS / "translator", "ctranslate2", out, source=["a"]), "give both `source` and `target`, or neither."),
        (lambda out: qkv.export(MODELS / "translator", "ctranslate2", out, source=["a"], target=["a", "b"]), "source has 1 lines but target has 2"),
        (lambda out: qkv.import_model("no/such/model", out), "there is no folder no/such/model"),
        (lambda out: qkv.info(3), "the model is int; expected a folder"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_and_nothing_is_written(
    call: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(qkv.QkvError) as raised:
        call(tmp_path / "out")
    assert message in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_information_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("info", MODELS / "translator") == 0
    shown = capsys.readouterr().out
    facts = qkv.info(qkv.load(MODELS / "translator"))
    assert f"{facts}\n" == shown == f"{qkv.info(MODELS / 'translator')}\n"
    assert dict(facts)["kind"] == "translator, en → xx"
    assert "<td" in facts._repr_html_()
    assert "<i>" not in qkv.ModelInfo(kind="<i>")._repr_html_()
    assert "report" not in qkv.info(random_translator())
