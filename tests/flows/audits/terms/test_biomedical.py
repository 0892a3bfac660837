"""Taggers and scorers in a flow: attacked once for all, measured, trained on attacked copies, shown, reproduced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import pyarrow as pa
import pytest
from grounds import examined, pipeline_of

from assay.data.schemas import Classes, Samples
from assay.flows.audits.subjects_flow import Examination
from assay.flows.audits.table import KINDS
from assay.flows.audits.terms_flow import audit_terms, term_parts
from assay.flows.configuration.loading import clashes as clashes_of
from assay.flows.pipeline import Pipeline
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.runs import current_run
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.findings import FindingIndex, findings_from
from assay.tasks.subjects.task import HeldOut


def clashes(raw):
    return clashes_of(raw, KINDS)


NAMES = ["warfarin", "aspirin", "hypertension", "migraine", "epilepsy", "metformin"]
CODE = """
NAMES = {names}

def tag(sentences):
    return [["B-Term" if word in NAMES else "O" for word in words] for words in sentences]

def score(pairs):
    return [float(len(set(first.split()) & set(second.split()))) for first, second in pairs]
"""


@dataclass(frozen=True)
class Piece:
    """A partition: the samples from one number to another."""

    first: int
    last: int

    @property
    def ids(self) -> list[str]:
        return [str(at) for at in range(self.first, self.last)]


def tagged(piece: Piece) -> pa.Table:
    ids = piece.ids
    words = [
        [["The", "new"], ["After", "some"], ["No"]][at % 3] + [NAMES[at % 6], "was", "seen"] for at in map(int, ids)
    ]
    tags = [["B-Term" if word in NAMES else "O" for word in one] for one in words]
    return _samples(ids, tokens=pa.array(words), tags=pa.array(tags))


def pairs(piece: Piece) -> pa.Table:
    ids = piece.ids
    first = [f"{NAMES[at % 6]} helps against {NAMES[(at + 1) % 6]}" for at in map(int, ids)]
    second = [f"{NAMES[at % 6]} helps against {NAMES[(at + at % 3) % 6]}" for at in map(int, ids)]
    scores = [float(len(set(one.split()) & set(two.split()))) for one, two in zip(first, second, strict=True)]
    return _samples(ids, first=pa.array(first), second=pa.array(second), score=pa.array(scores))


def _samples(ids: list[str], **columns: pa.Array) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.string()), "gold": pa.nulls(len(ids), pa.int16()), **columns})


@stage(version=1)
def given(kind: str, cuts: list[int]) -> Artifact[Samples]:
    pieces = [Piece(first, last) for first, last in pairwise(cuts)]
    return map_pieces({"tagged": tagged, "pairs": pairs}[kind], pieces, into=Samples)


@stage(version=1)
def no_classes() -> Artifact[Classes]:
    return write_table(pa.table({"code": [], "name": []}, schema=Classes.schema), into=Classes)


def settings(*subjects: dict, attacks: list, defenses: list | None = None) -> Pipeline:
    return pipeline_of(
        name="mine", source={"parquet": "mine.parquet"}, subjects=subjects, attacks=attacks, defenses=defenses or []
    )


@pytest.fixture
def audited(tmp_path):
    (tmp_path / "mine.py").write_text(CODE.format(names=NAMES))

    def ask(pipeline: Pipeline, kind: str = "tagged", training: list[int] | None = None):
        held = HeldOut(given(kind, training or [0, 24, 40]), given(kind, [40, 53, 60]))
        ground = examined(pipeline, tmp_path, no_classes(), held)
        return audit_terms(ground), ground, current_run()

    return ask


def findings_of(audit):
    return [one for artifact in audit.findings for one in findings_from(collect(artifact, None))]


def by_name(findings):
    return {(one.metric, one.subject, one.of, one.group): one for one in findings}


OWN = {"name": "book", "tagger": "mine.py:tag"}
SMALL = {"name": "small", "tagger": "small-tagger", "train": {"epochs": 2, "batch_size": 16}}
SCORER = {"name": "words", "scorer": "mine.py:score"}


def test_attacks_are_made_once_and_every_tagger_sees_the_same_sentences(run, audited):
    twice = settings(OWN, OWN | {"name": "again"}, attacks=[{"attack": "swap", "share": [0.5, 1]}])
    audit, _, branches = audited(twice)
    assert branches.failures == []
    computed = [stage.stage for stage in run.record.stages if not stage.cached]
    assert computed.count("perturb_terms") == 2  # one per severity
    found = by_name(findings_of(audit))
    assert found["ner.f1", "book", "clean", ""].value == 1.0
    whole = found["ner.recall", "book", "swap", "share=1, changes=1"]
    assert (whole.value, whole.n) == (0.0, 20)  # a tagger by heart knows no misspelt name
    assert 0 < whole.high < 0.3  # and nought of twenty is no certainty
    half, drop = (
        found["ner.f1", "book", "swap", "share=0.5, changes=1"],
        found["ner.drop", "again", "swap", "share=1, changes=1"],
    )
    assert 0.2 < half.value < 0.9
    assert (drop.value, drop.verdict) == (1.0, "lower")
    assert found["ner.drop_p", "book", "swap", "share=1, changes=1"].verdict == "lower"


def test_a_tagger_is_trained_on_copies_and_compared_on_the_same_sentences(run, audited):
    attacks, defenses = (
        ["swap", {"attack": "synonymy"}],
        [{"attack": "swap", "control": True}, {"attack": "mixed", "share": 0.5}],
    )
    pipeline = settings(
        SMALL,
        attacks=[one if isinstance(one, dict) else {"attack": one} for one in attacks],
        defenses=[{"defense": "attacked-copies", **one} for one in defenses],
    )
    audit, ground, branches = audited(pipeline)
    assert branches.failures == []
    models = [f"small+on-{name}" for name in ("swap-control", "swap", "mixed")]
    assert list(audit.measures) == ["small", *models]
    found = by_name(findings_of(audit))
    gains = {(one[1], one[2]) for one in found if one[0] == "ner.gain"}
    assert gains == {(name, of) for name in models for of in ("clean", "swap", "synonymy")}
    over = {(one[1], one[2]) for one in found if one[0] == "ner.gain_over_control"}
    assert over == {("small+on-swap", of) for of in ("clean", "swap", "synonymy")}
    assert {one[1:3] for one in found if one[0] == "ner.own_gain_over_control"} == {("small+on-swap", "swap")}
    learned = [stage.summary for stage in run.record.stages if stage.stage == "teach_tagger"]
    control, swapped = (one.partition(" epochs of ")[2].partition(" ")[0] for one in learned[1:3])
    assert control == swapped  # as many sentences
    own = {(one[1], one[2]) for one in found if one[0] == "ner.own_gain"}
    assert own == {("small+on-swap", "swap"), ("small+on-mixed", "swap"), ("small+on-mixed", "synonymy")}
    for name in ("clean", "swap"):
        group = "" if name == "clean" else "share=1, changes=1"
        before, control, after = (found["ner.f1", one, name, group].value for one in ("small", *models[:2]))
        assert found["ner.gain", "small+on-swap", name, group].value == pytest.approx(after - before)
        assert found["ner.gain_over_control", "small+on-swap", name, group].value == pytest.approx(after - control)
    parts = list(term_parts(ground, audit, FindingIndex(findings_of(audit))))
    assert [part.anchor for part in parts] == ["ner"]
    html = render_report(Report("r", "mine", "2026-01-01T00:00:00", 1.0, 0, "done", (), parts))
    assert "Trained with" in html
    assert parts[0].sentence.startswith("small reaches F1")


def test_pairs_are_attacked_in_one_sentence(run, audited):
    pipeline = settings(SCORER, attacks=[{"attack": "swap", "terms": "lexicon", "sentence": "second", "share": 0.5}])
    audit, ground, branches = audited(pipeline, "pairs")
    assert branches.failures == []
    found = by_name(findings_of(audit))
    assert found["sts.pearson", "words", "clean", ""].value == pytest.approx(1.0)
    assert found["sts.drop", "words", "swap", "share=0.5, changes=1"].value > 0
    made = audit.attacked["words"]["swap"]["swap|share=0.5, changes=1"].perturbed
    attacked = collect(made.samples, ["first", "second"])
    original = collect(ground.of(Examination).evaluation, ["first", "second"])
    assert attacked["first"].equals(original["first"])
    assert not attacked["second"].equals(original["second"])
    (part,) = term_parts(ground, audit, FindingIndex(findings_of(audit)))
    assert any("Attacked sentences" in block.title for block in part.blocks)


def test_an_attack_that_cannot_be_made_leaves_the_others_alone(run, audited):
    bad = {"attack": "keyboard", "terms": "missing.tsv"}
    audit, _, branches = audited(settings(OWN, attacks=[{"attack": "swap"}, bad]))
    assert str(branches.failures[0]).startswith("The lexicon")
    assert {one.of for one in findings_of(audit)} == {"clean", "swap"}


def test_a_tagger_that_comes_trained_cannot_be_trained_on_copies(run, audited):
    copies = [{"defense": "attacked-copies", "attack": "swap"}]
    audit, _, branches = audited(settings(OWN, attacks=[{"attack": "swap"}], defenses=copies))
    assert "comes trained" in str(branches.failures[0])
    assert list(audit.measures) == ["book"]


def test_without_attacks_the_original_samples_are_measured(run, audited):
    audit, _, _ = audited(settings(OWN, attacks=[]))
    assert {one.metric for one in findings_of(audit)} == {"ner.precision", "ner.recall", "ner.f1", "ner.cut"}


@pytest.mark.parametrize(
    ("attack", "where"),
    [({"attack": "swap"}, ("attacks", 0)), ({"attack": "swap", "terms": "gold"}, ("attacks", 0, "terms"))],
)
def test_pairs_have_no_gold_terms(attack, where):
    raw = {"source": {"parquet": "a"}, "subjects": [{"scorer": "small-scorer"}], "attacks": [attack]}
    (clash,) = clashes(raw)
    assert (clash.where, "lexicon" in clash.why) == (where, True)
    fine = raw | {"attacks": [{"attack": "swap", "terms": "lexicon"}]}
    assert list(clashes(fine)) == []


RAW = {"source": {"parquet": "a"}, "subjects": [{"name": "s", "tagger": "small-tagger"}]}
SWAP, COPIES = {"attack": "swap"}, {"defense": "attacked-copies", "attack": "swap"}
MIX = COPIES | {"attack": "mixed"}
PAIRS = {"subjects": [{"name": "s", "scorer": "small-scorer"}]}
FIRST, SECOND = {"attack": "swap", "terms": "lexicon"}, {"attack": "keyboard", "terms": "lexicon", "sentence": "second"}


@pytest.mark.parametrize(
    ("raw", "where", "said"),
    [
        ({"attacks": [SWAP | {"name": "a|b"}]}, ("attacks", 0, "name"), "choose another name"),
        ({"attacks": [SWAP | {"name": "clean"}]}, ("attacks", 0, "name"), "choose another name"),
        ({"attacks": [SWAP, SWAP | {"name": "mixed"}]}, ("attacks", 1, "name"), "choose another name"),
        (
            {
                "attacks": [SWAP],
                "defenses": [COPIES],
                "subjects": [*RAW["subjects"], {"name": "s+on-swap", "tagger": "small-tagger"}],
            },
            ("subjects", 1, "name"),
            "how s is called with a defence",
        ),
        (
            {"attacks": [SWAP], "defenses": [COPIES | {"control": True}, MIX | {"name": "on-swap-control"}]},
            ("defenses", 1),
            "what the control of on-swap is called",
        ),
        (
            {"attacks": [SWAP], "defenses": [COPIES], "subjects": [{"tagger": "mine.py:tag"}]},
            ("defenses", 0),
            "leave the defence out",
        ),
        (
            {"attacks": [SWAP], "defenses": [MIX], "subjects": [{"tagger": "some/folder"}]},
            ("defenses", 0),
            "give it train",
        ),
        (PAIRS | {"attacks": [FIRST, SECOND], "defenses": [MIX]}, ("defenses", 0), "both sentences of a pair"),
        (
            {"attacks": [SWAP], "subjects": [{"tagger": "small-tagger", "train": {"epochs": 1, "loss": "focal"}}]},
            ("subjects", 0, "train", "loss"),
            "changes nothing",
        ),
        (
            {"subjects": [{"scorer": "minilm", "train": {"augment": ["rotate"]}}]},
            ("subjects", 0, "train", "augment"),
            "changes nothing",
        ),
    ],
)
def test_what_cannot_be_together_is_refused_where_it_stands(raw, where, said):
    (clash,) = clashes(RAW | raw)
    assert clash.where == where
    assert said in clash.why


@pytest.mark.parametrize(
    "raw",
    [
        {"attacks": [SWAP | {"name": "mine"}], "defenses": [COPIES | {"attack": "mine"}]},
        {"attacks": [SWAP], "defenses": [MIX], "subjects": [{"tagger": "some/folder", "train": {"epochs": 1}}]},
        PAIRS | {"attacks": [FIRST, SECOND], "defenses": [COPIES]},
        {"attacks": [SWAP], "subjects": [{"name": "s", "tagger": "small-tagger"}, {"name": "s+t", "tagger": "minilm"}]},
    ],
)
def test_what_can_be_together_is_not_refused(raw):
    assert list(clashes(RAW | raw)) == []


def test_entities_count_as_seen_by_what_each_model_learned_from(run, audited, tmp_path):
    (tmp_path / "names.tsv").write_text("concept\ttype\tname\ne\tTerm\tepilepsy\ne\tTerm\tmigraine\n")
    attacks = [{"attack": "synonymy", "synonyms": "names.tsv"}]
    copies = [{"defense": "attacked-copies", "attack": "synonymy"}]
    three = [4, 7]  # epilepsy, metformin and warfarin
    audit, _, _ = audited(settings(OWN, SMALL, attacks=attacks, defenses=copies), training=three)
    found = by_name(findings_of(audit))
    assert found["ner.recall", "small", "clean", "seen"].n == 4 + 4 + 3
    assert found["ner.recall", "small+on-synonymy", "clean", "seen"].n == 4 + 4 + 3 + 3  # its copy has migraine as well
    assert ("ner.recall", "book", "clean", "length=1") in found
    assert ("ner.recall", "book", "clean", "seen") not in found  # it came trained: nobody knows on what
    assert ("ner.recall", "book", "clean", "unseen") not in found


def test_masked_sentences_are_in_no_example(run, audited):
    pipeline = settings(OWN, attacks=[{"attack": "swap"}])
    audit, ground, _ = audited(pipeline)
    masked = pipeline.model_copy(update={"source": pipeline.source.model_copy(update={"masked": True})})
    shown, hidden = (
        render_report(
            Report(
                "r",
                "m",
                "2026-01-01T00:00:00",
                1.0,
                0,
                "done",
                (),
                list(term_parts(replace(ground, pipeline=one), audit, FindingIndex(findings_of(audit)))),
            )
        )
        for one in (pipeline, masked)
    )
    assert any(name in shown for name in NAMES)
    assert not any(name in hidden for name in NAMES)
