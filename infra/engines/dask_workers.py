"""Who works for a Dask scheduler: plain workers, GPU workers, and how a call is kept on the right ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from distributed import Client
from distributed.client import CancelledError

from assay.infra.compute import Slot, Slots
from assay.infra.engines.dask_rejoining import SchedulerLostError, lost_in_words
from assay.infra.engines.versions import facts_here, versions_here
from assay.infra.errors import RunError

_NO_ANSWER = (OSError, TimeoutError, ValueError, KeyError, AttributeError, RuntimeError, CancelledError)
"""What Dask's client raises where no scheduler answers; the middle three where it was closed in the meantime."""


@dataclass(frozen=True)
class Crew:
    """The workers of a scheduler by address, with how many calls each takes at a time."""

    plain: Mapping[str, int]
    gpu: Mapping[str, int]
    offers_cpu: bool
    """Whether every plain worker offers the resource CPU, as those that we start do."""

    @property
    def slots(self) -> Slots:
        """What the crew can run at the same moment; GPU workers count as CPU workers where there are no others."""
        return Slots(cpu=sum((self.plain or self.gpu).values()), gpu=sum(self.gpu.values()))


class Workers:
    """A scheduler's workers, looked up afresh; remembers names, and that there were plain ones while they restart."""

    def __init__(self, client: Client, name: str, saw_cpu: bool = False) -> None:
        self._client = client
        self._name = name
        self.saw_cpu = saw_cpu
        self._names: dict[str, str] = {}
        self.running: frozenset[str] = frozenset()
        """Those that took calls at the last look: neither paused, as their memory is full, nor on their way out."""

    def name_of(self, where: str) -> str:
        """The name of a worker that was there at the last look, else its address."""
        return self._names.get(where, where)

    def crew(self) -> Crew:
        """Who is there now."""
        with self._asked():
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
        self._names.update({where: str(it["name"]) for where, it in workers.items()})
        self.running = frozenset(where for where, it in workers.items() if it["status"] == "running")
        gpu = {where: int(it["resources"]["GPU"]) for where, it in workers.items() if it["resources"].get("GPU")}
        plain = {where: it for where, it in workers.items() if where not in gpu}
        offers = bool(plain) and all(it["resources"].get("CPU") for it in plain.values())
        self.saw_cpu |= offers
        calls = {where: int(it["resources"].get("CPU", it["nthreads"])) for where, it in plain.items()}
        return Crew(calls, gpu, offers or (self.saw_cpu and not plain))

    def busy_with(self) -> dict[str, list[str]]:
        """What was sent to each worker and is not done, by the worker's address."""
        with self._asked():
            sent: dict[str, list[str]] = self._client.processing()
        return sent

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Within the block, whatever says that no scheduler answers becomes `SchedulerLostError`."""
        try:
            yield
        except _NO_ANSWER as error:
            raise SchedulerLostError(self._name) from error

    def facts(self, addresses: Sequence[str] | None = None) -> dict[str, tuple[Mapping[str, str], str]]:
        """Versions and processor of every worker (or of those named) that is there to answer."""
        with lost_in_words(self._name):
            answers = self._client.run(facts_here, workers=addresses, on_error="return")
        for where, answer in answers.items():
            if isinstance(answer, ImportError):
                raise RunError(
                    f"worker {where} cannot load Assay ({answer}); "
                    f"install assay-audit {versions_here()['assay-audit']} there"
                )
        return {where: answer for where, answer in answers.items() if isinstance(answer, tuple)}


def placement(crew: Crew, slot: Slot) -> dict[str, object]:
    """What to tell Dask so that a call runs on that kind of slot: nothing where there is only one kind of worker."""
    if slot == "GPU":
        return {"resources": {"GPU": 1}}
    if crew.offers_cpu:
        return {"resources": {"CPU": 1}}
    return {"workers": list(crew.plain), "allow_other_workers": True} if crew.plain and crew.gpu else {}
