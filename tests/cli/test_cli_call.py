"""`remit call`: flags and JSON mean what the caller wrote, and the exit code says how it ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.cli.exits import EXITS, exit_code
from remit.outcome import CODES
from tests.cli.conftest import AUTHOR, DESK, Remit


def said(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["data"]["said"]


@pytest.mark.parametrize(
    ("flags", "key", "value"),
    [
        (["--count", "-5"], "count", -5),
        (["--count=-5"], "count", -5),
        (["--ratio", "-1.5e3"], "ratio", -1500.0),
        (["--price", "1.10"], "price", "1.10"),
        (["--loud"], "loud", True),
        (["--no-loud"], "loud", False),
        (["--tags", "a", "--tags", "b"], "tags", ["a", "b"]),
        (["--tags", '["a"]'], "tags", ['["a"]']),
        (["--tags", "true"], "tags", ["true"]),
        (["--tags", "--x"], "tags", ["--x"]),
        (["--sizes", "1", "--sizes", "-2"], "sizes", [1, -2]),
        (["--color", "green"], "color", "green"),
        (["--level", "2"], "level", 2),
        (["--level", "3"], "level", "3"),
        (["--either", "true"], "either", True),
        (["--either", "7"], "either", 7),
        (["--draft-id", "5"], "draft_id", "5"),
        (["--draft_id", "-"], "draft_id", "-"),
        (
            ["--deep.point.x", "3"],
            "deep",
            {"point": {"x": 3, "y": 0.5, "label": None}, "on": False},
        ),
        (
            ["--deep.point.x", "3", "--deep.on", "--deep.point.label", "null"],
            "deep",
            {"point": {"x": 3, "y": 0.5, "label": "null"}, "on": True},
        ),
    ],
)
def test_a_flag_says_a_value_of_its_declared_type(
    author: Remit, flags: list[str], key: str, value: Any
) -> None:
    found = said(author("echo", "--title", "t", *flags))
    assert found[key] == value
    assert type(found[key]) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "true",
        "null",
        '{"a": 1}',
        "-x",
        "--loud",
        "",
        "1e3",
        " a\nb\t",
        "é☃\U0001f600",
        "\u202e",
    ],
)
def test_a_text_stays_the_text_that_it_is(author: Remit, text: str) -> None:
    """FR-126: argv is not parsed twice."""
    assert said(author("echo", "--title", text))["title"] == text
    assert said(author("echo", f"--title={text}"))["title"] == text


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (["--titel", "t"], "--title"),
        (["--tit", "t"], "--title"),
        (["--totally_bogus", "1"], "totally_bogus"),
        (["--title", "a", "--title", "b"], "given 2 times"),
        (["--title", "a", "--count", "1", "--count=1"], "--count is given 2 times"),
        (["--title", "a", "--loud", "--no-loud"], "contradict"),
        (["--title", "a", "--loud", "--loud"], "given 2 times"),
        (["--title", "a", "--loud=false"], "--loud"),
        (["--title", "a", "--deep.nothing", "1"], "deep.nothing"),
        (["--title"], "argument"),
        (["--title", "a", "more"], "more"),
        (["-t", "a"], "-t"),
        (["--title", "a", "--json", "{}"], "--json both"),
        (["--title", "a", "--claims", "{}"], "--claims is given twice"),
    ],
)
def test_a_flag_that_is_none_ends_with_2_and_a_hint(
    author: Remit, flags: list[str], hint: str
) -> None:
    """FR-127: nothing on the command line is accepted and discarded."""
    result = author("echo", *flags)
    assert result.exit_code == 2
    assert hint in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "flags", [["--count", "five"], ["--count", "5.5"], ["--ratio", "NaN"], ["--count", "0x10"]]
)
def test_what_is_no_number_is_refused_by_the_one_judge(author: Remit, flags: list[str]) -> None:
    result = author("echo", "--title", "t", *flags)
    assert result.exit_code == 2
    outcome = json.loads(result.stdout)
    assert outcome["code"] == "invalid_arguments"
    assert outcome["issues"][0]["path"] == flags[0][2:]
    assert flags[1] not in result.stdout + result.stderr


@pytest.mark.parametrize("where", ["argument", "stdin"])
def test_json_text_reaches_the_judge_untouched(author: Remit, where: str) -> None:
    def call(text: str) -> Any:
        return (
            author("echo", "--json", text)
            if where == "argument"
            else author("echo", "--json", "-", stdin=text)
        )

    nested = {
        "title": "t",
        "ratio": None,
        "deep": {"point": {"x": 1}},
        "any_of_them": {"k": 1},
        "points": [],
    }
    assert said(call(json.dumps(nested)))["any_of_them"] == {"k": 1}
    for wrong in (
        '{"title": "a", "title": "b"}',
        '{"title": "a"',
        "[]",
        "",
        '{"title": "a", "approved": true}',
        '{"title": NaN}',
    ):
        result = call(wrong)
        assert result.exit_code == 2, wrong
        assert json.loads(result.stdout)["code"] == "invalid_arguments"
    issue = json.loads(call('{"title": "a", "title": "b"}').stdout)["issues"][0]
    assert issue["code"] == "duplicate_key"


def test_a_tools_own_argument_wins_after_the_tools_name(author: Remit) -> None:
    found = said(author("clash", "--json", "{", "--claims", "c", "--no_x", "n"))
    assert found == {"json": "{", "claims": "c", "no_x": "n", "x": False, "a_b": ""}
    assert said(author("clash", "--no-x", "n"))["no_x"] == "n"
    assert said(author("clash", "--a-b", "n"))["a_b"] == "n"


def test_options_stand_before_the_app_or_after_the_tool(remit: Remit) -> None:
    for args in (
        ["--claims", AUTHOR, "--json", '{"title": "t"}', DESK, "echo"],
        [DESK, "echo", "--claims", AUTHOR, "--json", '{"title": "t"}', "--json-output"],
    ):
        assert said(remit("call", *args))["title"] == "t"
    assert remit("call", DESK, "echo", "--title", "t", env={"REMIT_CLAIMS": AUTHOR}).exit_code == 0


def test_claims_come_from_a_file(remit: Remit, tmp_path: Any) -> None:
    file = tmp_path / "me.json"
    file.write_text(AUTHOR)
    assert remit("call", DESK, "echo", "--title", "t", "--claims", str(file)).exit_code == 0
    for text, hint in (
        (str(tmp_path / "none.json"), "No such file"),
        ('{"sub": "a", "sub": "b"}', "twice"),
        ('{"sub"', "JSON"),
    ):
        result = remit("call", DESK, "echo", "--title", "t", "--claims", text)
        assert result.exit_code == 2
        assert hint in result.stderr


@pytest.mark.parametrize(
    ("args", "number", "code"),
    [
        (["ping"], 0, "ok"),
        (["fail", "--how", "crash"], 1, "internal"),
        (["fail", "--how", "code"], 1, "not_editable"),
        (["fail", "--how", "other"], 2, "invalid_arguments"),
        (["request_publish", "--note", "n"], 3, "awaiting_approval"),
        (["fail", "--how", "gone"], 4, "not_found"),
        (["nothing"], 4, "unknown_tool"),
        (["fail", "--how", "conflict"], 6, "conflict"),
    ],
)
def test_the_exit_code_says_how_it_ended(
    author: Remit, args: list[str], number: int, code: str
) -> None:
    result = author(*args)
    assert result.exit_code == number, result.output
    assert json.loads(result.stdout)["code"] == code
    assert bool(result.stderr) is (number not in (0, 3))


def test_without_claims_only_public_tools_can_be_called(remit: Remit) -> None:
    assert remit("call", DESK, "ping").exit_code == 0
    result = remit("call", DESK, "echo", "--title", "t")
    assert result.exit_code == 5
    assert "--claims" in result.stderr


def test_an_unknown_tool_is_answered_with_the_nearest_that_the_caller_may_know(
    author: Remit, remit: Remit
) -> None:
    assert "Did you mean echo?" in author("ecco").stderr
    poor = remit("call", "--claims", '{"sub": "x"}', DESK, "ecco")
    assert "echo" not in poor.stderr
    hidden = remit("call", "--claims", '{"sub": "x"}', DESK, "echo", "--title", "t")
    assert json.loads(hidden.stdout) == json.loads(poor.stdout)


def test_every_code_has_one_exit_code_and_the_help_shows_it(remit: Remit) -> None:
    outcomes = [outcome for exit_ in EXITS for outcome in exit_.outcomes]
    assert len(outcomes) == len(set(outcomes))
    assert set(outcomes) >= CODES
    assert exit_code("an_authors_own") == 1
    shown = remit("call", "--help").output
    for exit_ in EXITS:
        assert f"  {exit_.number}" in shown
        for outcome in exit_.outcomes:
            assert outcome in shown


def test_a_tools_help_lists_its_flags(author: Remit) -> None:
    shown = author("echo", "--help").output
    for text in (
        "--title TEXT",
        "The note's title.",
        "[required]",
        "--no-loud",
        "red|green",
        "--deep.point.x",
    ):
        assert text in shown
    assert "any_of_them" in shown
    assert "points" in shown


def test_help_before_a_tool_is_the_commands_own(remit: Remit) -> None:
    assert remit("call", DESK, "--help").stdout == remit("call", "--help").stdout


def test_help_draws_what_the_app_says(author: Remit) -> None:
    shown = author("odd", "--help").output
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_json_output_reads_back_and_no_terminal_obeys_it(author: Remit) -> None:
    result = author("odd")
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert json.loads(result.stdout)["data"] == "\x1b[31mred\u202e [bold]no[/bold]"


def test_refusals_and_logs_are_drawn(author: Remit) -> None:
    shown = author("fail", "--how", "code").stderr + author("fail", "--how", "crash").stderr
    assert "\x1b" not in shown
    assert "\\u{001b}" in shown


def test_the_secret_of_a_crash_stays_in_the_log(author: Remit) -> None:
    assert "planted-secret" not in author("fail", "--how", "crash").stdout


def test_on_a_terminal_the_outcome_is_for_people(
    author: Remit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.cli.call._for_people", lambda: True)
    assert author("ping").stdout == "pong\n"
    assert author("odd").stdout == "\\u{001b}[31mred\\u{202e} [bold]no[/bold]\n"
    waiting = author("request_publish", "--note", "n")
    assert waiting.exit_code == 3
    assert "Nothing has happened yet" in waiting.stdout
    shown = author("echo", "--title", "t")
    assert json.loads(shown.stdout)["said"]["title"] == "t"
    assert "1/2 half" in shown.stderr
    assert json.loads(author("ping", "--json-output").stdout)["ok"] is True


def test_the_audit_row_names_the_surface(author: Remit) -> None:
    import asyncio

    from tests.cli import desk

    author("ping")
    author("echo", "--count", "x")
    rows = desk.app.audit.rows()
    assert [(row.surface, row.tool, row.principal, row.outcome) for row in rows] == [
        ("cli", "ping", "asha", "ok"),
        ("cli", "echo", "asha", "invalid_arguments"),
    ]
    asyncio.run(desk.app.close())
