"""The page of pruning says how many functions are kept at which δ."""

import pyarrow as pa

from assay.data.schemas import Panel
from assay.tasks.pruning.page import page


def panel(*rows):
    names = ("function", "kept", "rank", "pruned_by", "correlation")
    more = {"position": 0, "cliques": None, "degree": 1, "coverage": 0.5, "constant": False}
    return pa.Table.from_pylist([more | dict(zip(names, row, strict=True)) for row in rows], schema=Panel.schema)


PRUNED = panel(
    ("b", False, 1, "a", 0.75), ("a", True, 0, None, None), ("d", False, 3, "a", -0.5), ("c", True, 2, None, None)
)


def test_sentence_counts_the_kept_at_delta():
    assert page(PRUNED, 0.5).sentence.startswith(
        "2 of 4 labelling functions are kept, no two of which correlate by more than δ = 0.5; 2 others each depend on"
    )
    assert "δ = 0.5; 1 other depends on one of them" in page(PRUNED.slice(1), 0.5).sentence


def test_nothing_pruned_is_said_in_its_own_words():
    part = page(panel(("a", True, 0, None, None), ("c", True, 1, None, None)), 0.25)
    assert part.sentence == "All 2 labelling functions are kept: no two of them correlate by more than δ = 0.25."


def test_constant_functions_are_named():
    constant = PRUNED.set_column(7, Panel.schema.field("constant"), pa.array([False, False, False, True]))
    assert page(constant, 0.5).sentence.endswith("1 function never varied, and so could depend on nothing: c.")
