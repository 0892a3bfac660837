"""Which store a command is about."""

from __future__ import annotations

from assay.infra.store import Store


def open_store(config: str, store: str | None) -> Store:
    """The store that the command line names, or else the one that pipelines.yaml names."""
    if store is None:
        from assay.flows.configuration.loading import load_usable

        return Store(load_usable(config)[0].store).look()
    return Store(store).look()
