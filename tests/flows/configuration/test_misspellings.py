"""Every word of a pipeline that names something, misspelt: refused with its line, and with what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.flows.check import check, named_things
from assay.flows.configuration.loading import Project, load_project
from assay.flows.forecast.plan import check_inputs
from assay.infra.errors import InputError

IMAGES = "source: {dataset: sample/digits}\nsubject: {network: small-cnn, train: {epochs: 1}}\nattacks: [pgd]\n"
TEXTS = "source: {dataset: sample/reviews}\nsubject: {classifier: small-bert, train: {epochs: 1}}\n"
TAGS = "source: {dataset: sample/abstracts}\nsubject: {tagger: small-tagger}\n"


@pytest.fixture(autouse=True)
def nothing_at_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ASSAY_MIRROR", raising=False)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def project(folder: Path, pipeline: str, overrides: tuple[str, ...] = ()) -> Project:
    body = "".join(f"    {line}\n" for line in pipeline.splitlines())
    (folder / "pipelines.yaml").write_text(f"pipelines:\n  p:\n{body}")
    return load_project(folder / "pipelines.yaml", pipeline="p", overrides=overrides)


def refusal(folder: Path, pipeline: str, *overrides: str) -> str:
    with pytest.raises(InputError) as refused:
        look_for(folder, pipeline, overrides)
    return str(refused.value)


def look_for(folder: Path, pipeline: str, overrides: tuple[str, ...]) -> None:
    made = project(folder, pipeline, overrides)
    check_inputs(made, made.pipeline("p"))


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("attacks.0.pgd.steps=-3", "attacks.0.steps: -3 — expected a whole number between 1 and 100,000"),
        ("attacks.0.pgd.stesp=3", "attacks.0.stesp — unknown key; did you mean steps?"),
        ("attacks.0.pgd=3", "attacks.0.pgd — unknown key; known here: name, norm, eps, goal"),
        ("attacks.0.gap.width=3", "attacks.0.gap — unknown key; known here: name, norm, eps, goal"),
        ("subject.of.whom=3", "subject.of — unknown key; known here: "),
    ],
)
def test_an_override_below_the_word_of_a_choice_is_blamed_on_set(tmp_path: Path, override: str, said: str) -> None:
    attacks = "[pgd: {eps: [0, 0.1], steps: 2}]"
    assert refusal(tmp_path, IMAGES.replace("[pgd]", attacks), override).startswith(f"--set: {said}")


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        (IMAGES.replace("[pgd]", "[pgd: {eps: [0, .nan]}]"), "attacks.0.eps.1: NaN — expected a number of at least 0"),
        (TEXTS + "defenses: [attacked-copies: {attack: [noise]}]", 'defenses.0.attack: ["noise"] — expected text'),
        (IMAGES.replace("train:", f"name: {'n' * 90}, train:"), "— expected text of at most 80 letters"),
        (TEXTS + "weak_labels: {class_balance: {good: 3}}", "class_balance.good: 3 — expected a number above 0"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_in_words_wherever_it_stands(
    tmp_path: Path, pipeline: str, said: str
) -> None:
    assert said in refusal(tmp_path, pipeline)


def test_what_is_wrong_by_itself_is_not_offered_elsewhere(tmp_path: Path) -> None:
    wrong = IMAGES.replace("[pgd]", "[pgd: {eps: ../x}]") + "diagnostics: {eps: 4/255}"
    assert "diagnostics" not in refusal(tmp_path, wrong)


def test_an_override_reaches_a_setting_as_the_file_writes_it(tmp_path: Path) -> None:
    for written in ("attacks.0.pgd.steps=3", "attacks.0.steps=3"):
        made = project(tmp_path, IMAGES, (written,))
        assert made.pipeline("p").model_dump()["attacks"][0]["steps"] == 3


def test_a_setting_that_is_named_as_its_choice_is_an_unknown_key_of_it(tmp_path: Path) -> None:
    said = refusal(tmp_path, IMAGES.replace("[pgd]", "[{attack: pgd, pgd: {steps: 3}}]"))
    assert "pipelines.yaml:5: attacks.0.pgd — unknown key; known here: name, norm, eps" in said


@pytest.mark.parametrize(
    ("pipeline", "place", "meant"),
    [
        ("source: {dataset: sample/digit}", ':3: source.dataset: "sample/digit"', "sample/digits"),
        ("source: {dataset: isic-uda}", ':3: source.dataset: "isic-uda"', "isic-uda1"),
        (
            "source: {dataset: sample/breast-cancer}\nlabeling: {functions: brest-cancer}",
            ':4: labeling.functions: "brest-cancer"',
            "breast-cancer",
        ),
        (IMAGES.replace("small-cnn", "resnet51"), ':4: subject.network: "resnet51"', "resnet50"),
        (IMAGES.replace("small-cnn", "small_cnn"), ':4: subject.network: "small_cnn"', "small-cnn"),
        ("source: {dataset: sample/digits}\nsubject: {model: logistc}", ':4: subject.model: "logistc"', "logistic"),
        (TEXTS.replace("small-bert", "small-brt"), ':4: subject.classifier: "small-brt"', "small-bert"),
        (TAGS.replace("small-tagger", "small-taggr"), ':4: subject.tagger: "small-taggr"', "small-tagger"),
        (
            "source: {dataset: sample/abstract-pairs}\nsubject: {scorer: smal-scorer}",
            ':4: subject.scorer: "smal-scorer"',
            "small-scorer",
        ),
        (IMAGES.replace("pgd", "pdg"), ':5: attacks.0: "pdg"', "pgd"),
        (IMAGES.replace("pgd", "gap: {loss: least-likly}"), ':5: attacks.0.loss: "least-likly"', "least-likely"),
        (IMAGES + "defenses: [maadv: {eps: 0.1}]", ':6: defenses.0: "maadv"', "maadvt"),
        (
            IMAGES + "corruptions: {perturbations: [gausian-noise]}",
            ':6: corruptions.perturbations.0: "gausian-noise"',
            "gaussian-noise",
        ),
        (IMAGES + "corruptions: medmnist-c/derma", ':6: corruptions: "medmnist-c/derma"', "medmnist-c/dermamnist"),
        (
            IMAGES.replace("small-cnn", "small-cnn, crop: 4") + "overfitting: {translations: {generators: [strongst]}}",
            ':6: overfitting.translations.generators.0: "strongst"',
            "strongest",
        ),
        (TEXTS + "trust: {explainers: [lme]}", ':5: trust.explainers.0: "lme"', "lime"),
        (TEXTS + "trust: {providers: [fastext]}", ':5: trust.providers.0: "fastext"', "fasttext"),
        (TEXTS + "trust: {synonyms: wordnt}", ':5: trust.synonyms: "wordnt"', "wordnet"),
        (TEXTS + "trust: {truth: counterfactul}", ':5: trust.truth: "counterfactul"', "counterfactual"),
        (TEXTS + "attacks: [a2t: {vectors: fastext}]", ':5: attacks.0.vectors: "fastext"', "fasttext"),
        (TEXTS + "attacks: [a2t: {encoder: word-vector}]", ':5: attacks.0.encoder: "word-vector"', "word-vectors"),
        (TAGS + "attacks: [swap: {terms: lexicn}]", ':5: attacks.0.terms: "lexicn"', "lexicon"),
        (
            TAGS + "attacks: [synonymy: {synonyms: disease-chemical-synonym}]",
            ':5: attacks.0.synonyms: "disease-chemical-synonym"',
            "disease-chemical-synonyms",
        ),
    ],
)
def test_a_misspelt_name_is_refused_with_its_line_and_what_was_meant(
    tmp_path: Path, pipeline: str, place: str, meant: str
) -> None:
    said = refusal(tmp_path, pipeline)
    assert place in said
    assert f"id you mean {meant}?" in said
    assert "\n" not in said
    assert said.count("id you mean") == 1


@pytest.mark.parametrize(
    ("attack", "place"),
    [
        ("a2t: {vectors: nowhere.txt}", 'attacks.0.vectors: "nowhere.txt"'),
        ("a2t: {vectors: nowhere.json}", 'attacks.0.vectors: "nowhere.json"'),
        ("a2t: {keep: nowhere.txt}", 'attacks.0.keep: "nowhere.txt"'),
        ("a2t: {keep: [two words]}", 'attacks.0.keep.0: "two words"'),
        ("a2t: {antonyms: wordnet}", 'attacks.0.antonyms: "wordnet"'),
    ],
)
def test_what_a_word_attack_names_is_looked_for_before_anything_trains(
    tmp_path: Path, attack: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> None:
        raise InputError("NLTK's WordNet is not installed here (the attack's `antonyms` is wordnet).")

    monkeypatch.setattr("assay.tasks.attacks.texts.resolved.wordnet_opposites", nowhere)
    assert f"pipelines.yaml:5: {place} — " in refusal(tmp_path, f"{TEXTS}attacks: [{attack}]")


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("csv: a.csv\n  label: gould", ':5: source.label: "gould"'),
        ("csv: a.csv\n  id: nmae\n  label: gold", ':5: source.id: "nmae"'),
        ("csv: a.csv\n  label: gold\n  image: flie", ':6: source.image: "flie"'),
        ("csv: a.csv\n  label: gold\n  features: [nam]", ':6: source.features: "nam"'),
    ],
)
def test_a_column_that_the_table_lacks_is_refused_with_the_line_that_names_it(
    tmp_path: Path, written: str, place: str
) -> None:
    (tmp_path / "a.csv").write_text("name,file,gold\na,b,c\n")
    said = refusal(tmp_path, f"source:\n  {written}")
    assert f"{place} — a.csv has no column " in said
    assert "; it has name, file, gold. Did you mean " in said


@pytest.mark.parametrize(
    ("rest", "place", "meant"),
    [
        ("subject: {classifier: small-bert, text: txt, train: {epochs: 1}}", ':4: subject.text: "txt"', "text"),
        ("subjects:\n  - {name: a, predictions: gues}", ':5: subjects.0.predictions: "gues"', "guess"),
        ("evaluation: {column: prt, since: b}\nsubject: {predictions: guess}", ':4: evaluation.column: "prt"', "part"),
        (
            "subject: {predictions: guess}\noverfitting: {orbit: {orbit: qestion, original: part}}",
            ':5: overfitting.orbit.orbit: "qestion"',
            "question",
        ),
        ("subject: {predictions: guess}\nslices: {columns: [prt]}", ':5: slices.columns.0: "prt"', "part"),
        ("subject: {predictions: guess}\nslices: [prt]", ':5: slices: "prt"', "part"),
    ],
)
def test_a_column_that_is_named_outside_the_source_is_looked_for_too(
    tmp_path: Path, rest: str, place: str, meant: str
) -> None:
    (tmp_path / "a.csv").write_text("text,gold,guess,part,question\na,b,b,test,q\n")
    said = refusal(tmp_path, f"source: {{csv: a.csv, label: gold}}\n{rest}")
    assert f"{place} — the samples have no column " in said
    assert said.endswith(f"Did you mean {meant}?")


PAIRS = "subject: {scorer: small-scorer, pair: [first, second]"


def test_scorers_and_taggers_are_held_against_the_columns_that_the_source_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,first,second,similarity\na,b,c,1\n")
    source = "source: {csv: a.csv, id: id, score: similarity}\n"
    (subject,) = project(tmp_path, f"{source}{PAIRS}}}").pipeline("p").subjects
    assert subject.score == "similarity"
    look_for(tmp_path, f"{source}{PAIRS}}}", ())
    said = refusal(tmp_path, f"{source}{PAIRS}, score: simlarity}}")
    assert ":4: subject.score: \"simlarity\" — the samples have no column 'simlarity', which the scorer is held" in said
    nameless = refusal(tmp_path, f"source: {{csv: a.csv, id: id}}\n{PAIRS}}}")
    assert "the samples have no column 'score', which the scorer is held against" in nameless
    tagged = "source: {parquet: a.parquet, tags: marks, tokens: words}\nsubjects: [{tagger: small-tagger}]"
    (tagger,) = project(tmp_path, tagged).pipeline("p").subjects
    assert (tagger.tokens, tagger.tags) == ("words", "marks")
    own = tagged.replace("small-tagger", "small-tagger, tags: theirs")
    assert project(tmp_path, own).pipeline("p").subjects[0].tags == "theirs"


def test_the_usual_column_is_looked_for_even_where_nobody_wrote_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("review,gold\na,b\n")
    said = refusal(tmp_path, "source: {csv: a.csv, label: gold}\nsubject: {classifier: small-bert, train: {}}")
    assert ":4: subject: \"text\" — the samples have no column 'text', which the classifier reads; " in said


def test_a_network_without_images_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,gold\n1,b\n")
    said = refusal(tmp_path, "source: {csv: a.csv, label: gold}\nsubject: {network: small-cnn, train: {}}")
    assert ':4: subject.network: "small-cnn" — looks at images, and the source names none: say ' in said


def test_a_misspelling_from_the_command_line_is_blamed_on_it(tmp_path: Path) -> None:
    said = refusal(tmp_path, IMAGES, "source.dataset=sample/digts")
    assert said.startswith('--set: source.dataset: "sample/digts" — ')


def test_a_setting_that_expects_one_of_several_kinds_lists_the_kinds_and_not_all_their_settings(tmp_path: Path) -> None:
    said = refusal(tmp_path, IMAGES.replace("[pgd]", "pgd"))
    assert ':5: attacks: "pgd" — expected a list, each item one of pgd, fgsm, ' in said
    assert said.endswith("write [pgd]")
    assert "restarts" not in said


@pytest.mark.parametrize("attack", ["pgd: {eps: 8}", "fgsm: {eps: [0, 8]}", "pgd: {step_size: 8}"])
def test_levels_of_255_are_refused_with_the_fraction_to_write(tmp_path: Path, attack: str) -> None:
    said = refusal(tmp_path, IMAGES.replace("pgd", attack))
    assert "pixel values lie in [0, 1], and 8 is more than all of it; for 8 of 255 levels write 8/255" in said


def test_a_word_that_only_looks_like_a_fault_is_not_blamed(tmp_path: Path) -> None:
    said = refusal(tmp_path, TEXTS + "trust: {providers: [fasttext, ppmi]}")
    assert ":5: trust.providers — 2 word embeddings (fasttext, ppmi)" in said
    assert "did you mean" not in said.lower()


def test_check_says_the_same_of_every_pipeline_and_only_notes_what_can_be_got(tmp_path: Path) -> None:
    made = project(tmp_path, "source: {dataset: youtube-spam}\nlabeling: {functions: youtube-spm}")
    (note,), (wrong,) = named_things(made)
    assert "assay data get youtube-spam" in note
    assert ':4: labeling.functions: "youtube-spm" — ' in wrong


def test_a_share_of_memory_may_be_written_as_a_number(tmp_path: Path) -> None:
    (tmp_path / "pipelines.yaml").write_text("compute: {memory: 0.5}\npipelines: {p: {source: {csv: a.csv}}}\n")
    assert load_project(tmp_path / "pipelines.yaml").compute.memory == "0.5"


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        ("source: sample/digits", ':3: source: "sample/digits" — expected a mapping with some of dataset, '),
        ("source: {csv: 3}", ":3: source.csv: 3 — expected text, or a list of at least 1, each item text"),
        (
            "source: {dataset: sample/digits}\nsubjects: [small-cnn]",
            ':4: subjects.0.model: "small-cnn" — is no model of columns; write network: small-cnn',
        ),
    ],
)
def test_a_value_of_another_kind_is_refused_with_one_that_would_do(tmp_path: Path, pipeline: str, said: str) -> None:
    told = refusal(tmp_path, pipeline)
    assert said in told
    assert "write [3]" not in told
    assert "small-cnn" in told or "{dataset: sample/breast-cancer}" in told or told.endswith("each item text")


def test_a_pipeline_with_a_name_that_is_no_name_is_told_what_one_is(tmp_path: Path) -> None:
    (tmp_path / "pipelines.yaml").write_text("pipelines:\n  a b: {source: {csv: a.csv}}\n")
    with pytest.raises(InputError, match=r':2: name: "a b" — a pipeline is named by up to 80 letters, digits, dots'):
        load_project(tmp_path / "pipelines.yaml")


def test_what_is_wrong_two_thousand_times_is_said_a_hundred_times_and_counted(tmp_path: Path) -> None:
    """As seeds 200955 and 202275 of the door keeper had it."""
    nights = "".join(f"  n{at}: {{source: {{csv: a}}}}\n" for at in range(300))
    (tmp_path / "pipelines.yaml").write_text(f"pipelines:\n{nights}")
    found = check(str(tmp_path / "pipelines.yaml"), None)
    assert "n99 " in found.text
    assert "n100 " not in found.text
    assert "200 more pipelines (assay list)" in found.text
    assert found.complaint.splitlines()[-1] == "200 more: correct these first."
    assert len(found.complaint.splitlines()) == 101
