"""The word attack as a whole: beside TextAttack's own parts, held to its constraints, the same in every cut."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from small_texts import TEXTS, save_tiny_bert, tiny_model
from trust_case import put_classes
from word_case import put_texts

from assay.data.schemas import Keywords, Thresholds
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, read_files
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.texts.attacking import encoders, look_up
from assay.tasks.attacks.texts.composing import NO_TEXT, NO_WORD, NOT_LISTED, REFUSED, STOP_WORDS, compose
from assay.tasks.attacks.texts.measures import BLIND
from assay.tasks.attacks.texts.page import page
from assay.tasks.attacks.texts.resolved import SwapSearch, resolve_word_attack
from assay.tasks.attacks.texts.rewriting import WRONG
from assay.tasks.attacks.texts.settings import A2T, Guided, WordAttack
from assay.tasks.attacks.texts.similarity import CharacterEncoder, Compared, parts_of_speech
from assay.tasks.attacks.texts.task import attack_words, compare_words, find_neighbours, look_into_pools, measure_words
from assay.tasks.attacks.texts.textattack_parts import EvaluatedModel
from assay.tasks.language.embeddings.ensemble import resolve_providers
from assay.tasks.language.embeddings.provider import TableProvider
from assay.tasks.language.relatedness import Vocabulary
from assay.tasks.language.synonyms import reverses, synonym_pairs
from assay.tasks.language.words import is_negation, is_stop_word, normalised, stop_words, words_of
from assay.tasks.statistics.findings import FindingIndex, findings_from
from assay.tasks.statistics.gates import judge
from assay.tasks.statistics.settings import Gate
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.rows import load_text_model
from assay.tasks.subjects.texts.task import train_classifier

WORDS = sorted({word for text in TEXTS for word in text.replace(",", "").split()})
CONTENT = [word for word in WORDS if not is_stop_word(word)]
LOOSE = A2T(vectors="fasttext", min_cosine=-1.0, similarity=0.6, encoder="word-vectors", candidates=8)
STRANGE = ["", "...", "the of and", "a \x00 film\tabout 3.5 boats 😀 and the U.S. cast", "Film! FILM? film… don't, not"]
KNOWN = len(STRANGE)


def made_texts(count: int, seed: int = 0, longest: int = 14) -> list[str]:
    """Texts of known words, in small letters."""
    generator = np.random.default_rng(seed)
    return [
        " ".join(generator.choice(WORDS, int(generator.integers(4, longest))).tolist()).lower() for _ in range(count)
    ]


# Beside TextAttack's own parts


@dataclass
class Beside:
    """The same subject, vectors and encoder for both compositions."""

    model: Any
    ours: Any
    theirs: Any


def beside(ranking: str, threshold: float = 0.75) -> Beside:
    """Our composition, and A2T's out of TextAttack's classes; without dropout, which would make its ranking random."""
    import textattack as ta
    import torch
    from textattack.constraints.semantics import WordEmbeddingDistance
    from textattack.constraints.semantics.sentence_encoders import SentenceEncoder
    from textattack.shared import WordEmbedding
    from transformers import PreTrainedTokenizerFast

    model = tiny_model()
    network = model.network.module
    for part in network.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    words = sorted({word.lower() for word in WORDS})
    vectors = np.random.default_rng(1).normal(size=(len(words), 3)).astype(np.float32)
    provider = TableProvider("drawn", words, vectors)
    near = Vocabulary.of(provider, words).nearest(words, vectors, 8)
    place = {word: at for at, word in enumerate(words)}
    order = np.array(
        [[place[word], *(place[one.word] for one in found)] for word, found in zip(words, near, strict=True)]
    )
    embedding = WordEmbedding(vectors, place, dict(enumerate(words)), order)
    listed = {word: [one.word for one in found if one.cosine >= 0.8] for word, found in zip(words, near, strict=True)}

    class Encoded(SentenceEncoder):
        def encode(self, sentences):
            return torch.from_numpy(CharacterEncoder().encode(sentences))

    tokenizer = PreTrainedTokenizerFast(tokenizer_object=model.tokenizer, pad_token="[PAD]", model_max_length=64)
    rate = ta.constraints.pre_transformation.MaxModificationRate(max_rate=0.1, min_threshold=4)
    theirs = ta.Attack(
        ta.goal_functions.UntargetedClassification(ta.models.wrappers.HuggingFaceModelWrapper(network, tokenizer)),
        [
            ta.constraints.pre_transformation.RepeatModification(),
            rate,
            ta.constraints.pre_transformation.StopwordModification(stopwords=stop_words()),
            Encoded(threshold=threshold),
            WordEmbeddingDistance(embedding, min_cos_sim=0.8),
        ],
        ta.transformations.WordSwapEmbedding(max_candidates=8, embedding=embedding),
        ta.search_methods.GreedyWordSwapWIR(CALLED.get(ranking, ranking)),
    )
    settings = WordAttack(ranking=ranking, similarity=threshold, part_of_speech=False)
    ours = compose(model, settings, CharacterEncoder(), lambda word, _: listed.get(word, ()), CharacterEncoder())
    return Beside(model, ours, theirs)


CALLED = {"deletion": "delete", "unknown": "unk", "saliency": "weighted-saliency"}


@pytest.mark.parametrize(
    "ranking", ["gradient", "deletion", "unknown", pytest.param("saliency", marks=pytest.mark.slow)]
)
def test_on_the_same_candidates_textattacks_own_parts_succeed_on_the_same_texts(ranking):
    both = beside(ranking)
    told = []
    for text in made_texts(30):
        label = int(both.model.probabilities([text])[0].argmax())
        ours = both.ours.outcome(text, label)
        theirs = both.theirs.attack(text, label)
        told.append((type(theirs).__name__, ours.status))
        assert ours.text == theirs.perturbed_result.attacked_text.text
    assert set(told) == {
        ("SuccessfulAttackResult", "success"),
        ("FailedAttackResult", "failed"),
        ("FailedAttackResult", "skipped"),  # no candidate kept to the constraints, so none was tried
    }


def test_the_gradient_is_the_same_each_time_and_has_no_dropout_in_it():
    model = tiny_model()
    wrapper, text = EvaluatedModel(model), made_texts(1)[0]
    first, second = (wrapper.gradient(text, 1) for _ in range(2))
    assert np.array_equal(first, second)
    assert np.array_equal(first, model.gradients(text, 1))


@pytest.mark.parametrize("limit", [16, pytest.param(48, marks=pytest.mark.slow)])
def test_of_a_text_of_20_000_words_what_the_subject_reads_is_attacked_and_the_rest_stays(limit):
    model = replace(tiny_model(), limit=limit)
    encoder = CharacterEncoder()
    attacker = compose(model, LOOSE, encoder, lambda word, _: [one for one in CONTENT if one != word][:3], encoder)
    text = " ".join(made_texts(20, seed=5) * 150)
    found = attacker.outcome(text, int(model.probabilities([text])[0].argmax()))
    reach = int(model.encode(text).ends.max())
    assert found.words > 20_000
    assert all(change.end <= reach for change in found.changes)
    tail = text[reach + 100 :]
    assert found.text.endswith(tail)
    said = int(model.probabilities([found.text])[0].argmax())
    assert (found.status == "success") == (said != int(model.probabilities([text])[0].argmax()))


# As stages


@stage(version=1)
def put_keywords(rows: list[list[Any]]) -> Artifact[Keywords]:
    columns = [
        {
            "provider": "fasttext",
            "explainer": "gradient",
            "code": code,
            "word": word,
            "importance": importance,
            "explanations": 1,
            "cluster": 0,
            "relatedness": None,
            "elected": keyword,
            "keyword": keyword,
        }
        for code, word, importance, keyword in rows
    ]
    return write_table(pa.Table.from_pylist(columns, schema=Keywords.schema), into=Keywords)


@stage(version=1)
def put_thresholds() -> Artifact[Thresholds]:
    row = {
        "provider": "fasttext",
        "theta": -1.0,
        "pairs": 0,
        "unknown": 0,
        "balance": None,
        "words": 0,
        "words_unknown": 0,
    }
    return write_table(pa.Table.from_pylist([row], schema=Thresholds.schema), into=Thresholds)


@dataclass
class Case:
    """A small BERT of Hugging Face and its texts."""

    subject: Any
    files: Any
    classes: Any
    rows: list[list[Any]]

    def samples(self, cuts: tuple[int, ...] | None = None, order: list[int] | None = None) -> Any:
        rows = self.rows if order is None else [self.rows[place] for place in order]
        return put_texts(rows, list(cuts or (0, len(rows))))

    def model(self) -> Any:
        return load_text_model(self.subject, read_files(self.files), 2)

    def attacked(self, settings: A2T = LOOSE, **cut: Any) -> Any:
        attack = resolve_word_attack(settings, None)
        samples = self.samples(**cut)
        swaps = find_neighbours(samples, samples, self.classes, self.files, self.subject, attack)
        return attack_words(samples, self.classes, self.files, self.subject, attack, *swaps), swaps


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    folder = save_tiny_bert(tmp_path_factory.mktemp("subject"), names=["neg", "pos"])
    return resolve_subject(Subject(classifier=str(folder)), folder)


@pytest.fixture
def make_case(subject):
    """A case within a run: its golds are what the subject says, but of one text it is wrong and of one unknown."""

    def make(last: int = 4) -> Case:
        classes = put_classes()
        texts = [*STRANGE, *made_texts(18, seed=3), " ".join(made_texts(last, seed=4))]
        files, _ = train_classifier(put_texts([["x", 0, "a film"]], [0, 1]), classes, subject)
        case = Case(subject, files, classes, [])
        golds: list[int | None] = case.model().probabilities(texts).argmax(axis=1).tolist()
        golds[KNOWN], golds[KNOWN + 1] = 1 - (golds[KNOWN] or 0), None
        case.rows = [[f"t{at:02d}", gold, text] for at, (gold, text) in enumerate(zip(golds, texts, strict=True))]
        return case

    return make


def rows_of(artifact: Any) -> list[dict[str, Any]]:
    return sorted(collect(artifact, None).to_pylist(), key=lambda row: row["id"])


def test_every_attacked_text_keeps_to_every_constraint(run, make_case):
    case = make_case(last=100)  # one text is longer than the subject reads, and than is compared whole
    attacked, swaps = case.attacked()
    allowed = look_up(collect(swaps.swaps, None))
    encoder, second = encoders(resolve_word_attack(LOOSE, None), collect(swaps.vectors, None))
    model, changed = case.model(), 0
    for row in rows_of(attacked):
        before, after = words_of(row["text"]), words_of(row["attacked_text"])
        places = [place for place, (a, b) in enumerate(zip(before, after, strict=True)) if a.text != b.text]
        assert places == row["positions"]  # nothing else changed, and no word twice
        assert len(places) == row["changed"] <= max(np.ceil(len(before) * LOOSE.modified), LOOSE.modified_floor)
        assert (row["words"], row["modified"]) == (len(before), len(places) / len(before) if before else 0.0)
        gaps = zip([0, *row["ends"]], [*row["starts"], len(row["text"])], strict=True)
        kept = [row["text"][a:b] for a, b in gaps]
        assert (
            "".join(gap + new for gap, new in zip(kept, [*row["replacements"], ""], strict=True))
            == row["attacked_text"]
        )  # all between the words stayed, bit for bit
        for old, new in zip(row["originals"], row["replacements"], strict=True):
            assert not any(is_stop_word(word) or is_negation(word) for word in (old, new))
            assert parts_of_speech(old) & parts_of_speech(new)
            assert normalised(new) in allowed(normalised(old), row["predicted"])
        if places:
            changed += 1
            changes = dict(zip(row["positions"], row["replacements"], strict=True))
            (alike,) = Compared(encoder, row["text"]).similarities([changes])
            assert row["similarity"] == pytest.approx(alike, abs=1e-6)
            assert row["similarity"] >= LOOSE.similarity
            assert [row["second_similarity"]] == Compared(second, row["text"], encoder.reads).similarities([changes])
            assert (row["encoder"], row["second_encoder"]) == ("word-vectors", "character-trigrams")
        said = model.probabilities([row["text"], row["attacked_text"]])
        assert said.tolist() == [row["probabilities"], row["attacked_probabilities"]]
        assert (row["predicted"], row["attacked"]) == tuple(said.argmax(axis=1).tolist())
        assert (row["status"] == "success") == (row["attacked"] != row["predicted"])
    assert changed >= 5
    longest = max(rows_of(attacked), key=lambda row: len(row["text"]))
    assert not encoder.reads(longest["text"])
    assert longest["changed"]


def test_texts_that_cannot_be_attacked_are_skipped_with_the_reason(run, make_case):
    rows = rows_of(make_case().attacked()[0])
    assert [(row["status"], row["reason"]) for row in rows[:3]] == [
        ("skipped", NO_TEXT),
        ("skipped", NO_WORD),
        ("skipped", STOP_WORDS),
    ]
    assert (rows[KNOWN]["status"], rows[KNOWN]["reason"]) == ("skipped", WRONG)
    assert rows[KNOWN + 1]["status"] != "skipped"  # its class is not known, so its prediction is what is attacked
    assert all(
        row["text"] == row["attacked_text"] and row["queries"] == 0 for row in rows if row["status"] == "skipped"
    )


@pytest.mark.slow
def test_cut_and_order_do_not_show(make_run, make_case, tmp_path):
    digests, found = set(), []
    for number, cut in enumerate(({}, {"cuts": (0, 5, 5, 17, 24)}, {"order": list(reversed(range(24)))})):
        with make_run(store=str(tmp_path / str(number))):
            case = make_case()
            attacked, swaps = case.attacked(**cut)
            found.append(rows_of(attacked))
            digests.add((attacked.digest, swaps.swaps.digest, swaps.vectors.digest))
            measure_words(attacked, "a2t", "tiny", swaps.limits, case.samples(**cut), put_classes())
    assert found[0] == found[1] == found[2]
    assert len(digests) <= 2  # the order of rows is part of a digest, their cut is not


def test_deletion_asks_about_every_word_and_gradient_does_not(run, make_case):
    case = make_case()
    by_gradient = rows_of(case.attacked()[0])
    by_deletion = rows_of(case.attacked(LOOSE.model_copy(update={"ranking": "deletion"}))[0])
    assert {row["ranking"] for row in by_gradient} == {"gradient"}
    assert {row["ranking"] for row in by_deletion} == {"deletion"}
    tried = [row for row in by_deletion if row["status"] != "skipped" and row["words"] < 100]
    content = {row["id"]: len([w for w in words_of(row["text"]) if not is_stop_word(w.text)]) for row in tried}
    assert all(row["queries"] > content[row["id"]] - 3 for row in tried)


def test_a_plain_function_is_ranked_by_deletion_and_the_line_says_so(run, tmp_path):
    (tmp_path / "mine.py").write_text(
        "def classify(texts):\n    return [[0.8, 0.2] if 'dull' in text else [0.3, 0.7] for text in texts]\n"
    )
    own, classes = resolve_subject(Subject(classifier="mine.py:classify"), tmp_path), put_classes()
    samples = put_texts([["a", 0, "the plot is dull and the cast is bad"], ["b", 1, "a lovely film"]], [0, 2])
    files, _ = train_classifier(samples, classes, own)
    case = Case(own, files, classes, [])
    case.samples = lambda: samples
    attacked, _ = case.attacked()
    rows = rows_of(attacked)
    assert {row["ranking"] for row in rows} == {"deletion"}
    assert (rows[0]["status"], rows[0]["originals"]) == ("success", ["dull"])
    assert "no gradients" in run.record.stages[-1].summary


def test_texts_that_the_dictionary_does_not_know_are_skipped_and_the_line_says_why(run, tmp_path):
    (tmp_path / "mine.py").write_text("def classify(texts):\n    return [[0.8, 0.2] for text in texts]\n")
    (tmp_path / "near.json").write_text('{"schlecht": ["mies", "furchtbar"]}')
    own, classes = resolve_subject(Subject(classifier="mine.py:classify"), tmp_path), put_classes()
    samples = put_texts([[str(at), 0, "der film ist schlecht und sehr langweilig"] for at in range(3)], [0, 3])
    files, _ = train_classifier(samples, classes, own)
    attack = resolve_word_attack(A2T(vectors="near.json", encoder="word-vectors"), tmp_path)
    swaps = find_neighbours(samples, samples, classes, files, own, attack)
    attacked = attack_words(samples, classes, files, own, attack, *swaps)
    assert {row["reason"] for row in rows_of(attacked)} == {REFUSED}
    assert "set part_of_speech: false" in run.record.stages[-1].summary
    assert {(tuple(row["providers"]), tuple(row["limits"])) for row in rows_of(attacked)} == {(("near.json",), (None,))}


def test_a_function_that_answers_at_random_fools_nobody(run, tmp_path):
    (tmp_path / "mine.py").write_text(
        "asked = []\ndef classify(texts):\n    asked.append(texts)\n"
        "    return [[0.51, 0.49] if len(asked) % 2 else [0.49, 0.51] for text in texts]\n"
    )
    own, classes = resolve_subject(Subject(classifier="mine.py:classify"), tmp_path), put_classes()
    samples = put_texts([[str(at), None, "the plot is dull and the cast is bad"] for at in range(4)], [0, 4])
    files, _ = train_classifier(samples, classes, own)
    case = Case(own, files, classes, [])
    case.samples = lambda: samples
    for row in rows_of(case.attacked(LOOSE.model_copy(update={"part_of_speech": False}))[0]):
        assert row["status"] != "success" or row["changed"]
        assert (row["attacked"] != row["predicted"]) == (row["status"] == "success")


def test_attacks_that_look_for_the_same_words_have_them_found_once(run, make_case):
    case = make_case()
    case.rows = case.rows[:6]
    case.attacked()
    _, swaps = case.attacked(LOOSE.model_copy(update={"similarity": 0.5, "modified": 0.3}))
    (limit,) = collect(swaps.limits, ["provider", "limit"]).to_pylist()
    assert limit == {"provider": "fasttext", "limit": -1.0}
    _, nearer = case.attacked(LOOSE.model_copy(update={"min_cosine": 0.5}))
    again = [stage for stage in run.record.stages if stage.stage == "look_for_neighbours"]
    assert [stage.cached for stage in again] == [False, True, True]
    assert nearer.vectors == swaps.vectors
    assert nearer.swaps.rows < swaps.swaps.rows or nearer.swaps.digest != swaps.swaps.digest
    cosines = collect(nearer.swaps, ["cosines"])["cosines"].to_pylist()
    assert min((one for some in cosines for one in some), default=0.5) >= 0.5


def test_opposites_are_left_out_and_counted_and_kept_words_stay(run, make_case, tmp_path):
    case = make_case()
    lists = {word: ["good", "bad", "film", "unhappy"] for word in ("good", "bad", "film", "boats", "happy")}
    (tmp_path / "near.json").write_text(json.dumps(lists))
    (tmp_path / "kept.txt").write_text("Film\nboats\n")
    texts = ["a good happy film about bad boats", "boats", "good"]
    case.rows = [[name, None, text] for name, text in zip("abc", texts, strict=True)]

    def attack(**options):
        settings = A2T(vectors="near.json", encoder="word-vectors", similarity=-1.0, part_of_speech=False, **options)
        resolved, samples = resolve_word_attack(settings, tmp_path), case.samples()
        swaps = find_neighbours(samples, samples, case.classes, case.files, case.subject, resolved)
        return attack_words(
            samples, case.classes, case.files, case.subject, resolved, swaps.swaps, swaps.vectors, swaps.limits
        )

    refused = rows_of(attack(keep="kept.txt"))
    # good: bad and unhappy; bad: good; happy: unhappy and bad. Film and boats stay.
    assert [row["refused"] for row in refused] == [5, 0, 2]
    assert refused[1]["reason"] == NOT_LISTED
    for row in refused:
        assert not any(reverses(*pair) for pair in zip(row["originals"], row["replacements"], strict=True))
        assert not {normalised(one) for one in row["originals"]} & {"film", "boats"}
    allowed = attack(antonyms="allow")
    assert [row["refused"] for row in rows_of(allowed)] == [None] * 3
    case.rows[2][1] = 1 - rows_of(allowed)[2]["predicted"]  # a text that is wrong already is not attacked
    assert [row["refused"] for row in rows_of(attack(antonyms="allow"))] == [None] * 3
    with pytest.raises(InputError, match=r"words to keep .*nowhere\.txt cannot be read"):
        resolve_word_attack(A2T(keep="nowhere.txt", encoder="word-vectors"), tmp_path)
    with pytest.raises(InputError, match=r"'two words' .* is not one word"):
        resolve_word_attack(A2T(keep=("two words",), encoder="word-vectors"), tmp_path)
    keys = [
        resolve_word_attack(A2T(encoder="word-vectors", **one), tmp_path).fingerprint
        for one in ({}, {"keep": "kept.txt"}, {"keep": ("film", "boats")}, {"antonyms": "allow"})
    ]
    assert keys[1] == keys[2]
    assert len(set(keys)) == 3


def test_vectors_that_know_too_few_synonyms_ask_for_a_limit(run, make_case, tmp_path):
    case = make_case()
    (tmp_path / "own.vec").write_text("2 2\nfilm 1 0\nplot 0.9 0.1\n")
    samples = case.samples()
    attack = resolve_word_attack(A2T(vectors="own.vec", min_cosine="related", encoder="word-vectors"), tmp_path)
    with pytest.raises(InputError, match=r"own\.vec know too few of the synonym pairs"):
        find_neighbours(samples, samples, case.classes, case.files, case.subject, attack)


@pytest.mark.parametrize("knows_synonyms", [True, False])
def test_vectors_that_know_no_synonyms_give_no_rate_and_no_gate_passes_on_them(
    run, make_case, tmp_path, knows_synonyms
):
    draw, lines = np.random.default_rng(3), list[str]()
    pairs = synonym_pairs()
    words = sorted({word for pair in pairs for word in pair} | {word.lower() for word in CONTENT})
    vectors = dict(zip(words, draw.normal(size=(len(words), 8)), strict=True))
    if knows_synonyms:
        vectors |= {b: vectors[a] + 0.1 * draw.normal(size=8) for a, b in pairs}
    lines += [f"{word} {' '.join(f'{value:.4f}' for value in vector)}" for word, vector in vectors.items()]
    (tmp_path / "own.vec").write_text(f"{len(words)} 8\n" + "\n".join(lines) + "\n")
    case = make_case()
    options = {"similarity": -1.0, "encoder": "word-vectors", "part_of_speech": False}
    attack = resolve_word_attack(A2T(vectors="own.vec", min_cosine=0.1, **options), tmp_path)
    samples = case.samples()
    swaps = find_neighbours(samples, samples, case.classes, case.files, case.subject, attack)
    attacked = attack_words(samples, case.classes, case.files, case.subject, attack, *swaps)
    found = {
        (one.metric, one.group): one
        for one in findings_from(
            collect(measure_words(attacked, "a2t", "tiny", swaps.limits, samples, case.classes), None)
        )
    }
    rate, area = found["attack.success_rate", ""], found["attack.synonym_auc", "own.vec"]
    assert (area.n, bool(area.verdict)) == (len(pairs), not knows_synonyms)
    assert (rate.value is not None) == knows_synonyms
    assert ({row["reason"] for row in rows_of(attacked)} == {BLIND, WRONG}) == (not knows_synonyms)
    (result,) = judge([Gate(finding="attack.success_rate", at_most=1.0)], list(found.values()))
    assert result.passed == knows_synonyms
    assert (BLIND in result.sentence) == (not knows_synonyms)
    part = page(FindingIndex(list(found.values())))
    assert ("A2t has no rate on tiny" in part.sentence) == (not knows_synonyms)


def test_the_guided_attack_swaps_only_for_words_of_the_pools(run, make_case):
    case = make_case()
    samples = case.samples()
    pools = [
        [code, word.lower(), place / 10, place % 2 == 0]
        for code in (0, 1)
        for place, word in enumerate(CONTENT[code::2])
    ]
    attack = resolve_word_attack(Guided(similarity=0.5, encoder="word-vectors", part_of_speech=False), None)
    text, sought, providers = case.subject.settings.text, SwapSearch(attack), resolve_providers(["fasttext"])
    swaps = look_into_pools(
        samples, samples, put_keywords(pools), put_thresholds(), case.classes, text, sought, providers, False
    )
    attacked = attack_words(samples, case.classes, case.files, case.subject, attack, *swaps)
    keyword = {(code, word): chosen for code, word, _, chosen in pools}
    related = {(row["word"], row["code"]): row["related"] for row in collect(swaps.swaps, None).to_pylist()}
    seen = set()
    for row in rows_of(attacked):
        for old, new in zip(row["originals"], row["replacements"], strict=True):
            label, word = row["predicted"], normalised(new)
            is_related = related[normalised(old), label]
            assert keyword[(label, word) if is_related else (1 - label, word)] is is_related
            seen.add(is_related)
    assert seen == {True, False}
    a2t, _ = case.attacked()
    compared = findings_from(collect(compare_words(attacked, a2t, "guided", "a2t", "tiny", 0.05, samples), None))
    assert [one.metric for one in compared] == [
        "attack.success_difference",
        "attack.mcnemar_p",
        "attack.perturbed_words_difference",
        "attack.queries_difference",
    ]


def test_no_word_of_a_text_gets_into_the_lines_that_people_see(run, make_case):
    case = make_case()
    attacked, swaps = case.attacked()
    measure_words(attacked, "a2t", "tiny", swaps.limits, case.samples(), put_classes())
    shown = {word for stage in run.record.stages for word in stage.summary.casefold().split()}
    assert shown.isdisjoint({word.casefold() for word in CONTENT})


@pytest.mark.slow
def test_two_workers_find_the_same_examples_as_none(make_run, make_case, tmp_path):
    found = []
    for number, options in enumerate(({}, {"engine": "local", "workers": 2})):
        with make_run(store=str(tmp_path / str(number)), **options):
            attacked, swaps = make_case().attacked(cuts=(0, 3, 24) if number else None)
            found.append((attacked.digest, swaps.swaps.digest, swaps.vectors.digest))
    assert found[0] == found[1]
