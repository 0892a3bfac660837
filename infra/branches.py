"""Independent branches of an audit: one that fails does not take the others with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from assay.infra.errors import AssayError, RunError, told
from assay.infra.runs import current_run

P = ParamSpec("P")


class Branches:
    """Runs branches one after the other and remembers the errors of those that failed."""

    def __init__(self) -> None:
        self.failures: list[AssayError] = []

    def attempt(self, what: str, branch: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Run a branch; if it fails, the others go on, and the run ends with the first error."""
        try:
            branch(*args, **kwargs)
        except AssayError as error:
            self._note(what, error)
        except Exception as error:  # noqa: BLE001 - a bug in one branch is no reason to lose the others; it is kept whole
            masked = current_run().masked
            broken = RunError(f"{what} broke: {told(error, masked)}. Run again with --debug to see where.")
            broken.__cause__ = None if masked else error
            self._note(what, broken)

    def _note(self, what: str, error: AssayError) -> None:
        self.failures.append(error)
        said = str(error)
        current_run().record.failures.append(said if said.startswith(f"{what} broke") else f"{what}: {said}")
