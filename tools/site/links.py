"""Links of the repository become links of the site."""

import re
from pathlib import Path, PurePosixPath

from formulas import with_formulas

LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
ROOT_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
    "SECURITY.md": "security.md",
    "README.md": "index.md",
    "examples": "notebooks.md",
}
"""Paths of the repository outside docs/, and the pages that replace them."""


def copied_pages(root: Path) -> dict[str, str]:
    """The pages of docs/ and of the root, with links that work in the site."""
    pages = {}
    for source in sorted((root / "docs").rglob("*.md")):
        name = source.relative_to(root / "docs").as_posix()
        pages[name] = site_page(source.read_text(encoding="utf-8"), PurePosixPath("docs") / name, name)
    for source_name, name in ROOT_PAGES.items():
        source = root / source_name
        if source.is_file() and source_name != "README.md":
            pages[name] = site_page(source.read_text(encoding="utf-8"), PurePosixPath(source_name), name)
    for each in sorted((root / "deploy").iterdir()):
        pages[f"deploy/{each.name}.md"] = f"# {each.name}\n\n```\n{each.read_text(encoding='utf-8')}```\n"
    return pages


def site_page(text: str, source: PurePosixPath, name: str) -> str:
    """The page as the site has it. `source` is its path in the repository, `name` that in the site."""

    def rewritten(match: re.Match[str]) -> str:
        target, anchor = match[2], match[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = normal(source.parent / target)
        found = site_path(path)
        return f"{match[1]}{relative(found, PurePosixPath(name))}{anchor}{match[4]}"

    return with_formulas(LINK.sub(rewritten, text))


def site_path(path: PurePosixPath) -> str:
    if str(path) in ROOT_PAGES:
        return ROOT_PAGES[str(path)]
    if path.parts[0] == "docs":
        return PurePosixPath(*path.parts[1:]).as_posix()
    if path.parts[0] == "deploy":
        return f"{path}.md"
    if path.suffix == ".ipynb":
        return path.with_suffix(".md").as_posix()
    return str(path)  # the check of links reports it


def normal(path: PurePosixPath) -> PurePosixPath:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return PurePosixPath(*parts)


def relative(target: str, page: PurePosixPath) -> str:
    return "../" * len(page.parent.parts) + target
