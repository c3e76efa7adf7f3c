"""The tables say what the code says, and every link leads somewhere."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from remit.cli.exits import EXITS, INTERRUPTED
from remit.outcome import CODES
from tests.docs.pages import PAGES, README, blocks, links, named, rows
from tests.docs.test_code import PROJECT
from tests.needs import ROOT

DOCS = ROOT / "docs"
# These end no call: they end a request, or a decision that was none.
BESIDE_CALLS = {"superseded", "invalid_decision"}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path):
    assert [to for to in links(page) if not (page.parent / to).exists()] == []


def test_each_page_is_reached_from_the_readme():
    """If this fails, a page is written for nobody."""
    reached = {(README.parent / to).resolve() for to in links(README)}
    lost = [page for page in PAGES[1:] if not reached & {page, page.parent}]
    assert lost == []


def codes(cell: str) -> set[str]:
    return {*re.findall(r"`([a-z_]+)`", cell)}


def test_every_outcome_code_has_a_line_and_no_other():
    found = [code for row in rows(DOCS / "codes.md", "code") for code in codes(row[0])]
    ours = [code for code in found if code in CODES | BESIDE_CALLS]
    assert {*ours} == CODES | BESIDE_CALLS
    whole = [row for row in rows(DOCS / "codes.md", "code") if len(row) == 3]
    assert {code for row in whole for code in codes(row[0])} == CODES | BESIDE_CALLS


def test_the_exit_codes_are_the_commands():
    found = [
        (int(number), codes(outcomes), text)
        for number, outcomes, text in rows(DOCS / "codes.md", "exit")
    ]
    ours = [(one.number, {*one.outcomes}, one.text) for one in EXITS]
    assert found == [*ours, (INTERRUPTED, set(), "interrupted from the keyboard")]


def test_every_threat_has_one_line_with_the_tests_it_has():
    """If this fails, a threat is said to be tested and isn't, or is tested and not said to be."""
    table = rows(DOCS / "threats.md", "id")
    assert [row[0] for row in table] == [f"T{number}" for number in range(1, 26)]
    for name, _, maps_to, state, tests in table:
        assert maps_to, name
        assert state.partition(":")[0] in {"tested", "part", "not yet"}, name
        assert bool(tests) != state.startswith("not yet"), name
        for own in (ROOT / "tests/threats").glob(f"test_t{int(name[1:]):02}_*.py"):
            assert own.name in tests, name


def test_every_law_has_one_line_its_name_and_its_tests():
    table = rows(README, "law")
    assert len(table) == 12
    for number, (law, promise, _, tests) in enumerate(table, 1):
        (file,) = (ROOT / "tests/laws").glob(f"test_l{number:02}_*.py")
        told = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
        assert told.startswith(law.replace(f"L{number} ", f"L{number}. ")), law
        assert promise, law
        assert file.name in tests, law


def test_the_demos_excerpt_is_the_demos():
    """Titles and what was shown stand in the demo's code; the demo's own test runs it whole.

    If this fails, the page tells of a story that is no longer told.
    """
    said = (ROOT / "examples/blog/demo.py").read_text("utf-8")
    lines = [line.strip() for line in blocks(README, "text")[1].splitlines()]
    titles = [found[1] for line in lines if (found := re.match(r"── (?:\d\. )?(.*?) ─+$", line))]
    shown = [line[2:] for line in lines if line[:2] in {"✓ ", "! "}]
    assert len(titles) >= 4
    assert len(shown) >= 8
    assert [text for text in titles + shown if text not in said] == []


def test_each_decision_says_why_what_and_at_what_price():
    files = sorted((DOCS / "decisions").glob("*.md"))
    for number, file in enumerate(files, 1):
        text = file.read_text("utf-8")
        assert file.name.startswith(f"{number:04}-"), file.name
        assert text.startswith(f"# {number:04}. "), file.name
        heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert heads == ["Context", "Decision", "What it costs"], file.name


def test_the_glossary_has_each_word_once_in_order():
    words = [row[0] for row in rows(DOCS / "glossary.md", "word")]
    assert words == sorted({*words})


def test_the_changelog_has_the_packages_version_under_its_unreleased_changes():
    heads = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heads[:2] == ["Unreleased", PROJECT["version"]]
