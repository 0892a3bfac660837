"""The examples of a word attack as a stage."""

from __future__ import annotations

from assay.data.changed_text_schemas import ChangedTexts
from assay.data.word_schemas import AttackedTexts
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect
from assay.infra.stage import say, stage, write_table
from assay.tasks.attacks.words.showing import word_examples

_READ = ("id", "gold", "status", "predicted", "attacked", "text", "starts", "ends", "replacements", "words", "changed",
         "similarity")  # fmt: skip


@stage(version=1, title="word examples")
def show_words(attacked: Artifact[AttackedTexts], called: str, examples: int, masked: bool) -> Artifact[ChangedTexts]:
    """A few attacked texts with every change, the successes of fewest words first; masked, no word of them."""
    shown = word_examples(collect(attacked, list(_READ)), called=called, limit=examples, masked=masked)
    say(f"{shown.num_rows} texts" + (", masked" if masked else ""))
    return write_table(shown, into=ChangedTexts)
