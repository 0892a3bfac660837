"""Signals end a run in words, once."""

from __future__ import annotations

import signal

import pytest

from assay.infra.endings import TerminatedError, how_it_ended, is_interrupted, signals_in_words


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, TerminatedError)])
def test_a_signal_raises_once_and_the_second_waits_for_the_run_to_close(number, kind):
    before = signal.getsignal(number)
    with signals_in_words():
        with pytest.raises(kind) as caught:
            signal.raise_signal(number)
        assert type(caught.value) is kind
        assert is_interrupted()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(number) is before


def test_how_it_ended_is_told_by_the_signal():
    assert how_it_ended(KeyboardInterrupt) == "Interrupted (Ctrl-C)."
    assert how_it_ended(TerminatedError) == "Interrupted (SIGTERM)."
