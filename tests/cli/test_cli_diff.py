"""``remit lock`` and ``remit diff``: the file, the verdicts, each form, the exit codes."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from remit.manifest import digest
from tests.cli.conftest import DESK, Remit

APP = '''
import remit
app = remit.Remit("shop", store="sqlite://")

@app.tool(effect="{effect}", scopes={scopes})
async def buy(item: str{more}) -> int:
    """{words}"""
    return 1
'''
USUAL = {"effect": "write", "scopes": '{"buy"}', "more": "", "words": "Buy it."}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write the shop's module; each call gives its next version."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    count = 0

    def write(**changed: str) -> str:
        nonlocal count
        count += 1
        name = f"shop_{abs(hash(tmp_path))}_{count}"
        Path(f"{name}.py").write_text(textwrap.dedent(APP).format(**{**USUAL, **changed}))
        return f"{name}:app"

    return write


def test_a_lock_is_the_whole_contract_and_the_same_each_time(remit: Remit, shop: Any):
    target = shop()
    assert remit("lock", target).stdout == "remit.lock: 1 tool, written\n"
    text = Path("remit.lock").read_text()
    lock = json.loads(text)
    assert lock["app"] == target
    assert lock["tools"]["buy"]["scopes"] == ["buy"]
    assert lock["tools"]["buy"]["input_schema"]["properties"]["item"] == {"type": "string"}
    assert text == json.dumps(lock, indent=2, sort_keys=True) + "\n"
    assert remit("lock", target).stdout == "remit.lock: 1 tool, up to date\n"
    assert Path("remit.lock").read_text() == text
    assert remit("diff").stdout == "no change\n"


def test_checking_writes_nothing(remit: Remit, shop: Any):
    target = shop()
    missing = remit("lock", target, "--check")
    assert missing.exit_code == 1
    assert "isn't there" in missing.stderr
    assert not Path("remit.lock").exists()
    remit("lock", target)
    assert remit("lock", target, "--check").exit_code == 0
    before = Path("remit.lock").read_text()
    stale = remit("lock", shop(words="Other."), "--check")
    assert stale.exit_code == 1
    assert "isn't up to date" in stale.stderr
    assert Path("remit.lock").read_text() == before


def test_a_change_is_said_with_its_kind_its_place_and_a_value(remit: Remit, shop: Any):
    remit("lock", shop())
    result = remit("diff", shop(scopes="set()", more=", count: int, published: bool = False"))
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "buy"
    assert "  authority  #/scopes" in lines
    assert "  authority  #/input_schema/properties/published" in lines
    assert "  narrowed   #/input_schema/properties/count" in lines
    assert '             for instance {"item": "a"}' in lines
    assert lines[-1] == "3 changes: 2 authority, 1 narrowed"


@pytest.mark.parametrize(
    ("changed", "options", "code"),
    [
        ({}, (), 0),
        ({"words": "Other."}, (), 0),
        ({"words": "Other."}, ("--fail-on", "meaning"), 1),
        ({"words": "Other."}, ("--fail-on", "any"), 1),
        ({"more": ", note: str = ''"}, (), 0),
        ({"more": ", note: str"}, (), 1),
        ({"more": ", note: str"}, ("--fail-on", "authority,unknown"), 0),
        ({"more": ", note: str"}, ("--fail-on", "none"), 0),
        ({"effect": "read"}, (), 1),
        ({"effect": "read"}, ("--json",), 1),
    ],
)
def test_the_exit_code_is_for_ci(remit: Remit, shop: Any, changed: Any, options: Any, code: int):
    old, new = shop(), shop(**changed)
    assert remit("diff", old, new, *options).exit_code == code


def test_json_has_each_change_and_its_witness(remit: Remit, shop: Any):
    found = json.loads(remit("diff", shop(), shop(more=", note: str"), "--json").stdout)
    assert found == [
        {
            "tool": "buy",
            "pointer": "#/input_schema/properties/note",
            "kind": "narrowed",
            "text": "note is new and required",
            "witness": {"item": "a"},
        }
    ]
    assert json.loads(remit("diff", shop(), shop(), "--json").stdout) == []


def test_sarif_is_what_code_scanning_reads(remit: Remit, shop: Any):
    remit("lock", shop())
    made = json.loads(remit("diff", shop(effect="read"), "--sarif").stdout)
    assert made["version"] == "2.1.0"
    (run,) = made["runs"]
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == "remit/authority"
    assert result["level"] == "error"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "remit.lock"
    line = Path("remit.lock").read_text().splitlines()[place["region"]["startLine"] - 1]
    assert line.strip() == '"buy": {'
    assert "effect: write → read" in result["message"]["text"]


def test_a_table_for_a_pull_request_holds_nothing_but_words(remit: Remit, shop: Any):
    hostile = "Buy | [x](http://evil.example) <b> `code` @you \\u202e"
    shown = remit("diff", shop(), shop(words=hostile), "--markdown").stdout
    rows = [one for one in shown.splitlines() if one.startswith("| `buy`")]
    assert len(rows) == 1
    bare = re.sub(r"\\.", "", rows[0])
    assert bare.count("|") == 5
    assert not set("[<@") & set(bare)
    assert "\u202e" not in shown
    assert shown.startswith("**remit:** 1 change: 1 meaning")


def test_other_lists_of_tools_are_read_from_a_file_or_from_standard_input(remit: Remit, shop: Any):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    listed = {"tools": [{"name": "get", "inputSchema": schema}]}
    Path("old.json").write_text(json.dumps(listed))
    wider = {**schema, "required": ["a"]}
    new = json.dumps({"tools": [{"name": "get", "inputSchema": wider}]})
    result = remit("diff", "old.json", "-", stdin=new)
    assert result.exit_code == 1
    assert "a is required now" in result.stdout
    assert remit("diff", "-", "old.json", stdin=json.dumps(listed)).stdout == "no change\n"


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        ((), "write it: remit lock MODULE:APP"),
        (("none.json", "b.json"), "there is no none.json"),
        (("broken.json", DESK), "can't be read as JSON"),
        (("list.json", DESK), "which are JSON objects"),
        (("newer.json", DESK), "newer remit (form 9)"),
        (("bare.json",), "names no app"),
        (("bare.json", "schema.json"), "the other is a schema"),
        ((DESK, DESK, "--fail-on", "all"), "not 'all'"),
    ],
)
def test_what_cant_be_compared_says_the_mend(
    remit: Remit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: Any, hint: str
):
    monkeypatch.chdir(tmp_path)
    files = {
        "broken.json": "{",
        "list.json": "[]",
        "newer.json": '{"remit": 9, "tools": {}}',
        "bare.json": '{"tools": {}}',
        "schema.json": '{"type": "object"}',
    }
    for name, text in files.items():
        Path(name).write_text(text)
    result = remit("diff", *args)
    assert result.exit_code == 2
    assert hint in result.stderr
    assert result.stdout == ""


def test_the_manifest_tells_what_every_surface_shows(remit: Remit):
    made = json.loads(remit("tools", DESK, "--json").stdout)
    assert made["app"] == "desk"
    one = made["tools"]["request_publish"]
    assert one["approval"]["approvers"] == ["editor"]
    assert one["policies"]["#"] == "strict"
    assert set(one["surfaces"]) == {"mcp", "mcp_flat", "anthropic", "openai", "gemini"}
    for name, surface in one["surfaces"].items():
        assert surface["name"] == "request_publish", name
        assert re.fullmatch("[0-9a-f]{64}", surface["digest"])
    assert one["surfaces"]["openai"]["strict"] is True
    assert one["surfaces"]["openai"]["schema"]["additionalProperties"] is False
    assert one["surfaces"]["mcp"]["annotations"]["destructiveHint"] is False


@pytest.mark.parametrize(
    "given",
    [
        '{"foo": 1}',
        '{"tools": {"a": {"type": "object"}}}',
        '{"tools": [{"inputSchema": {"type": "object"}}]}',
        '{"tools": [{"name": "a", "inputSchema": {}}, {"name": "a", "inputSchema": {}}]}',
        '{"tools": [1]}',
    ],
)
def test_what_is_no_list_of_tools_is_never_the_same(
    remit: Remit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
):
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(given)
    result = remit("diff", "a.json", "a.json")
    assert result.exit_code == 2
    assert "can't be compared" in result.stderr


def test_an_answer_as_the_protocol_carries_it_is_read(
    remit: Remit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    tools = [{"name": "a", "inputSchema": {"type": "object"}}]
    for name, listed in (("old", tools), ("new", [])):
        answer = {"jsonrpc": "2.0", "id": 1, "result": {"tools": listed}}
        Path(f"{name}.json").write_text(json.dumps(answer))
    assert "the tool is gone" in remit("diff", "old.json", "new.json").stdout


def test_an_app_that_cant_be_imported_is_no_change(remit: Remit, shop: Any):
    remit("lock", shop())
    Path("broken_shop.py").write_text("x = (")
    result = remit("diff", "broken_shop:app")
    assert result.exit_code == 2
    assert "SyntaxError" in result.stderr


def test_two_forms_at_once_are_refused(remit: Remit, shop: Any):
    result = remit("diff", shop(), shop(), "--json", "--sarif")
    assert result.exit_code == 2
    assert "take one of" in result.stderr


def test_the_help_keeps_its_table(remit: Remit):
    shown = remit("diff", "--help").stdout
    assert "\n  widened    accepts more\n" in shown
    assert "\\b" not in shown


def test_digests_depend_on_no_order_of_keys():
    one = {"a": 1, "b": {"c": [1, 2], "d": None}}
    other = {"b": {"d": None, "c": [1, 2]}, "a": 1}
    assert list(one) != list(other)
    assert digest(one) == digest(other)
    assert digest(one) != digest({**one, "b": {"c": [2, 1], "d": None}})
