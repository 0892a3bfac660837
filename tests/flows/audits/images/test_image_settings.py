"""Audits of images in pipelines.yaml: what cannot be together is refused with its line, before anything runs."""

# ruff: noqa: E501 - error messages are quoted whole

from pathlib import Path

import pytest

from assay.flows.configuration.loading import Project, load_project
from assay.flows.yaml_document import ConfigurationError

GOOD = """\
pipelines:
  night:
    source: {images: scans}
    subject: {name: net, network: small-cnn, train: {epochs: 2}}
    attacks:
      - fgsm
      - pgd: {eps: [0, 4/255]}
    corruptions: {severities: [1]}
"""
TABLE = "{csv: a.csv, image: file}"
NETWORK = "{name: net, network: small-cnn, train: {epochs: 2}}"


def load(folder: Path, *changes: tuple[str, str]) -> Project:
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "pipelines.yaml").write_text(text, encoding="utf-8")
    return load_project(folder / "pipelines.yaml")


def mistakes(folder: Path, *changes: tuple[str, str]) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(folder, *changes)
    return [str(mistake).removeprefix(f"{folder}/pipelines.yaml:") for mistake in caught.value.mistakes]


@pytest.mark.parametrize(
    ("source", "subjects"),
    [
        ("{dataset: sample/digits}", [NETWORK, "{model: logistic}"]),
        ("{images: scans}", [NETWORK, "{model: logistic}"]),
        ("{csv: a.csv, image: file, label: kind}", [NETWORK, "{model: logistic}"]),
        ("{csv: a.csv, image: file, labels: [effusion, oedema]}", [NETWORK]),
    ],
)
def test_every_source_with_labels_has_something_to_learn_from(tmp_path: Path, source: str, subjects: list[str]) -> None:
    for subject in subjects:
        text = f"pipelines: {{night: {{source: {source}, subject: {subject}}}}}"
        (tmp_path / "pipelines.yaml").write_text(text)
        assert len(load_project(tmp_path / "pipelines.yaml").pipeline("night").subjects) == 1


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        (
            "{model: logistic}",
            '4: subject.model: "logistic" — learns from gold labels: give source.label, or train_on: weak',
        ),
        (NETWORK, "4: subject.train — learns from gold labels: give source.label, or source.labels for several"),
        (
            "{network: small-cnn, weights: net.safetensors}",
            '4: subject.network: "small-cnn" — answers with classes, and none is known: give source.label or source.classes',
        ),
    ],
)
def test_a_source_without_labels_teaches_nobody(tmp_path: Path, subject: str, said: str) -> None:
    text = f"pipelines:\n  night:\n    source: {TABLE}\n    subject: {subject}\n"
    (tmp_path / "pipelines.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_project(tmp_path / "pipelines.yaml")
    [mistake] = caught.value.mistakes
    assert str(mistake) == f"{tmp_path}/pipelines.yaml:{said}"


def test_a_finished_network_needs_only_the_names_of_its_classes(tmp_path: Path) -> None:
    source = "{csv: a.csv, image: file, classes: [benign, malignant]}"
    project = load(tmp_path, ("{images: scans}", source), ("train: {epochs: 2}", "weights: net.safetensors"))
    assert project.pipeline("night").subjects[0].weights == "net.safetensors"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "{epochs: 2}",
            "{epochs: 2}, weights: net.safetensors",
            "4: subject — the subject net needs either `train` (Assay trains the network) or `weights` (a safetensors file), and not both",
        ),
        (
            ", train: {epochs: 2}",
            "",
            "4: subject — the subject net needs either `train` (Assay trains the network) or `weights` (a safetensors file), and not both",
        ),
        (
            "- fgsm",
            "- fgsm: {target: 1}",
            "6: attacks.0 — `target: 1` is aimed at only with `goal: targeted`, not `untargeted`",
        ),
        (
            "- fgsm",
            "- fgsm: {goal: targeted}",
            '6: attacks.0.goal: "targeted" — names no class to aim at: add target, as in target: 0',
        ),
        (
            "- fgsm",
            "- gap: {goal: targeted, target: 0}",
            '6: attacks.0.goal: "targeted" — a generator aims at no class: leave goal out, or use another attack',
        ),
        (
            "- fgsm",
            "- fgsm: {only_accuracy: true, keep_all: true}",
            "6: attacks.0 — `only_accuracy` stops early, so there is no point in `keep_all`: leave one of them out",
        ),
        ("- fgsm", "- pgd", "7: attacks.1 — another attack is called pgd as well; give this one a name"),
        ("- fgsm", "- fgsm: {name: pgd}", "7: attacks.1 — another attack is called pgd as well; give this one a name"),
        (
            "- fgsm",
            "- xu-pgd-4\n      - xu-pgd-4: {eps: 0.1}",
            "7: attacks.1 — another attack is called xu-pgd-4 as well; give this one a name",
        ),
        ("- fgsm", "- pdg: {eps: 0.1}", '6: attacks.0: "pdg" — there is no such attack; did you mean pgd?'),
        (
            "- fgsm",
            "- xu-pgd-3",
            '6: attacks.0: "xu-pgd-3" — there is no such attack; did you mean xu-pgd-5, xu-pgd-4 or xu-pgd-2?',
        ),
        (
            "- fgsm",
            "- deepfool",
            '6: attacks.0: "deepfool" — there is no such attack; known here: pgd, fgsm, momentum-pgd, apgd, apgd-t, fab-t, ddn, fmn, square, sparse-rs, hopskipjump, autoattack, gap, a2t, guided, noise, bert-attack, deepwordbug, injection, names, numbers, negation, orbit, paraphrases, example-order, distractors, swap, keyboard, synonymy, xu-pgd-2, xu-pgd-4, xu-pgd-5, xu-pgd-10, xu-gap-7, xu-gap-11, xu-gap-13, textfooler, pwws, autoattack-apart',
        ),
        ("- fgsm", "- fgsm: {steps: 20}", "6: attacks.0.steps — unknown key; did you mean eps?"),
        (
            "- fgsm",
            "- fgsm: {eps: 2}",
            "6: attacks.0.eps: 2 — pixel values lie in [0, 1], and 2 is more than all of it; for 2 of 255 levels write 2/255",
        ),
        (
            "- fgsm",
            "- pgd: {name: patches, norm: patch, eps: 25}",
            "6: attacks.0.eps: 25 — of a patch, ε is the share of the picture that it covers, such as 0.05, and 25 is none",
        ),
        (
            "- fgsm",
            "- pgd: {name: long, norm: L2, eps: 2}",
            '6: attacks.0.norm: "L2" — expected one of linf, l2, l0, patch; did you mean l2?',
        ),
        (
            "- fgsm",
            "- ddn\n      - ddn: {name: worst-case-l2}",
            "7: attacks.1 — a name that begins with worst-case is for what several attacks leave together; give this another one",
        ),
        (
            "    corruptions",
            "    defenses: [trades: {stop: [last, best], train: {validation: 0}}]\n    corruptions",
            "8: defenses.0.stop — the best epoch is chosen by samples held out, and train.validation is 0: set some aside",
        ),
        (
            "{epochs: 2}}",
            "{epochs: 2, validation: 0}}\n    defenses: [mart: {stop: best}]",
            '5: defenses.0.stop: "best" — the best epoch is chosen by samples held out, and train.validation is 0: set some aside',
        ),
        ("[0, 4/255]", "[0, -4/255]", '7: attacks.1.eps.1: "-4/255" — expected a number of at least 0'),
        (
            "[1]",
            "[1], reference: nett",
            '8: corruptions.reference: "nett" — there is no such subject; did you mean net?',
        ),
        ("[1]", "[6]", "8: corruptions.severities.0: 6 — expected a whole number between 1 and 5"),
        (
            "[1]",
            "[1], frames: 4",
            "8: corruptions — frames is 4: a sequence has as many frames before its clean one as after it, so the number must be odd; write 5",
        ),
        (
            "    corruptions",
            "    trust: {explainers: [lime]}\n    corruptions",
            "8: trust — needs a subject for texts: add one with classifier, as in subject: {classifier: …}",
        ),
        (
            "    corruptions",
            "    evaluation: {split: train}\n    corruptions",
            '8: evaluation.split: "train" — is audited and may train; what is audited must not train: choose another split',
        ),
        (
            "    corruptions",
            "    evaluation: {train: test}\n    corruptions",
            '8: evaluation.train: "test" — is audited and may train; what is audited must not train: choose another split',
        ),
        (
            "    corruptions",
            "    gates: [{finding: attack.accuracy, of: pgdd, at_least: 0.5}]\n    corruptions",
            '8: gates.0.of: "pgdd" — there is no such attack; did you mean pgd?',
        ),
        (
            "    corruptions: {severities: [1]}",
            "    gates: [{finding: corruption.accuracy, at_least: 0.5}]",
            '8: gates.0.finding: "corruption.accuracy" — nothing will measure it: the pipeline has no corruptions',
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert mistakes(tmp_path, (old, new)) == [said]


def test_a_defence_takes_its_eps_from_attacks_that_bound_every_pixel(tmp_path: Path) -> None:
    in_l2 = ("- fgsm\n      - pgd: {eps", "- ddn\n      - pgd: {norm: l2, eps")
    found = mistakes(tmp_path, in_l2, ("    corruptions", "    defenses: [trades]\n    corruptions"))
    assert len(found) == 1
    assert "defenses.0 — names no ε to defend against, and no attack bounds every pixel (linf)" in found[0]


def test_a_gate_on_defences_names_an_eps_that_an_attack_tries_on_every_pixel(tmp_path: Path) -> None:
    gate = (
        "    defenses: [trades: {eps: 0.1}]\n    gates: [{finding: defense.accuracy, group: eps=0.1, at_least: 0.5}]\n"
    )
    asked = ("    corruptions", f"{gate}    corruptions")
    small = ("- fgsm", "- fgsm: {eps: 4/255}")
    assert "no attack has it; did you mean eps=0?" in mistakes(tmp_path, small, asked)[0]
    in_l2 = ("- fgsm\n      - pgd: {eps: [0, 4/255]}", "- ddn: {eps: 0.1}")
    assert "defences are compared where ε bounds every pixel" in mistakes(tmp_path, in_l2, asked)[0]
    there = load(tmp_path, ("- fgsm", "- fgsm: {eps: 0.1}"), asked)
    assert len(there.pipeline("night").gates) == 1


@pytest.mark.parametrize("defence", ["maadvt", "mart", "trades"])
def test_a_defence_for_one_class_is_refused_where_there_are_several_labels(tmp_path: Path, defence: str) -> None:
    labels = ("{images: scans}", "{csv: a.csv, image: file, labels: [effusion, oedema]}")
    found = mistakes(tmp_path, labels, ("    corruptions", f"    defenses: [{defence}]\n    corruptions"))
    assert any("defenses.0 — is for one class per image" in mistake for mistake in found)


@pytest.mark.parametrize("attack", ["apgd-t", "fab-t", "autoattack", "hopskipjump"])
def test_an_attack_from_class_to_class_is_refused_where_there_are_several_labels(tmp_path: Path, attack: str) -> None:
    labels = ("{images: scans}", "{csv: a.csv, image: file, labels: [effusion, oedema]}")
    found = mistakes(tmp_path, labels, ("- fgsm", f"- {attack}"))
    assert any("attacks.0 — is for one class per image" in mistake for mistake in found)


@pytest.mark.parametrize("subject", ["{model: logistic}", '{name: net, model: "m.py:predict"}'])
def test_attacks_and_corruptions_need_a_subject_that_looks_at_images(tmp_path: Path, subject: str) -> None:
    told = mistakes(tmp_path, (NETWORK, subject))
    assert told[0].endswith("fgsm needs a subject for images: add one with network, as in subject: {network: …}")
    assert told[-1:] == [
        "8: corruptions — needs a subject for images: add one with network, as in subject: {network: …}"
    ]


def test_a_gate_may_be_about_an_attack_all_of_them_or_a_red_flag(tmp_path: Path) -> None:
    gates = "\n".join(
        f"      - {{finding: {finding}, at_least: 0}}"
        for finding in (
            "attack.accuracy, of: pgd",
            "attack.accuracy, of: worst-case",
            "attack.accuracy",
            "attack.red_flag, of: zero-gradients",
        )
    )
    project = load(tmp_path, ("    corruptions", f"    gates:\n{gates}\n    corruptions"))
    assert len(project.pipeline("night").gates) == 4


def test_the_papers_attacks_go_by_name_and_what_stands_beside_it_wins(tmp_path: Path) -> None:
    project = load(
        tmp_path, ("- fgsm", "- xu-pgd-4\n      - xu-gap-7: {width: 16}\n      - xu-pgd-10: {name: ten, keep: 0}")
    )
    four, seven, ten, _ = project.pipeline("night").attacks
    assert (four.called, four.eps, four.steps, four.step_size) == ("xu-pgd-4", (4 / 255,), 4, 1 / 255)
    assert (seven.called, seven.eps, seven.width, seven.epochs) == ("xu-gap-7", (7 / 255,), 16, 10)
    assert (ten.called, ten.eps, ten.steps, ten.keep) == ("ten", (10 / 255,), 60, 0)


def test_a_mistake_in_a_preset_keeps_its_line(tmp_path: Path) -> None:
    assert mistakes(tmp_path, ("- fgsm", "- xu-pgd-4: {keep: -1}")) == [
        "6: attacks.0.keep: -1 — expected a whole number of at least 0"
    ]
