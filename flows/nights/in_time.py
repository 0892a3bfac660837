"""Work that must not keep a night from ending: it has so long, and is left behind where it takes longer."""

from __future__ import annotations

import threading
from collections.abc import Callable

_MARGIN = 1.0  # seconds that a delivery may overrun before it is left behind


def trouble_within(
    seconds: float, name: str, work: Callable[[], None], in_words: Callable[[Exception], str]
) -> str | None:
    """Why the work was not done, in words; None where it was. Comes back in time, whatever happens.

    >>> trouble_within(5, "example", lambda: None, str) is None
    True
    """
    outcome: list[str | None] = []

    def carry_out() -> None:
        try:
            work()
            outcome.append(None)
        except Exception as error:  # noqa: BLE001 - its words may quote an address: the caller says what is told
            outcome.append(in_words(error))

    # A thread of its own: a server that sends a byte now and then keeps any time-out of a socket from firing.
    thread = threading.Thread(target=carry_out, name=f"assay-{name}", daemon=True)
    thread.start()
    thread.join(seconds + _MARGIN)
    return outcome[0] if outcome else f"no answer within {seconds:.0f} s"
