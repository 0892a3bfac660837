"""Whatever is wrong with a project's files and settings, the answer is a sentence: no traceback, no hang, no crash."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from accepted_inputs import unexpected

KEEPER = Path(__file__).parents[1] / "support" / "door_keeper.py"
PLACE = re.compile(
    r"(^|\s|\")[^\s:]+:\d+: |--set: |\b(row|rows|line|column|columns|feature|files?|folder|path|header)\b"
    r"|\.(csv|jsonl|iob|parquet|yaml|py|json|txt|bin|png|safetensors|gz|zip|xz|bz2)\b"
    r"|The (classifier|model|endpoint|word vectors|attack)\b"
)
"""A refusal names a file with its line, a row, a column or feature, or at least the file, the model or the endpoint."""


def knocked(first: int, stop: int, seconds: float) -> list[dict[str, object]]:
    root = KEEPER.parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, KEEPER, str(first), str(stop)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == stop - first, done.stderr[-2000:]
    return answers


def require_answers(answers: list[dict[str, object]]) -> None:
    wrong = [one for one in answers if one["fault"]]
    assert not wrong, json.dumps(wrong, indent=1)
    placeless = [one for one in answers if one["code"] == 2 and not PLACE.search(str(one["said"]))]
    assert not placeless, json.dumps(placeless, indent=1)
    accepted = unexpected(answers)
    assert not accepted, json.dumps(accepted, indent=1)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("first", "stop"), [(0, 10), *(pytest.param(at, at + 58, marks=pytest.mark.slow) for at in range(10, 300, 58))]
)
def test_three_hundred_broken_projects_get_their_sentence(first: int, stop: int) -> None:
    answers = knocked(first, stop, 580)
    require_answers(answers)
    assert sum(one["code"] == 2 for one in answers) > len(answers) / 2


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("first", range(1000, 6000, 1000))
def test_five_thousand_broken_projects_get_their_sentence(first: int) -> None:
    require_answers(knocked(first, first + 1000, 7100))
