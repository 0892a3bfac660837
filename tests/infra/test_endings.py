"""Signals end a run in words, once."""

from __future__ import annotations

import os
import signal
import time

import pytest
from prefect.exceptions import TerminationSignal
from prefect.utilities.engine import capture_sigterm

from assay.infra.terminal import TerminatedError, interruption_text, is_interrupted, signals_as_errors
from assay.infra.user_code.supervision import supervised


def be_hit(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(5)


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, TerminatedError)])
def test_a_signal_raises_once_and_the_second_waits_for_the_run_to_close(number, kind):
    before = signal.getsignal(number)
    with signals_as_errors():
        with pytest.raises(kind) as caught:
            be_hit(number)
        assert type(caught.value) is kind
        assert is_interrupted(caught.value)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
    assert signal.getsignal(number) is before


def test_a_model_is_not_blamed_for_the_sigterm_that_prefect_hears_in_its_flows():
    def model() -> None:
        be_hit(signal.SIGTERM)

    with signals_as_errors(), capture_sigterm(), pytest.raises(TerminationSignal), supervised('The model "m.py:f"'):
        model()


class Finalised:
    """Whatever is raised while this is taken down, Python prints and forgets."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


def take_one_down() -> None:
    Finalised()
    time.sleep(5)


def test_a_signal_that_meets_a_finaliser_is_not_lost(capfd):
    with signals_as_errors(), pytest.raises(KeyboardInterrupt):
        take_one_down()
    assert "Traceback" not in capfd.readouterr().err


def test_how_it_ended_is_told_by_the_signal():
    assert interruption_text(KeyboardInterrupt) == "Interrupted (Ctrl-C)."
    assert interruption_text(TerminatedError) == "Interrupted (SIGTERM)."
