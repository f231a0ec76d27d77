"""Terms of a glossary."""

from functools import partial

from qkv.localization.checks.unit import Check, Found, Unit
from qkv.text.glossary import Glossary


def missing_terms(unit: Unit, *, glossary: Glossary) -> Found:
    target = unit.target.lower()
    for term in glossary.required_phrases(unit.source):
        if term.lower() not in target:
            yield f"lacks '{term}', as the glossary says"


def glossary_check(glossary: Glossary) -> Check:
    """A term may be inflected: a longer word that contains it counts, in any case."""
    return Check(
        name="glossary",
        severity="warning",
        summary="A term is not translated as the glossary says.",
        find=partial(missing_terms, glossary=glossary),
    )
