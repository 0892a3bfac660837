"""A night of many small subjects on one data set: what a further subject costs beyond its own forward passes.

    python benchmarks/fleet.py [--subjects 200] [--workers 2] [--quick]

`small-cnn` learns digits once; every subject is a copy with noise on its weights. Each is asked about 100 digits, is
attacked by PGD and sees corruptions, in one run over an empty store. Peer: a fifth of what the first subject costs (a
run with one subject, the start of everything included) and the subject's own forward and backward passes, done bare.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from claims import claim, tell
from processes import Finished, assay
from safetensors.torch import save_file

from assay.tasks.subjects.networks.building import build_network

LIMIT, STEPS, EPS, FRAMES = 100, 10, ("4/255", "16/255"), 7
SEEN, SEVERITIES = ("gaussian-noise", "brightness"), (1, 3)
NOISE, SIDE = 0.02, 32


def taught(place: Path, subjects: int) -> torch.nn.Module:
    """The network that learned digits; beside it the weights of so many copies, each with noise of its own."""
    from sklearn.datasets import load_digits

    torch.manual_seed(0)
    digits = load_digits()
    images = torch.from_numpy(np.kron(digits.images / 16, np.ones((SIDE // 8, SIDE // 8)))).float()[:, None]
    targets = torch.from_numpy(digits.target)
    network = build_network("small-cnn", classes=10, channels=1, size=SIDE)
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(3):
        for rows in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(images[rows]), targets[rows]).backward()
            optimizer.step()
    network.eval()
    for number in range(subjects):
        noisy = {
            name: value + NOISE * torch.randn_like(value) if value.is_floating_point() and value.dim() > 1 else value
            for name, value in network.state_dict().items()
        }
        save_file(noisy, place / f"{number}.safetensors")
    return network


def passes(network: torch.nn.Module) -> float:
    """Processor seconds of the forward and backward passes of one subject, and of nothing else."""
    torch.set_num_threads(1)
    images, targets = torch.rand(LIMIT, 1, SIDE, SIDE), torch.zeros(LIMIT, dtype=torch.long)
    began = time.process_time()
    for _ in range(len(EPS) * STEPS):
        x = images.clone().requires_grad_(True)
        torch.autograd.grad(torch.nn.functional.cross_entropy(network(x), targets), x)
    with torch.no_grad():
        for _ in range(1 + len(EPS) + len(SEEN) * len(SEVERITIES) * FRAMES):
            network(images)
    return time.process_time() - began


def night(place: Path, subjects: int, workers: int) -> tuple[Finished, int, dict[str, object]]:
    """A run with so many subjects over an empty store, the bytes of its page, and its record."""
    rows = [
        f"      - {{name: s{number:03d}, network: small-cnn, weights: '{place / f'{number}.safetensors'}'}}"
        for number in range(subjects)
    ]
    config = place / f"fleet-{subjects}.yaml"
    config.write_text(
        "pipelines:\n  fleet:\n    source: {dataset: sample/digits}\n"
        f"    evaluation: {{limit: {LIMIT}}}\n    subjects:\n" + "\n".join(rows) + "\n"
        f"    attacks: [pgd: {{eps: [{', '.join(EPS)}], steps: {STEPS}, keep: 0}}]\n"
        f"    corruptions: {{perturbations: [{', '.join(SEEN)}], severities: {list(SEVERITIES)}, frames: {FRAMES}}}\n",
        encoding="utf-8",
    )
    store = place / f"store-{subjects}"
    options = ("--set", f"compute.workers={workers}", "--set", "compute.gpu=never", "--json")
    done = assay("run", "fleet", "--config", str(config), "--store", str(store), *options)
    [record] = [json.loads(file.read_text()) for file in store.glob("runs/*.json")]
    [page] = store.glob("reports/*/index.html")
    return done, page.stat().st_size, record


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--subjects", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="five subjects: whether it works, not what it costs")
    options = parser.parse_args()
    subjects = 5 if options.quick else options.subjects
    with tempfile.TemporaryDirectory() as folder:
        network = taught(Path(folder), subjects)
        own = float(np.median([passes(network) for _ in range(3)]))
        first, _, _ = night(Path(folder), 1, options.workers)
        whole, page, record = night(Path(folder), subjects, options.workers)
    further = (whole.cpu - first.cpu) / (subjects - 1)
    tell(
        claim(
            f"a further subject, {subjects} on one data set, CPU",
            [further],
            [first.cpu / 5 + own],
            unit="s",
            first=round(first.cpu, 1),
            own_passes=round(own, 3),
            wall=round(whole.wall, 1),
            wall_of_one=round(first.wall, 1),
            workers=options.workers,
            stages=len(record["stages"]),
            page_mb=round(page / 1e6, 2),
            flow_peak_mb=max(whole.peaks.peaks("flow")),
            worker_peak_mb=max(whole.peaks.peaks("worker")),
        )
    )


if __name__ == "__main__":
    main()
