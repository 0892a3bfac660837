"""How curation grows with the data: 10^5 to 3·10^7 samples with sixty functions, on two workers of 2 GiB each.

Votes are made on the workers, partition by partition; then pruning, both labelers, weak labels, intervals, order,
validity and the order's test. Dask restarts a worker that needs more than its 2 GiB, so a size that ends has kept
within it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from claims import claim, tell
from planted_curation import FUNCTIONS, curation

SIZES = (100_000, 1_000_000, 10_000_000, 30_000_000)
_ROWS_PER_PARTITION = 100_000  # as ingest cuts them
_LEAST_PARTITIONS = 8
_MEMORY = "2GiB"
_CURVES = (
    ("ours", "seconds", "#0b7a75"),
    ("worker_peak_mb", "megabytes, a worker", "#b5541c"),
    ("flow_peak_mb", "megabytes, the flow", "#7a66b5"),
)


def measured(rows: int) -> dict[str, Any]:
    """One size, once, told as a claim: seconds of the chain, of each stage, and the peaks."""
    partitions = max(_LEAST_PARTITIONS, rows // _ROWS_PER_PARTITION)
    found: dict[str, Any] = curation(rows, partitions, 2, _MEMORY, "--to", "test")
    by_stage: dict[str, float] = {}
    for title, _, seconds in found["stages"]:
        by_stage[title] = round(by_stage.get(title, 0.0) + seconds, 2)
    line = claim(
        f"curation of {rows:,} × {FUNCTIONS}, two workers",
        [found["seconds"]],
        unit="s",
        rows=rows,
        partitions=partitions,
        worker_peak_mb=max(found["worker_peaks_mb"]),
        flow_peak_mb=found["flow_peak_mb"],
        stages=by_stage,
    )
    tell(line)
    return line


def plot(lines: list[dict[str, Any]]) -> str:
    """Seconds and peaks over rows, both axes logarithmic, as an SVG."""
    import math

    width, height, left, bottom = 640, 300, 56, 40
    rows = [math.log10(line["rows"]) for line in lines]
    low, high = min(rows), max(rows) if max(rows) > min(rows) else min(rows) + 1

    def place(value: float, count: int) -> tuple[float, float]:
        across = left + (math.log10(count) - low) / (high - low) * (width - left - 70)
        return across, height - bottom - math.log10(max(value, 1)) / 4 * (height - bottom - 40)

    drawn = []
    for power in range(5):
        y = place(10.0**power, lines[0]["rows"])[1]
        drawn.append(f'<line x1="{left}" x2="{width - 60}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8884"/>')
        drawn.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{10**power:,}</text>')
    for line in lines:
        x = place(1, line["rows"])[0]
        drawn.append(f'<text x="{x:.1f}" y="{height - 14}" text-anchor="middle">{line["rows"] / 1e6:g} million</text>')
    for number, (field, name, colour) in enumerate(_CURVES):
        points = [place(line[field], line["rows"]) for line in lines]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
        legend = left + 170 * number
        drawn.append(
            f'<circle cx="{legend}" cy="14" r="4" fill="{colour}"/><text x="{legend + 9}" y="18">{name}</text>'
        )
    style = "text{font:12px system-ui,sans-serif;fill:#777}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        f"<title>Seconds and peak memory of curation, by number of samples</title><style>{style}</style>"
        + "".join(drawn)
        + "</svg>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small sizes: whether it works, not how fast it is")
    parser.add_argument("--rows", type=int, nargs="+", help="other sizes")
    parser.add_argument("--plot", type=Path, help="where to write the curve as an SVG")
    options = parser.parse_args()
    sizes = options.rows or ((10_000, 20_000) if options.quick else SIZES)
    lines = [measured(rows) for rows in sizes]
    if options.plot:
        options.plot.write_text(plot(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
