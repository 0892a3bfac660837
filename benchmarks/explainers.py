"""LIME's explanations of a text: our engine beside the `lime` package with a Hugging Face tokenizer, and beside Captum.

Rows are perturbed texts, 5000 a document. The overhead is all but the subject: it is asked with a subject that answers
at once. End to end, the subject is a small BERT with fresh weights. Captum perturbs tokens in its own way and fits a
lasso, so beside it only the time compares; it is measured where it is installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from claims import claim, tell
from processes import python
from side_by_side import Stopwatch, Work, compare

os.environ["TOKENIZERS_PARALLELISM"] = "false"
SAMPLES = 5000
MEMORY = "memory, one text of 100 words, the package's texts handed over at once"
_VOCABULARY = 3000


def documents(words: int) -> list[str]:
    """A few texts of so many words, drawn from a made-up vocabulary with the frequencies of a language."""
    generator = np.random.default_rng(0)
    syllables = ["ba", "di", "ko", "lu", "me", "na", "pi", "ro", "su", "ty", "va", "we"]
    made = ["".join(generator.choice(syllables, generator.integers(1, 5))) for _ in range(_VOCABULARY)]
    often = 1 / np.arange(3, _VOCABULARY + 3)
    return [" ".join(generator.choice(made, words, p=often / often.sum())) + "." for _ in range(20)]


def pieces(rows: int) -> list[int]:
    """How many perturbed texts each document gets."""
    return [SAMPLES] * (rows // SAMPLES) or [rows]


@lru_cache
def tokenizer_file() -> str:
    from assay.tasks.subjects.token_networks.hugging_face import learn_vocabulary

    return learn_vocabulary([text for words in (12, 100, 400) for text in documents(words)])


@lru_cache
def small_bert():
    import torch

    from assay.tasks.subjects.token_networks.hugging_face import new_bert

    torch.set_num_threads(1)
    torch.manual_seed(0)
    return new_bert(tokenizer_file(), 2).eval()


def at_once(lengths: Sequence[int]) -> np.ndarray:
    """The answers of a subject that takes no time: by how long a text is."""
    p = 1 / (1 + np.asarray(lengths, dtype=float))
    return np.stack([1 - p, p], axis=1)


def our_model(instant: bool):
    """The subject as our engine sees it, with or without a network behind it."""
    from tokenizers import Tokenizer

    from assay.tasks.subjects.texts.network import HuggingFaceClassifier, NetworkModel

    class Instant(NetworkModel):
        def token_probabilities(self, batch):
            return at_once([len(ids) for ids in batch])

    kind = Instant if instant else NetworkModel
    return kind(HuggingFaceClassifier(small_bert()), Tokenizer.from_str(tokenizer_file()), 0, 512, columns=(0, 1))


def ours(words: int, top: int, instant: bool) -> Work:
    def work(rows: int, stopwatch: Stopwatch) -> None:
        from assay.tasks.trust.explainers.explaining import explain
        from assay.tasks.trust.explainers.table import Explaining

        model = our_model(instant)
        for text, samples in zip(documents(words), pieces(rows), strict=False):
            settings = Explaining(top_words=top, samples=samples)
            with stopwatch:
                explain(model, text, 1, settings, np.random.default_rng(0))

    return work


def package(words: int, top: int, instant: bool, batch: int = 64) -> Work:
    """The package as its users call it: a function that tokenizes texts and asks the network batch by batch."""

    def work(rows: int, stopwatch: Stopwatch) -> None:
        from lime.lime_text import LimeTextExplainer

        classify = instant_classifier() if instant else bert_classifier(batch)
        for text, samples in zip(documents(words), pieces(rows), strict=False):
            explainer = LimeTextExplainer(random_state=0)
            with stopwatch:
                explainer.explain_instance(text, classify, num_features=top, num_samples=samples)

    return work


def fast_tokenizer():
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer_file()), pad_token="[PAD]", model_max_length=512
    )


def instant_classifier() -> Callable[[list[str]], np.ndarray]:
    tokenizer = fast_tokenizer()
    return lambda texts: at_once([len(ids) for ids in tokenizer(texts, truncation=True)["input_ids"]])


def bert_classifier(batch: int) -> Callable[[list[str]], np.ndarray]:
    import torch

    tokenizer, network = fast_tokenizer(), small_bert()

    def classify(texts: list[str]) -> np.ndarray:
        found = []
        with torch.inference_mode():
            for start in range(0, len(texts), batch):
                inputs = tokenizer(texts[start : start + batch], truncation=True, padding=True, return_tensors="pt")
                logits = network(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
                found.append(torch.softmax(logits.double(), dim=-1).numpy())
        return np.concatenate(found)

    return classify


def captum(words: int) -> Work:
    """Captum's Lime over tokens, 64 perturbed texts at a time; what it drops is replaced by padding."""

    def work(rows: int, stopwatch: Stopwatch) -> None:
        import torch
        from captum.attr import Lime

        tokenizer, network = fast_tokenizer(), small_bert()

        def forward(ids):
            with torch.inference_mode():
                return torch.softmax(network(input_ids=ids, attention_mask=(ids != 0).long()).logits, dim=-1)

        for text, samples in zip(documents(words), pieces(rows), strict=False):
            with stopwatch:
                ids = tokenizer(text, return_tensors="pt")["input_ids"]
                Lime(forward).attribute(ids, target=1, baselines=0, n_samples=samples, perturbations_per_eval=64)

    return work


def one_text(words: int) -> Work:
    """All rows are of one text, so that memory can be seen to grow with them, or not."""

    def work(rows: int, stopwatch: Stopwatch) -> None:
        from assay.tasks.trust.explainers.explaining import explain
        from assay.tasks.trust.explainers.table import Explaining

        with stopwatch:
            explain(our_model(False), documents(words)[0], 1, Explaining(samples=rows), np.random.default_rng(0))

    return work


def memory_by_samples(sizes: Sequence[int]) -> None:
    for rows in sizes:
        done = python("explainers.py", "--only", MEMORY, "--side", "ours", "--rows", str(rows))
        found = json.loads(done.output.splitlines()[-1])
        tell(claim(f"memory, {rows:,} perturbed texts of 100 words", [found["peak_mb"]], unit="MB", digits=0))


CLAIMS = {
    "overhead of LIME, 100 words, 10 selected": (ours(100, 10, True), package(100, 10, True)),
    "overhead of LIME, 100 words, 5 selected": (ours(100, 5, True), package(100, 5, True)),
    "overhead of LIME, 12 words, 10 selected": (ours(12, 10, True), package(12, 10, True)),
    "overhead of LIME, 400 words, 10 selected": (ours(400, 10, True), package(400, 10, True)),
    "LIME of a small BERT, 100 words, 10 selected": (ours(100, 10, False), package(100, 10, False)),
    "LIME of a small BERT, 12 words, 10 selected": (ours(12, 10, False), package(12, 10, False)),
    "LIME of a small BERT, 400 words, 10 selected": (ours(400, 10, False), package(400, 10, False)),
    MEMORY: (one_text(100), package(100, 10, False, batch=SAMPLES)),
}
if importlib.util.find_spec("captum"):
    CLAIMS["LIME of a small BERT, 100 words, beside Captum"] = (ours(100, 10, False), captum(100))
SLOW = {name: SAMPLES for name in CLAIMS if "BERT" in name}  # one document is enough of the slow ones

if __name__ == "__main__":
    everything = "--only" not in sys.argv
    compare(CLAIMS, rows=20_000, peer_rows=SLOW, quick_rows=1000)
    if everything:
        memory_by_samples((1_000, 2_000) if "--quick" in sys.argv else (5_000, 50_000))
