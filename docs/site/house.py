"""What the site needs of pages that were written to be read in a repository: a hook of MkDocs.

Links that leave docs/ lead to copies inside the site, a file name behind a fence becomes its title, and diagrams become
tables, so that nothing is fetched when a page is read.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")
"""Pages beside docs/ that are pages of the site, too."""
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_NAMED_FENCE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)
_DIAGRAM = re.compile(r"^```mermaid\nflowchart LR\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """The pages beside docs/, and the files that any page links to outside of it, become files of the site."""
    from mkdocs.structure.files import File  # not installed where tests read this module

    for name in PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    for page in [*DOCS.rglob("*.md"), *(ROOT / name for name in PAGES)]:
        for _, link, _ in _LINK.findall(page.read_text(encoding="utf-8")):
            place = _outside(link, page)
            if place is not None and place not in files.src_uris:
                files.append(File.generated(config, place, content=(ROOT / place).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page as MkDocs reads it."""
    source = ROOT / page.file.src_uri if page.file.src_uri in PAGES else DOCS / page.file.src_uri
    markdown = _DIAGRAM.sub(_as_table, markdown)
    markdown = _NAMED_FENCE.sub(r'```\1 title="\2"', markdown)
    markdown = _LINK.sub(lambda link: link[1] + _inside(link[2], source, page.file.src_uri) + link[3], markdown)
    return markdown.replace("docs/images/", "images/") if page.file.src_uri in PAGES else markdown


def _place(link: str, page: Path) -> str | None:
    """Where a link of a page leads in the repository; nothing for addresses and what is not there."""
    if "://" in link or link.startswith("mailto:"):
        return None
    target = (page.parent / link).resolve()
    return target.relative_to(ROOT).as_posix() if target.is_file() and target.is_relative_to(ROOT) else None


def _outside(link: str, page: Path) -> str | None:
    """The file outside of docs/ that a link leads to, if it is none of the pages."""
    place = _place(link, page)
    return None if place is None or place.startswith("docs/") or place in PAGES else place


def _inside(link: str, page: Path, here: str) -> str:
    """The link, from the place of its page in the site."""
    place = _place(link, page)
    if place is None:
        return link
    return posixpath.relpath(place.removeprefix("docs/"), posixpath.dirname(here) or ".")


def _as_table(diagram: re.Match[str]) -> str:
    """Arrows as a table: what stands on what."""
    arrows = re.findall(r"(\S+) --> (\S+)", diagram[1])
    stands_on = {name: [one for one, other in arrows if other == name] for name in dict.fromkeys(b for _, b in arrows)}
    rows = [f"| {name} | {', '.join(others)} |" for name, others in stands_on.items()]
    return "\n".join(["| kind | comes after |", "|---|---|", *rows])
