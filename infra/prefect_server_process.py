"""The process behind `PrefectServer`: it serves Prefect's API on a socket of its parent's for as long as that lives.

Its standard input is a pipe from the parent. When that closes, by whatever end the parent came to (SIGKILL included),
the server goes too: an orphan would hold the database, and nobody would know whose it is.
"""

from __future__ import annotations

import os
import socket
import sys
import threading


def main(listening: int) -> None:
    """Serve on this socket, which the parent opened, until told to stop, or until standard input ends."""
    threading.Thread(target=_end_with_parent, name="assay-lifeline", daemon=True).start()
    import uvicorn

    config = uvicorn.Config("prefect.server.api.server:create_app", factory=True, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    server.run(sockets=[socket.socket(fileno=listening)])
    if not server.started:
        sys.exit(3)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
