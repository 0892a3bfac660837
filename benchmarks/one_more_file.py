"""A night that got one more file, beside the same night over an empty store, and one that got nothing.

    python benchmarks/one_more_file.py [--files 20] [--rows 20000] [--repeats 3] [--quick]

Reviews come in by the day, a Parquet file each; the rules are functions of one sample in a file of the team's own, as
Snorkel's are written. Every night is an `assay run` of its own: from the command to the report, Prefect and two workers
included. The digests of both ways are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from claims import claim, tell

from assay.infra.storage.store import Store

PIPELINES = """
compute: {workers: 2}
pipelines:
  night:
    source: {parquet: "days/*.parquet", id: id, label: label, classes: [good, bad]}
    labeling: {functions: rules.py}
    pruning: {correlation: 0.95}
    weak_labels: {labelers: [majority]}
    ordering: {alpha: 0.05, datasets: 10}
"""
GOOD = ("fine", "lovely", "kind", "clean", "quick", "fair", "warm", "bright")
BAD = ("slow", "rude", "cold", "broken", "dirty", "late", "loud", "dull")
OTHER = tuple(f"word{number}" for number in range(400))
RULE = """

def says_{word}(sample):
    return {vote} if re.search(r"\\b{word}\\b", sample.text) else -1
"""
WORDS_A_REVIEW = 30


def write_team(folder: Path) -> None:
    """The pipeline, and a rule for every telling word."""
    told = [*((word, 0) for word in GOOD), *((word, 1) for word in BAD)]
    rules = "".join(RULE.format(word=word, vote=vote) for word, vote in told)
    names = ", ".join(f"says_{word}" for word, _ in told)
    (folder / "rules.py").write_text(f'import re\n\nCLASSES = ("good", "bad")\n{rules}\n\nRULES = [{names}]\n')
    (folder / "pipelines.yaml").write_text(PIPELINES)


def write_day(folder: Path, day: int, rows: int) -> None:
    """The reviews of one day."""
    draw = random.Random(day)
    columns: dict[str, list[str]] = {"id": [], "label": [], "text": []}
    for number in range(rows):
        bad = draw.random() < 0.4
        telling, other = (BAD, GOOD) if bad else (GOOD, BAD)
        words = draw.choices(OTHER, k=WORDS_A_REVIEW) + draw.choices(telling, k=2)
        words += draw.choices(other, k=1) if draw.random() < 0.3 else []
        draw.shuffle(words)
        columns["id"].append(f"{day:03d}-{number:06d}")
        columns["label"].append("bad" if bad else "good")
        columns["text"].append(" ".join(words))
    place = folder / "days"
    place.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), place / f"day-{day:03d}.parquet")


def night(folder: Path, store: str) -> dict[str, Any]:
    """The seconds of one `assay run`, and of its processors, and what its record says."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "assay.flows.cli", "run", "night", "--store", store]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=os.environ | {"ASSAY_SERVER_IDLE": "0"}
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    record = Store(str(folder / store)).runs("night")[-1]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu, "record": record, "said": done.stdout + done.stderr}


def once(files: int, rows: int) -> dict[str, Any]:
    """The three nights, over a folder that is made for them."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_team(folder)
        for day in range(files):
            write_day(folder, day, rows)
        night(folder, "store")
        write_day(folder, files, rows)
        nights = {"more": night(folder, "store"), "scratch": night(folder, "empty"), "nothing": night(folder, "store")}
        shutil.rmtree(folder / "store")
        return nights


def digests(found: dict[str, Any]) -> list[Any]:
    """What every stage of a night came to."""
    return [[stage.stage, [one["digest"] for one in stage.outputs.values()]] for stage in found["record"].stages]


def main() -> None:
    """The nights, as often as asked; the ratio is the night over an empty store over the night with one more file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small and once: whether it works, not how fast it is")
    options = parser.parse_args()
    files, rows, repeats = (3, 20_000, 1) if options.quick else (options.files, options.rows, options.repeats)
    nights = [once(files, rows) for _ in range(repeats)]
    equal = all(digests(one["more"]) == digests(one["scratch"]) for one in nights)
    stages = {
        stage.title: [stage.partitions_taken, stage.partitions_of_known_content]
        for stage in nights[0]["more"]["record"].stages
        if stage.partitions_of_known_content
    }
    for unit, field in (("s", "wall"), ("s of CPU", "cpu")):
        more, scratch = ([one[kind][field] for one in nights] for kind in ("more", "scratch"))
        tell(
            claim(
                f"one more file of {rows:,} rows after {files}, beside an empty store",
                more,
                scratch,
                unit=unit,
                nothing_new=round(min(one["nothing"][field] for one in nights), 2),
                taken=stages,
                digests_equal=equal,
            )
        )
    for kind in ("scratch", "more"):
        print(json.dumps({kind: {one.title: one.seconds for one in nights[0][kind]["record"].stages}}), file=sys.stderr)


if __name__ == "__main__":
    main()
