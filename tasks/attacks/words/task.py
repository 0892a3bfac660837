"""The word attacks as stages: what may replace a word, then every text attacked where it lies, then the findings."""

from __future__ import annotations

from typing import NamedTuple

from assay.data.schemas import Classes, Findings, Samples, SubjectFiles
from assay.data.text_schemas import Keywords, Thresholds, WordVectors
from assay.data.word_schemas import AttackedTexts, WordSwaps
from assay.infra.artifacts import Artifact
from assay.infra.stage import stage
from assay.tasks.attacks.words.resolved import ResolvedWordAttack
from assay.tasks.language.embeddings.ensemble import ResolvedProviders
from assay.tasks.subjects.resolved import ResolvedSubject


class Swaps(NamedTuple):
    """What may take a word's place, and the vectors by which sentences are compared once more."""

    swaps: Artifact[WordSwaps]
    vectors: Artifact[WordVectors]


@stage(version=1, title="neighbours", draws=True)
def find_neighbours(
    samples: Artifact[Samples], training: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles],
    subject: ResolvedSubject, attack: ResolvedWordAttack,
) -> Swaps:  # fmt: skip
    """A2T: of every word of the samples the nearest words, by vectors or by neighbour lists."""


@stage(version=1, title="guided swaps", draws=True)
def find_guided_swaps(
    samples: Artifact[Samples], training: Artifact[Samples], keywords: Artifact[Keywords],
    thresholds: Artifact[Thresholds], classes: Artifact[Classes], files: Artifact[SubjectFiles],
    subject: ResolvedSubject, attack: ResolvedWordAttack, providers: ResolvedProviders, lemmatise: bool = False,
) -> Swaps:  # fmt: skip
    """Guided (section 4): of every word and class the similar words of the oracle's pools, by their importance."""


@stage(version=1, title="word attack", gpu=True)
def attack_words(
    samples: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles], subject: ResolvedSubject,
    attack: ResolvedWordAttack, swaps: Artifact[WordSwaps], vectors: Artifact[WordVectors],
) -> Artifact[AttackedTexts]:  # fmt: skip
    """Every text attacked by itself: nothing is drawn, so the same texts come out of any cut and any workers."""


@stage(version=1, title="word findings")
def measure_words(attacked: Artifact[AttackedTexts], name: str, subject: str) -> Artifact[Findings]:
    """The findings on one attack (`name`) on one subject."""


@stage(version=1, title="word attacks compared")
def compare_words(
    first: Artifact[AttackedTexts], second: Artifact[AttackedTexts], first_name: str, second_name: str, subject: str
) -> Artifact[Findings]:
    """Two attacks on the same texts: McNemar's test of success, Wilcoxon's of the words changed where both succeed."""
