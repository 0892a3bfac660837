"""YAML becomes plain values that remember their lines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.flows.configuration.short_forms import write_out
from assay.flows.yaml_document import Document, read_yaml


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1e-3", 0.001),
        ("on", "on"),
        ("yes", "yes"),
        ("true", True),
        ("TRUE", True),
        ("~", None),
        ("", None),
        ("010", 10),
        ("0o17", 15),
        ("0xff", 255),
        ("1_000", 1000),
        ("-5", -5),
        ("+5", 5),
        ("12:30:00", "12:30:00"),
        ("2026-01-02", "2026-01-02"),
        (".inf", float("inf")),
        ("4/255", "4/255"),
        ("'1.5'", "1.5"),
        ("NULL", None),
    ],
)
def test_scalars_mean_what_yaml_1_2_says(written: str, meant: object) -> None:
    value = read_yaml(f"key: {written}\n", "x.yaml").value
    assert value == {"key": meant}
    assert type(value["key"]) is type(meant)


def test_every_key_and_item_knows_its_line() -> None:
    document = read_yaml("a: 1\nb:\n  - x\n  -\n    c: 2\n\nd: {e: 3,\n  f: 4}\n", "x.yaml")
    lines = {where: document.line(where) for where in [("a",), ("b", 0), ("b", 1, "c"), ("d", "e"), ("d", "f")]}
    assert lines == {("a",): 1, ("b", 0): 3, ("b", 1, "c"): 5, ("d", "e"): 7, ("d", "f"): 8}


def test_a_place_without_a_line_takes_that_of_what_surrounds_it() -> None:
    assert read_yaml("a: 1\nb:\n  c: 2\n", "x.yaml").line(("b", "missing", 3)) == 2


def test_a_key_given_twice_is_named_with_both_lines() -> None:
    document = read_yaml("a:\n  b: 1\n  c: 2\n  b: 3\n", "x.yaml")
    assert [str(mistake) for _, mistake in document.mistakes] == [
        "x.yaml:4: a.b — this key already stands on line 2; keep one of the two"
    ]
    assert document.value == {"a": {"b": 1, "c": 2}}


def test_aliases_and_merges_are_values_of_their_own() -> None:
    document = read_yaml("a: &a {x: 1, y: [2]}\nb: *a\nc:\n  <<: *a\n  x: 5\n", "x.yaml")
    assert document.value == {"a": {"x": 1, "y": [2]}, "b": {"x": 1, "y": [2]}, "c": {"x": 5, "y": [2]}}
    assert document.value["a"]["y"] is not document.value["b"]["y"]
    assert document.line(("c", "y")) == 1


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\n\tb: 2\n", 2, "not valid YAML"),
        ("a: [1, 2\nb: 3\n", 2, "not valid YAML"),
        ("a: *nobody\n", 1, "not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "not valid YAML"),
        ("a: !!python/object:os.system x\n", 1, "cannot be read"),
        ("a: !secret x\n", 1, "cannot be read"),
        ("a: 1\nb: !thing {c: 1}\n", 2, "not known"),
        ("a: !!int seven\n", 1, "cannot be read as int"),
        ("a: 1\n? [x, y]\n: 2\n", 2, "expected a word before the colon"),
        ("a: 1\nb: &b [*b]\n", 2, "inside the very thing"),
        ("a: 1\n<<: 3\n", 2, "expected an alias of a mapping"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_line(text: str, line: int, says: str) -> None:
    [(_, mistake)] = read_yaml(text, "x.yaml").mistakes
    assert (mistake.line, says in str(mistake)) == (line, True), str(mistake)


def test_deep_nesting_is_refused_in_words() -> None:
    [(_, mistake)] = read_yaml("[" * 5000, "x.yaml").mistakes
    assert "nested too deeply" in str(mistake)


def test_aliases_that_multiply_are_stopped() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    mistakes = read_yaml("\n".join(rows), "x.yaml").mistakes
    assert any("fewer than 100000 values" in str(mistake) for _, mistake in mistakes)


@pytest.mark.parametrize(
    "rows",
    [
        ["a0: &a0 {k: 1}"] + [f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)],
        ["b: &b {" + ", ".join(f"k{n}: {n}" for n in range(200)) + "}", "c:\n  <<: [" + ", ".join(["*b"] * 2000) + "]"],
    ],
    ids=["merges of merges", "one mapping two thousand times"],
)
def test_merges_that_multiply_are_stopped(rows: list[str]) -> None:
    """Without a stop the first of them, 700 bytes, has nine to the eleventh values."""
    mistakes = read_yaml("\n".join(rows), "x.yaml").mistakes
    assert any("fewer than 100000 values" in str(mistake) for _, mistake in mistakes)


def test_what_is_merged_in_keeps_its_lines() -> None:
    document = read_yaml("a: &a {x: 1, y: {z: 2}}\nb: &b\n  <<: *a\n  w: 3\nc:\n  <<: [*b, *a]\n  x: 5\n", "x.yaml")
    assert document.value["c"] == {"x": 5, "y": {"z": 2}, "w": 3}
    assert [document.line(("c", *place)) for place in (("x",), ("y",), ("y", "z"), ("w",))] == [7, 1, 1, 4]


def test_short_forms_keep_the_lines_of_what_they_hold() -> None:
    text = "attacks:\n  - pgd:\n      eps: [0, 4/255]\n      steps: 20\n  - gap\n  - {attack: a2t}\n  - fgsm:\n"
    document = read_yaml(text, "x.yaml")
    write_out(document, ("attacks",), "attack", frozenset({"attack", "eps", "steps"}))
    assert document.value == {
        "attacks": [
            {"attack": "pgd", "eps": [0, "4/255"], "steps": 20},
            {"attack": "gap"},
            {"attack": "a2t"},
            {"attack": "fgsm"},
        ]
    }
    assert [document.line(("attacks", 0, *rest)) for rest in [("eps",), ("eps", 1), ("steps",), ("attack",)]] == [
        3,
        3,
        4,
        2,
    ]


def test_a_mapping_of_one_field_is_no_short_form() -> None:
    document = Document("x.yaml", {"attacks": [{"eps": 0.1}, {"pgd": 3}]})
    write_out(document, ("attacks",), "attack", frozenset({"attack", "eps"}))
    assert document.value == {"attacks": [{"eps": 0.1}, {"pgd": 3}]}


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab:{}[]-,&*!#|>'\"%@`?\n\t 0.e~<\\/\u00e9\x00"), max_size=60))
def test_no_text_makes_the_reader_fall_over(text: str) -> None:
    document = read_yaml(text, "x.yaml")
    assert document.mistakes or isinstance(document.value, dict | list | str | int | float | None)
