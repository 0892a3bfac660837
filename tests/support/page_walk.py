"""A page walked from its first line to its last, as a reader does: files are saved, commands run in their order.

What a page shows under a command has to be what the command prints, but for its numbers: these are the machine's.
"""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_pages import Block, blocks

from assay.flows.cli import answer

STAYS = ("assay serve", "--watch", "assay data get")
"""What stays at work until it is ended, or wants a network."""


@dataclass(frozen=True)
class Step:
    """A line behind a prompt, and what the page shows under it."""

    command: str
    shown: tuple[str, ...]


def steps(block: Block) -> list[Step]:
    """The commands of a console block, each with the lines under it.

    >>> steps(Block("console", "", "$ assay runs\\nrun  status\\n$ assay list\\n", 1))
    [Step(command='assay runs', shown=('run  status',)), Step(command='assay list', shown=())]
    """
    asked = [part.rstrip().split("\n") for part in ("\n" + block.text).split("\n$ ")[1:]]
    return [Step(command.partition("  #")[0].strip(), tuple(shown)) for command, *shown in asked]


def shape(line: str) -> str:
    """A line without what differs between machines: numbers, run names, places, the width of its blanks.

    >>> shape("  ingest       600 samples, 0 rejected      6.9 s") == shape("ingest 5 samples, 17 rejected 12.0 s")
    True
    >>> shape("Report    /home/you/tour/artifacts/reports/2026-11-22-1653-846d/index.html")
    'Report …/RUN/index.html'
    """
    line = re.sub(r"\d{4}-\d\d-\d\d-\d{4}-\w{4}", "RUN", line)
    line = re.sub(r"/\S*/RUN", "…/RUN", line)
    line = re.sub(r"\d+ min (?=\d)", "", line)
    line = re.sub(r"[−-]?(?<!\w)\d[\d.,]*", "#", line)
    return re.sub(r"p [<=] #", "p = #", " ".join(line.split()))


def missing(shown: tuple[str, ...], printed: str) -> list[str]:
    """The lines that a page shows and the command did not print; `…` stands for anything that is left out.

    >>> missing(("a 1", "…", "b … 2"), "a 5\\nb and b 7\\n"), missing(("a", "c"), "a\\n")
    ([], ['c'])
    """
    shapes = [shape(line) for line in printed.splitlines()]
    patterns = {line: ".*".join(re.escape(shape(piece)) for piece in line.split("…")) for line in shown}
    return [line for line, pattern in patterns.items() if not any(re.fullmatch(pattern, one) for one in shapes)]


class Walk:
    """One reader in one folder; knows the exit code of the last command."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys, self.code = folder, capsys, 0

    def through(self, page: Path) -> list[str]:
        """Everything on the page, in its order; returns the commands that were run."""
        done: list[str] = []
        for block in blocks(page):
            if block.name:
                (self.folder / block.name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / block.name).write_text(block.text, encoding="utf-8")
            for step in steps(block) if block.language == "console" else ():
                if not any(word in step.command for word in STAYS):
                    self.take(step)
                    done.append(step.command)
        assert self.code == 0, done[-1]
        return done

    def take(self, step: Step) -> None:
        """One command: it ends with 0 unless the page asks `echo $?` next, and prints what stands under it."""
        if step.command == "echo $?":
            assert step.shown == (str(self.code),)
            self.code = 0
            return
        assert self.code == 0, f"what stands before `{step.command}` ended with {self.code}"
        self.capsys.readouterr()
        program, *words = shlex.split(step.command)
        if program == "assay":
            self.code = answer(words)
        elif program == "python":
            run_script(self.folder, words)
        else:
            pytest.fail(f"a page asks for {program}, and a reader may not have it")
        printed = self.capsys.readouterr()
        assert missing(step.shown, f"{printed.out}\n{printed.err}") == [], f"{step.command}: {printed}"


def run_script(folder: Path, words: list[str]) -> None:
    """`python SCRIPT WORDS` in the folder, as in a process of its own: what it imports from there is forgotten."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", list(words))
        patch.syspath_prepend(str(folder))
        runpy.run_path(str(folder / words[0]), run_name="__main__")
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file and Path(file).is_relative_to(folder):
            del sys.modules[name]


def commands_of(page: Path) -> Iterator[Step]:
    """Every command of a page, in its order."""
    for block in blocks(page):
        if block.language == "console":
            yield from steps(block)
