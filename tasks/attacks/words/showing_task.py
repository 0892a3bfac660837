"""Which texts are attacked, and which of the attacked ones are shown, as stages."""

from __future__ import annotations

from assay.data.changed_text_schemas import ChangedTexts
from assay.data.schemas import Samples
from assay.data.word_schemas import AttackedTexts
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions
from assay.infra.stage import say, stage, write_table
from assay.tasks.attacks.words.showing import rows_named, word_examples
from assay.tasks.subjects.holding_out import draw_in_proportion

_READ = (
    "id",
    "gold",
    "status",
    "predicted",
    "attacked",
    "text",
    "starts",
    "ends",
    "replacements",
    "words",
    "changed",
    "similarity",
)


@stage(version=1, title="texts to attack")
def limit_texts(samples: Artifact[Samples], texts: int) -> Artifact[Samples]:
    """At most so many of the samples, the classes in proportion; a larger limit has all of these and more."""
    known = collect(samples, ["id", "gold"])
    chosen = draw_in_proportion(known["id"].to_pylist(), known["gold"].to_pylist(), texts)
    kept: Artifact[Samples] = map_partitions(rows_named, samples, into=Samples, ids=chosen)
    say(f"{kept.rows} of {samples.rows} texts")
    return kept


@stage(version=1, title="word examples")
def show_words(attacked: Artifact[AttackedTexts], called: str, examples: int, masked: bool) -> Artifact[ChangedTexts]:
    """A few attacked texts with every change, the successes of fewest words first; masked, no word of them."""
    shown = word_examples(collect(attacked, list(_READ)), called=called, limit=examples, masked=masked)
    say(f"{shown.num_rows} texts" + (", masked" if masked else ""))
    return write_table(shown, into=ChangedTexts)
