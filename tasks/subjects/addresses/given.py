"""A model at an address, in hand: what travels to the workers, what its results are keyed by, how a service is asked.

It is asked as a user's function is: rows of a table, images or texts go in as blocks, and what comes out is checked by
whoever asks. It is no code of anybody's: nothing in it is executed or unpickled, and it has no gradient. Secrets are
named, never written: headers are environment variables.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from operator import not_
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import Field, StringConstraints, model_validator

from assay.infra.errors import error_text
from assay.infra.settings import Settings, StandsOn

KindName = Literal["model", "network", "classifier", "tagger", "scorer", "predictions"]
"""The settings that name a subject; each subject has exactly one."""

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")]
FormName = Literal["auto", "instances", "kserve", "chat", "completions"]
_WORDS = ("model", "prompt", "answers", "read", "logprobs", "parameters")


class TokenPrice(Settings):
    """What tokens cost."""

    input: float = Field(ge=0, examples=["0.15"])
    """Of a million tokens sent."""

    output: float = Field(ge=0, examples=["0.60"])
    """Of a million tokens that come back."""


def plain_word(text: str) -> str:
    """A word as it compares: without case, and without the blanks and marks around it.

    >>> plain_word(" **Other (neutral)**."), plain_word("?")
    ('other (neutral', '')
    """
    return text.strip().strip(".,;:!?\"'`*()[]").strip().casefold()


class Asking(Settings):
    """How a model behind an HTTP endpoint is asked."""

    form: FormName = "auto"
    """What is sent: `instances` (`{"instances": […]}`: TensorFlow Serving, Vertex AI, MLflow, KServe v1), `kserve`
    (Open Inference Protocol, version 2), `chat` or `completions` (a `prompt`). `auto` goes by the address."""

    model: str | None = Field(default=None, min_length=1, exclude_if=not_, examples=["gpt-4o-mini"])
    """The model asked in words, as its server calls it."""

    prompt: str | None = Field(default=None, min_length=1, exclude_if=not_, examples=["spam_prompt.txt"])
    """The file with the question, `{text}` where the sample's text belongs: a text, or (`.yaml`, `.json`) a list of
    messages with `role` and `content`."""

    answers: dict[str, tuple[str, ...]] | None = Field(
        default=None, min_length=2, exclude_if=not_, examples=["{spam: [junk], ham: []}"]
    )
    """The classes, each with the words that mean it beside its name."""

    read: Literal["label", "first-token", "json"] = Field(default="label", exclude_if=lambda read: read == "label")
    """What of an answer names the class: all of it, its first word, or the `label`, `answer` or `class` of its JSON
    object. Any other answer is none: counted, shown and wrong."""

    logprobs: bool = Field(default=False, exclude_if=not_)
    """Whether log probabilities are asked for, which AUC, calibration and confidence need."""

    parameters: dict[str, Any] = Field(default={}, exclude_if=not_, examples=["{temperature: 0.7, seed: 1}"])
    """What else is sent: how answers are drawn (`temperature`, 0 where left out) or constrained (`response_format`,
    `guided_choice`)."""

    repeats: int = Field(default=1, ge=1, le=20, exclude_if=lambda repeats: repeats == 1, examples=["3"])
    """How often each audited text is asked about; an attack counts only beyond what changes by itself."""

    at_once: int = Field(default=1, ge=1, le=256, exclude_if=lambda at_once: at_once == 1, examples=["16"])
    """How many requests a worker has under way at once."""

    rows: Literal["named", "listed"] = "named"
    """How a row of a table is sent: `{"age": 61}`, or `[61]` in the order of `features`."""

    batch: int = Field(default=32, ge=1, le=4096)
    """At most so many samples a request."""

    timeout: float = Field(default=30.0, gt=0, le=3600)
    """Seconds until an answer has to be there, whole."""

    retries: int = Field(default=4, ge=0, le=20)
    """How often a request is made again after no answer, 429, 500, 502, 503 or 504: after half a second, then twice as
    long each time, or as `Retry-After` says, up to a minute."""

    rate: float | None = Field(default=None, gt=0, le=10_000, examples=["5"])
    """At most so many requests a second, of all workers together."""

    requests: int | None = Field(default=None, ge=1, examples=["10000"])
    """At most so many requests in one run, retries included."""

    price: Annotated[float, Field(gt=0)] | TokenPrice | None = Field(default=None, examples=["0.002"])
    """What a request costs; or, in words, a million tokens: `{input: 0.15, output: 0.60}`."""

    cost: float | None = Field(default=None, gt=0, examples=["5"])
    """At most so much may one run's requests cost. By tokens, what is under way at the end is paid for, too."""

    headers: dict[str, VariableName] = Field(default={})
    """Headers, each with the environment variable that holds its value, on workers too: `{Authorization:
    SPAM_AUTHORIZATION}`."""

    version_header: str | None = Field(default=None, min_length=1, examples=["X-Model-Version"])
    """The header with the version that answers: while it stays the same, answers are taken from the store. KServe says
    its versions by itself."""

    output: str | None = Field(default=None, min_length=1, examples=["probabilities"])
    """The output with the probabilities, where there are several."""

    @property
    def most_requests(self) -> int | None:
        """How many requests a run may make, by number and by cost.

        >>> Asking(requests=100, price=0.5, cost=20).most_requests, Asking().most_requests
        (40, None)
        """
        paid = int(self.cost / self.price + 1e-9) if self.cost is not None and isinstance(self.price, float) else None
        return min((most for most in (self.requests, paid) if most is not None), default=None)

    def spent(self, counts: Mapping[str, int]) -> float | None:
        """What so many `requests`, or tokens, cost; None where nothing has a price.

        >>> Asking(price=0.5).spent({"requests": 3})
        1.5
        """
        if isinstance(self.price, TokenPrice):
            return (self.price.input * counts["tokens_in"] + self.price.output * counts["tokens_out"]) / 1e6
        return None if self.price is None else self.price * counts["requests"]

    @property
    def in_words(self) -> bool:
        """Whether the answers are words."""
        return self.form in ("chat", "completions")

    @property
    def spellings(self) -> dict[str, frozenset[str]]:
        """What each class may be called in an answer, by its name or other words for it, each as a `plain_word`."""
        return {name: frozenset(map(plain_word, (name, *more))) for name, more in (self.answers or {}).items()}

    @model_validator(mode="after")
    def _words_are_asked_for(self) -> Self:
        given = [name for name in _WORDS if name in self.model_fields_set]
        if given and self.form in ("instances", "kserve"):
            raise ValueError(f"`{given[0]}` is about models that answer in words: set `form: chat`, or leave it out")
        lacking = [name for name in ("model", "prompt", "answers") if getattr(self, name) is None]
        if lacking and (self.in_words or given):
            raise ValueError(f"a model that answers in words needs `{lacking[0]}`")
        if self.logprobs and self.read == "json":
            raise ValueError("`logprobs` are of the first token, which in JSON names no class: leave one of them out")
        words = [word for spelt in self.spellings.values() for word in spelt]
        if twice := sorted({word for word in words if words.count(word) > 1}):
            raise ValueError(f"`answers` gives {twice[0]!r} to more than one class")
        if "" in words:
            raise ValueError("`answers` has a word of nothing but blanks and marks, which no answer can be told by")
        if isinstance(self.price, TokenPrice) and not (self.in_words or given):
            raise ValueError("`price` by tokens is about models that answer in words: give what a request costs")
        return self

    @model_validator(mode="after")
    def _can_be_sent_and_paid(self) -> Self:
        try:
            json.dumps(self.parameters, allow_nan=False)
        except (TypeError, ValueError) as fault:
            raise ValueError(f"`parameters` are sent as JSON, which cannot hold one of them ({fault})") from fault
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

    features: tuple[str, ...] | None
    """The columns that it reads, in this order, where it looks at a table."""

    asking: Asking | None
    """How a service is asked."""

    revision: str | None
    """The commit of a hub model."""

    trusted: tuple[str, ...]
    """The types in a file that the user trusts."""

    predicts: str | None
    """The column of numbers that it predicts, where it gives no classes."""

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
    """The file, where it is one; the prompt of a model that answers in words."""
    read_by: str = ""
    """The library that computes with it, and its version."""
    trusted: tuple[str, ...] = ()
    """The types in its file that the user trusts."""
    chances: bool = True
    """Whether it gives probabilities, or classes alone."""
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
    time: int = 0
    """How often the same was asked before, where answers may differ."""
    variant_of: str = ""
    """The prompt whose variant this one is; it is counted as that."""

    @cached_property
    def fingerprint(self) -> str:
        """The hash of everything that its answers depend on."""
        state = hashlib.sha256(f"{self.kind}\0{self.looks_at}\0{self.features}\0{self.read_by}".encode())
        state.update(hashlib.sha256(self.content).digest())
        if self.version:
            how = self.asking
            state.update(f"\0{self.url}\0{how.form}\0{how.rows}\0{how.output}\0{self.version}".encode())
            if self.time:
                state.update(f"\0again {self.time}".encode())
            if how.in_words:
                words = how.model_copy(update={"prompt": Path(str(how.prompt)).suffix})  # how it is read
                state.update(words.model_dump_json(include=set(_WORDS)).encode())
        return state.hexdigest()

    @property
    def gives_chances(self) -> bool:
        """Whether it gives probabilities: an answer in words has none, unless the server gives those of its tokens."""
        return self.chances and (self.asking.logprobs or not self.asking.in_words)

    @property
    def session(self) -> str:
        """What a model that is kept built may not outlive: the run, its store, and how it is asked."""
        return f"{self.run}\0{self.store}\0{self.asking.model_dump_json()}"

    @property
    def goes_on(self) -> bool:
        """Whether the run that asks goes on with one that broke off, and no version says that it is the same model."""
        return bool(self.run) and self.version.startswith(ASKED_BY) and self.run not in self.version

    @property
    def asked_now(self) -> bool:
        """Whether all answers that are kept of it are of the run that asks."""
        return bool(self.run) and self.version == f"{ASKED_BY}{self.run}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenModel) and self._same == other._same

    def __hash__(self) -> int:
        return hash(self._same)

    @property
    def _same(self) -> tuple[str, str, str]:
        return self.fingerprint, self.session, self.written

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
        return shorten(error_text(fault, masked), 300, placeholder=" …")
