"""The list of published translators, models.json. `tools/catalogue.py` writes it from files of the publishers.

A publisher states what it knows: a size, a hash or a score that is missing here is not known.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from qkv.published.pairs import Pair, matches

LIST = Path(__file__).with_name("models.json")


@dataclass(frozen=True, kw_only=True)
class Publisher:
    name: str
    """As options name it: firefox, opus, tatoeba, argos."""
    publisher: str
    repository: str
    commit: str
    """The state of the repository that the list was made from."""
    license: str
    """Empty if each model states its own."""
    address: str
    """The paths of all files follow it."""
    hosts: tuple[str, ...]
    """Where the address may redirect to."""


@dataclass(frozen=True, kw_only=True)
class RemoteFile:
    path: str
    """Below the publisher's address, and below the publisher's name in a mirror."""
    size: int | None = None
    sha256: str = ""
    """Empty if the publisher states none."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A model of a publisher."""

    publisher: Publisher
    name: str
    source: str
    target: str
    listed: str
    """The file of the publisher's repository that names the model."""
    files: tuple[RemoteFile, ...]
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By test set: bleu, and chrf if it is known. The publishers' test sets differ."""

    @property
    def pair(self) -> Pair:
        return self.source, self.target

    @property
    def size(self) -> int | None:
        """Bytes of the download, if the publisher states them."""
        sizes = [each.size for each in self.files if each.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None

    @property
    def best_bleu(self) -> float:
        return max((score.get("bleu", 0.0) for score in self.scores.values()), default=0.0)


@cache
def listing(path: Path = LIST) -> tuple[Listed, ...]:
    """All models. Publishers come in the order of the file, which is the order of preference."""
    content = json.loads(path.read_text(encoding="utf-8"))
    publishers = {name: publisher_of(name, facts) for name, facts in content["sources"].items()}
    return tuple(
        Listed(
            **{
                **row,
                "publisher": publishers[row["publisher"]],
                "files": tuple(RemoteFile(**each) for each in row["files"]),
            }
        )
        for row in content["models"]
    )


def publisher_of(name: str, facts: Mapping[str, Any]) -> Publisher:
    return Publisher(**{**facts, "name": name, "hosts": tuple(facts["hosts"])})


def models_for(pair: Pair, publisher: str | None = None) -> list[Listed]:
    """The models of a pair, preferred ones first. Among those of one publisher the best scores come first, because they
    were measured on the same test set."""
    found = [each for each in listing() if matches(each.pair, pair)]
    order = list(dict.fromkeys(each.publisher.name for each in found))
    found.sort(key=lambda each: (order.index(each.publisher.name), -each.best_bleu))
    return [each for each in found if publisher is None or each.publisher.name == publisher]


@cache
def languages() -> frozenset[str]:
    return frozenset(code for each in listing() for code in each.pair)
