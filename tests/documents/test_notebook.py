"""Notebooks: only Markdown cells change, inside the strings that their lines are."""

import json

import pytest

from qkv.documents import NewText, read_catalog
from qkv.errors import DataError

NOTEBOOK = r"""{
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "attachments": {"a.png": {"image/png": "aGk="}},
   "source": ["# A \"title\"\n", "\n", "One\n", "*two* \ud83d\ude00 line\\\n", "three `code` \u00fc"]},
  {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [{"text": ["# no"]}], "source": ["# no\n", "x = 1"]},
  {"source": "A cell in \/ one string.\n\n- item", "metadata": {"source": "# no"}, "cell_type": "markdown"},
  {"cell_type": "raw", "metadata": {}, "source": ["no"]}
 ],
 "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5
}
"""
TEXTS = ['A "title"', "One <g1>two</g1> 😀 line<x1/>three {{1}} ü", "A cell in / one string.", "item"]


def test_markdown_cells_are_translated_in_place() -> None:
    document = read_catalog("ipynb", NOTEBOOK.encode())
    assert [each.text for each in document.segments] == TEXTS
    assert document.write(TEXTS) == NOTEBOOK.encode()
    new = ['Ein "Titel" \\ 1', "Eins <g1>zwei</g1> 😀<x1/>{{1}} é", "Eine #Zelle", "1. *Ding*"]
    written = document.write(new).decode()
    assert document.compare is not None
    assert not document.compare(written.encode(), [NewText(text) for text in new])
    assert written == NOTEBOOK.replace(r"A \"title\"", r"Ein \"Titel\" \\ 1").replace(
        r'One\n", "*two* \ud83d\ude00 line\\\n", "three `code` \u00fc',
        r'Eins *zwei* \ud83d\ude00\\\n", "`code` \u00e9',
    ).replace(r"A cell in \/ one string.", "Eine #Zelle").replace("- item", r"- 1\\. \\*Ding\\*")
    assert json.loads(written)["cells"][1] == json.loads(NOTEBOOK)["cells"][1]


def test_other_versions_are_an_error() -> None:
    for content in (NOTEBOOK.replace('"nbformat": 4', '"nbformat": 3'), '"cells"', "[4]", "9" * 5_000):
        with pytest.raises(DataError, match="format 4"):
            read_catalog("ipynb", content.encode())
