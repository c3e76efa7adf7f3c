"""The pages that people read, and what stands in them: blocks, commands, links, tables."""

from __future__ import annotations

import re
from pathlib import Path

from tests.needs import ROOT

README = ROOT / "README.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`((?:remit|make|pip) [^`]+)`(?!`)")
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def named(page: Path) -> str:
    """Return the page's name, for a test's id."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of that language."""
    return [body for kind, body in _BLOCK.findall(page.read_text("utf-8")) if kind == language]


def commands(page: Path) -> list[str]:
    """Return every command that the page shows, in a block or in a line."""
    shown = [line for block in blocks(page, "console") for line in block.splitlines()]
    return [line.strip() for line in shown if line.strip()] + _INLINE.findall(prose(page))


def prose(page: Path) -> str:
    """Return the page without its blocks."""
    return _BLOCK.sub("", page.read_text("utf-8"))


def links(page: Path) -> list[str]:
    """Return what the page links to within the repository."""
    return [to for to in _LINK.findall(prose(page)) if "://" not in to]


def rows(page: Path, first: str) -> list[list[str]]:
    """Return the cells of the table whose header begins with the cell *first*."""
    found: list[list[str]] = []
    inside = False
    for line in page.read_text("utf-8").splitlines():
        cells = [one.strip() for one in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            inside = False
        elif cells[0] == first:
            inside = True
        elif inside and set(line) - set("|- "):
            found.append(cells)
    return found
