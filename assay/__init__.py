"""Assay audits machine-learning models for robustness and curates data sets that are hard on purpose.

The package has four storeys, each a folder at the top of the repository: `infra` (where it lives and runs), `data`
(what the data is), `tasks` (what is done) and `flows` (in what order). A storey imports only from those below it.
What the command line does is there for Python too: `from assay import audit, votes`.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["Audited", "__version__", "audit", "votes"]

_LATE = {
    "audit": "assay.flows.in_python",
    "Audited": "assay.flows.in_python",
    "votes": "assay.flows.trying.rulebooks",
}


def __getattr__(name: str) -> object:
    """What costs an import, made when it is first asked for: `import assay` itself stays light."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_LATE[name]), name)
    globals()[name] = found
    return found
