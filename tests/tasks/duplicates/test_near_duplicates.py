"""Duplicates that were planted over partitions are all found, nothing else is, and no cut into partitions shows."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from assay.data.images import image_columns
from assay.data.schemas import Samples
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact
from assay.tasks.duplicates import near
from assay.tasks.duplicates.near import Duplicates, find_duplicates, keys_in, keys_of_runs, runs_of
from assay.tasks.duplicates.page import page
from assay.tasks.statistics.findings import FindingIndex, findings_from

WORDS = "the of a patient scan lesion heart rate film plot drug dose pain fever lung".split()  # noqa: SIM905


@dataclass(frozen=True)
class Planted:
    """Samples by what they hold."""

    samples: pa.Table

    @property
    def fingerprint(self) -> str:
        return sha256(repr(self.samples.to_pydict()).encode()).hexdigest()


@dataclass(frozen=True)
class Cut:
    """Rows of the samples."""

    start: int
    stop: int


def cut_out(cut: Cut, planted: Planted) -> pa.Table:
    return planted.samples.slice(cut.start, cut.stop - cut.start)


@stage(version=1)
def kept(planted: Planted, cuts: list[int]) -> Artifact[Samples]:
    pieces = [Cut(*ends) for ends in pairwise([0, *cuts, planted.samples.num_rows])]
    return map_pieces(cut_out, pieces, into=Samples, planted=planted)


def stored(samples: pa.Table, cuts: list[int]) -> Artifact[Samples]:
    return kept(Planted(samples), cuts)


def table(**columns: object) -> pa.Table:
    n = len(next(iter(columns.values())))  # type: ignore[arg-type]
    return pa.table({"id": [f"s{at:05d}" for at in range(n)], "gold": pa.nulls(n, pa.int16()), **columns})


def texts(rng: np.random.Generator, n: int) -> list[str]:
    return [" ".join(rng.choice(WORDS, 40)) + f" case {rng.integers(1_000_000)}" for _ in range(n)]


def pairs_in(samples: pa.Table, settings: Duplicates, cuts: list[int], columns: tuple[str, ...] = ("text",)):
    found = find_duplicates({"data": stored(samples, cuts)}, columns, settings)
    return found, {(row["first"], row["second"]) for row in collect(found.pairs, None).to_pylist()}


def test_a_text_with_one_word_changed_is_found_wherever_it_lies_and_nothing_else(run):
    rng = np.random.default_rng(0)
    written = texts(rng, 400)
    for at in range(0, 100, 5):  # twenty planted, far apart
        written[399 - at] = written[at].replace(" case ", " Case  ", 1) + "."
    planted = {(f"s{at:05d}", f"s{399 - at:05d}") for at in range(0, 100, 5)}
    found, pairs = pairs_in(table(text=written), Duplicates(), [50, 51, 300])
    assert pairs == planted
    share, *_ = findings_from(collect(found.findings, None))
    assert (share.metric, share.value, share.n) == ("duplicates.share", 40 / 400, 400)


def test_one_partition_or_several_in_one_round_or_several_say_the_same(make_run, monkeypatch):
    rng = np.random.default_rng(1)
    written = texts(rng, 120)
    written[7], written[100] = written[90], written[3] + " again"
    digests = set()
    for cuts, at_once in (([], 1 << 22), ([1, 60], 1 << 22), ([30, 31, 32, 90], 256)):
        with make_run():
            monkeypatch.setattr(near, "KEYS_AT_ONCE", at_once)
            found, pairs = pairs_in(table(text=written), Duplicates(), cuts)
            digests.add((found.pairs.digest, found.findings.digest))
    assert pairs == {("s00007", "s00090"), ("s00003", "s00100")}
    assert len(digests) == 1


def test_what_trains_and_is_audited_is_a_red_flag(run):
    rng = np.random.default_rng(2)
    written = texts(rng, 60)
    audited, training = written[:20], [*written[20:], f"{written[4]} indeed", written[9]]
    others = table(text=training).set_column(0, "id", [[f"t{at}" for at in range(42)]])
    parts = {"audited": stored(table(text=audited), []), "training": stored(others, [10])}
    found = find_duplicates(parts, ("text",), Duplicates())
    leaked = findings_from(collect(found.findings, None))[1]
    assert (leaked.metric, leaked.value, leaked.n) == ("duplicates.leaked", 2 / 20, 20)
    assert leaked.verdict.startswith("red flag")
    part = page(FindingIndex([leaked]), collect(found.pairs, None), None, lambda sample: sample)
    assert part.judged == "red flag"
    assert "20 audited" in part.sentence


def test_of_many_copies_every_audited_one_is_leaked(run):
    others = table(text=["The same notice."] * 90).set_column(0, "id", [[f"t{at}" for at in range(90)]])
    parts = {"audited": stored(table(text=["the  same notice."] * 30), []), "training": stored(others, [40])}
    found = find_duplicates(parts, ("text",), Duplicates())
    shares = [(each.metric, each.value) for each in findings_from(collect(found.findings, None))]
    assert shares == [("duplicates.share", 1.0), ("duplicates.leaked", 1.0)]
    assert collect(found.pairs, None).num_rows < 200  # not all 7,140


def pictures(rng: np.random.Generator, n: int, side: int = 48) -> np.ndarray:
    coarse = rng.random((n, 3, 6, 6))
    return np.rint(255 * coarse.repeat(side // 6, 2).repeat(side // 6, 3)).astype(np.uint8)


def test_a_brighter_noisy_copy_of_a_picture_is_found_and_nothing_else(run):
    rng = np.random.default_rng(3)
    levels = pictures(rng, 300)
    copies = np.clip(levels[:30] * 0.95 + 6 + rng.normal(0, 1, levels[:30].shape), 0, 255).astype(np.uint8)
    samples = table(**image_columns(np.concatenate([levels, copies])))
    _, pairs = pairs_in(samples, Duplicates(bits=6), [100, 310])
    assert len(pairs & {(f"s{at:05d}", f"s{300 + at:05d}") for at in range(30)}) >= 29
    assert len(pairs) <= 30


def test_a_partition_none_of_whose_pictures_is_like_another_has_no_pairs(run):
    levels = pictures(np.random.default_rng(5), 6)
    _, pairs = pairs_in(table(**image_columns(levels[[0, 1, 0, 3, 4, 5]])), Duplicates(), [3])
    assert pairs == {("s00000", "s00002")}


def test_rows_that_differ_beyond_the_digits_are_one(run):
    rng = np.random.default_rng(4)
    values = rng.lognormal(size=(500, 6))
    values[400:420] = values[:20] * (1 + 1e-6)
    columns = {f"x{at}": values[:, at] for at in range(6)}
    _, pairs = pairs_in(table(**columns, site=["North"] * 400 + ["north "] * 100), Duplicates(), [250], ())
    assert pairs == {(f"s{at:05d}", f"s{400 + at:05d}") for at in range(20)}


@pytest.mark.parametrize("values", [[[1, 2], [3]], [{"a": 1}, {"a": 2}], [[["a"]], [["b"]]], [b"\xff", b"\xfe"]])
def test_rows_with_lists_structs_and_bytes_are_compared_whole(run, values):
    _, pairs = pairs_in(table(odd=[*values, values[0], None]), Duplicates(), [2], ())
    assert pairs == {("s00000", "s00002")}


def test_sentences_that_are_lists_of_words_are_texts(run):
    words = [text.split() for text in texts(np.random.default_rng(6), 60)]
    words[50] = [*words[4], "indeed"]
    _, pairs = pairs_in(table(tokens=words), Duplicates(), [20], ("tokens",))
    assert pairs == {("s00004", "s00050")}
    _, pairs = pairs_in(
        table(tokens=words, dose=np.ones(60)), Duplicates(), [20], ()
    )  # beside numbers they are a row's
    assert not pairs


def test_keys_are_those_of_the_text_alone():
    rows = table(text=["A  house", "x", "", "a house"])
    keys = keys_in(rows, content=("text",), digits=3)["keys"].to_pylist()
    assert keys[0] == keys[3] != keys[1]
    assert len(set(keys[0])) == 16
    assert len(runs_of("")) == 1
    assert keys_of_runs(runs_of("abc")).shape == (16,)


@pytest.mark.slow
def test_how_many_pairs_of_a_given_likeness_are_found(run):
    """MinHash with 16 bands of 4: 1 − (1 − s⁴)¹⁶ of the pairs, 99.98 % at .8."""
    rng, shared, trials = np.random.default_rng(5), 0, 400
    for _ in range(trials):
        text = "".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz "), 300))
        other = text[:270] + "".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz "), 30))
        shared += bool(set(keys_of_runs(runs_of(text))) & set(keys_of_runs(runs_of(other))))
    assert shared >= 0.99 * trials
