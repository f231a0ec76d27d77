"""Files with strings of a program are translated in place, with a report, from Python and from the command line."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import USAGE, code_of, save_untrained

import qkv
from qkv.documents import CATALOGS, read_catalog
from qkv.families.translator.options import Format, TranslationOptions
from qkv.families.translator.pipeline import Pipeline
from qkv.families.translator.translations import Confidence, Translation

PO = b"""msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: \\n"

#, c-format
msgid "one %s"
msgstr ""

#, fuzzy
msgid "two"
msgstr "alt"

msgid "three"
msgstr "drei"

#, c-format
msgctxt "other"
msgid "one %s"
msgstr ""
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    save_untrained(tmp_path / "model", ["one two three", "eins zwei drei"], beam=1, length_penalty=0.0)
    monkeypatch.chdir(tmp_path)
    Path("in.po").write_bytes(PO)
    return tmp_path


def report_of(output: str) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in Path(f"{output}.report.jsonl").read_text(encoding="utf-8").splitlines()
    ]


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A model that says this, with the confidence 0.3, and the texts that it was given."""
    asked: list[str] = []

    def hypotheses(_: Pipeline, texts: list[str], *rest: Any) -> list[list[Translation]]:
        asked.extend(texts)
        return [
            [Translation(text=f"({text})", score=-1.0, log_probabilities=(-1.0,), confidence=0.3)]
            for text in texts
        ]

    monkeypatch.setattr(Pipeline, "hypotheses", hypotheses)
    return asked


def state_of(name: str) -> list[tuple[str | None, str]]:
    return [(each.target, each.state) for each in read_catalog("po", Path(name).read_bytes()).segments]


@pytest.mark.usefixtures("folder")
def test_only_what_is_missing_is_translated_and_equal_texts_once(says: list[str]) -> None:
    translator = qkv.load("model")
    translator.translate_file("in.po", "out.po", progress=False)
    assert says == ["one %s"]
    assert state_of("out.po") == [("(one %s)", "translated"), ("alt", "fuzzy"), ("drei", "translated"), ("(one %s)", "translated")]  # fmt: skip
    assert [(each["origin"], each["target"]) for each in report_of("out.po")] == [
        ("model", "(one %s)"), ("file", "alt"), ("file", "drei"), ("model", "(one %s)")
    ]  # fmt: skip
    assert "Language: xx\\n" in Path("out.po").read_text(encoding="utf-8")
    translator.translate_file("in.po", "fuzzy.po", also_fuzzy=True, progress=False)
    assert [target for target, _ in state_of("fuzzy.po")] == ["(one %s)", "(two)", "drei", "(one %s)"]
    translator.translate_file("in.po", "all.po", all=True, progress=False)
    assert [target for target, _ in state_of("all.po")] == ["(one %s)", "(two)", "(three)", "(one %s)"]


@pytest.mark.usefixtures("folder")
def test_a_lost_placeholder_makes_a_translation_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Translation(text="eins", score=-1.0, log_probabilities=(-1.0,))
    monkeypatch.setattr(Pipeline, "hypotheses", lambda _, texts, *rest: [[lost] for _ in texts])
    qkv.load("model").translate_file("in.po", "out.po", progress=False)
    assert state_of("out.po")[0] == ("eins", "fuzzy")
    first = report_of("out.po")[0]
    assert (first["checks"], first["doubtful"], first["key"]) == (["placeholders"], True, "one %s")


@pytest.mark.usefixtures("folder", "says")
def test_low_confidence_is_marked_or_left_out() -> None:
    translator = qkv.load("model")
    never = Confidence(bias=0.0, weights=(0.0, 0.0, 0.0), good="exact")
    translator._defaults = replace(translator._defaults, confidence=never)
    translator.translate_file("in.po", "out.po", min_confidence=0.5, progress=False)
    assert state_of("out.po")[0] == ("(one %s)", "fuzzy")
    assert report_of("out.po")[0]["confidence"] == 0.3
    translator.translate_file("in.po", "sure.po", min_confidence=0.5, withhold=True, progress=False)
    assert state_of("sure.po")[0] == ("", "untranslated")


@pytest.mark.usefixtures("folder", "says")
def test_characters_that_the_encoding_lacks_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("in.po").write_bytes(PO.replace(b"UTF-8", b"ISO-8859-1"))
    said = Translation(text="😀 %s", score=-1.0, log_probabilities=(-1.0,))
    monkeypatch.setattr(Pipeline, "hypotheses", lambda _, texts, *rest: [[said] for _ in texts])
    qkv.load("model").translate_file("in.po", "out.po", progress=False)
    assert state_of("out.po")[0] == ("? %s", "fuzzy")
    assert report_of("out.po")[0]["checks"] == ["characters"]


@pytest.mark.usefixtures("folder")
def test_a_real_model_keeps_the_placeholders_of_each_dialect() -> None:
    texts = {
        "a": "one {{x}} two",
        "b": "one $t(key) two",
        "c": "two <0>three</0>",
        "d": "one {n, plural, one {two}}",
    }
    Path("en.json").write_text(json.dumps(texts), encoding="utf-8")
    qkv.load("model").translate_file("en.json", "de.json", progress=False)
    made = json.loads(Path("de.json").read_text(encoding="utf-8"))
    assert [
        made["a"].count("{{x}}"),
        made["b"].count("$t(key)"),
        made["c"].count("<0>"),
        made["c"].count("</0>"),
    ] == [1] * 4
    assert made["d"] == texts["d"]
    assert [each["origin"] for each in report_of("de.json")] == ["model"] * 3 + ["held"]
    assert not any(each["doubtful"] for each in report_of("de.json"))


@pytest.mark.usefixtures("folder")
def test_the_command_writes_what_python_writes(capsys: pytest.CaptureFixture[str]) -> None:
    qkv.load("model").translate_file("in.po", "python.po", also_fuzzy=True, progress=False)
    command = ("translate", "model", "--input", "in.po", "--output", "command.po", "--also-fuzzy")
    assert code_of(*command) == 0
    assert Path("command.po").read_bytes() == Path("python.po").read_bytes()
    assert "3 of 4 strings translated" in capsys.readouterr().err
    assert code_of(*command) == USAGE  # nothing is overwritten
    assert code_of(*command, "--overwrite") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "in.po"], "add --output"),
        (["--input", "in.po", "--output", "in.po"], "would overwrite the input"),
        (["--input", "in.po", "--output", "out.po", "--scores"], "--scores can only be used for plain text"),
        (["--input", "in.txt", "--output", "out.txt", "--all"], "are not for plain text"),
        (["one", "--format", "po"], "need --input and --output"),
        (["--input", "in.pdf", "--output", "out.pdf"], "cannot be translated"),
        (["--input", "broken.json", "--output", "out.json"], "broken.json: line 1 is not valid JSON"),
        (["--input", "fr.po", "--output", "out.po"], "states the target language fr"),
    ],
)
def test_what_cannot_work_is_an_error(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("in.txt", "in.pdf", "broken.json"):
        (folder / name).write_text("one\n", encoding="utf-8")
    (folder / "fr.po").write_bytes(PO.replace(b"Language: ", b"Language: fr"))
    assert code_of("translate", "model", *arguments) != 0
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(folder.glob("out.*"))


@pytest.mark.usefixtures("folder")
def test_the_format_can_be_given() -> None:
    Path("strings").write_text('{"a": "one"}', encoding="utf-8")
    translator = qkv.load("model")
    translator.translate_file("strings", "out", format="json", progress=False)
    assert list(json.loads(Path("out").read_text(encoding="utf-8"))) == ["a"]
    translator.translate_file("in.po", "lines.txt", format="txt", progress=False)
    assert len(Path("lines.txt").read_text(encoding="utf-8").splitlines()) == PO.count(b"\n")


def test_every_format_of_the_readers_is_an_option() -> None:
    assert set(Format.__args__) == {"txt", *CATALOGS}


@pytest.mark.usefixtures("folder")
def test_subtitles_are_cut_by_the_alignment_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\n{}\n\n2\n00:00:02,000 --> 00:00:03,000\n{}\n"
    Path("in.srt").write_text(cue.format("one two three", "four"), encoding="utf-8")

    def hypotheses(_: Pipeline, texts: list[str], options: Any, *rest: Any) -> list[list[Translation]]:
        assert (texts, options.alignments) == (["one two three four"], True)
        links = [(0, 0), (1, 0), (2, 0), (3, 1), (3, 2), (3, 3)]
        return [
            [Translation(text="eins vier und viel", score=-1.0, log_probabilities=(-1.0,), alignment=links)]
        ]

    monkeypatch.setattr(Pipeline, "hypotheses", hypotheses)
    qkv.load("model").translate_file("in.srt", "out.srt", progress=False)
    assert Path("out.srt").read_text(encoding="utf-8") == cue.format("eins", "vier und viel")


@pytest.mark.usefixtures("folder")
def test_a_memory_is_used_where_it_fits_and_else_only_reported(says: list[str]) -> None:
    with qkv.Memory.open("memory.qkvm") as memory:
        memory.add("one %s", "eins %s", context="other")
        memory.add("the two red cats", "die zwei roten Katzen")
        memory.add("page 1", "Seite 1")
        memory.add("lost %s", "verloren")
    texts = ["one %s", "the two red cars", "page 7", "lost %s"]
    body = "".join(f'#, c-format\nmsgid "{text}"\nmsgstr ""\n\n' for text in texts)
    Path("in.po").write_text(PO.decode().split("#,")[0] + body, encoding="utf-8")
    translator = qkv.load("model")
    translator.translate_file("in.po", "out.po", memory="memory.qkvm", progress=False)
    assert says == ["the two red cars", "lost %s"]  # the target of the last one has no placeholder
    report = report_of("out.po")
    assert [(each["origin"], each["target"]) for each in report] == [
        ("memory", "eins %s"), ("model", "(the two red cars)"), ("memory", "Seite 7"), ("model", "(lost %s)")
    ]  # fmt: skip
    assert [each.get("memory", {}).get("level") for each in report] == ["exact", None, "adapted", None]
    assert report[1]["similar"]["target"] == "die zwei roten Katzen"
    Path("in.txt").write_text("page 3\nnew\n", encoding="utf-8")
    Path("pairs.tsv").write_text("page 1\tSeite 1\n", encoding="utf-8")
    translator.translate_file("in.txt", "out.txt", memory="pairs.tsv", json=True, progress=False)
    lines = [json.loads(line) for line in Path("out.txt").read_text(encoding="utf-8").splitlines()]
    assert [line["translations"][0]["text"] for line in lines] == ["Seite 3", "(new)"]
    assert [line.get("memory", {}).get("level") for line in lines] == ["adapted", None]


@pytest.mark.usefixtures("folder")
def test_a_killed_job_resumes_with_what_was_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"text {number}x" for number in range(300)]
    Path("en.json").write_text(json.dumps(words), encoding="utf-8")
    asked: list[str] = []
    limit = 50

    def hypotheses(_: Pipeline, texts: list[str], *rest: Any) -> list[list[Translation]]:
        if len(asked) >= limit:
            raise KeyboardInterrupt
        asked.extend(texts)
        return [[Translation(text=f"({text})", score=-1.0, log_probabilities=(-1.0,))] for text in texts]

    monkeypatch.setattr(Pipeline, "hypotheses", hypotheses)
    translator = qkv.load("model")
    with pytest.raises(KeyboardInterrupt):
        translator.translate_file("en.json", "de.json", progress=False)
    assert not Path("de.json").exists()
    with open("de.json.job", "ab") as file:
        file.write(b'["half a line')
    with pytest.raises(qkv.QkvError, match="other options"):
        translator.translate_file("en.json", "de.json", beam_size=3, progress=False)
    limit = 1_000
    translator.translate_file("en.json", "de.json", progress=False)
    assert sorted(asked) == sorted(words)  # nothing twice
    assert json.loads(Path("de.json").read_text(encoding="utf-8")) == [f"({word})" for word in words]
    assert not list(Path().glob("de.json.job*"))


@pytest.mark.usefixtures("folder")
def test_a_translation_that_is_too_long_is_replaced_or_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    def hypotheses(
        _: Pipeline, texts: list[str], options: TranslationOptions, *rest: Any
    ) -> list[list[Translation]]:
        said = ["much too long", "lang"][: options.num_hypotheses]
        return [
            [Translation(text=text, score=-1.0, log_probabilities=(-1.0,)) for text in said] for _ in texts
        ]

    monkeypatch.setattr(Pipeline, "hypotheses", hypotheses)
    Path("en.json").write_text('{"a": "long", "b": "ab"}', encoding="utf-8")
    qkv.load("model").translate_file("en.json", "de.json", max_length_ratio=1.2, progress=False)
    found = [(each["target"], each["checks"]) for each in report_of("de.json")]
    assert found == [("lang", []), ("much too long", ["length"])]


@pytest.mark.usefixtures("folder", "says")
def test_accelerators_of_one_context_differ() -> None:
    body = "".join(f'msgctxt "menu"\nmsgid "{text}"\nmsgstr ""\n\n' for text in ("_Open", "_Options"))
    Path("in.po").write_text(PO.decode().split("#,")[0] + body, encoding="utf-8")
    qkv.load("model").translate_file("in.po", "out.po", accelerator="_", progress=False)
    assert [target for target, _ in state_of("out.po")] == ["(_Open)", "(O_ptions)"]


@pytest.mark.usefixtures("says")
def test_a_folder_is_translated_file_by_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "locales/xx.po": PO, "locales/xx.pot": PO, "web/en.json": b'{"a": "one"}', "web/de.json": b'{"a": "alt"}', "web/fr.json": b'{"a": "un"}', "web/en-GB.json": b'{"a": "1"}',
        "web/app.json": b'{"a": "one"}', "rails/en.yml": b"en:\n  a: one\n", "rails/fr.yml": b"fr:\n  a: un\n", "app_en.arb": b'{"@@locale": "en", "a": "one"}',
        "res/values/bools.xml": b"<resources/>", "res/values-night/bools.xml": b"<resources/>", "res/values-fr/bools.xml": b"<resources/>",
        "res/values/strings.xml": b'<resources><string name="a">one</string></resources>', "res/values/dimens.txt": b"two\n",
        "pom.xml": b"<project/>", "app.ts": b"const a = 1;", "logo.png": b"\x89PNG\xff", "broken.json": b"{", "fr.po": PO.replace(b"Language: ", b"Language: fr"),
    }  # fmt: skip
    for name, content in files.items():
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / name).write_bytes(content)
    translator = qkv.load("model")
    names = qkv.families.translator.defaults.Languages.of("en", "de")
    translator._defaults = replace(translator._defaults, languages=names)
    with pytest.raises(qkv.DataError, match=r"1 of 20 files failed: .*broken.json"):
        translator.translate_file("in", "out", progress=False)
    summary = json.loads(Path("out/translation-summary.json").read_text(encoding="utf-8"))
    assert {each["source"]: (each["output"], each["done"]) for each in summary} == {
        "locales/xx.po": ("locales/xx.po", "translated"), "locales/xx.pot": ("locales/xx.pot", "skipped"), "web/en.json": ("web/de.json", "translated"),
        "web/de.json": ("web/de.json", "skipped"), "web/fr.json": ("web/fr.json", "skipped"), "web/en-GB.json": ("web/de.json", "skipped"),
        "web/app.json": ("web/app.json", "translated"), "rails/en.yml": ("rails/de.yml", "translated"), "rails/fr.yml": ("rails/fr.yml", "skipped"),
        "app_en.arb": ("app_de.arb", "translated"), "res/values/bools.xml": ("res/values-de/bools.xml", "translated"),
        "res/values-night/bools.xml": ("res/values-night/bools.xml", "translated"), "res/values-fr/bools.xml": ("res/values-fr/bools.xml", "skipped"),
        "res/values/strings.xml": ("res/values-de/strings.xml", "translated"), "res/values/dimens.txt": ("res/values/dimens.txt", "translated"),
        "pom.xml": ("pom.xml", "copied"), "app.ts": ("app.ts", "copied"), "logo.png": ("logo.png", "copied"),
        "broken.json": ("broken.json", "failed"), "fr.po": ("fr.po", "copied"),
    }  # fmt: skip
    assert Path("out/web/de.json").read_bytes() == b'{"a": "(one)"}'
    assert Path("out/res/values/dimens.txt").read_bytes().count(b"\n") == 1
    assert Path("out/logo.png").read_bytes() == files["logo.png"]
    (folder / "in/broken.json").write_text('{"a": "mended"}', encoding="utf-8")
    assert code_of("translate", "model", "--input", "in", "--output", "out") == 0
    assert "translated" in capsys.readouterr().err
    assert Path("out/broken.json").exists()
    assert code_of("translate", "model", "--input", "in", "--output", "in/out") == USAGE


@pytest.mark.usefixtures("folder", "says")
def test_the_content_decides_where_the_name_says_nothing() -> None:
    Path("messages").write_bytes(PO)
    Path("words").write_text("msgid is a word\n", encoding="utf-8")
    translator = qkv.load("model")
    for name in ("messages", "words"):
        translator.translate_file(name, f"{name}.out", progress=False)
    assert state_of("messages.out")[0] == ("(one %s)", "translated")
    assert Path("words.out").read_bytes().count(b"\n") == 1
    assert not Path("words.out.report.jsonl").exists()
