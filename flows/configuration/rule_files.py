"""Written rules out of a YAML file of their own, as strict as pipelines.yaml: every mistake with its line."""

from __future__ import annotations

from pathlib import Path

from assay.flows.configuration.mistakes import ConfigurationError, Mistake, shown
from assay.flows.configuration.validation import validate
from assay.flows.configuration.yaml_source import Document, read_yaml
from assay.infra.errors import InputError
from assay.infra.given_files import content_of
from assay.tasks.labeling.written import WrittenRules

MOST_BYTES = 1 << 20
"""A larger file is no rulebook that anybody wrote."""


def read_rules(file: Path) -> WrittenRules:
    """The rules of a file; raises `ConfigurationError` with every mistake in it."""
    document = read_yaml(_text_of(file), file.name)
    mistakes = [mistake for _, mistake in document.mistakes]
    if mistakes:
        raise ConfigurationError(mistakes)
    if not isinstance(document.value, dict) or not document.value.get("rules"):
        raise ConfigurationError([_no_rules(document)])
    written, wrong = validate(WrittenRules, document)
    if written is None:
        raise ConfigurationError([mistake for _, mistake in wrong])
    return written


def _no_rules(document: Document) -> Mistake:
    expected = "expected rules:, a list such as [{keywords: [win], vote: spam}, {keywords: [song], vote: ham}]"
    value = document.value
    instead = "" if value is None or isinstance(value, dict) else f", and found {shown(value)}"
    return Mistake(document.file, document.line(()), "", "", expected + instead)


def _text_of(file: Path) -> str:
    try:
        return content_of(file, file.name, MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"There is no file {file.name} with rules; it was looked for at {file}.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file.name} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{file.name} cannot be read: {error.strerror or error}.") from None
