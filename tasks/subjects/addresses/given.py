"""A model at an address, in hand: what travels to the workers, what its results are keyed by, how a service is asked.

It is asked as a user's function is: rows of a table, images or texts go in as blocks, and what comes out is checked by
whoever asks. It is no code of anybody's: nothing in it is executed or unpickled, and it has no gradient. Secrets are
named, never written: headers are environment variables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal, Protocol, Self

from pydantic import Field, StringConstraints, model_validator

from assay.infra.settings import Settings, StandsOn

KindName = Literal["model", "network", "classifier", "tagger", "scorer", "predictions"]
"""The settings that name a subject; each subject has exactly one."""

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")]


class Asking(Settings):
    """How a model behind an HTTP endpoint is asked."""

    form: Literal["auto", "instances", "kserve"] = "auto"
    """What is sent: `instances` is `{"instances": […]}` answered by `{"predictions": […]}` or the rows alone, as
    TensorFlow Serving, Vertex AI, MLflow and KServe v1 do; `kserve` the Open Inference Protocol, version 2. `auto` is
    `kserve` for addresses with `/v2/models/`."""

    rows: Literal["named", "listed"] = "named"
    """How a row of a table is sent with `instances`: `{"age": 61}`, or `[61]` in the order of `features`."""

    batch: int = Field(default=32, ge=1, le=4096)
    """At most so many samples a request."""

    timeout: float = Field(default=30.0, gt=0, le=3600)
    """Seconds until an answer has to be there, whole."""

    retries: int = Field(default=4, ge=0, le=20)
    """How often a request is made again that got no answer, or 429, 500, 502, 503 or 504: after half a second, then
    after twice as long each time, or as long as `Retry-After` says, up to a minute."""

    rate: float | None = Field(default=None, gt=0, le=10_000, examples=["5"])
    """At most so many requests a second, of all workers together."""

    requests: int | None = Field(default=None, ge=1, examples=["10000"])
    """At most so many requests in one run, retries included; the next one is refused, and what was answered is kept."""

    price: float | None = Field(default=None, gt=0, examples=["0.002"])
    """What a request costs."""

    cost: float | None = Field(default=None, gt=0, examples=["5"])
    """At most so much may the requests of one run cost together, at their `price`."""

    headers: dict[str, VariableName] = Field(default={})
    """Headers that are sent, each with the name of the environment variable that holds its value, on workers too:
    `{Authorization: SPAM_AUTHORIZATION}`."""

    version_header: str | None = Field(default=None, min_length=1, examples=["X-Model-Version"])
    """The header that says which version answers, to HEAD before anything is asked and with every answer: while it
    stays the same, answers are taken from the store. KServe says its versions by itself."""

    output: str | None = Field(default=None, min_length=1, examples=["probabilities"])
    """The name of the output with the probabilities, where a model has several."""

    @property
    def most_requests(self) -> int | None:
        """How many requests a run may make, by number and by cost.

        >>> Asking(requests=100, price=0.5, cost=20).most_requests, Asking().most_requests
        (40, None)
        """
        afforded = None if self.cost is None or self.price is None else int(self.cost / self.price + 1e-9)
        return min((most for most in (self.requests, afforded) if most is not None), default=None)

    @model_validator(mode="after")
    def _cost_needs_a_price(self) -> Self:
        if self.cost is not None and self.price is None:
            raise ValueError("`cost` needs the `price` of a request, or say the number of `requests`")
        if self.most_requests == 0:
            raise ValueError("`cost` is less than the `price` of one request, so that nothing could be asked")
        return self


class Addressed(Protocol):
    """What the settings of a subject say to whoever opens the model at its address."""

    @property
    def kind(self) -> KindName:
        """Which of the settings names it: what it looks at."""

    @property
    def features(self) -> tuple[str, ...] | None:
        """The columns that it reads, in this order, where it looks at a table."""

    @property
    def asking(self) -> Asking | None:
        """How a service is asked."""

    @property
    def revision(self) -> str | None:
        """The commit of a hub model."""

    @property
    def stands_on(self) -> StandsOn:
        """The files and the version that its answers depend on."""


ASKED_BY = "asked by run "
"""How the version of a service begins that names none."""


@dataclass(frozen=True, eq=False)
class GivenModel:
    """What an address leads to; `kind` is its word in the table of addresses, `looks_at` what the subject is."""

    written: str
    kind: str
    looks_at: KindName
    opened: Callable[[GivenModel], Callable[..., object]]
    """What makes the function that answers."""
    features: tuple[str, ...] | None = None
    """The columns it reads, in its order, where it looks at a table."""
    content: bytes = b""
    """The file, where it is one."""
    read_by: str = ""
    """The library that computes with it, and its version."""
    url: str = ""
    """The whole address of a service; what is `written` is what of it may be shown."""
    asking: Asking = field(default_factory=Asking)
    version: str = ""
    """What stands for answers that come from elsewhere; empty where they come from a file."""
    service_version: str = ""
    """The version that the service named when the run began; empty where it named none, or nobody asked."""
    vouched: bool = False
    """Whether a person says that this version answers; where only the service says so, a few samples are asked again
    before stored answers are believed."""
    store: str = ""
    """Where answers are kept; empty where none are."""
    run: str = ""
    """The run that asks."""

    @cached_property
    def fingerprint(self) -> str:
        """The hash of everything that its answers depend on."""
        state = hashlib.sha256(f"{self.kind}\0{self.looks_at}\0{self.features}\0{self.read_by}".encode())
        state.update(hashlib.sha256(self.content).digest())
        if self.version:
            form = f"{self.asking.form}\0{self.asking.rows}\0{self.asking.output}"
            state.update(f"\0{self.url}\0{form}\0{self.version}".encode())
        return state.hexdigest()

    @property
    def session(self) -> str:
        """What a model that is kept built may not outlive: the run, its store, and how it is asked."""
        return f"{self.run}\0{self.store}\0{self.asking.model_dump_json()}"

    @property
    def goes_on(self) -> bool:
        """Whether the run that asks goes on with one that broke off, and no version says that it is the same model."""
        return bool(self.run) and self.version.startswith(ASKED_BY) and self.run not in self.version

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenModel) and self._same == other._same

    def __hash__(self) -> int:
        return hash(self._same)

    @property
    def _same(self) -> tuple[str, str, str]:
        return self.fingerprint, self.session, self.written

    @property
    def is_ours(self) -> bool:
        """Whether it is a part of Assay."""
        return False

    @property
    def asks_elsewhere(self) -> bool:
        """Whether a service answers, which is asked for nothing twice."""
        return bool(self.version)

    def load(self) -> object:
        """The function that answers for a table, a list of texts, or images [n, c, h, w]."""
        return self.opened(self)

    @contextmanager
    def at_work(self, _what: str) -> Iterator[None]:
        """Within the block it is asked; no code of anybody's runs in it that would have to be heard."""
        yield

    def raised(self, fault: BaseException, masked: bool = False) -> str:
        """What was raised; `masked` without its words, which may quote the data it was given."""
        return type(fault).__name__ if masked else f"{type(fault).__name__}: {' '.join(str(fault).split())[:300]}"

    def line_of(self, _fault: BaseException) -> str:
        """Nothing: it has no lines."""
        return ""
