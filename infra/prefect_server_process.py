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
    from prefect.server.api.server import create_app
    from prefect.settings import PREFECT_SERVER_API_AUTH_STRING, PREFECT_UI_ENABLED

    from assay.infra.loopback_guard import LoopbackGuard

    ours = socket.socket(fileno=listening)
    secret = PREFECT_SERVER_API_AUTH_STRING.value()
    if not secret:
        sys.exit("Prefect's server is not started without a secret.")
    guarded = LoopbackGuard(
        create_app(), port=ours.getsockname()[1], secret=str(secret), pages=bool(PREFECT_UI_ENABLED.value())
    )
    config = uvicorn.Config(guarded, log_level="error", lifespan="on", server_header=False)
    server = uvicorn.Server(config)
    server.run(sockets=[ours])
    if not server.started:
        sys.exit(3)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
