"""Data as a team may have it, made with seeds: a table of patients, comments as JSON Lines, pictures in folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

SEED = 11


def patients(folder: Path, rows: int = 240, delimiter: str = ",") -> Path:
    """patients.csv: id, counter, site, a temperature and a cough that go with being ill, and a height that does not."""
    draw = np.random.default_rng(SEED)
    lines = [delimiter.join(["patient_id", "row", "site", "temperature", "cough", "height", "diagnosis"])]
    for at in range(rows):
        ill = draw.random() < 0.4
        temperature = draw.normal(38.6 if ill else 37.2, 0.7)
        cough = "often" if draw.random() < (0.8 if ill else 0.2) else "never"
        cells = [f"p{at:03d}", at, f"s{at % 24}", f"{temperature:.2f}", cough, f"{draw.normal(170, 9):.1f}"]
        lines.append(delimiter.join([*map(str, cells), "ill" if ill else "well"]))
    file = folder / "patients.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def comments(folder: Path, rows: int = 200) -> Path:
    """comments.jsonl: comments whose words say more or less clearly whether they are spam."""
    draw = np.random.default_rng(SEED)
    said = [
        ("visit http win", 0.7, 0.1),
        ("please subscribe", 0.6, 0.1),
        ("love this song", 0.15, 0.7),
        ("so nice", 0.5, 0.5),
    ]
    file = folder / "comments.jsonl"
    with file.open("w") as out:
        for at in range(rows):
            spam = draw.random() < 0.45
            words = [
                "the video of the day",
                *(text for text, if_spam, if_ham in said if draw.random() < (if_spam if spam else if_ham)),
            ]
            draw.shuffle(words)
            row = {"comment": f"c{at:03d}", "text": " ".join(words), "verdict": "spam" if spam else "ham"}
            out.write(json.dumps(row) + "\n")
    return file


def scans(folder: Path, each: int = 40, size: int = 16) -> Path:
    """scans/ill and scans/well: noise that is brighter and rougher where ill, grey or in colour."""
    draw = np.random.default_rng(SEED)
    for name, level, spread in (("ill", 150, 45), ("well", 105, 20)):
        (folder / "scans" / name).mkdir(parents=True)
        for at in range(each):
            values = draw.normal(level + draw.normal(0, 18), spread, (size, size, 3))
            Image.fromarray(np.clip(values, 0, 255).astype(np.uint8)).save(folder / "scans" / name / f"{at:02d}.png")
    return folder / "scans"
