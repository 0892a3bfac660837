"""Draws depend on run seed, stage and sample, and on nothing else."""

import pickle
import subprocess
import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.stages.exact import Seeds

IDS = [None, "", "None", "null", "a", "b", "12", "é"]


def test_the_draws_of_a_sample_never_change() -> None:
    assert Seeds(0, "order").generator("patient-7").integers(0, 2**32, 3).tolist() == [
        850539177,
        2813771594,
        1994422337,
    ]
    assert Seeds(0, "order").integer() == 2686763514


def test_another_process_draws_the_same() -> None:
    program = "from assay.infra.stages.exact import Seeds; print(Seeds(3, 'label').generator('x').random(4).tolist())"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(Seeds(3, "label").generator("x").random(4).tolist())


def test_every_part_of_the_key_counts() -> None:
    keys = [(run, stage, sample) for run in (0, 1, -1) for stage in ("order", "prune") for sample in IDS]
    draws = {Seeds(run, stage).generator(sample).bytes(16) for run, stage, sample in keys}
    assert len(draws) == len(keys)


def test_asking_twice_gives_a_fresh_generator() -> None:
    seeds = Seeds(1, "order")
    seeds.generator("a").random(10)
    assert seeds.generator("a").random() == pickle.loads(pickle.dumps(seeds)).generator("a").random()


@given(run=st.integers(0, 2**64), sample=st.none() | st.text(max_size=8))
@settings(max_examples=50, deadline=None)
def test_integers_fit_whoever_asks(run: int, sample: str | None) -> None:
    assert 0 <= Seeds(run, "fit").integer(sample) < 2**32
    assert 0 <= Seeds(run, "fit").integer(sample, bits=63) < 2**63


def test_samples_draw_independently() -> None:
    first = np.array([Seeds(0, "order").generator(f"s{n}").random() for n in range(4000)])
    assert abs(first.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 4000)
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4 / np.sqrt(4000)
