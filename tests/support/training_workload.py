"""A training that can be disturbed, where worker processes can import it: each step multiplies and adds."""

import os
import signal
import time
from pathlib import Path

import pyarrow as pa

from assay.infra.stages.trainings import Checkpoints
from assay.infra.storage.artifacts import Table

STEPS = 5


class Steps(Table):
    """What a training was like: its state after every step."""

    schema = pa.schema([pa.field("step", pa.int64(), nullable=False), pa.field("state", pa.int64(), nullable=False)])


def seen_beside(marker: str) -> Path:
    """The file that says that people saw how far a training was when its process was killed."""
    return Path(f"{marker}-seen")


def learn(
    numbers: pa.Table, *, checkpoints: Checkpoints, factor: int, marker: str = "", how: str = "raise"
) -> tuple[dict[str, bytes], pa.Table]:
    """The state after five steps. Where the marker file is named and not there, it is made after step 2, and then the
    training ends: by an error, or with its process. What goes on after a kill waits until somebody has looked."""
    saved = checkpoints.latest()
    if saved is not None and how == "kill":
        latest = time.monotonic() + 60
        while not seen_beside(marker).exists() and time.monotonic() < latest:
            time.sleep(0.02)
    step, history = (0, []) if saved is None else (saved[0], [int(one) for one in saved[1]["history"].split()])
    while step < STEPS:
        state = (history[-1] if history else 1) * factor + sum(numbers["x"].to_pylist())
        history, step = [*history, state], step + 1
        checkpoints.save(step, STEPS, {"history": b" ".join(str(one).encode() for one in history)})
        if step == 2 and marker and not Path(marker).exists():
            Path(marker).write_text(str(step))
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise KeyboardInterrupt if how == "interrupt" else OSError("the machine went away")
    curve = pa.table({"step": range(1, STEPS + 1), "state": history}, schema=Steps.schema)
    return {"model": str(history[-1]).encode()}, curve
