"""docs/pipelines.md out of the settings models, and the figure in docs/concepts.md: `make docs` writes both."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin

from pictures import stale
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from ruamel.yaml import YAML

from assay.flows.audits.table import KINDS
from assay.flows.kind import AuditKind
from assay.flows.notifiers.table import NOTIFIERS
from assay.flows.pipeline import file_model, pipeline_model
from assay.flows.validation import expected_of_field, tags, writable
from assay.flows.validation import written as fields_written
from assay.infra.settings import documented_fields


def written(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The settings of a model under the names they are written with, each with its sentence."""
    documented_fields(model)
    return fields_written(model)


CONCEPTS = Path(__file__).resolve().parents[1] / "docs" / "concepts.md"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "pipelines.md"

INTRODUCTION = """\
# pipelines.yaml: every setting

<!-- Written by `make docs` from the settings models. Do not edit; a test compares. -->

`pipelines.yaml` is the one file a team edits. It is YAML 1.2 (`1e-3` is a number, `on` is text; anchors, aliases and
merge keys work) and strict: unknown keys, keys given twice, wrong types and settings that cannot be together are
refused before anything runs, all at once, each with its line:

```
pipelines.yaml:12: pruning.correlation: 1.5 — expected a number between 0 and 1
pipelines.yaml:17: ordering.dataset — unknown key; did you mean datasets?
```

`assay check` prints what is wrong or what was understood. A fraction will do for a number (`4/255`). Relative paths
start from the folder of `pipelines.yaml`. Environment variables are not filled in. A stage that a pipeline leaves out
is skipped.

`--set key=value` changes a setting for one run: a key of the pipeline (`--set pruning.correlation=0.4`,
`--set 'weak_labels.labelers=[majority]'`, `--set gates.0.at_most=0.05`), or one that begins with `compute.` or
`store`; `null` takes a stage out (`--set subject=null`).

## A whole file

```yaml
{example}```

All pipelines that come with Assay: [pipelines.yaml](../pipelines.yaml).

Below, a setting stands with its default, as it is written; one without a default is left out unless it is given.
Brackets say what else it may be: its bounds, unless only a slip would leave them (`assay schema` has all), its choices,
or an example.
"""


_EXAMPLES = PAGE.with_name("setting_examples.yaml")


@cache
def shown_examples() -> dict[str, str]:
    """Examples of settings whose type alone does not show how they are written, by `Model.field`."""
    read = YAML(typ="safe").load(_EXAMPLES.read_text(encoding="utf-8"))
    return {str(name): str(example) for name, example in read.items()}


GROUPS = {
    "ImageAttack": "`attacks` on images",
    "WordAttack": "`attacks` on words",
    "TextRewrite": "`attacks` on whole texts",
    "QuestionAttack": "`attacks` on prompts",
    "TermAttack": "`attacks` on terms",
    "Defence": "`defenses` of images",
}
"""The headings of what several models inherit: its settings stand once, and the models below it."""
OWN_CODE = "Code of your own: under `subject` and `labeling`"
"""What may stand under two keys, shown before the first of them."""
SAID_ABOVE = {"ErrorCost", "Notify", "ProjectFile", "Statistics"}
"""Models whose sentence would repeat that of the key they stand under."""
SLIP = 1000
"""A bound of this size is a guard against a slip of the finger, which no page needs to name."""


def page(example: str) -> str:
    """The whole page; `example` is a pipelines.yaml to show."""
    models = dict[type[BaseModel], str]()
    for heading, model in _models():
        models.setdefault(model, heading)
    sections, grouped = [INTRODUCTION.replace("{example}", example)], dict[type[BaseModel], list[type[BaseModel]]]()
    for model in models:
        if group := _group_of(model):
            grouped.setdefault(group, []).append(model)
    for model, heading in models.items():
        if (group := _group_of(model)) is None:
            sections += _own_code(model, sections)
            sections.append(_section(f"## {heading}", model))
        elif members := grouped.pop(group, []):
            sections.append(_section(f"## {GROUPS[group.__name__]}", group))
            described = dict[tuple[str, str], str]()
            for member in members:
                name = models[member].rpartition(": ")[2]
                sections.append(_section(f"### {name}", member, group, described))
                for field, info in written(member).items():
                    described.setdefault((field, info.description or ""), name)
    return "\n".join(sections)


def _group_of(model: type[BaseModel]) -> type[BaseModel] | None:
    """The base that the page shows once for all of its kind."""
    return next((base for base in model.__mro__ if base.__name__ in GROUPS), None)


def _base_of_own_code(model: type[BaseModel]) -> type[BaseModel] | None:
    return next((base for base in model.__mro__ if base.__name__ == "StandsOn"), None)


def _own_code(model: type[BaseModel], sections: Sequence[str]) -> list[str]:
    base = _base_of_own_code(model)
    heading = f"## {OWN_CODE}"
    return [] if base is None or any(one.startswith(heading) for one in sections) else [_section(heading, base)]


def _models() -> Iterator[tuple[str, type[BaseModel]]]:
    """Every model with the key it stands under, outermost first."""
    file, pipeline = file_model(KINDS), pipeline_model(KINDS)
    yield "The file", file
    yield "`compute`", _model_in(file.model_fields["compute"])
    for key in ("notify", "mlflow", "openlineage"):
        yield from _with_inner(key, [_model_in(file.model_fields[key])])
    yield "A pipeline: `pipelines.NAME`", pipeline
    for name, field in pipeline.model_fields.items():
        if name != "subjects":
            yield from _with_inner(name, _models_in(field.annotation))


def _with_inner(key: str, models: list[type[BaseModel]]) -> Iterator[tuple[str, type[BaseModel]]]:
    """The models that may stand under a key, and those inside them."""
    for model in models:
        yield next((f"`{key}`: `{field.default}`" for field in tags(model)), f"`{key}`"), model
        for name, field in model.model_fields.items():
            yield from _with_inner(f"{key}.{name}", _models_in(field.annotation))


def _section(
    heading: str,
    model: type[BaseModel],
    group: type[BaseModel] | None = None,
    described: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> str:
    """A heading, the model's sentence, and a line for each setting that its group does not show; what an earlier
    member of the group `described` in the same words is named as its."""
    own_code = _base_of_own_code(model) if heading != f"## {OWN_CODE}" else None
    shown = [(base, written(base)) for base in (group, own_code) if base is not None]
    also = f" Has also [{OWN_CODE}](#{_anchor(OWN_CODE)})." if own_code else ""
    about = "" if model.__name__ in SAID_ABOVE else (model.__doc__ or "")
    above = [*(key.settings for kind in KINDS for key in kind.keys), *(choice.settings for choice in NOTIFIERS)]
    if model in above:  # its first paragraph stands with its key
        about = about.partition("\n\n")[2]
    about = _sentence(about) + also
    about += " `{}` under a key takes every default." if model.__name__ == "Pipeline" else ""
    lines = [heading, "", *_wrapped(about.strip())] if about else [heading]
    settings = []
    for name in writable(model):
        field = written(model)[name]
        if field in tags(model) or any(name in fields and _same(field, fields[name]) for _, fields in shown):
            continue
        earlier = described.get((name, field.description or ""))
        head = _head(model, name, brief=earlier is not None)
        settings += _wrapped(f"- {head}: " + (f"as of {earlier}." if earlier else _sentence(field.description or "")))
    return "\n".join([*lines, *([""] if settings else []), *settings, ""])


def _same(field: FieldInfo, inherited: FieldInfo) -> bool:
    """Whether a model leaves a setting as it inherits it."""
    return repr(field) == repr(inherited)


def _head(model: type[BaseModel], name: str, *, brief: bool = False) -> str:
    """A setting with its default, what it may be, and an example where neither shows how it is written."""
    field = written(model)[name]
    default = default_of(field)
    kind = _kind_of(field)
    everything = default[2:-2].replace(", ", "|")
    short = len(default) <= 80 and not kind.endswith(f"`{everything}`")
    key = f"**`{name}: {default[1:-1]}`**" if default.startswith("`") and short else f"**`{name}`**"
    if brief:
        return key
    if model.__name__ in ("Pipeline", "ProjectFile") and (target := _section_of(field, name)):
        return f"**[`{name}`](#{target})**" + (" (required)" if field.is_required() else "")
    examples = [one for one in dict.fromkeys(examples_of(model, name)) if f"`{one}`" != default and one != "[]"]
    plain = kind.startswith("`") or bool(re.match(r"true|whole|above|≥|any number|[\d−-]+ to", kind))
    if default.startswith("`") and (plain or default not in ("`[]`", "`{}`")):
        examples = [one for one in examples if field.examples and not plain]
    elif plain:
        examples = []
    notes = ["required"] if default == "required" else []
    notes += [said] if (said := _said_of(kind, default, examples)) else []
    notes += ["as " + " or ".join(f"`{one}`" for one in examples)] if examples else []
    notes += [] if short else ["by default all" if everything in kind else f"by default {_first_of(field, default)}"]
    return key + (f" ({'; '.join(notes)})" if notes else "")


def _section_of(field: FieldInfo, name: str) -> str:
    """The anchor of the section that shows what may stand under a key of the file or of a pipeline; or nothing."""
    models = set(_models_in(field.annotation)) & {model for _, model in _models()}
    group = next(filter(None, map(_group_of, _models_in(field.annotation))), None)
    if not models or name == "subjects":
        return ""
    return name if group is None else _anchor(GROUPS[group.__name__])


def _first_of(field: FieldInfo, default: str) -> str:
    """A long default: of a list of sentences the first, and how many there are."""
    several = field.get_default(call_default_factory=True, validated_data={})
    if not isinstance(several, list | tuple):
        return default
    return f"{len(several)}, the first of them `{several[0]}`"


def _said_of(kind: str, default: str, examples: Sequence[str]) -> str:
    """What a page says of a kind: nothing that the default or the example shows, and no bound that only a slip meets.

    >>> _said_of("whole 1 to 100,000", "`20`", []), _said_of("whole 1 to 20", "`1`", [])
    ('', '1 to 20')
    """
    shown = default.startswith("`") or bool(examples)
    if kind in ("text", "mapping", "true or false") or (shown and kind.startswith(("list: text", "mapping to"))):
        return ""
    if not default.startswith("`"):
        return "" if examples and kind in ("list", "list: a number") else kind
    bounds = re.fullmatch(r"(?:whole )?(?:≥ |above )?([\d.,]+)(?:(?: to |, at most )([\d.,]+))?(, or several)?", kind)
    if bounds is None:
        return re.sub(r"^(list(: |$))?(a number$|whole( |$))?", "", kind)
    low, high, several = bounds.groups()
    usual = float(low.replace(",", "")) in (0, 1) and (high is None or float(high.replace(",", "")) >= SLIP)
    return (several or "").removeprefix(", ") if usual else kind.removeprefix("whole ")


_SHORT = (
    (r"^(.*), or a list(?: of at least \d+)?, each item \1$", r"\1, or several"),
    (r"^one of (.*?)(, or several)?$", lambda words: f"`{words[1].replace(', ', '|')}`{words[2] or ''}"),
    (
        r"^a list(?: of at least \d+)?(?: and at most \d+)?, each item one of (.*)$",
        # What presets stand for (`dermamnist/jpeg`) has no line of its own.
        lambda words: f"of `{re.sub(r'(?<=, )[a-z]+mnist/[a-z-]+, ', '', words[1]).replace(', ', '|')}`",
    ),
    (r"^text, or a list(?: of at least \d+)?, each item text$|^text or a list, each item text$", "text, or several"),
    (r"a list(?: of at least \d+)?(?: and at most \d+)?, each item (.*)", r"list: \1"),
    (r"^list: text$", "list"),
    (r"a mapping of names, each to ", "mapping to "),
    (r"a list of mappings, as below|names, each with a mapping, as below|a mapping, as below", "mapping"),
    (r"the word (\w+)", r"`\1`"),
    (r"a whole number", "whole"),
    (r"a number between", "between"),
    (r"a number (above|of)", r"\1"),
    (r"^a number$", "any number"),
    (r"of at least ([\d,]+) and below ([\d,]+)", r"\1 to below \2"),
    (r"of at least ", "≥ "),
    (r"between ([-\d.,]+) and ([-\d.,]+)", r"\1 to \2"),
    (r" and (at most|below)", r", \1"),
)


def _kind_of(field: FieldInfo) -> str:
    """What a setting may be, in few words."""
    kind = expected_of_field(field) if not _models_in(field.annotation) else "mapping"
    for long, short in _SHORT:
        kind = re.sub(long, short, kind)
    kind = kind.replace("text, or several", "or several")
    return "text" if "any YAML value or" in kind or "true or false or" in kind else kind


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _wrapped(text: str) -> list[str]:
    """Lines of at most 118 characters; what stands between backticks stays on one."""
    whole = re.sub(r"`[^`]*`", lambda span: span[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(
        whole, 118, subsequent_indent="  " * text.startswith("- "), break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


def default_of(field: FieldInfo) -> str:
    """The default as it would be written; "required" where there is none, "not set" for null and what is empty."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return "not set"
    if isinstance(value, BaseModel):
        given = value.model_dump(exclude_defaults=True)
        return f"`{_written(given)}`" if given else "not set"
    return f"`{_written(value)}`" if value not in ("", (), [], {}) else "not set"


def examples_of(model: type[BaseModel], name: str) -> list[str]:
    """Values of a setting as they may be written: those its field gives, those shown here, or what its type offers."""
    field = written(model)[name]
    shown = next((text for kind in model.__mro__ if (text := shown_examples().get(f"{kind.__name__}.{name}"))), None)
    if field.examples or shown:
        return [*map(_written, field.examples or ()), *([shown] if shown else [])]
    if get_origin(field.annotation) is Literal:
        choices = get_args(field.annotation)
        return [str(next((choice for choice in choices if choice != field.default), field.default))]
    if isinstance(field.default, bool):
        return [_written(not field.default)]
    return [_written(field.default)] if field.default not in (None, PydanticUndefined) else []


def _written(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_written(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_written(item)}" for name, item in value.items()) + "}"
    if isinstance(value, float) and len(str(value)) > 8 and abs(value * 255 - round(value * 255)) < 1e-9:
        return f"{round(value * 255)}/255"
    return json.dumps(value, ensure_ascii=False)


def _sentence(text: str) -> str:
    return re.sub(r"; `{}`(?: takes|:) every default\b", "", " ".join(text.split()))


def _model_in(field: FieldInfo) -> type[BaseModel]:
    return _models_in(field.annotation)[0]


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    arguments = get_args(annotation)
    inner = arguments[:1] if get_origin(annotation) is Annotated else arguments
    return [model for part in inner for model in _models_in(part)]


def figure_of(kinds: Sequence[AuditKind[Any]]) -> str:
    """The audits and what each stands on, as a Mermaid graph.

    >>> figure_of([kind for kind in KINDS if kind.name in ("data", "curation")]).splitlines()[-1]
    '    data --> curation'
    """
    known = {kind.name for kind in kinds}
    edges = [(below, kind.name) for kind in kinds for below in kind.stands_on if below in known]
    direct = [(below, above) for below, above in edges if not _goes_round(below, above, edges)]
    return "\n".join(["flowchart LR", *(f"    {below} --> {above}" for below, above in direct)])


def _goes_round(below: str, above: str, edges: Sequence[tuple[str, str]]) -> bool:
    """Whether there is a longer way from one audit to the other, so that the short one need not be drawn."""
    between = [middle for start, middle in edges if start == below and middle != above]
    return any((middle, above) in edges or _goes_round(middle, above, edges) for middle in between)


def with_figure(text: str) -> str:
    """The page with today's figure of the audits in place of the one that stands there."""
    return re.sub(r"(?<=```mermaid\n).*?(?=\n```)", lambda _: figure_of(KINDS), text, count=1, flags=re.DOTALL)


def current_page() -> str:
    """The page as it should stand in docs/."""
    shipped = (PAGE.parents[1] / "pipelines.yaml").read_text(encoding="utf-8")
    return page(shipped[: shipped.index("\n\n  #") + 1])


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(current_page(), encoding="utf-8")
    CONCEPTS.write_text(with_figure(CONCEPTS.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PAGE} and the figure in {CONCEPTS} written\n")
    if old := stale():
        sys.stdout.write(f"Drawn by an earlier head of the page: {', '.join(old)} (tools/pictures.py)\n")
