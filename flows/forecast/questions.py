"""What a run will ask of models that answer in words, and what that costs, before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from assay.flows.audits.services import prompt_in, variants_of, written_rules
from assay.flows.pipeline import Pipeline
from assay.tasks.attacks.table import TEXT_ATTACKS, AnyTextAttack
from assay.tasks.attacks.texts.settings import QuestionAttack, TextRewrite
from assay.tasks.reporting.numerals import plain, plural
from assay.tasks.subjects.addresses.chat import MOST_TOKENS, read_prompt
from assay.tasks.subjects.addresses.endpoint import asking_at
from assay.tasks.subjects.holding_out import Rule, on_side

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.tasks.subjects.addresses.chat import Prompt

    ReadSamples = Callable[[], tuple[pa.Table, int]]

_LETTERS = 4
"""Letters of a token, about: as in English prose."""


def expected_questions(pipeline: Pipeline, folder: Path, read: ReadSamples, share: float) -> Iterator[str]:
    """A sentence for each model that answers in words and for rules with a prompt: its questions, tokens and cost if
    the store has no answer yet. `read` gives samples, and how many there are in all; a `share` of these is taken."""
    subjects = [each for each in pipeline.subjects if each.asking is not None and each.asking.prompt is not None]
    rules = written_rules(pipeline, folder)
    prompted = [(rule, rules.asking_of(rule)) for rule in rules.rules if rule.prompt is not None] if rules else []
    if not subjects and not prompted:
        return
    samples, known = read()
    rows = round(known * share)
    for subject in subjects:
        asking = asking_at(subject.named, subject.asking)
        prompt, audited = prompt_in(asking, str(asking.prompt), folder), _audited(pipeline, samples, rows)
        asked, unknown = audited * asking.repeats, ["trust"] * ("trust" in pipeline.parts)
        for attack in pipeline.attacks:
            if isinstance(attack, AnyTextAttack | QuestionAttack):
                count, texts = _questions(attack, prompt, folder), getattr(attack, "texts", None) or audited
                asked += min(audited, texts) * (count or 0)
                unknown += [] if count else [attack.called]
        without = f"; without what {' and '.join(unknown)} will ask, which nobody knows before" if unknown else ""
        yield f"{_expected(subject.name, prompt, _letters(samples, subject.text), asked)}{without}."
    for rule, asking in prompted:
        prompt = read_prompt(asking, str(rule.prompt).encode())
        yield f"{_expected(rule.called, prompt, _letters(samples, rule.text or 'text'), rows)}."


def _questions(attack: AnyTextAttack | QuestionAttack, prompt: Prompt, folder: Path) -> int | None:
    """How many questions an attack asks about a text, at most; None where it goes by the answers."""
    if isinstance(attack, QuestionAttack):
        return len(list(variants_of(attack, prompt, folder)))
    count = TEXT_ATTACKS.of(attack).questions
    afresh = prompt.asking.repeats - 1 if isinstance(attack, TextRewrite) else 0
    return None if count is None else int(count(attack, len(prompt.asking.spellings))) + afresh


def _expected(name: str, prompt: Prompt, letters: float, asked: int) -> str:
    """How much is asked, and at most answered."""
    each = (sum(len(message.content) for message in prompt.messages) + letters) / _LETTERS
    tokens = Counter(tokens_in=round(asked * each), tokens_out=asked * MOST_TOKENS[prompt.asking.read], requests=asked)
    cost, allowed = prompt.asking.spent(tokens), prompt.asking.cost
    paid = "" if cost is None else f", about {plain(cost)} at most"
    limit = "" if cost is None or allowed is None else f" ({allowed:g} is allowed)"
    return (
        f"{name}: {plural(asked, 'question')}, about {tokens['tokens_in']:,} tokens sent and up to "
        f"{tokens['tokens_out']:,} received{paid}{limit}"
    )


def _audited(pipeline: Pipeline, samples: pa.Table, rows: int) -> int:
    evaluation = pipeline.evaluation
    column, share = evaluation.column or pipeline.source.split or "split", evaluation.holdout
    if column in samples.column_names:
        rule = Rule(evaluation.model_copy(update={"column": column}), by_column=True)
        share = float(on_side(samples, "evaluation", rule).mean())
    return min(round(rows * share), evaluation.limit or rows)


def _letters(samples: pa.Table, column: str) -> float:
    """The mean length of the texts."""
    return float(pc.mean(pc.utf8_length(samples[column])).as_py() or 0.0) if column in samples.column_names else 0.0
