"""The process behind `PrefectServer`: it serves Prefect's API on loopback for as long as its parent lives.

Its standard input is a pipe from the parent. When that closes, by whatever end the parent came to (SIGKILL included),
the server goes too: an orphan would hold the database, and nobody would know whose it is.
"""

from __future__ import annotations

import os
import sys
import threading


def main(port: int) -> None:
    """Serve on this port of 127.0.0.1 until told to stop, or until standard input ends."""
    threading.Thread(target=_end_with_parent, name="assay-lifeline", daemon=True).start()
    import uvicorn

    uvicorn.run(
        "prefect.server.api.server:create_app", factory=True, host="127.0.0.1", port=port, log_level="error",
        lifespan="on",
    )  # fmt: skip


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
