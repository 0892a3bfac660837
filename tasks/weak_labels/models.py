"""A labeler as numbers: which functions it listens to, what their votes weigh, and, for Snorkel, what they tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import LabelModel

_BY = "by_"
_BALANCE = "balance_"


class Options(Protocol):
    """How long a labeler learns, in which steps, and where it starts."""

    @property
    def epochs(self) -> int:
        """How many steps."""
        ...

    @property
    def learning_rate(self) -> float:
        """How large they are."""
        ...

    @property
    def seed(self) -> int:
        """Where it starts."""
        ...


@dataclass(frozen=True)
class Training:
    """How Snorkel's training went: its losses, and the epoch after which μ hardly moved any more (None: too late)."""

    epochs: int
    first_loss: float
    last_loss: float
    settled_after: int | None

    @property
    def converged(self) -> bool:
        """Whether training had settled well before its end."""
        return self.settled_after is not None


@dataclass(frozen=True)
class Labeler:
    """Weights w_i per function, and μ[i, y, z] = P(i votes y | the class is z) where the labeler has learned it."""

    functions: tuple[str, ...]
    weights: npt.NDArray[np.float64]  # [m]
    mu: npt.NDArray[np.float32] | None = None  # [m, k, k]
    training: Training | None = field(default=None, compare=False)
    balance: tuple[float, ...] | None = None
    """P(class) for every class, where it was given or estimated; None where all are equally frequent."""
    by: str = ""
    """Whose own function makes probabilities of the votes; empty where their weights do."""

    def to_table(self) -> pa.Table:
        """The labeler as a LabelModel table: one row per function, μ in columns `mu_<vote>_<class>`."""
        m = len(self.functions)
        table = {"function": list(self.functions), "weight": self.weights}
        if self.training is not None:
            settled = self.training.settled_after
            table |= {
                "epochs": np.full(m, float(self.training.epochs)),
                "first_loss": np.full(m, self.training.first_loss),
                "last_loss": np.full(m, self.training.last_loss),
                "settled_after": np.full(m, np.nan if settled is None else float(settled)),
            }
        if self.mu is not None:
            k = self.mu.shape[1]
            table |= {f"mu_{y}_{z}": self.mu[:, y, z].astype(np.float64) for y in range(k) for z in range(k)}
        if self.balance is not None:
            table |= {f"{_BALANCE}{z}": np.full(m, share) for z, share in enumerate(self.balance)}
        if self.by:
            table[_BY + self.by] = np.ones(m)
        fields = [*LabelModel.schema, *(pa.field(name, pa.float64()) for name in list(table)[2:])]
        return pa.table(table, schema=pa.schema(fields))


def labeler_from(table: pa.Table) -> Labeler:
    """The labeler that `Labeler.to_table` wrote, bit by bit."""
    numbers = {name: table.column(name).to_numpy() for name in table.column_names if name != "function"}
    k = round(sum(name.startswith("mu_") for name in numbers) ** 0.5)
    mu = np.array([[numbers[f"mu_{y}_{z}"] for z in range(k)] for y in range(k)], dtype=np.float32)
    training = None
    if table.num_rows and "epochs" in numbers:
        settled = float(numbers["settled_after"][0])
        training = Training(
            epochs=int(numbers["epochs"][0]),
            first_loss=float(numbers["first_loss"][0]),
            last_loss=float(numbers["last_loss"][0]),
            settled_after=None if np.isnan(settled) else int(settled),
        )
    functions: Sequence[str] = table.column("function").to_pylist()
    return Labeler(
        functions=tuple(functions),
        weights=numbers["weight"].astype(np.float64),
        mu=np.ascontiguousarray(mu.transpose(2, 0, 1)) if k else None,
        training=training,
        balance=tuple(float(numbers[name][0]) for name in numbers if name.startswith(_BALANCE)) or None,
        by=labeled_by(table),
    )


def labeled_by(table: pa.Table) -> str:
    """The labeler whose own function makes probabilities of votes; empty where the table's weights do."""
    return next((name.removeprefix(_BY) for name in table.column_names if name.startswith(_BY)), "")
