"""Everything that the family records name exists."""

import pytest

from qkv.families import all_families, bundle_kinds, commands, exports, hub_formats
from qkv.families.family import resolve

REFERENCES = [
    reference
    for kind in bundle_kinds().values()
    for reference in (kind.product, kind.evaluate, kind.trace, kind.recompute, kind.ctranslate2)
    if reference is not None
]
REFERENCES += [command.run for command in commands().values()]
REFERENCES += [format.mapping for format in hub_formats().values()] + list(exports().values())


@pytest.mark.parametrize("reference", sorted(set(REFERENCES)))
def test_every_reference_in_a_record_can_be_imported(reference: str) -> None:
    assert resolve(reference) is not None


def test_every_kind_with_a_trace_has_a_recomputation() -> None:
    assert all((kind.trace is None) == (kind.recompute is None) for kind in bundle_kinds().values())


def test_every_kind_with_an_evaluator_lists_evaluate() -> None:
    for kind in bundle_kinds().values():
        assert ("evaluate" in kind.commands) == (kind.evaluate is not None), kind.name


def test_no_two_families_claim_the_same_name() -> None:
    families = all_families()
    kinds = [kind.name for family in families for kind in family.bundles]
    formats = [format.model_type for family in families for format in family.hub]
    names = [command.name for family in families for command in family.commands]
    for each in (kinds, formats, names):
        assert len(each) == len(set(each))


def test_every_export_is_of_a_known_kind() -> None:
    assert set(exports()) <= set(bundle_kinds())
