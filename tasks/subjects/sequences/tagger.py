"""A network that tags words: which piece stands for which word, how it learns, and one that came trained.

The first piece of a word carries its tag; the others carry none. A tokenizer that has every frequent word as one piece
never shows a network what is inside, so while a small tagger trains, some words, drawn anew in every epoch, are spelt
out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from assay.data.arrays import Integers
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.rows import Tagging, Words, card_file, sentences_of, tag_names
from assay.tasks.subjects.settings import options_of
from assay.tasks.subjects.texts.rows import origins_of
from assay.tasks.subjects.token_networks.epochs import (
    CHUNK,
    Answer,
    Exercise,
    TokenNetwork,
    learn,
    lengths_of,
    padded,
    presence,
)
from assay.tasks.subjects.token_networks.hugging_face import (
    Start,
    about_as_it_came,
    complete,
    network_in,
    pad_of,
    read_network,
    start_of,
)
from assay.tasks.subjects.token_networks.sources import ModelSource, made_of_files
from assay.tasks.subjects.trained import Checkpoints, curve_table

NONE = -100
"""The target of a piece that carries no tag; Torch's cross-entropy passes over it."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """A sentence as pieces, the tokenizer's own at its ends included, and the place of each word's first piece."""

    ids: Integers  # [pieces]
    places: Integers  # [words], -1 where no piece of the word was read
    cut: bool  # whether the sentence is longer than the model reads

    @property
    def read(self) -> Integers:
        """Which words have a piece, in order."""
        return np.flatnonzero(self.places >= 0)


def read_word_by_word(tokenizer: Tokenizer) -> None:
    """Makes a tokenizer take sentences that are words already."""
    splitter = tokenizer.pre_tokenizer
    if type(splitter).__name__ == "ByteLevel":  # else a word after a blank and one without are two different words
        splitter.add_prefix_space = True
        tokenizer.pre_tokenizer = splitter


def align(tokenizer: Tokenizer, words: Sequence[str], pad: int) -> Aligned:
    """The pieces of a sentence. A word of which nothing is left (white space, control characters) has no place."""
    places = np.full(len(words), -1, dtype=np.int64)
    encoded = tokenizer.encode(list(words), is_pretokenized=True)
    for piece, word in enumerate(encoded.word_ids):
        if word is not None and places[word] < 0:
            places[word] = piece
    return Aligned(np.array(encoded.ids or [pad], dtype=np.int64), places, bool(encoded.overflowing))


def targets(aligned: Aligned, codes: Sequence[int]) -> Integers:
    """What each piece should be tagged, [pieces]: the code of the word it is the first piece of, else nothing.

    >>> targets(Aligned(np.array([2, 7, 8, 9, 3]), np.array([1, 3]), False), [0, 4]).tolist()
    [-100, 0, -100, 4, -100]
    """
    labels = np.full(len(aligned.ids), NONE, dtype=np.int64)
    read = aligned.read
    labels[aligned.places[read]] = np.asarray(codes, dtype=np.int64)[read]
    return labels


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenTagger(TokenNetwork):
    """A network that gives each piece one of `outputs`, the tags by name; several outputs may be of one tag."""

    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        read_word_by_word(self.tokenizer)

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Tagging]:
        """The tags of every sentence; what it did not read is `O` at confidence 0."""
        taggings: list[Tagging] = []
        for start in range(0, len(sentences), CHUNK):
            chunk = [align(self.tokenizer, words, self.pad) for words in sentences[start : start + CHUNK]]
            taggings += self._blockwise(chunk, start)
        return taggings

    def _blockwise(self, chunk: list[Aligned], first: int) -> list[Tagging]:
        import torch

        names = tuple(dict.fromkeys(("O", *self.outputs)))
        columns = [[place for place, name in enumerate(self.outputs) if name == wanted] for wanted in names]
        taggings: dict[int, Tagging] = {}
        with torch.inference_mode():
            for texts, ids, mask in self.blocks([aligned.ids for aligned in chunk]):
                logits = self.network(input_ids=ids, attention_mask=mask).logits
                shares = torch.softmax(logits.double(), dim=-1).cpu().numpy()
                for row, sentence in enumerate(texts.tolist()):
                    aligned = chunk[sentence]
                    of_words = shares[row][aligned.places[aligned.read]]  # [words read, outputs]
                    if not np.isfinite(of_words).all():
                        raise InputError(f"The tagger gives no finite number for sentence {first + sentence + 1}.")
                    by_tag = np.stack([of_words[:, some].sum(axis=1) for some in columns], axis=1)
                    taggings[sentence] = _tagging(aligned, by_tag, names)
        return [taggings[place] for place in range(len(chunk))]


def _tagging(aligned: Aligned, shares: np.ndarray[Any, Any], names: Sequence[str]) -> Tagging:
    tags, confidence = ["O"] * len(aligned.places), [0.0] * len(aligned.places)
    for word, row in zip(aligned.read.tolist(), shares, strict=True):
        best = int(row.argmax())
        tags[word], confidence[word] = names[best], float(row[best])
    return Tagging(tags, confidence, aligned.cut)


def tagger_from_files(files: Mapping[str, bytes]) -> TokenTagger:
    """The tagger in a subject's files."""
    return TokenTagger(*network_in(files, "tokens"), outputs=tuple(json.loads(files["card.json"])["outputs"]))


def tag_answer(network: Any, ids: list[Integers], target: list[Integers], pad: int, device: str) -> Answer:
    """Cross-entropy over the first pieces of words, and how many of them are tagged rightly."""
    import torch

    pieces, wanted = padded(ids, pad, device), padded(target, NONE, device)
    logits = network(input_ids=pieces, attention_mask=presence(ids, device)).logits
    words = wanted != NONE
    loss = torch.nn.functional.cross_entropy(logits[words], wanted[words])
    return Answer(loss, (logits.argmax(dim=-1)[words] == wanted[words]).sum(), words.sum())


SHARE = 0.4
"""So many words are spelt out."""

_LONGEST_PART = 5  # characters of a piece that is no whole word to a speller


def spelling_exercise(start: Start, sentences: list[Words], codes: list[list[int]]) -> Exercise:
    """Tagged sentences in which some words are spelt out, others in every epoch: for a network that knows no words."""
    import torch

    network, tokenizer, pad = start.network, start.tokenizer, pad_of(start.network.config)
    begin, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    whole, spelt = _pieces_by(tokenizer), _pieces_by(speller(tokenizer))

    def drawn(words: Words, tags: list[int]) -> tuple[Integers, Integers]:
        """The pieces of a sentence and the target of each; what is not learnt from is never spelt out."""
        spells = torch.rand(len(words)).numpy() < (SHARE if network.training else 0.0)
        ids, target = [begin], [NONE]
        for word, code, spells_it in zip(words, tags, spells, strict=True):
            pieces = (spelt if spells_it else whole)(word)
            ids += pieces.tolist()
            target += [code, *[NONE] * (len(pieces) - 1)] if len(pieces) else []
        ids, target = ids[: start.limit - 1], target[: start.limit - 1]
        return np.array([*ids, end], dtype=np.int64), np.array([*target, NONE], dtype=np.int64)

    def answer(rows: Integers, device: str) -> Answer:
        ids, target = zip(*(drawn(sentences[row], codes[row]) for row in rows), strict=True)
        return tag_answer(network, list(ids), list(target), pad, device)

    return Exercise(lengths_of(codes), answer)


def speller(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer without whole words, so that it cuts each into parts; the codes of pieces stay."""
    written = json.loads(tokenizer.to_str())
    vocabulary: dict[str, int] = written["model"]["vocab"]
    written["model"]["vocab"] = {
        piece: code
        for piece, code in vocabulary.items()
        if piece.startswith("[") or len(piece.removeprefix("##")) <= _LONGEST_PART
    }
    return Tokenizer.from_str(json.dumps(written))


def _pieces_by(tokenizer: Tokenizer) -> Callable[[str], Integers]:
    """What cuts words into pieces, each looked up once."""

    @cache
    def pieces(word: str) -> Integers:
        return np.array(tokenizer.encode([word], is_pretokenized=True, add_special_tokens=False).ids, dtype=np.int64)

    return pieces


def tag_exercise(start: Start, sentences: list[Words], codes: list[list[int]]) -> Exercise:
    """Sentences as pieces, and the tag of each piece that carries one."""
    pad = pad_of(start.network.config)
    aligned = [align(start.tokenizer, words, pad) for words in sentences]
    ids, target = [sentence.ids for sentence in aligned], [*map(targets, aligned, codes)]

    def answer(rows: Integers, device: str) -> Answer:
        return tag_answer(start.network, [ids[row] for row in rows], [target[row] for row in rows], pad, device)

    return Exercise(lengths_of(ids), answer)


def learn_tags(
    training: pa.Table, *, checkpoints: Checkpoints, subject: ResolvedSubject, seeds: Seeds
) -> tuple[dict[str, bytes], pa.Table]:
    """The subject's files and its curve: a small BERT from scratch, or a transformer fine-tuned."""
    options = options_of(subject.settings)
    assert options is not None
    sentences, tags, names, origins = _lesson(training, subject)
    who = f'The tagger "{subject.settings.tagger}"'
    start = start_of(subject.source, who, [" ".join(words) for words in sentences], "tokens", len(names), seeds)
    read_word_by_word(start.tokenizer)
    numbers = {name: code for code, name in enumerate(names)}
    codes = [[numbers[tag] for tag in given] for given in tags]
    exercise = (spelling_exercise if subject.source is None else tag_exercise)(start, sentences, codes)
    curve = learn(start.network, exercise, origins, options, seeds=seeds, checkpoints=checkpoints)
    about = start.about(options, len(sentences)) | {"outputs": list(names)}
    files = start.trained_files()
    return files | card_file(subject, files, about), curve_table(curve)


def _lesson(
    training: pa.Table, subject: ResolvedSubject
) -> tuple[list[Words], list[Words], tuple[str, ...], list[str]]:
    """Tagged sentences in the order of their ids, the tags of each, all tags, and the text that each comes from."""
    ordered = training.sort_by("id")
    sentences = sentences_of(ordered, subject.settings)
    origins = origins_of(ordered, [" ".join(words) for words in sentences.tokens])
    rows = zip(sentences.tokens, sentences.tags, origins, strict=True)
    known = [(words, tags, origin) for words, tags, origin in rows if tags is not None and words]
    names = tag_names([tag for _, tags, _ in known for tag in tags])
    if len(names) == 1:
        raise InputError(
            f"None of the {len(sentences.ids)} training sentences has an entity in {subject.settings.tags!r}: a tagger "
            "needs tagged ones to learn from."
        )
    return [words for words, _, _ in known], [tags for _, tags, _ in known], names, [origin for *_, origin in known]


_BEGINS = ("B-", "S-", "U-")


def given_tagger(source: ModelSource, known: Sequence[str]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a token classifier, and what its card says; refused where it shares no entity with the samples."""
    who = f'The tagger "{source.written}"'
    files = complete(source.read(), source.written)
    module = read_network(files, who, "tokens")
    with made_of_files(who, "token classifier"):
        outputs = outputs_of(module.config, known, who)
        about = about_as_it_came(module, files, source)
    labels = [str(module.config.id2label[code]) for code in range(module.config.num_labels)]
    strangers = [label for label, tag in zip(labels, outputs, strict=True) if tag == "O" and label != "O"]
    return files, about | {"outputs": list(outputs), "strangers": strangers}


def outputs_of(config: Any, known: Sequence[str], who: str) -> tuple[str, ...]:
    """The tag that each output of a model stands for, in the words of the data; `O` for types the data does not have.

    B- and I- are read as they are, BIOES and BILOU as the B- and I- that they stand for, and a bare type as I-.
    """
    types = {name[2:].casefold(): name[2:] for name in tag_names(known) if name != "O"}
    labels, tags = [str(config.id2label[code]) for code in range(config.num_labels)], []
    for name in labels:
        start, kind = ("I-", name) if name[1:2] not in ("-", "_") else (name[0].upper() + "-", name[2:])
        ours = types.get(kind.casefold())
        tags.append("O" if ours is None else ("B-" if start in _BEGINS else "I-") + ours)
    if set(tags) == {"O"}:
        raise InputError(
            f"{who} tags {', '.join(labels)}, and the samples {', '.join(sorted(types.values())) or 'nothing'}: they "
            "have no type of entity in common; rename the model's labels (id2label in config.json), or train it "
            "further (`train`)."
        )
    return tuple(tags)
