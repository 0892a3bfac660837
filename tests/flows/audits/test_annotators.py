"""Annotators in a whole night: α as it is worked out in print, each with gold, the same for every cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from direct_nights import latest, perform_night

from assay.flows.configuration.loading import load_project
from assay.flows.yaml_document import ConfigurationError
from assay.tasks.statistics.findings import findings_of

# Krippendorff 2011, C: four observers, twelve units, five values; α = .743.
WORKED = ("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")
NIGHT = """
compute: {engine: serial, %s}
pipelines:
  night:
    source: {csv: units.csv, id: unit, label: gold}
    annotators: [a, b, c, d]
    gates:
      - {finding: annotators.alpha, of: "", at_least: 0.8}
"""


def put(folder: Path, compute: str = "at_once: 1") -> Path:
    folder.mkdir()
    rows = zip(*(["" if one == "." else f"v{one}" for one in line.split()] for line in WORKED), strict=True)
    gold = ["v1", "v2", "v3", "v3", "v2", "v5", "v4", "v1", "v2", "v5", "v1", "v3"]
    lines = [f"u{at},{','.join(row)},{gold[at]}" for at, row in enumerate(rows)]
    (folder / "units.csv").write_text("\n".join(["unit,a,b,c,d,gold", *lines]) + "\n")
    (folder / "pipelines.yaml").write_text(NIGHT % compute)
    return folder


@pytest.mark.parametrize("compute", ["at_once: 1", "partitions: 7"])
def test_alpha_is_that_of_the_worked_example_for_every_cut(tmp_path: Path, compute: str) -> None:
    folder = put(tmp_path / "night", compute)
    assert perform_night(folder, "night").status == "gate failed"
    found = {(one.metric, one.of): one for one in findings_of(*latest(folder, "night"))}
    alpha = found["annotators.alpha", ""]
    assert (alpha.value, alpha.n) == (pytest.approx(0.743, abs=5e-4), 11)
    assert alpha.low < alpha.value < alpha.high
    assert found["annotators.labelled", "a"].value == 9 / 12
    assert found["annotators.with_gold", "a"].value == 8 / 9
    assert len([metric for metric, of in found if metric == "annotators.alpha" and of]) == 6
    (page,) = [one.read_text() for one in folder.rglob("reports/*/index.html")]
    assert "4 annotators agree with α = 0.743" in page


def test_one_annotator_alone_is_refused(tmp_path: Path) -> None:
    folder = put(tmp_path / "night")
    text = (folder / "pipelines.yaml").read_text()
    (folder / "pipelines.yaml").write_text(text.replace("[a, b, c, d]", "[a]"))
    with pytest.raises(ConfigurationError, match="annotators"):
        load_project(folder / "pipelines.yaml", pipeline="night")
