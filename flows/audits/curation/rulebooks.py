"""The rulebook that a pipeline's `labeling` means: programmed, written in the pipeline, or in a YAML file beside it."""

from __future__ import annotations

from pathlib import Path

from assay.flows.configuration.rule_files import read_rules
from assay.infra.blame import blamed_on
from assay.tasks.labeling.rulebook_source import refer_to_rulebook
from assay.tasks.labeling.settings import Labeling
from assay.tasks.labeling.task import AnyRulebook
from assay.tasks.labeling.written_rulebook import WrittenRulebook


def rulebook_of(labeling: Labeling, folder: Path) -> tuple[AnyRulebook, Labeling]:
    """The rulebook, and the settings with its written rules in them: one key, wherever they stand."""
    if labeling.file is not None:
        with blamed_on("functions", labeling.file):
            written = read_rules(folder / labeling.file)
        named = {"functions": None, "rules": written.rules, "classes": written.classes}
        labeling = labeling.model_copy(update=named)
    if labeling.functions is None:
        return WrittenRulebook(labeling), labeling
    return refer_to_rulebook(labeling.functions, folder, labeling), labeling
