"""Formulas as MathML, which browsers draw without a script."""

import re

from latex2mathml.converter import convert

CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)", re.DOTALL)


def with_formulas(text: str) -> str:
    """Replace $…$ and $$…$$ outside code."""
    parts = CODE.split(text)
    return "".join(part if number % 2 else FORMULA.sub(as_mathml, part) for number, part in enumerate(parts))


def as_mathml(match: re.Match[str]) -> str:
    formula: str = convert(match[1] or match[2], display="block" if match[1] else "inline")
    return formula
