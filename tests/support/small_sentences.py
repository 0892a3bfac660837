"""Small tagged sentences and pairs for tests, cut as a test likes, and a folder with a tiny token classifier."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from assay.data.schemas import WORDS, Samples
from assay.infra.stages.partitions import map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact

ILLS = ["asthma", "gout", "renal failure", "malaria", "measles", "stroke"]
DRUGS = ["aspirin", "heparin", "insulin", "codeine", "warfarin", "digoxin"]
FRAMES = ["A man with {d} took {c} .", "{c} - induced {d} was seen .", "We gave {c} for {d} .", "No {d} after {c} ."]


@dataclass(frozen=True)
class Cut:
    """Rows `start` to `end` (not included)."""

    start: int
    end: int


def sentence_table() -> pa.Table:
    """144 sentences with one disease and one chemical each."""
    rows = [_tagged(frame, ill, drug) for frame in FRAMES for ill in ILLS for drug in DRUGS]
    named = [{"id": f"s{place:03d}", "tokens": tokens, "tags": tags} for place, (tokens, tags) in enumerate(rows)]
    return pa.Table.from_pylist(named, schema=pa.schema([("id", pa.string()), ("tokens", WORDS), ("tags", WORDS)]))


def pair_table() -> pa.Table:
    """36 pairs: 4 where they name the same drug, else 0."""
    rows = [
        {
            "id": f"p{place:02d}",
            "first": f"We gave {one}.",
            "second": f"They took {other}.",
            "score": 4.0 * (one == other),
        }
        for place, (one, other) in enumerate((one, other) for one in DRUGS for other in DRUGS)
    ]
    schema = pa.schema([("id", pa.string()), ("first", pa.string()), ("second", pa.string()), ("score", pa.float64())])
    return pa.Table.from_pylist(rows, schema=schema)


@stage(version=1)
def given_rows(kind: str, cuts: list[tuple[int, int]]) -> Artifact[Samples]:
    """Rows of the `sentence_table` or the `pair_table` in partitions."""
    return map_pieces(_sentences if kind == "sentences" else _pairs, [Cut(*cut) for cut in cuts], into=Samples)


def save_tiny_tagger(folder: Path, names: list[str], kind: str = "tokens", seed: int = 0) -> Path:
    """A folder as Hugging Face's tools leave it: random weights, labels of these names."""
    from assay.infra.stages.exact import Seeds
    from assay.tasks.subjects.token_networks.hugging_face import start_of
    from assay.tasks.subjects.trained import weights_of

    texts = [" ".join(words) for words in sentence_table()["tokens"].to_pylist()]
    start = start_of(None, "The tagger", texts, kind, len(names), Seeds(seed, "tiny"))
    for weights in start.network.parameters():
        if weights.dim() > 1:
            weights.data.mul_(8)
    start.network.config.id2label = dict(enumerate(names))
    start.network.config.label2id = {name: code for code, name in enumerate(names)}
    folder.mkdir(parents=True, exist_ok=True)
    written = start.files | {"config.json": start.network.config.to_json_string().encode()}
    for name, content in (written | {"model.safetensors": weights_of(start.network)}).items():
        (folder / name).write_bytes(content)
    return folder


def _tagged(frame: str, ill: str, drug: str) -> tuple[list[str], list[str]]:
    tokens: list[str] = []
    tags: list[str] = []
    for word in frame.split():
        kind, words = {"{d}": ("Disease", ill.split()), "{c}": ("Chemical", [drug])}.get(word, ("", [word]))
        tokens += words
        tags += [f"{'I' if at else 'B'}-{kind}" if kind else "O" for at in range(len(words))]
    return tokens, tags


def _sentences(cut: Cut) -> pa.Table:
    table = sentence_table().slice(cut.start, cut.end - cut.start)
    return table.add_column(1, "gold", pa.nulls(table.num_rows, pa.int16()))


def _pairs(cut: Cut) -> pa.Table:
    table = pair_table().slice(cut.start, cut.end - cut.start)
    return table.add_column(1, "gold", pa.nulls(table.num_rows, pa.int16()))
