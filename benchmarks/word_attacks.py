"""Word attacks on texts: our A2T beside A2T as TextAttack composes it, on the same subject, vectors and encoder.

Rows are documents: simulated reviews of some forty words. The subject is a small BERT that some of the reviews taught.
Word vectors and the sentence encoder are MiniLM's on both sides; the parts of speech come from lemminflect on both, as
TextAttack's own tagger must be fetched. TextAttack's wrapper pads every text to the tokenizer's maximum (512 tokens);
the second claim is beside a user who knows that and sets it to 128. How many attacks succeed is printed to stderr: the
two rank words by different gradients (TextAttack's has dropout in it), so the same texts need not fall.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from side_by_side import Stopwatch, Work, compare

os.environ["TOKENIZERS_PARALLELISM"] = "false"
LEAST, CANDIDATES, SIMILARITY, TAUGHT = 0.55, 20, 0.9, 800


@lru_cache
def reviews() -> tuple[list[str], list[int], list[str]]:
    """Training texts and their classes, and the texts that are attacked."""
    from assay.data.samples.reviews import reviews as made

    rows = made(11, 0.75, TAUGHT, 200).to_pylist()
    train = [row for row in rows if row["split"] == "train"]
    return [row["text"] for row in train], [row["gold"] for row in train], [r["text"] for r in rows[len(train) :]]


@lru_cache
def subject():
    """A small BERT, taught by some of the reviews, and its tokenizer."""
    import torch

    from assay.tasks.subjects.token_networks.hugging_face import learn_vocabulary, new_bert

    torch.set_num_threads(1)
    torch.manual_seed(0)
    texts, classes, _ = reviews()
    vocabulary = learn_vocabulary(texts)
    network, tokenizer = new_bert(vocabulary, 2), fast_tokenizer(vocabulary, 128)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    network.train()
    for start in [*range(0, len(texts), 32)] * 3:
        given = tokenizer(texts[start : start + 32], padding=True, truncation=True, return_tensors="pt")
        labels = torch.tensor(classes[start : start + 32])
        loss = network(input_ids=given["input_ids"], attention_mask=given["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval(), vocabulary


def fast_tokenizer(vocabulary: str, longest: int):
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer.from_str(vocabulary)
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", model_max_length=longest)


@lru_cache
def word_vectors() -> tuple[list[str], np.ndarray]:
    """MiniLM's vectors of all words of the reviews."""
    from assay.tasks.attacks.texts.swaps import content_words
    from assay.tasks.language.embeddings.encoder import EncoderProvider, SentenceEncoder, minilm_folder

    texts, _, attacked = reviews()
    words = content_words([*texts, *attacked])
    return words, EncoderProvider(SentenceEncoder(minilm_folder())).vectors(words)


def told(side: str, statuses: Sequence[str]) -> None:
    counts = ", ".join(f"{statuses.count(one)} {one}" for one in ("success", "failed", "skipped"))
    print(f"{side}: {counts}", file=sys.stderr)


def ours(rows: int, stopwatch: Stopwatch) -> None:
    from tokenizers import Tokenizer

    from assay.tasks.attacks.texts.composing import compose
    from assay.tasks.attacks.texts.settings import A2T
    from assay.tasks.attacks.texts.similarity import NetworkEncoder
    from assay.tasks.language.embeddings.encoder import minilm_folder
    from assay.tasks.language.relatedness import Vocabulary
    from assay.tasks.subjects.texts.network import HuggingFaceClassifier, NetworkModel

    network, vocabulary = subject()
    model = NetworkModel(HuggingFaceClassifier(network), Tokenizer.from_str(vocabulary), 0, 512, columns=(0, 1))
    words, vectors = word_vectors()
    near = Vocabulary(words, vectors).nearest(words, vectors, CANDIDATES, LEAST)
    listed = {word: [one.word for one in found] for word, found in zip(words, near, strict=True)}
    attacker = compose(
        model,
        A2T(similarity=SIMILARITY),
        NetworkEncoder("minilm", str(minilm_folder())),
        lambda word, _: listed.get(word, ()),
    )
    texts = reviews()[2][:rows]
    with stopwatch:
        labels = model.probabilities(texts).argmax(axis=1).tolist()
        statuses = [attacker.outcome(text, label).status for text, label in zip(texts, labels, strict=True)]
    told("ours", statuses)


def peer(longest: int) -> Work:
    def work(rows: int, stopwatch: Stopwatch) -> None:
        from assay.tasks.attacks.texts.textattack_import import textattack

        textattack()
        network, vocabulary = subject()
        attack = textattacks_a2t(network, fast_tokenizer(vocabulary, longest))
        statuses = []
        for text in reviews()[2][:rows]:
            with stopwatch:
                label = int(attack.goal_function.model([text]).argmax())
                statuses.append(type(attack.attack(text, label)).__name__)
        told(
            "TextAttack",
            [name.removesuffix("AttackResult").lower().replace("successful", "success") for name in statuses],
        )

    return work


def textattacks_a2t(network, tokenizer):
    """A2TYoo2021, with vectors, encoder and parts of speech that need no network."""
    from textattack import Attack
    from textattack.constraints import Constraint
    from textattack.constraints.pre_transformation import MaxModificationRate, RepeatModification, StopwordModification
    from textattack.constraints.semantics import WordEmbeddingDistance
    from textattack.constraints.semantics.sentence_encoders import SBERT
    from textattack.goal_functions import UntargetedClassification
    from textattack.models.wrappers import HuggingFaceModelWrapper
    from textattack.search_methods import GreedyWordSwapWIR
    from textattack.shared import WordEmbedding
    from textattack.transformations import WordSwapEmbedding

    from assay.tasks.language.embeddings.encoder import minilm_folder
    from assay.tasks.language.words import negations, stop_words

    class LexiconPartOfSpeech(Constraint):
        def _check_constraint(self, transformed_text, reference_text):
            from lemminflect import getAllLemmas

            return all(
                set(getAllLemmas(reference_text.words[i].lower()))
                & set(getAllLemmas(transformed_text.words[i].lower()))
                for i in transformed_text.attack_attrs["newly_modified_indices"]
            )

    words, vectors = word_vectors()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit.T), axis=1, kind="stable")[:, : CANDIDATES + 1]
    embedding = WordEmbedding(vectors, {word: at for at, word in enumerate(words)}, dict(enumerate(words)), order)
    return Attack(
        UntargetedClassification(HuggingFaceModelWrapper(network, tokenizer), model_batch_size=32),
        [
            RepeatModification(),
            StopwordModification(stopwords=stop_words() | negations()),
            LexiconPartOfSpeech(compare_against_original=True),
            MaxModificationRate(max_rate=0.1, min_threshold=4),
            SBERT(model_name=str(minilm_folder()), threshold=SIMILARITY, metric="cosine"),
            WordEmbeddingDistance(embedding, min_cos_sim=LEAST),
        ],
        WordSwapEmbedding(max_candidates=CANDIDATES, embedding=embedding),
        GreedyWordSwapWIR("gradient", truncate_words_to=510),
    )


CLAIMS: dict[str, tuple[Work, Work]] = {
    "A2T on a small BERT, reviews": (ours, peer(512)),
    "A2T on a small BERT, reviews, beside TextAttack padding to 128": (ours, peer(128)),
}

if __name__ == "__main__":
    compare(CLAIMS, rows=24, peer_rows=dict.fromkeys(CLAIMS, 6), quick_rows=1)  # six of the slow ones are enough
