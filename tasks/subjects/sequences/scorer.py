"""Networks that score pairs of sentences: two towers that are compared, or one network that reads both together.

`Towers` puts each sentence through the same encoder, takes the mean over its pieces and compares the two by their
cosine; a line through the training pairs makes a score of it. That learns from a hundred pairs. `CrossReader` is the
classical fine-tuning of the paper: one transformer reads both sentences and gives one number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tokenizers import Tokenizer

from assay.data.arrays import Integers
from assay.infra.engines.devices import placed
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.rows import Pair, Scorer, card_file, pairs_of
from assay.tasks.subjects.settings import options_of
from assay.tasks.subjects.texts.rows import origins_of
from assay.tasks.subjects.token_networks.epochs import (
    Answer,
    Exercise,
    TokenNetwork,
    ids_of,
    learn,
    lengths_of,
    padded,
    presence,
)
from assay.tasks.subjects.token_networks.hugging_face import (
    about_as_it_came,
    complete,
    network_in,
    pad_of,
    read_network,
    start_of,
)
from assay.tasks.subjects.token_networks.sources import ModelSource, made_of_files
from assay.tasks.subjects.trained import Checkpoints, curve_table

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """What makes a score of a network's number: a slope, an intercept, and the range that scores are kept in."""

    slope: float = 1.0
    intercept: float = 0.0
    low: float | None = None
    high: float | None = None

    def __call__(self, numbers: Scores) -> Scores:
        """The scores.

        >>> Line(4.0, 0.5, 0.0, 4.0)(np.array([-0.5, 0.25, 1.0])).tolist()
        [0.0, 1.5, 4.0]
        """
        scores: Scores = numbers * self.slope + self.intercept
        return scores if self.low is None and self.high is None else np.clip(scores, self.low, self.high)


@dataclass(frozen=True, eq=False, kw_only=True)
class Towers(TokenNetwork):
    """A `Scorer` that compares what one encoder makes of either sentence."""

    line: Line = Line()

    def score(self, pairs: Sequence[Pair]) -> Scores:
        """How similar the sentences of each pair are, [n]."""
        return self.line(self.cosines(pairs))

    def cosines(self, pairs: Sequence[Pair]) -> Scores:
        """The cosine of what becomes of the two sentences, [n]."""
        first, second = (self._vectors([pair[side] for pair in pairs]) for side in (0, 1))
        lengths = np.sqrt((first * first).sum(axis=1) * (second * second).sum(axis=1))
        return np.asarray((first * second).sum(axis=1) / np.maximum(lengths, 1e-12))

    def count_cut(self, pairs: Sequence[Pair]) -> int:
        """How many pairs have a sentence longer than the encoder reads."""
        return sum(any(self.tokenizer.encode(text).overflowing for text in pair) for pair in pairs)

    def _vectors(self, texts: Sequence[str]) -> Scores:
        import torch

        batch = [ids_of(self.tokenizer, text, self.pad) for text in texts]
        result = np.zeros((len(texts), int(self.network.config.hidden_size)))
        with torch.inference_mode():
            for rows, ids, mask in self.blocks(batch):
                hidden = self.network(input_ids=ids, attention_mask=mask).last_hidden_state.double()
                means = (hidden * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
                result[rows] = means.cpu().numpy()[: len(rows)]
        return result


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossReader(TokenNetwork):
    """A `Scorer` that reads both sentences at once and gives one number."""

    line: Line
    sigmoid: bool

    def score(self, pairs: Sequence[Pair]) -> Scores:
        """How similar the sentences of each pair are, [n]."""
        import torch

        encoded = [self.tokenizer.encode(*pair) for pair in pairs]
        batch = [np.array(pair.ids or [self.pad], dtype=np.int64) for pair in encoded]
        kinds = [np.array(pair.type_ids or [0], dtype=np.int64) for pair in encoded]
        result = np.zeros(len(pairs))
        with torch.inference_mode():
            for (rows, ids, mask), (_, types, _) in zip(self.blocks(batch), self.blocks(kinds, 0), strict=True):
                logits = read_pairs(self.network, ids, mask, types).double()
                numbers = torch.sigmoid(logits) if self.sigmoid else logits
                result[rows] = numbers.cpu().numpy()[: len(rows)]
        return self.line(result)

    def count_cut(self, pairs: Sequence[Pair]) -> int:
        """How many pairs are longer than the network reads."""
        return sum(bool(self.tokenizer.encode(*pair).overflowing) for pair in pairs)


def read_pairs(network: Any, ids: Any, mask: Any, types: Any) -> Any:
    """The number that a network gives each pair, [n]; segments are told only to networks that tell more than one."""
    segments = {"token_type_ids": types} if getattr(network.config, "type_vocab_size", 0) > 1 else {}
    return network(input_ids=ids, attention_mask=mask, **segments).logits[:, 0]


def scorer_from_files(files: Mapping[str, bytes]) -> Scorer:
    """The scorer in a subject's files; its card says which of the two it is."""
    card = json.loads(files["card.json"])
    line = Line(**card["line"])
    if card["reads"] == "apart":
        return Towers(*network_in(files, "none"), line=line)
    return CrossReader(*network_in(files, "score"), line=line, sigmoid=card["sigmoid"])


def tower_exercise(encoder: Any, tokenizer: Tokenizer, pairs: list[Pair], shares: Scores) -> Exercise:
    """Pairs as the pieces of either sentence; their cosine is to be their score, brought to 0 … 1."""
    import torch

    pad = pad_of(encoder.config)
    first, second = ([ids_of(tokenizer, pair[side], pad) for pair in pairs] for side in (0, 1))

    def answer(rows: Integers, device: str) -> Answer:
        batch = [side[row] for side in (first, second) for row in rows]
        ids, mask = padded(batch, pad, device), presence(batch, device)
        hidden = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        means = (hidden * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
        cosines = torch.nn.functional.cosine_similarity(means[: len(rows)], means[len(rows) :])
        return _squared_error(cosines, shares[rows], device)

    return Exercise(np.maximum(lengths_of(first), lengths_of(second)), answer)


def cross_exercise(network: Any, tokenizer: Tokenizer, pairs: list[Pair], shares: Scores) -> Exercise:
    """Pairs as the pieces of both sentences together; the network's number is to be their score, brought to 0 … 1."""
    pad, encoded = pad_of(network.config), [tokenizer.encode(*pair) for pair in pairs]
    ids, types = ([np.array(getattr(pair, of), np.int64) for pair in encoded] for of in ("ids", "type_ids"))

    def answer(rows: Integers, device: str) -> Answer:
        batch, kinds = ([side[row] for row in rows] for side in (ids, types))
        numbers = read_pairs(network, padded(batch, pad, device), presence(batch, device), padded(kinds, 0, device))
        return _squared_error(numbers, shares[rows], device)

    return Exercise(lengths_of(ids), answer)


def _squared_error(numbers: Any, shares: Scores, device: str) -> Answer:
    """The mean squared error; nothing is right or wrong."""
    return Answer(((numbers - placed(shares.astype(np.float32), device)) ** 2).mean(), 0, 0)


def learn_scores(
    training: pa.Table, *, checkpoints: Checkpoints, subject: ResolvedSubject, seeds: Seeds
) -> tuple[dict[str, bytes], pa.Table]:
    """The subject's files and its curve: two towers from scratch or from MiniLM, or a transformer fine-tuned."""
    options = options_of(subject.settings)
    assert options is not None
    pairs, scores, origins = _lesson(training, subject)
    low, high = float(scores.min()), float(scores.max())
    shares = (scores - low) / (high - low)
    towers = subject.way != "hugging-face"
    who, texts = f'The scorer "{subject.settings.scorer}"', [text for pair in pairs for text in pair]
    start = start_of(subject.source, who, texts, "none" if towers else "score", 1, seeds)
    exercise = (tower_exercise if towers else cross_exercise)(start.network, start.tokenizer, pairs, shares)
    curve = learn(start.network, exercise, origins, options, seeds=seeds, checkpoints=checkpoints)
    line = Line(high - low, low, low, high)
    if towers:
        plain = Towers(start.network, start.tokenizer, pad_of(start.network.config), start.limit)
        line = fitted_line(plain.cosines(pairs), scores)
    files, reads = start.trained_files(), "apart" if towers else "together"
    about = start.about(options, len(pairs)) | {"line": asdict(line), "reads": reads, "sigmoid": False}
    return files | card_file(subject, files, about), curve_table(curve)


def fitted_line(numbers: Scores, scores: Scores) -> Line:
    """The straight line through numbers and scores with the least squares, kept in the range of the scores.

    >>> line = fitted_line(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0, 3.0]))
    >>> round(line.slope, 6), round(line.intercept, 6), line.low, line.high
    (2.0, 1.0, 1.0, 3.0)
    """
    spread = numbers - numbers.mean()
    square = float((spread * spread).sum())
    slope = float((spread * (scores - scores.mean())).sum()) / square if square > 0 else 0.0
    return Line(slope, float(scores.mean() - slope * numbers.mean()), float(scores.min()), float(scores.max()))


def _lesson(training: pa.Table, subject: ResolvedSubject) -> tuple[list[Pair], Scores, list[str]]:
    """The pairs whose score is known, their scores, and the texts that they come from, in the order of their ids."""
    ordered = training.sort_by("id")
    given = pairs_of(ordered, subject.settings)
    origins = origins_of(ordered, ["\0".join(pair) for pair in given.pairs])
    known = [place for place, score in enumerate(given.scores) if score is not None]
    scores = np.array([given.scores[place] for place in known], dtype=np.float64)
    if len(np.unique(scores)) < 2:
        extent = "no score at all" if not known else f"the score {scores[0]:g} only"
        raise InputError(
            f"The training pairs know {extent} ({subject.settings.score!r}): a scorer needs at least two different "
            "ones."
        )
    return [given.pairs[place] for place in known], scores, [origins[place] for place in known]


def given_scorer(source: ModelSource) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a model with one output, and what its card says. Its numbers are taken as they are."""
    who = f'The scorer "{source.written}"'
    files = complete(source.read(), source.written)
    module = read_network(files, who, "score")
    if module.config.num_labels != 1:
        raise InputError(
            f"{who} gives {module.config.num_labels} numbers per pair, and a score is one: name a model that was "
            "trained for regression (num_labels 1), or train it further (`train`)."
        )
    with made_of_files(who, "scorer of sentence pairs"):
        sigmoid = ends_in_a_sigmoid(json.loads(files["config.json"]))
        about = about_as_it_came(module, files, source)
    return files, about | {"reads": "together", "line": {}, "sigmoid": sigmoid}


def ends_in_a_sigmoid(config: Mapping[str, Any]) -> bool:
    """Whether a model's own configuration says that its numbers go through a sigmoid, in the words of any version.

    A CrossEncoder of sentence-transformers writes down its activation, under one name up to version 3 and another
    since. A model that names none is taken as it is: nothing tells whether somebody would read it through a sigmoid.

    >>> ends_in_a_sigmoid({"sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"})
    True
    >>> ends_in_a_sigmoid({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}})
    False
    """
    since = (config.get("sentence_transformers") or {}).get("activation_fn")
    return str(since or config.get("sbert_ce_default_activation_function") or "").endswith("Sigmoid")
