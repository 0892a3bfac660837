"""What the page says about ingest: counts, reasons with places, what the contract found."""

import numpy as np
import pyarrow as pa

from assay.data.schemas import ContractResults, Rejects
from assay.tasks.ingest.page import ingest_page

NO_REJECTS = Rejects.schema.empty_table()
NO_CONTRACT = ContractResults.schema.empty_table()


def rejects(*rows):
    names = Rejects.schema.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=Rejects.schema)


def expectations(*held):
    return pa.Table.from_pylist(
        [
            {
                "contract": "samples",
                "expectation": f"e{i}",
                "column": "id",
                "success": ok,
                "checked": 10,
                "unexpected": 0 if ok else 3,
                "detail": None,
            }
            for i, ok in enumerate(held)
        ],
        schema=ContractResults.schema,
    )


def test_clean_data_says_so_with_its_numbers():
    part = ingest_page(569, NO_REJECTS, NO_CONTRACT, gold=569)
    assert part.sentence == "569 samples entered, 569 of them with a known true class. Of 569 rows none was rejected."
    assert (part.verdict, list(part.blocks)) == ("neutral", [])


def test_an_image_of_a_folder_has_no_line_and_is_named_once():
    table = rejects(
        ("left/torn.jpg", 1, "left/torn.jpg", None, "the image is damaged"), ("a.csv", 7, "x1", None, "no number")
    )
    (found,) = ingest_page(97, table, NO_CONTRACT).blocks
    assert [row[3] for row in found.rows] == ["a.csv:7 (x1)", "left/torn.jpg"]


def test_one_row_was_rejected_and_two_were():
    part = ingest_page(99, rejects(("a.csv", 7, "x1", "age", "not a number")), NO_CONTRACT)
    assert "1 of 100 rows (1.0\u202f%) was rejected" in part.sentence


def test_rejects_are_counted_against_all_rows_and_grouped_by_reason():
    table = rejects(
        ("a.csv", 7, "x1", "age", "not a number"),
        ("a.csv", 9, None, "age", "not a number"),
        ("b.csv", 2, None, None, "too few columns"),
    )
    part = ingest_page(97, table, NO_CONTRACT)
    assert "3 of 100 rows (3.0\u202f%) were rejected" in part.sentence
    assert part.blocks[0].rows == [
        ["not a number", "age", 2, "a.csv:7 (x1)\na.csv:9"],
        ["too few columns", "", 1, "b.csv:2"],
    ]


def test_rare_reasons_beyond_the_table_are_counted():
    part = ingest_page(0, rejects(*(("a.csv", i, None, None, f"reason {i:02d}") for i in range(1, 31))), NO_CONTRACT)
    assert len(part.blocks[0].rows) == 25
    assert part.blocks[0].note.startswith("5 rarer reasons")


def test_broken_contract_is_bad_and_what_did_not_hold_is_listed():
    part = ingest_page(10, NO_REJECTS, expectations(True, False, True))
    assert (part.verdict, part.judged) == ("bad", "contract broken")
    assert "1 of 3 expectations of the data contract did not hold." in part.sentence
    assert [row[:4] for row in part.blocks[0].rows] == [["e1", "id", 10, 3]]


def test_contract_that_held_is_good_and_said_in_a_sentence():
    part = ingest_page(10, NO_REJECTS, expectations(True, True))
    assert (part.verdict, list(part.blocks)) == ("good", [])
    assert part.sentence.endswith("All 2 expectations of the data contract held.")


def test_groups_are_counted_where_there_are_some():
    nothing = pa.table({"reason": []}), pa.table({"success": []})
    said = ingest_page(300, *nothing, gold=120, groups=np.full(75, 4)).sentence
    assert said.startswith("300 samples entered in 75 groups, 120 of them with a known true class.")


def test_groups_of_unequal_size_are_said_to_count_as_fewer():
    sizes = np.array([226, *[1] * 74])
    said = ingest_page(300, pa.table({"reason": []}), pa.table({"success": []}), groups=sizes).sentence
    assert said.startswith("300 samples entered in 75 groups of unequal size (they count as 1.8 equal ones, by Kish).")
