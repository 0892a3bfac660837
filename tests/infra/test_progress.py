"""A person sees bars in a terminal, one line per finished stage, and plain lines elsewhere."""

import io
import time

import pytest

from assay.infra.progress import PlainProgress, SilentProgress, TerminalProgress, line_of, open_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_there_is_one_line_per_stage() -> None:
    stream = io.StringIO()
    progress = open_progress(stream)
    progress.stage_started("ingest", 4)
    for done in range(1, 5):
        progress.advance("ingest", done, 4)
    progress.stage_done("ingest", "569 samples, 0 rejected", 0.41)
    progress.stage_done("subject", "logistic", 0.0, cached=True)
    progress.close()
    first, second = stream.getvalue().splitlines()
    assert first.startswith("  ingest       569 samples, 0 rejected  ")
    assert first.endswith("  0.4 s")
    assert second.endswith("  cached")
    assert len(first) == len(second) == 78


def test_a_long_stage_gives_a_sign_of_life() -> None:
    stream = io.StringIO()
    progress = PlainProgress(stream, quiet_seconds=0.0)
    progress.stage_started("label", 3)
    progress.advance("label", 1, 3)
    progress.advance("label", 3, 3)
    assert stream.getvalue() == "  label        1 of 3 …\n"


def test_a_terminal_shows_bars_and_keeps_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = open_progress(stream)
    assert isinstance(progress, TerminalProgress)
    progress.stage_started("label", 9)
    progress.stage_started("attack")
    progress.advance("label", 3, 9)
    deadline = time.monotonic() + 10
    while "3/9" not in stream.getvalue():  # drawn ten times a second
        assert time.monotonic() < deadline
        time.sleep(0.01)
    progress.notice("No GPU: [CPUs] it is")
    progress.stage_done("label", "30 rules · coverage 66 %", 0.9)
    progress.stage_failed("attack", "the disk is full")
    progress.close()
    shown = stream.getvalue()
    assert "No GPU: [CPUs] it is\n" in shown
    assert f"{line_of('label', '30 rules · coverage 66 %', 0.9, cached=False)}\n" in shown
    assert "  attack       failed: the disk is full\n" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is back


def test_a_terminal_survives_stages_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    progress = TerminalProgress(stream)
    for title in ("ingest", "label", "ingest"):
        progress.stage_started(title, 2)
        progress.advance(title, 1, 2)
        progress.stage_done(title, "done", 0.1)
    progress.close()
    assert stream.getvalue().count(line_of("ingest", "done", 0.1, cached=False)) == 2


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(open_progress(Terminal()), PlainProgress)


def test_a_long_summary_keeps_its_time() -> None:
    assert line_of("order", "x" * 100, 61.2, cached=False).endswith("x  61.2 s")


def test_silence(capfd: pytest.CaptureFixture[str]) -> None:
    progress = SilentProgress()
    progress.stage_started("label", 1)
    progress.notice("heard by nobody")
    progress.stage_done("label", "done", 1.0)
    progress.close()
    assert capfd.readouterr() == ("", "")
