"""Options of asking a model behind an HTTP endpoint. Secrets are named, never written: headers are variables."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from assay.infra.settings import Settings

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
