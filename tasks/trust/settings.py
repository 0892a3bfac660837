"""Options of the trust oracle, and what it can measure."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from assay.infra.settings import EachOnce, Settings
from assay.tasks.statistics.metrics import Metric, metrics_of
from assay.tasks.trust.explainers.table import EXPLAINERS, ExplainerName, Explaining


class Naming(Settings):
    """How words are spelled, and which words stand for a class."""

    class_names: dict[str, str] = Field(default_factory=dict)
    """What a class is about, in words, where its name does not say it."""

    lemmatise: bool = False
    """Whether words are reduced to their lemmas before they are pooled."""


class Asking(Naming):
    """What the oracle's labels depend on besides explanations and word vectors."""

    theta_dist: float = Field(default=0.3, gt=0, lt=2)
    """Clusters of words are cut at this cosine distance (average linkage, Eq. 3)."""

    importance: Literal["different", "equivalent"] = "different"
    """Whether an important word counts more than another (Eq. 6), or every word the same."""

    confidence: float = Field(default=0.9, ge=0, le=1)
    """The baseline Naive calls a prediction trustworthy at this confidence."""


class Trust(Asking):
    """Whether correct predictions on texts are right for the right reasons.

    The trust oracle (TOKI): explain, pool and cluster words, find keywords, label each correct prediction.
    """

    explainers: Annotated[tuple[ExplainerName, ...], Field(min_length=1), EachOnce] = ("lime",)
    """How predictions are explained: LIME by our engine or by the `lime` package, omission, gradient × embedding, or
    the gradient's L1 norm."""

    top_words: int = Field(default=10, ge=1, le=1000)
    """How many words an explanation has."""

    samples: int = Field(default=5000, ge=10, le=1_000_000)
    """How many perturbed texts LIME asks the subject about."""

    training_texts: int = Field(default=200, ge=1)
    """How many right training texts are explained for the word pools, evenly over the classes."""

    providers: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The word embeddings that vote, an odd number: `fasttext` and `ppmi` (trained on the corpus), `subject` (its own),
    `encoder` and `encoder-prompted` (MiniLM, extra `encoders`), a file of word vectors, or `module:object`. Left out,
    the first three, or `fasttext` for a subject without tokens."""

    theta_relate: float | None = Field(default=None, ge=-1, le=1)
    """How related a cluster must be to its class name (Eq. 4); left out, found per provider from word pairs."""

    synonyms: str | None = Field(default=None, min_length=1)
    """Where `theta_relate` is found from: a TSV file of synonym pairs, `wordnet` (NLTK's) or `open-english-wordnet`
    (the catalogue's); left out, Assay's list."""

    rationales: str | None = Field(default=None, min_length=1)
    """The column of human rationales (character spans, token masks or phrases) that trust is measured against."""

    truth: str | None = Field(default=None, min_length=1)
    """Where trust is known from: `counterfactual` (the columns `sentiment_words` and `shortcut_words` say what to
    delete), or a table of people's verdicts (Parquet or CSV)."""

    masked: bool = False
    """Whether the report masks every word of the texts: for hateful or private ones."""

    repeats: int = Field(default=1, ge=1, le=100)
    """How often the whole oracle is repeated with other draws; the paper's tables average 10."""

    @model_validator(mode="after")
    def _one_truth(self) -> Self:
        if self.rationales is not None and self.truth is not None:
            raise ValueError("`trust.rationales` and `trust.truth` both say where the true labels come from: give one")
        return self

    def explaining(self, explainer: str) -> Explaining:
        """How predictions are explained by one of the explainers."""
        options = EXPLAINERS.with_those_of(self).settings_with(Explaining, "explainer")
        return options(explainer=explainer, top_words=self.top_words, samples=self.samples)

    @property
    def naming(self) -> Naming:
        """Only what matters to word vectors: so that nothing else makes them anew."""
        return Naming(**{name: getattr(self, name) for name in Naming.model_fields})

    @property
    def asking(self) -> Asking:
        """Only what matters to keywords and labels."""
        return Asking(**{name: getattr(self, name) for name in Asking.model_fields})


SPREAD = "_spread"
"""What stands behind the name of a trust finding that says how far the repeats lie apart."""

_MEASURED = metrics_of("trust")
METRICS = (*_MEASURED, *(Metric(f"{metric.name}{SPREAD}", metric.unit, "less") for metric in _MEASURED))
