"""A person sees bars in a terminal, one line per finished stage, and plain lines elsewhere."""

import io
import time

import pytest

from assay.infra.terminal import (
    MOST_BARS,
    PlainProgress,
    Progress,
    ShownStage,
    TerminalProgress,
    open_progress,
    stage_line,
)

INGEST, LABEL, ATTACK, SUBJECT = (
    ShownStage(number, title) for number, title in enumerate(["ingest", "label", "attack", "subject"])
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_there_is_one_line_per_stage() -> None:
    stream = io.StringIO()
    progress = open_progress(stream)
    progress.stage_started(INGEST, 4)
    for done in range(1, 5):
        progress.advance(INGEST, done, 4)
    progress.stage_done(INGEST, "569 samples, 0 rejected", 0.41)
    progress.stage_done(SUBJECT, "logistic", 0.0, cached=True)
    progress.close()
    first, second = stream.getvalue().splitlines()
    assert first.startswith("  ingest       569 samples, 0 rejected  ")
    assert first.endswith("  0.4 s")
    assert second.endswith("  cached")
    assert len(first) == len(second) == 78


def test_nights_that_share_a_log_say_on_every_line_whose_it_is() -> None:
    stream = io.StringIO()
    progress = open_progress(stream, "heart: ")
    progress.notice("No GPU: CPUs it is")
    progress.stage_failed(LABEL, "no rules")
    assert stream.getvalue().splitlines() == ["heart: No GPU: CPUs it is", "heart:   label        failed: no rules"]


def test_a_long_stage_gives_a_sign_of_life() -> None:
    stream = io.StringIO()
    progress = PlainProgress(stream, quiet_seconds=0.0)
    progress.stage_started(LABEL, 3)
    progress.advance(LABEL, 1, 3)
    progress.advance(LABEL, 3, 3)
    assert stream.getvalue() == "  label        1 of 3 …\n"


def test_a_terminal_shows_bars_and_keeps_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = open_progress(stream)
    assert isinstance(progress, TerminalProgress)
    progress.stage_started(LABEL, 9)
    progress.stage_started(ATTACK)
    progress.advance(LABEL, 3, 9)
    deadline = time.monotonic() + 120
    while "3/9" not in stream.getvalue():  # drawn ten times a second
        assert time.monotonic() < deadline
        time.sleep(0.01)
    progress.notice("No GPU: [CPUs] it is")
    progress.stage_done(LABEL, "30 rules · coverage 66 %", 0.9)
    progress.stage_failed(ATTACK, "the disk is full")
    progress.close()
    shown = stream.getvalue()
    assert "No GPU: [CPUs] it is\n" in shown
    assert f"{stage_line('label', '30 rules · coverage 66 %', 0.9, cached=False)}\n" in shown
    assert "  attack       failed: the disk is full\n" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is back


def test_a_terminal_survives_stages_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    progress = TerminalProgress(stream)
    for number, title in enumerate(["ingest", "label", "ingest"]):
        stage = ShownStage(number, title)
        progress.stage_started(stage, 2)
        progress.advance(stage, 1, 2)
        progress.stage_done(stage, "done", 0.1)
    progress.close()
    assert stream.getvalue().count(stage_line("ingest", "done", 0.1, cached=False)) == 2


def drawn(stream: Terminal, text: str) -> str:
    """What is shown, once the text is a part of it."""
    deadline = time.monotonic() + 120
    while text not in stream.getvalue():  # drawn ten times a second
        assert time.monotonic() < deadline, stream.getvalue()
        time.sleep(0.01)
    return stream.getvalue()


def test_stages_of_one_title_at_once_have_a_bar_each_with_the_name_of_their_branch() -> None:
    stream = Terminal()
    progress = TerminalProgress(stream)
    plain, defended = ShownStage(1, "attack", "pgd on plain"), ShownStage(2, "attack", "pgd on [red] defended")
    progress.stage_started(plain, 9)
    progress.stage_started(defended, 9)
    progress.advance(plain, 4, 9)
    progress.advance(defended, 7, 9)
    lines = drawn(stream, "7/9").splitlines()
    at = next(at for at, line in enumerate(lines) if "7/9" in line)
    assert "pgd on [red] defended" in lines[at]
    assert "4/9" in lines[at - 1]
    assert "pgd on plain" in lines[at - 1]
    progress.stage_done(plain, "broken", 0.3)
    progress.stage_done(ShownStage(3, "attack"), "stored", 0.0, cached=True)  # never started
    progress.close()
    assert stage_line("attack", "broken", 0.3, cached=False) in stream.getvalue()
    assert stage_line("attack", "stored", 0.0, cached=True) in stream.getvalue()


def test_more_stages_than_fit_are_counted() -> None:
    stream = Terminal()
    progress = TerminalProgress(stream)
    for number in range(MOST_BARS + 12):
        progress.stage_started(ShownStage(number, f"stage{number:02}"), 3)
    shown = drawn(stream, "… and 12 more")
    assert f"stage{MOST_BARS - 1:02}" in shown
    last_frame = shown[: shown.rindex("… and 12 more")].rsplit("stage00", 1)[-1]
    assert f"stage{MOST_BARS:02}" not in last_frame
    assert last_frame.count("\n") == MOST_BARS
    progress.close()


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(open_progress(Terminal()), PlainProgress)


def test_a_long_summary_keeps_its_time() -> None:
    assert stage_line("order", "x" * 100, 61.2, cached=False).endswith("x  61.2 s")


def test_silence(capfd: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress.stage_started(LABEL, 1)
    progress.notice("heard by nobody")
    progress.stage_done(LABEL, "done", 1.0)
    progress.close()
    assert capfd.readouterr() == ("", "")
