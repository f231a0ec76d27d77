"""What must hold for the built site: every link and anchor leads somewhere, and no page asks another host for anything."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("audio", "src"),
}
NOT_LOADED = {"canonical", "alternate", "next", "prev"}
"""Relations of <link> that browsers do not load."""
STYLE_ADDRESS = re.compile(r"(?:@import\s+|url\()[\"']?(https?://[^\"')\s]+)")


@dataclass
class Page(HTMLParser):
    """The links, anchors and addresses of a page."""

    path: Path
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        for name, value in given.items():
            if (tag, name) in LOADS and given.get("rel") not in NOT_LOADED:
                self.loaded.append(value)


def pages_of(site: Path) -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}


def broken_links(site: Path) -> Iterator[str]:
    pages = pages_of(site)
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            where = path.relative_to(site.resolve())
            if not target.exists():
                yield f"{where}: {link} leads nowhere"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{where}: {link} has no such anchor"


def other_hosts(site: Path) -> Iterator[str]:
    for path, page in pages_of(site).items():
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{path.relative_to(site.resolve())} loads {address}"
    for path in sorted(site.rglob("*.css")):
        for address in STYLE_ADDRESS.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)} loads {address}"
