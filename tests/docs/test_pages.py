"""What the pages say is so: links lead somewhere, commands parse, settings load, and the terminal looks like that."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import click
import pytest
from markdown_pages import PAGES, ROOT, anchors, blocks, code_spans, links

from assay.flows.cli import assay
from assay.flows.configuration.loading import load_project

_LONELY = "pipelines:\n  night: {source: {dataset: sample/breast-cancer}}\n"
_CONTINUED = (
    "pipelines:\n  night:\n    source: {dataset: sample/breast-cancer}\n    labeling: {functions: breast-cancer}\n"
    "    weak_labels: {labelers: [majority]}\n    ordering: {}\n"
)


def commands() -> list[tuple[str, str]]:
    """Every `assay …` line of the pages: prompts in console blocks, lines of code, spans with arguments."""
    found = []
    for page in PAGES:
        lines = [line for block in blocks(page) for line in block.text.splitlines()]
        asked = [line.removeprefix("$ ").partition("  #")[0] for line in lines if line.startswith("$ assay ")]
        asked += [span for span in code_spans(page) if span.startswith("assay ") and "…" not in span]
        found += [(page.name, one) for one in dict.fromkeys(asked)]
    return found


def parse(words: list[str], *, complete: bool) -> None:
    """Read the arguments as the command line does, without doing anything; unfinished ones need only name a command."""
    command: click.Command = assay
    context = assay.make_context("assay", list(words), resilient_parsing=not complete)
    while isinstance(command, click.Group):
        name, chosen, words = command.resolve_command(context, words)
        assert chosen is not None
        if isinstance(chosen, click.Group) or complete or words:
            context = chosen.make_context(name or "", list(words), parent=context, resilient_parsing=not complete)
        command = chosen


@pytest.fixture
def certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that some commands want to be there."""
    monkeypatch.chdir(tmp_path)
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).touch()


@pytest.mark.parametrize(("page", "line"), commands(), ids=[f"{page}: {line}" for page, line in commands()])
@pytest.mark.usefixtures("certificates")
def test_a_command_on_a_page_is_one_that_the_command_line_takes(page: str, line: str) -> None:
    words = shlex.split(line)[1:]
    only_named = len(words) == 1 or (len(words) == 2 and words[0] in ("store", "data"))
    parse(words, complete=not only_named)


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    with pytest.raises(click.UsageError, match="no command"):
        parse(["serv"], complete=False)
    with pytest.raises(click.UsageError, match="--juni"):
        parse(["gate", "latest", "--juni", "x.xml"], complete=True)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_relative_links_lead_to_files_and_headings(page: Path) -> None:
    for link in links(page):
        if "://" in link:
            continue
        place, _, anchor = link.partition("#")
        target = page.parent / place if place else page
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}"


def fragments() -> list[tuple[str, str]]:
    return [
        (f"{page.name}:{block.line}", block.text)
        for page in PAGES
        for block in blocks(page)
        if block.language == "yaml" and not block.name
    ]


@pytest.mark.parametrize(("where", "text"), fragments(), ids=[where for where, _ in fragments()])
def test_yaml_on_a_page_is_a_pipelines_file_or_a_piece_of_one(tmp_path: Path, where: str, text: str) -> None:
    if text.startswith("gates:"):
        text = _CONTINUED + "".join(f"    {line}\n" for line in text.splitlines())
    elif "pipelines:" not in text:
        text += _LONELY
    (tmp_path / "pipelines.yaml").write_text(text, encoding="utf-8")
    assert load_project(tmp_path / "pipelines.yaml").pipelines, where


def test_the_stages_in_the_readme_are_those_of_a_real_run(tmp_path: Path) -> None:
    from assay.flows.forecast.plan import walk_plan

    project = load_project(ROOT / "pipelines.yaml", overrides=[], store=str(tmp_path / "store"))
    planned = iter([stage.title for stage in walk_plan(project, project.pipeline("first-night"), 0)[0]])
    output = next(block.text for block in blocks(ROOT / "README.md") if block.text.startswith("first-night · run"))
    shown = [line[2:14].strip() for line in output.splitlines() if line.startswith("  ") and line[2] not in " …"]
    assert len(shown) > 4
    for title in shown:
        assert title in planned, f"{title} is no stage of first-night, or not in this place"


def test_examples_in_python_print_what_they_print() -> None:
    for page in PAGES:
        for block in blocks(page):
            if block.language == "pycon":
                test = doctest.DocTestParser().get_doctest(block.text, {}, page.name, str(page), block.line)
                assert doctest.DocTestRunner().run(test).failed == 0


def test_the_readme_is_read_in_five_minutes_and_its_pictures_are_small() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 75
    for picture in (ROOT / "docs" / "images").iterdir():
        assert picture.stat().st_size <= 250_000, picture.name


def test_every_page_is_reached_from_the_readme_or_the_list_of_tutorials() -> None:
    lists = [ROOT / "README.md", ROOT / "docs" / "tutorials" / "index.md"]
    reached = {(page.parent / link).resolve() for page in lists for link in links(page) if "://" not in link}
    assert [page.name for page in PAGES if page.resolve() not in reached and page.name != "README.md"] == []


def test_the_site_names_every_page_once() -> None:
    """`make site` is strict about the same, and is run by hand."""
    named = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    there = [page.relative_to(ROOT).as_posix().removeprefix("docs/") for page in PAGES if page.name != "README.md"]
    assert sorted(named) == sorted(there)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_a_page_holds_no_marks_of_a_merge(page: Path) -> None:
    assert re.search(r"^(<{7}|>{7}) ", page.read_text(encoding="utf-8"), re.MULTILINE) is None


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_a_table_ends_with_an_empty_line(page: Path) -> None:
    """Else what follows is read as one more row of it."""
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^\|.*\n(?![|\n]|<!--).+", text, re.MULTILINE) == []
