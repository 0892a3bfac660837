"""The messages that docs/nightly.md explains are messages that the code can say."""

from __future__ import annotations

import ast
import re

import pytest
from markdown_pages import ROOT

PAGE = (ROOT / "docs" / "nightly.md").read_text(encoding="utf-8")
CODES = {"0", "1", "2", "3", "130"}


def texts() -> list[str]:
    """Every text in our code, with … where something is filled in."""
    found = []
    for storey in ("infra", "data", "tasks", "flows"):
        for path in sorted((ROOT / storey).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    found.append("".join(str(p.value) if isinstance(p, ast.Constant) else "…" for p in node.values))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(node.value)
    return found


def explained() -> list[str]:
    """The messages in the first column of the table of messages."""
    rows = PAGE.split("| it says |")[1].splitlines()[2:]
    firsts = [row.split(" | ")[0] for row in rows if row.startswith("|")]
    messages = [message for first in firsts for message in re.findall(r"`([^`]+)`", first)]
    return [message for message in messages if not message.startswith("pipelines.yaml:")]


@pytest.fixture(scope="module")
def code() -> str:
    return "\n".join(text.replace("\n", " ") for text in texts())


@pytest.mark.parametrize("message", explained())
def test_the_code_can_say_it(code: str, message: str) -> None:
    pattern = ".*".join(re.escape(piece.strip()) for piece in message.split("…") if piece.strip())
    assert re.search(pattern, code, re.IGNORECASE), message


def test_the_table_of_messages_was_found() -> None:
    assert len(explained()) >= 15


def test_the_exit_codes_are_those_of_the_command_line() -> None:
    table = PAGE.split("| exit code |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| (\d+) \|", table, re.MULTILINE)) == CODES
    source = (ROOT / "flows" / "cli.py").read_text(encoding="utf-8") + (ROOT / "infra" / "errors.py").read_text(
        encoding="utf-8"
    )
    for code in ("130", "exit_code = 2", "exit_code = 3"):
        assert code in source
