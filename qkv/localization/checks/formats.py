"""Findings for other programs: SARIF 2.1.0, which code hosts show, and JUnit XML, which build servers show."""

import json
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from qkv import __version__
from qkv.localization.checks.unit import Check, FileCheck, Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def sarif(findings: Iterable[Finding], checks: Sequence[Check | FileCheck]) -> str:
    rules = [
        {
            "id": each.name,
            "shortDescription": {"text": each.summary},
            "defaultConfiguration": {"level": LEVELS[each.severity]},
        }
        for each in checks
    ]
    driver = {"name": "qkv check", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": [sarif_result(each) for each in findings]}
    return (
        json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)
        + "\n"
    )


def sarif_result(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": uri_of(finding.file)}}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.check,
        "level": LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }


def uri_of(file: str) -> str:
    """Relative paths stay relative: a code host finds them in the repository."""
    from urllib.parse import quote

    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def junit(findings: Iterable[Finding], files: Sequence[str]) -> str:
    """A suite for each file, and a test for each finding. A file without findings is one test that passes."""
    by_file = {
        name: list(group)
        for name, group in groupby(sorted(findings, key=lambda each: each.file), lambda each: each.file)
    }
    suites = "".join(suite(name, by_file.get(name, [])) for name in dict.fromkeys(files))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="qkv check">\n{suites}</testsuites>\n'


def suite(name: str, findings: Sequence[Finding]) -> str:
    failures = sum(each.severity != "info" for each in findings)
    cases = "".join(map(case, findings)) or f"<testcase name={attribute(name)}/>\n"
    return (
        f'<testsuite name={attribute(name)} tests="{max(1, len(findings))}" failures="{failures}" '
        f'skipped="{len(findings) - failures}">\n{cases}</testsuite>\n'
    )


def case(finding: Finding) -> str:
    where = f"{finding.file}:{finding.line}" if finding.line else finding.file
    body = escape(printable(f"{where}\nsource: {finding.source}\ntranslation: {finding.target}"))
    message = attribute(finding.message)
    result = (
        f"<skipped message={message}/>"
        if finding.severity == "info"
        else f"<failure type={attribute(finding.severity)} message={message}>{body}</failure>"
    )
    return f"<testcase classname={attribute(finding.check)} name={attribute(where)}>{result}</testcase>\n"


def attribute(text: str) -> str:
    return quoteattr(printable(text))


def printable(text: str) -> str:
    """XML has no way to write some characters."""
    return NOT_XML.sub("\ufffd", text)
