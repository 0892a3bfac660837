"""A million images' predictions from a column, by `assay run` from one Parquet file: how long, and how much memory.

`python benchmarks/image_predictions.py [--rows 1000000] [--workers 2] [--quick]` writes images of 8 × 8 pixels with
what some system answered, six measurements that rules read, and a site; then rules, weak labels, order, the subject
along it, hardness and slices, and the page.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from claims import claim, tell
from processes import assay

BLOCK, MEASURED = 50_000, range(6)
KINDS = {"scan": pa.string(), "diagnosis": pa.string(), "answer": pa.string(), "site": pa.string(), "png": pa.binary()}
SCHEMA = pa.schema({**KINDS, **{f"f{at}": pa.float64() for at in MEASURED}})
PIPELINES = """
store: store
compute: {{workers: {workers}, memory: 2GiB, gpu: never}}
pipelines:
  images:
    source: {{parquet: images.parquet, id: scan, label: diagnosis, image: png}}
    labeling:
      rules:
        - {{name: high0, when: {{column: f0, above: 0.5}}, vote: ill}}
        - {{name: high1, when: {{column: f1, above: 0.5}}, vote: ill}}
        - {{name: high2, when: {{column: f2, above: 0.5}}, vote: ill}}
        - {{name: low3, when: {{column: f3, below: -0.5}}, vote: well}}
        - {{name: low4, when: {{column: f4, below: -0.5}}, vote: well}}
        - {{name: low5, when: {{column: f5, below: -0.5}}, vote: well}}
    weak_labels: {{labelers: [majority]}}
    ordering: {{datasets: 10}}
    subjects: [{{name: theirs, predictions: answer}}]
    slices: {{columns: [site]}}
    hardness: {{}}
"""


def png(pixels: np.ndarray) -> bytes:
    from PIL import Image

    written = io.BytesIO()
    Image.fromarray(pixels).save(written, "PNG", compress_level=1)
    return written.getvalue()


def write_images(path: Path, rows: int) -> None:
    """Two classes; for three images in ten the measurements say little, and the system is wrong more often."""
    draw = np.random.default_rng(0)
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for start in range(0, rows, BLOCK):
            n = min(BLOCK, rows - start)
            ill, hard = draw.random(n) < 0.5, draw.random(n) < 0.3
            right = draw.random(n) < np.where(hard, 0.6, 0.95)
            signal = np.where(ill, 1.0, -1.0) * np.where(hard, 0.3, 1.0)
            columns = {
                "scan": [f"s{start + row:08d}" for row in range(n)],
                "diagnosis": np.where(ill, "ill", "well"),
                "answer": np.where(ill == right, "ill", "well"),
                "site": np.where(draw.random(n) < 0.3, "a", "b"),
                "png": [png(pixels) for pixels in draw.integers(0, 256, (n, 8, 8), dtype=np.uint8)],
                **{f"f{at}": signal + draw.normal(0, 1, n) for at in MEASURED},
            }
            writer.write_table(pa.table(columns, schema=SCHEMA))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="small: whether it works, not how fast it is")
    options = parser.parse_args()
    rows = 2_000 if options.quick else options.rows
    with tempfile.TemporaryDirectory() as folder:
        write_images(Path(folder) / "images.parquet", rows)
        (Path(folder) / "pipelines.yaml").write_text(PIPELINES.format(workers=options.workers))
        done = assay("run", "images", "--config", str(Path(folder) / "pipelines.yaml"))
    peaks = {"flow_mb": done.peaks.peaks("flow")[0], "worker_mb": done.peaks.peaks("worker")[0]}
    tell(
        claim("predictions of images from a column", [done.wall], unit="s", rows=rows, workers=options.workers, **peaks)
    )


if __name__ == "__main__":
    main()
