"""Dask's scheduler and worker without their HTTP server.

Dask starts one in every process, dashboard or not, and it tells whoever asks which calls are at work and where
(`/info`, `/json`, `/metrics`). It has no login, and nothing of ours asks it.
"""

from __future__ import annotations

from distributed import Scheduler, Worker


class SchedulerWithoutHTTP(Scheduler):  # type: ignore[misc]  # Dask has no types
    """A scheduler whose only port is the one that asks for a certificate."""

    def start_http_server(self, *_arguments: object, **_options: object) -> None:
        """Listen on no further port."""


class WorkerWithoutHTTP(Worker):  # type: ignore[misc]  # Dask has no types
    """A worker whose only port is the one that asks for a certificate."""

    def start_http_server(self, *_arguments: object, **_options: object) -> None:
        """Listen on no further port."""
