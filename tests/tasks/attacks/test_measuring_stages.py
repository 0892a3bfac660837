"""A generator is trained, a subject is probed, attacks are measured: as stages, the same however samples are cut."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tiny_subjects import SUBJECT, tiny_classes, tiny_files, tiny_samples

from assay.data.schemas import class_names
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, read_files
from assay.tasks.attacks.generator import load_generator
from assay.tasks.attacks.measures import attack_findings, trials
from assay.tasks.attacks.pgd import FGSM, PGD
from assay.tasks.attacks.red_flags import FLAGS, flags_of_attacks
from assay.tasks.attacks.settings import GAP, eps_name
from assay.tasks.attacks.task import (
    attack_subject,
    measure_attacks,
    probe_subject,
    train_generator,
    transfer_attacks,
    worst_case,
)
from assay.tasks.statistics.findings import Finding, findings_from, findings_table

GENERATOR = GAP(eps=(0.1,), epochs=2, width=4, batch_size=16, keep=1)
ATTACKS = [PGD(eps=(0.02, 0.1), steps=5, keep=1), FGSM(eps=(0.1,), keep=1), GENERATOR]


def rows_of(artifact: object) -> list[Finding]:
    return findings_from(collect(artifact, None))


def audit(cuts: Sequence[int], *, multilabel: bool = False) -> tuple[list[Finding], list[Finding], list[str]]:
    """The findings of attacks and probes on the tiny subject, and the digests of everything on the way."""
    samples, classes = tiny_samples(list(cuts), multilabel), tiny_classes()
    files = tiny_files(multilabel=multilabel)
    generator = train_generator(samples, classes, files, SUBJECT, GENERATOR, 0.1)
    trained = {eps_name(0.1): generator}
    made = [
        attack_subject(samples, classes, files, SUBJECT, one, "tiny", trained if one is GENERATOR else None)
        for one in ATTACKS
    ]
    worst = worst_case([one.attacked for one in made])
    moved = transfer_attacks(
        samples,
        classes,
        ATTACKS[0],
        {"tiny": files, "twin": tiny_files(1, 3, multilabel)},
        {"tiny": SUBJECT, "twin": SUBJECT},
    )
    tables = [*(one.attacked for one in made), worst]
    measured = measure_attacks(tables, classes, ATTACKS, "tiny", [moved])
    probed = probe_subject(samples, classes, files, SUBJECT, "tiny", 16)
    digests = [generator.digest, *(table.digest for table in tables), moved.digest, measured.digest, probed.digest]
    return rows_of(measured), rows_of(probed), digests


def test_an_audit_is_the_same_however_its_samples_are_cut(make_run):
    digests = []
    for cuts in ([40], [9, 0, 31]):
        with make_run(fresh=True):
            digests.append(audit(cuts)[2])
    assert digests[0] == digests[1]


def test_every_attack_and_the_worst_case_have_their_findings_and_flags(run):
    measured, probed, _ = audit([25, 15])
    accuracies = {(one.of, one.group): one for one in measured if one.metric == "attack.accuracy"}
    assert set(accuracies) == {
        ("pgd", "eps=0"),
        ("pgd", "eps=0.02"),
        ("pgd", "eps=0.1"),
        ("fgsm", "eps=0"),
        ("fgsm", "eps=0.1"),
        ("gap", "eps=0"),
        ("gap", "eps=0.1"),
        ("worst-case", "eps=0"),
        ("worst-case", "eps=0.02"),
        ("worst-case", "eps=0.1"),
    }
    lowest = min(one.value for (of, group), one in accuracies.items() if group == "eps=0.1" and of != "worst-case")
    assert accuracies["worst-case", "eps=0.1"].value <= lowest < accuracies["pgd", "eps=0"].value
    flags = [one for one in measured + probed if one.metric == "attack.red_flag"]
    assert {one.of for one in flags} == set(FLAGS)
    assert {one.subject for one in measured + probed} == {"tiny"}
    silent = {one.of for one in flags if one.value == 0.0}
    assert {"softmax-output", "zero-gradients", "randomised-output", "one-step-beats-multi-step"} <= silent
    assert next(one for one in flags if one.of == "black-box-beats-white-box").verdict.startswith("not measured")
    assert next(one for one in probed).n == 16


@pytest.mark.parametrize("cuts", [[40], [9, 0, 31], [7] * 5 + [5]])
def test_what_is_measured_one_by_one_is_what_all_records_together_say(run, cuts):
    samples, classes, files = tiny_samples(cuts), tiny_classes(), tiny_files()
    attacks = ATTACKS[:2]
    tables = [attack_subject(samples, classes, files, SUBJECT, one, "tiny").attacked for one in attacks]
    names = class_names(collect(classes, None))
    together = trials([collect(table, None) for table in tables])
    expected = [finding for trial in together for finding in attack_findings(trial, names)]
    expected += [reading.finding("tiny") for reading in flags_of_attacks(together, attacks, names)]
    assert rows_of(measure_attacks(tables, classes, attacks, "tiny", [])) == findings_from(findings_table(expected))


def test_several_labels_go_through_all_stages(run):
    measured, probed, _ = audit([30], multilabel=True)
    assert {one.group for one in measured if one.metric == "attack.recall" and one.of == "pgd"} >= {"eps=0.1, a"}
    assert all(one.value == 0.0 for one in probed)


def test_the_images_a_generator_learned_from_are_measured_apart(run):
    samples, classes, files = tiny_samples([20]), tiny_classes(), tiny_files()
    trained = {"eps=0.1": train_generator(samples, classes, files, SUBJECT, GENERATOR, 0.1)}
    made = attack_subject(samples, classes, files, SUBJECT, GENERATOR, "tiny", trained)
    found = rows_of(measure_attacks([made.attacked], classes, [GENERATOR], "tiny", [], "training"))
    assert {one.group.split(", ")[1] for one in found} == {"training"}
    assert not [one for one in found if one.metric == "attack.red_flag"]


def test_a_generator_is_for_one_eps_and_says_how_it_was_made(run):
    samples, classes, files = tiny_samples([20]), tiny_classes(), tiny_files()
    made = train_generator(samples, classes, files, SUBJECT, GENERATOR, 0.1)
    card = load_generator(read_files(made), "cpu", 8).card
    assert (card.eps, card.loss, card.epochs, len(card.losses)) == (0.1, "true-label", 2, 2)
    assert run.record.stages[-1].summary == "gap at eps=0.1 · 2 epochs of 20 samples, true-label loss"
    other = train_generator(samples, classes, files, SUBJECT, GENERATOR, 0.2)
    assert other.digest != made.digest
    train_generator(samples, classes, files, SUBJECT, GENERATOR.model_copy(update={"epochs": 1}), 0.1)
    assert run.record.stages[-1].summary == "gap at eps=0.1 · 1 epoch of 20 samples, true-label loss"


def test_a_subject_that_answers_with_nothing_is_named(run):
    with pytest.raises(InputError, match="finite number"):
        probe_subject(tiny_samples([8]), tiny_classes(), tiny_files(broken=True), SUBJECT, "tiny")
