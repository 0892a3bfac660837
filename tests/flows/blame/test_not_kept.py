"""What cannot be put in place again is one lump, and the sentence names it: a package, a service, a file too large."""

from __future__ import annotations

from pathlib import Path

import pytest
from blamed import shared
from direct_nights import perform_night
from planted_texts import EARLY, LATE, MODEL, plant_texts

from assay.flows.blame.shares import blame_sentence, not_swapped_in_words

SHORT = """
compute: {engine: serial}
KEEP
pipelines:
  night:
    source: {csv: letters.csv, id: id, label: mood, split: part}
    subjects:
      - {name: own, CLASSIFIER}
"""
READ = 'with open("words.txt") as file:\n    SAD = file.read().split()'
KNOWN = {words: MODEL.replace(READ, f"SAD = {words.split()}") for words in (LATE, EARLY)}
"""The classifier of either epoch with its words in the code."""


def night(folder: Path, known: str, place: Path, classifier: str, keep: str = "", texts: tuple[str, ...] = ()) -> str:
    plant_texts(folder, *texts)
    (folder / "pipelines.yaml").write_text(SHORT.replace("KEEP", keep).replace("CLASSIFIER", classifier))
    (folder / "words.txt").write_text(known)
    if place.suffix == ".py":
        place.write_text(KNOWN[known])
    return perform_night(folder, "night").run


PACKAGE = "classifier: 'moods_elsewhere:predict'"
SERVICE = "classifier: 'model.py:predict', never_cached: true"
LARGE = "classifier: 'model.py:predict'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classifier", "keep", "module", "named", "why"),
    [
        (PACKAGE, "", "moods_elsewhere.py", "the model (module moods_elsewhere)", "lies elsewhere"),
        (SERVICE, "", "", "the model (answers of model.py:predict)", "lies elsewhere"),
        (LARGE, "keep_mib: 0", "", "the weights (words.txt)", "is too large"),
    ],
)
def test_the_sentence_names_the_lump_beside_the_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classifier: str, keep: str, module: str, named: str, why: str
) -> None:
    folder, packages = tmp_path / "team", tmp_path / "packages"
    folder.mkdir()
    packages.mkdir()
    monkeypatch.syspath_prepend(str(packages))
    earlier = night(folder, LATE, packages / module, classifier, keep)
    later = night(folder, EARLY, packages / module, classifier, keep, ("texts",))
    found = shared(folder, earlier, later, finding="subject.accuracy", of="clean")
    assert (found.shares[0].part, found.shares[-1].part) == ("samples", "not swapped")
    assert sum(one.interval.value for one in found.shares) == pytest.approx(found.total.value, abs=1e-12)
    assert f"from what could not be put back, {named}" in blame_sentence(found)
    assert any(why in line for line in not_swapped_in_words(found.changes))
