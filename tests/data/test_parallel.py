"""What people have becomes pairs of sentences, and what is wrong with it becomes one sentence."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from qkv.data.parallel import ParallelText, read_lines, read_pairs, read_two
from qkv.errors import QkvError

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def pairs_of(text: ParallelText) -> list[tuple[str, str]]:
    return list(zip(text.source, text.target, strict=True))


def complaint(path: Path, **languages: str) -> str:
    """The error message for this file."""
    with pytest.raises(QkvError) as caught:
        read_pairs(path, **languages)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert path.name in sentence
    return sentence


# Plain ----------------------------------------------------------------------------------------------------


def test_line_n_of_one_file_translates_line_n_of_the_other(tmp_path: Path) -> None:
    text = read_two(written(tmp_path / "a.en", "one\ntwo\n"), written(tmp_path / "b.de", "eins\nzwei"))
    assert pairs_of(text) == [("one", "eins"), ("two", "zwei")]


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    odd = "a\u2028b\x0bc\x0cd\x1ce\x85f\rg"
    assert read_lines(written(tmp_path / "a.en", f"{odd}\nnext\n")) == [odd, "next"]


def test_the_byte_order_mark_and_carriage_returns_are_not_text(tmp_path: Path) -> None:
    assert read_lines(written(tmp_path / "a.en", b"\xef\xbb\xbfone\r\ntwo\r\n")) == ["one", "two"]


def test_empty_lines_are_kept_so_that_the_sides_stay_aligned(tmp_path: Path) -> None:
    assert read_lines(written(tmp_path / "a.en", "\none\n\n")) == ["", "one", ""]


def test_unequal_files_are_rejected_with_both_names_and_counts(tmp_path: Path) -> None:
    source, target = written(tmp_path / "a.en", "1\n2\n3\n"), written(tmp_path / "b.de", "1\n2\n")
    with pytest.raises(QkvError, match=r"a\.en has 3 lines but .*b\.de has 2"):
        read_two(source, target)


@pytest.mark.parametrize("content", [b"", b"\n\n", b" \t\r\n \n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("suffix", [".en", ".tsv", ".jsonl", ".tmx", ".po"])
def test_a_file_without_text_is_rejected_as_empty(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = written(tmp_path / f"a{suffix}", content)
    with pytest.raises(QkvError, match=r"is empty"):
        read_lines(path) if suffix == ".en" else read_pairs(path)


# Opening --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["no.tsv", "no.tmx", "no.jsonl.gz", "no.txt"])
def test_the_error_for_a_missing_file_says_so(tmp_path: Path, name: str) -> None:
    assert "there is no file" in complaint(tmp_path / name)


@pytest.mark.parametrize("name", ["folder.tsv", "folder.tmx", "folder", "folder.tsv.gz"])
def test_the_error_for_a_folder_says_so(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert "is a folder" in complaint(tmp_path / name)


def test_the_error_for_an_unreadable_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.tsv", "a\tb\n")

    def refuse(*_: object) -> None:  # chmod would not stop a test that runs as root
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert "cannot be read: permission denied" in complaint(path)


def test_any_other_file_system_error_is_one_error_message(tmp_path: Path) -> None:
    assert "cannot be read" in complaint(tmp_path / f"{'x' * 300}.tsv")


def test_an_unknown_suffix_lists_the_known_ones(tmp_path: Path) -> None:
    sentence = complaint(written(tmp_path / "a.docx", "a\tb\n"))
    assert all(suffix in sentence for suffix in (".tsv", ".jsonl", ".tmx", ".po", ".gz"))


@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl", "a.po"])
def test_the_error_for_invalid_utf8_names_the_line_and_a_remedy(tmp_path: Path, name: str) -> None:
    good = {"a.tsv": "a\tb", "a.jsonl": '{"source": "a", "target": "b"}', "a.po": "# comment"}[name]
    path = written(tmp_path / name, f"{good}\n{good} Käse\n".encode("latin1"))
    sentence = complaint(path)
    assert "(line 2)" in sentence
    assert f"iconv -f latin1 -t utf-8 {path} > " in sentence


def test_the_remedy_for_invalid_utf8_in_a_gzip_file_unzips_it_first(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv.gz", gzip.compress("a\tKäse\n".encode("latin1")))
    assert f"gunzip -c {path} | iconv -f latin1 -t utf-8 > {tmp_path / 'a.utf8.tsv'}" in complaint(path)


def test_utf16_is_recognised_by_its_mark(tmp_path: Path) -> None:
    assert "iconv -f utf-16 -t utf-8" in complaint(written(tmp_path / "a.tsv", "a\tb\n".encode("utf-16")))


def test_a_file_that_is_no_text_is_called_so(tmp_path: Path) -> None:
    sentence = complaint(written(tmp_path / "a.tsv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"))
    assert "is not a text file" in sentence
    assert "iconv" not in sentence


# gzip -----------------------------------------------------------------------------------------------------


def test_gzipped_files_read_like_plain_ones(tmp_path: Path) -> None:
    source = written(tmp_path / "a.en.gz", gzip.compress(b"one\ntwo\n"))
    target = written(tmp_path / "b.de", "eins\nzwei\n")
    tsv = written(tmp_path / "a.tsv.gz", gzip.compress(b"one\teins\ntwo\tzwei\n"))
    lines = b'{"source": "one", "target": "eins"}\n{"source": "two", "target": "zwei"}\n'
    jsonl = written(tmp_path / "a.JSONL.GZ", gzip.compress(lines))
    assert read_two(source, target) == read_pairs(tsv) == read_pairs(jsonl)
    assert pairs_of(read_pairs(tsv)) == [("one", "eins"), ("two", "zwei")]


def test_a_truncated_gzip_is_rejected_and_not_read_in_part(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"sentence {n}\tSatz {n * 7919}\n" for n in range(9999)).encode())
    assert "truncated" in complaint(written(tmp_path / "a.tsv.gz", whole[: len(whole) // 2]))
    assert "truncated" in complaint(written(tmp_path / "b.tsv.gz", whole[:-3]))


def test_damaged_bytes_inside_a_gzip_are_rejected(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"sentence {n}\tSatz {n * 7919}\n" for n in range(9999)).encode())
    middle = len(whole) // 2
    damaged = (
        whole[:middle] + bytes(byte ^ 0xFF for byte in whole[middle : middle + 99]) + whole[middle + 99 :]
    )
    complaint(written(tmp_path / "a.tsv.gz", damaged))


def test_the_error_for_a_plain_file_named_gz_says_so(tmp_path: Path) -> None:
    assert "is not a gzip file" in complaint(written(tmp_path / "a.tsv.gz", "one\teins\n"))


# .tsv -----------------------------------------------------------------------------------------------------


def test_tsv_takes_the_first_two_columns_and_knows_no_quoting(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", '"Hi"\t"Hallo"\textra\tmore\r\n\n"open\tzu\n\tnur Ziel\n')
    assert pairs_of(read_pairs(path)) == [('"Hi"', '"Hallo"'), ('"open', "zu"), ("", "nur Ziel")]


def test_a_line_without_a_tab_is_named_by_its_number(tmp_path: Path) -> None:
    assert "line 3 has no tab" in complaint(written(tmp_path / "a.tsv", "a\tb\n\nc d\ne\tf\n"))


def test_every_line_of_the_real_tab_separated_data_is_a_pair() -> None:
    path = SHARED / "software-strings" / "test.en-de.tsv"
    if not path.exists():
        pytest.skip(f"the shared data is not on this machine: {path}")
    text = read_pairs(path)
    assert len(text) == 998
    assert pairs_of(text)[2] == ("Cancel the installation of %F", "Abbrechen der Installation von %F")
    assert not any("\t" in side or not side for pair in pairs_of(text) for side in pair)


# .jsonl ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        {"source": "Hi", "target": "Hallo", "score": 3},
        {"translation": {"de": "Hallo", "en": "Hi", "fr": "Salut"}},
        {"id": 7, "de": "Hallo", "en-US": "Hi"},
    ],
)
def test_jsonl_is_read_in_each_of_its_three_shapes(tmp_path: Path, record: dict[str, object]) -> None:
    path = written(tmp_path / "a.jsonl", json.dumps(record) + "\n\n")
    text = read_pairs(path, source_language="en", target_language="de")
    assert pairs_of(text) == [("Hi", "Hallo")]


def test_the_languages_given_decide_the_direction_of_jsonl(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", '{"translation": {"en": "Hi", "de": "Hallo"}}')
    assert pairs_of(read_pairs(path, source_language="de", target_language="en")) == [("Hallo", "Hi")]


def test_line_breaks_inside_a_json_string_become_spaces(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", r'{"source": "a \n\n b\r\n", "target": "c\u2028d"}')
    assert pairs_of(read_pairs(path)) == [("a b", "c\u2028d")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"source": "a", ', "line 2 is not valid JSON"),
        ("[" * 100_000, "line 2 is not valid JSON"),
        ('["a", "b"]', "line 2 is not a JSON object"),
        ('{"source": "a", "target": null}', "line 2 has null where a string"),
        (r'{"source": "a", "target": "\ud83d"}', "line 2 has half a character"),
        ('{"source": "a"}', 'line 2 has no "source" and "target"'),
        ('{"translation": {"en": "a", "de": "b"}}', "but de, en: give the source and target"),
    ],
)
def test_a_bad_line_of_jsonl_is_named_by_its_number(tmp_path: Path, line: str, expected: str) -> None:
    path = written(tmp_path / "a.jsonl", f'{{"source": "a", "target": "b"}}\n{line}\n')
    assert expected in complaint(path)


def test_the_error_for_a_language_missing_from_jsonl_lists_the_others(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", '{"translation": {"en": "a", "de": "b"}}')
    assert "has no fr but de, en" in complaint(path, source_language="en", target_language="fr")


def test_a_language_is_not_translated_into_itself(tmp_path: Path) -> None:
    jsonl = written(tmp_path / "a.jsonl", '{"translation": {"en": "a", "de": "b"}}')
    for path in (jsonl, written(tmp_path / "a.tmx", tmx(unit(en="a", de="b")))):
        with pytest.raises(QkvError, match="both en"):
            read_pairs(path, source_language="en", target_language="EN")


# .tmx -----------------------------------------------------------------------------------------------------


def unit(**segments: str) -> str:
    """A <tu>; a tag like en_US is written en-US."""
    variants = "".join(
        f'<tuv xml:lang="{tag.replace("_", "-")}"><seg>{text}</seg></tuv>\n' for tag, text in segments.items()
    )
    return f"<tu>{variants}</tu>\n"


def tmx(*units: str, srclang: str = "*all*", doctype: str = "") -> str:
    return (
        f'<?xml version="1.0"?>\n{doctype}<tmx version="1.4"><header srclang="{srclang}" datatype="plaintext"/>\n'
        f"<body>\n{''.join(units)}</body></tmx>"
    )


def test_tmx_languages_match_whatever_their_case_and_region(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.tmx", tmx(unit(EN_us="Hi", fr="Salut", de_DE="Hallo"), unit(fr="Non", de="Nein"))
    )
    assert pairs_of(read_pairs(path, source_language="en", target_language="DE")) == [("Hi", "Hallo")]
    assert pairs_of(read_pairs(path, source_language="fr", target_language="de_DE")) == [
        ("Salut", "Hallo"),
        ("Non", "Nein"),
    ]


def test_another_region_is_not_taken_for_the_one_asked_for(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.tmx", tmx(unit(en="bus", pt_PT="autocarro", pt_BR="ônibus"), unit(en="tu", pt_PT="tu"))
    )
    assert pairs_of(read_pairs(path, source_language="en", target_language="pt-BR")) == [("bus", "ônibus")]


def test_the_exact_tag_is_preferred_to_an_earlier_region(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en="bus", pt_BR="ônibus", pt="autocarro")))
    assert pairs_of(read_pairs(path, source_language="en", target_language="pt")) == [("bus", "autocarro")]


def test_one_variant_does_not_serve_as_both_sides(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en_US="truck", en_GB="lorry"), unit(en_GB="flat")))
    assert pairs_of(read_pairs(path, source_language="en", target_language="en-GB")) == [("truck", "lorry")]


def test_the_old_lang_attribute_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en="Hi", de="Hallo").replace("xml:lang", "lang")))
    assert pairs_of(read_pairs(path, source_language="en", target_language="de")) == [("Hi", "Hallo")]


def test_native_code_is_left_out_of_a_segment_and_highlighted_text_is_kept(tmp_path: Path) -> None:
    english = 'Press <bpt i="1">&lt;b></bpt>the <hi type="x">big <ph>{0}</ph>red</hi> key<ept i="1">&lt;/b></ept>\n now<it>x</it>&amp;<ut>y</ut>!'
    path = written(tmp_path / "a.tmx", tmx(unit(en=english, de="Drück")))
    assert pairs_of(read_pairs(path)) == [("Press the big red key now&!", "Drück")]


def test_the_header_decides_the_source_of_a_tmx_with_two_languages(tmp_path: Path) -> None:
    units = (unit(de="Hallo", en_US="Hi"), unit(en_GB="lorry", de="Laster"))
    path = written(tmp_path / "a.tmx", tmx(*units, srclang="en"))
    assert pairs_of(read_pairs(path)) == [("Hi", "Hallo"), ("lorry", "Laster")]
    path = written(tmp_path / "b.tmx", tmx(*units))
    assert pairs_of(read_pairs(path)) == [("Hallo", "Hi"), ("Laster", "lorry")]


def test_one_language_given_leaves_the_other_of_two(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(de="Hallo", en_US="Hi")))
    assert pairs_of(read_pairs(path, source_language="en")) == [("Hi", "Hallo")]
    assert pairs_of(read_pairs(path, target_language="de")) == [("Hi", "Hallo")]
    assert "has no fr. Choose the source and target languages from de, en-us" in complaint(
        path, target_language="fr"
    )


def test_a_tmx_with_three_languages_asks_which_two(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en="Hi", fr="Salut", de="Hallo")))
    assert "de, en, fr: give the source and target" in complaint(path)


def test_the_error_for_a_language_missing_from_tmx_lists_the_others(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en="Hi", fr="Salut"), unit(de="Hallo", fr="Salut")))
    assert "has no es. Choose the source and target languages from de, en, fr" in complaint(
        path, source_language="en", target_language="es"
    )
    assert "no unit with both en and de" in complaint(path, source_language="en", target_language="de")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
def test_entity_declarations_are_rejected_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    doctype = f'<!DOCTYPE tmx [<!ENTITY l0 "ha">{laughs}]>'
    path = written(tmp_path / "a.tmx", tmx(unit(en="&l11;", de="x"), doctype=doctype).encode(encoding))
    assert "<!ENTITY" in complaint(path)


def test_an_entity_that_reads_another_file_is_rejected(tmp_path: Path) -> None:
    secret = written(tmp_path / "secret", "secret")
    doctype = f'<!DOCTYPE tmx [<!ENTITY leak SYSTEM "{secret.as_uri()}">]>'
    assert "<!ENTITY" in complaint(
        written(tmp_path / "a.tmx", tmx(unit(en="&leak;", de="x"), doctype=doctype))
    )


def test_the_usual_document_type_is_accepted_in_utf8_and_utf16(tmp_path: Path) -> None:
    content = tmx(unit(en="cheese", de="Käse"), doctype='<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n')
    for encoding in ("utf-8", "utf-16"):
        path = written(tmp_path / f"{encoding}.tmx", content.encode(encoding))
        assert pairs_of(read_pairs(path)) == [("cheese", "Käse")]


def test_malformed_xml_is_named_by_its_line(tmp_path: Path) -> None:
    broken = tmx(unit(en="Hi", de="Hallo")).replace("</tu>", "</tv>")
    assert "line 6 is not valid XML" in complaint(written(tmp_path / "a.tmx", broken))
    assert "is not valid XML" in complaint(written(tmp_path / "b.tmx", tmx(unit(en="Hi", de="Hallo"))[:-9]))
    assert "line 1 is not valid XML" in complaint(written(tmp_path / "c.tmx", "no XML at all"))


def test_xml_that_is_not_tmx_is_rejected(tmp_path: Path) -> None:
    assert "starts with <html>" in complaint(written(tmp_path / "a.tmx", "<html><tu/></html>"))


def test_a_tmx_that_is_not_utf8_names_the_line_and_the_cure(tmp_path: Path) -> None:
    sentence = complaint(written(tmp_path / "a.tmx", tmx(unit(en="cheese", de="Käse")).encode("latin1")))
    assert "(line 5)" in sentence
    assert "iconv -f latin1" in sentence


def test_an_encoding_that_is_not_known_is_rejected(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", '<?xml version="1.0" encoding="klingon"?><tmx/>')
    assert "encoding" in complaint(path)


def test_a_deeply_nested_segment_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", tmx(unit(en="<hi>" * 5000 + "deep" + "</hi>" * 5000, de="tief")))
    assert pairs_of(read_pairs(path)) == [("deep", "tief")]


def test_the_units_of_a_large_tmx_are_not_kept_in_memory(tmp_path: Path) -> None:
    units = (unit(en=f"number {n}", de=f"Nummer {n}", fr="long " * 2000) for n in range(1000))  # 10 MB
    path = written(tmp_path / "a.tmx", tmx(*units))
    tracemalloc.start()
    try:
        assert len(read_pairs(path, source_language="en", target_language="de")) == 1000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


# .po ------------------------------------------------------------------------------------------------------

HEADER = 'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Plural-Forms: nplurals={plurals}; plural=(n != 1);\\n"\n\n'


def po(body: str, plurals: int = 2) -> str:
    return HEADER.format(plurals=plurals) + body


def test_po_entries_are_pairs_and_the_header_is_skipped(tmp_path: Path) -> None:
    body = '#: main.c:3\nmsgctxt "menu"\nmsgid "Open"\nmsgstr "Öffnen"\nmsgid "Close"\nmsgstr "Schließen"\n'
    assert pairs_of(read_pairs(written(tmp_path / "a.po", po(body)))) == [
        ("Open", "Öffnen"),
        ("Close", "Schließen"),
    ]


def test_po_strings_are_joined_over_lines_and_unescaped(tmp_path: Path) -> None:
    body = (
        'msgid ""\n"Say \\"a\\\\b\\"\\n"\n"and\\tgo.\\n"\nmsgstr "  Sag \\"a\\\\b\\"\\n"\n\n"und\\tgeh.\\n"\n'
    )
    assert pairs_of(read_pairs(written(tmp_path / "a.po", po(body)))) == [
        ('Say "a\\b" and\tgo.', 'Sag "a\\b" und\tgeh.')
    ]


def test_fuzzy_obsolete_and_untranslated_po_entries_are_left_out(tmp_path: Path) -> None:
    body = (
        '#, c-format, fuzzy\n#| msgid "Old"\nmsgid "New"\nmsgstr "Alt"\n\n'
        'msgid "Not yet"\nmsgstr ""\n\n'
        '#, fuzzy\n#~ msgid "Gone"\n#~ msgstr "Weg"\n\n'
        '#. is fuzzy only in a comment\n#, no-wrap\nmsgid "Good"\nmsgstr "Gut"\n'
    )
    assert pairs_of(read_pairs(written(tmp_path / "a.po", po(body)))) == [("Good", "Gut")]


PLURAL = 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d Datei"\nmsgstr[1] "%d Dateien"\n'


def test_po_plural_forms_pair_singular_with_singular_and_plural_with_plural(tmp_path: Path) -> None:
    both = [("%d file", "%d Datei"), ("%d files", "%d Dateien")]
    assert pairs_of(read_pairs(written(tmp_path / "a.po", po(PLURAL)))) == both
    assert pairs_of(read_pairs(written(tmp_path / "b.po", PLURAL))) == both
    assert pairs_of(read_pairs(written(tmp_path / "c.po", po(PLURAL, plurals=1)))) == both[:1]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('msgid "a\nmsgstr "b"\n', "line 6 is not valid gettext (a string that is not closed"),
        ('msgid "a "b" c"\nmsgstr "b"\n', "line 6"),
        ('msgid "a"\nmsgstr "\\q"\n', "line 7 is not valid gettext (the unknown escape \\q)"),
        ('msgstr "b"\n', "line 6 is not valid gettext (a second msgstr"),
        ('# x\nmsgstr "b"\n', "line 7 is not valid gettext (msgstr without a msgid"),
        ('msgid "a"\nmsgid "b"\nmsgstr "c"\n', "line 7 is not valid gettext (a second msgid"),
        ('msgid "a"\n', "line 6 is not valid gettext (the file ends inside an entry"),
        ("hello\n", "line 6 is not valid gettext (neither"),
    ],
)
def test_malformed_po_is_named_by_its_line(tmp_path: Path, body: str, expected: str) -> None:
    assert expected in complaint(written(tmp_path / "a.po", po(body)))


@pytest.mark.parametrize("name", ["a.po", "a.pot"])
def test_a_template_without_translations_is_rejected(tmp_path: Path, name: str) -> None:
    body = 'msgid "Open"\nmsgstr ""\n\nmsgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    assert "has no translations" in complaint(written(tmp_path / name, po(body)))
