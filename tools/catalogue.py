"""Write the list of published translators, qkv/published/models.json, from files of their publishers.

    python tools/catalogue.py --firefox GIT --argos GIT --opus GIT --tatoeba GIT

Each GIT is a clone of the publisher's repository, without a work tree if you like:

    firefox   mozilla/firefox-translations-models   models/*/*/metadata.json, and the Git LFS pointers next to it
    argos     argosopentech/argospm-index           index.json
    opus      Helsinki-NLP/OPUS-MT-train            models/*/README.md
    tatoeba   Helsinki-NLP/Tatoeba-Challenge        models/released-models.json

Nothing is guessed: what a publisher does not state is left out. The list names the commit of each repository, and each model
the file that it comes from. Models with several source or target languages are left out, because they have no single pair.
"""

import argparse
import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).parent.parent / "qkv" / "published" / "models.json"
LANGUAGE = r"[a-z]{2,3}(?:_[A-Za-z]{2,4})?"
POINTER = re.compile(r"oid sha256:(?P<sha256>[0-9a-f]{64})\nsize (?P<size>\d+)\n")
Row = dict[str, Any]


@dataclass(frozen=True)
class Repository:
    """A clone, read at its newest commit."""

    folder: Path

    @property
    def commit(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def files(self, folder: str) -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", "HEAD", folder).splitlines()

    def read(self, path: str) -> str:
        return self.git("show", f"HEAD:{path}")

    def git(self, *arguments: str) -> str:
        ran = subprocess.run(["git", "-C", str(self.folder), *arguments], capture_output=True, check=True)
        return ran.stdout.decode("utf-8")


# Firefox ---------------------------------------------------------------------------------------------


def firefox(repository: Repository) -> Iterator[Row]:
    files = repository.files("models/")
    for listed in (name for name in files if name.endswith("/metadata.json")):
        facts = json.loads(repository.read(listed))
        folder, bleu = listed.removesuffix("metadata.json"), facts["flores"]["bleu"]
        parts = [name for name in files if name.startswith(folder) and name.endswith(".gz")]
        model = [name for name in parts if re.search(r"/(model|lex|vocab|srcvocab|trgvocab)\.", name)]
        yield {
            "name": folder.removeprefix("models/").strip("/"),
            "source": facts["sourceLanguage"],
            "target": facts["targetLanguage"],
            "listed": listed,
            "files": [stored_in_lfs(repository, name) for name in model],
            **({} if bleu is None else {"scores": {"flores": {"bleu": bleu}}}),
        }


def stored_in_lfs(repository: Repository, path: str) -> Row:
    """The size and the hash of a file, from its pointer."""
    pointer = POINTER.search(repository.read(path))
    if pointer is None:
        raise SystemExit(f"{path} is not a Git LFS pointer")
    return {"path": path, "size": int(pointer["size"]), "sha256": pointer["sha256"]}


# Argos -----------------------------------------------------------------------------------------------


def argos(repository: Repository) -> Iterator[Row]:
    """The index states neither sizes nor hashes nor scores, and links on IPFS are left out."""
    for package in json.loads(repository.read("index.json")):
        [link] = [each for each in package["links"] if each.startswith("https://")]
        yield {
            "name": link.rsplit("/", 1)[1].removesuffix(".argosmodel"),
            "source": package["from_code"],
            "target": package["to_code"],
            "listed": "index.json",
            "files": [{"path": path_below("argos", link)}],
        }


# OPUS-MT ---------------------------------------------------------------------------------------------


def opus(repository: Repository) -> Iterator[Row]:
    """The last release in the README of each pair. Older releases are further up in the file."""
    for listed in repository.files("models/"):
        pair = re.fullmatch(rf"models/({LANGUAGE})-({LANGUAGE})/README.md", listed)
        if pair is None:
            continue
        *_, release = re.split(r"(?m)^# (?=\S+\.zip)", repository.read(listed))
        link = re.search(r"download: \[[^]]*\]\((\S+?)\)", release)
        if link is None or "SentencePiece" not in release:  # a few old ones need the tokenizer of Moses
            continue
        score = re.search(r"(?m)^\|\s*(Tatoeba\.\S+)\s*\|\s*([\d.]+)\s*\|\s*([\d.]+)\s*\|", release)
        yield {
            "name": f"{pair[1]}-{pair[2]}/{link[1].rsplit('/', 1)[1].removesuffix('.zip')}",
            "source": pair[1],
            "target": pair[2],
            "listed": listed,
            "files": [{"path": path_below("opus", link[1])}],
            **({"scores": {score[1]: {"bleu": float(score[2]), "chrf": percent(score[3])}}} if score else {}),
        }


def tatoeba(repository: Repository) -> Iterator[Row]:
    """The newest release of each pair. Groups of languages have codes of three letters in `short_langpair`."""
    listed, newest = "models/released-models.json", dict[str, Row]()
    for release in json.loads(repository.read(listed)):
        date = re.search(r"(\d{4}-\d\d-\d\d)\.zip$", release["download"])
        if date is None or not re.fullmatch(r"[a-z]{2}-[a-z]{2}", release["short_langpair"]):
            continue
        source, target = release["short_langpair"].split("-")
        folder, name = release["download"].rsplit("/", 2)[1:]
        row = {
            "name": f"{folder}/{name.removesuffix('.zip')}",
            "source": source,
            "target": target,
            "listed": listed,
            "files": [{"path": path_below("tatoeba", release["download"])}],
            "scores": {"Tatoeba": {"bleu": float(release["BLEU"]), "chrf": percent(release["chrF"])}},
            "date": date[1],
        }
        if folder not in newest or newest[folder]["date"] < row["date"]:
            newest[folder] = row
    for row in newest.values():
        del row["date"]
        yield row


def percent(chrf: str) -> float:
    """The publishers write chrF as a share, sacrebleu and qkv in percent."""
    return round(100 * float(chrf), 1)


# The list --------------------------------------------------------------------------------------------

FIREFOX = "mozilla/firefox-translations-models"
SOURCES: dict[str, dict[str, Any]] = {
    # GitHub answers a file of Git LFS at /raw/ with a redirect to media.githubusercontent.com.
    "firefox": {
        "publisher": "Mozilla, Firefox Translations",
        "repository": f"https://github.com/{FIREFOX}",
        "license": "MPL-2.0",  # the file LICENSE of the repository
        "address": f"https://github.com/{FIREFOX}/raw/{{commit}}/",
        "hosts": ["github.com", "raw.githubusercontent.com", "media.githubusercontent.com"],
    },
    "opus": {
        "publisher": "University of Helsinki, OPUS-MT",
        "repository": "https://github.com/Helsinki-NLP/OPUS-MT-train",
        "license": "CC-BY-4.0",  # README.md of the repository
        "address": "https://object.pouta.csc.fi/",
        "hosts": ["object.pouta.csc.fi"],
    },
    "tatoeba": {
        "publisher": "University of Helsinki, Tatoeba Challenge",
        "repository": "https://github.com/Helsinki-NLP/Tatoeba-Challenge",
        "license": "CC-BY-4.0",  # README.md of OPUS-MT-train says so of these models
        "address": "https://object.pouta.csc.fi/",
        "hosts": ["object.pouta.csc.fi"],
    },
    "argos": {
        "publisher": "Argos Translate",
        "repository": "https://github.com/argosopentech/argospm-index",
        "license": "",  # each package states its own
        "address": "https://argos-net.com/v1/",
        "hosts": ["argos-net.com"],
    },
}
READERS: dict[str, Callable[[Repository], Iterable[Row]]] = {
    "firefox": firefox,
    "opus": opus,
    "tatoeba": tatoeba,
    "argos": argos,
}


def path_below(source: str, link: str) -> str:
    address = SOURCES[source]["address"]
    if not link.startswith(address):
        raise SystemExit(f"{link} does not begin with {address}")
    return link.removeprefix(address)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the list of published translators.")
    for name in SOURCES:
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="GIT")
    options = vars(parser.parse_args())
    sources, rows = {}, []
    for name, facts in SOURCES.items():
        repository = Repository(options[name])
        commit = repository.commit
        sources[name] = {**facts, "commit": commit, "address": facts["address"].format(commit=commit)}
        found = sorted(READERS[name](repository), key=lambda row: row["name"])
        print(f"{name}: {len(found):,} models at {commit}")
        rows += [{"publisher": name, **row} for row in found]
    OUTPUT.write_text(as_text(sources, rows), encoding="utf-8")
    print(f"{OUTPUT}: {OUTPUT.stat().st_size:,} bytes")


def as_text(sources: dict[str, Any], rows: list[Row]) -> str:
    """One line for each model, so that changes can be read."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{{"sources": {json.dumps(sources, indent=1, ensure_ascii=False)},\n"models": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    main()
