"""Build the documentation site: `make docs`, or `python tools/site`.

The pages of docs/ are the source, and they also work as files. Before zensical builds the site, they are copied to build/docs
together with pages that only exist there: the reference of all commands, the reference of the Python interface, the
notebooks, and the pages at the root of the repository. Warnings are errors. The result is in build/site.
"""

import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from checks import broken_links, other_hosts
from commands import command_pages
from links import copied_pages
from notebooks import notebook_pages
from python_reference import python_page
from readability import readability

ROOT = Path(__file__).resolve().parents[2]
PAGES, SITE = ROOT / "build" / "docs", ROOT / "build" / "site"


def write_pages() -> None:
    """All pages as Markdown, in the folder that zensical reads."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    pages = {
        **copied_pages(ROOT),
        **command_pages(),
        **notebook_pages(ROOT),
        "python-reference.md": python_page(),
    }
    for name, text in pages.items():
        (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / name).write_text(text, encoding="utf-8")


def build() -> None:
    shutil.rmtree(SITE, ignore_errors=True)
    zensical = Path(sys.executable).with_name("zensical")
    ended = subprocess.run([zensical, "build", "--clean", "--strict"], cwd=ROOT, check=False)
    if ended.returncode:
        sys.exit(ended.returncode)


def check() -> None:
    problems = [*broken_links(SITE), *other_hosts(SITE)]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"{len(problems)} problems in the site")


if __name__ == "__main__":
    write_pages()
    build()
    check()
    print(readability(ROOT))
    print(
        f"The site is in {SITE.relative_to(ROOT)}. To read it: python -m http.server --directory {SITE.relative_to(ROOT)}"
    )
