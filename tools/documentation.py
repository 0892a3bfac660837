"""docs/pipelines.md out of the settings models, and the figure in docs/concepts.md: `make docs` writes both."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from ruamel.yaml import YAML

from assay.flows.audits.table import KINDS
from assay.flows.kind import AuditKind
from assay.flows.pipeline import file_model, pipeline_model
from assay.flows.validation import expected_of_field, tags, writable, written

CONCEPTS = Path(__file__).resolve().parents[1] / "docs" / "concepts.md"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "pipelines.md"

INTRODUCTION = """\
# pipelines.yaml: every setting

<!-- Written by `make docs` from the settings models. Do not edit; a test compares. -->

`pipelines.yaml` is the one file a team edits. It is YAML 1.2 (`1e-3` is a number, `on` is text) and strict: unknown
keys, keys given twice, wrong types and settings that cannot be together are refused before anything runs, all at once,
each with its line:

```
pipelines.yaml:12: pruning.correlation: 1.5 — expected a number between 0 and 1
pipelines.yaml:17: ordering.dataset — unknown key; did you mean datasets?
```

`assay check` prints what is wrong or what was understood. Where a number is expected a fraction will do (`4/255`).
Relative paths start from the folder of `pipelines.yaml`. Environment variables are not filled in. Anchors, aliases and
merge keys (`<<: *night`) work. A stage that a pipeline leaves out is skipped, and the report says that it was not
asked for.

On the command line `--set key=value` changes a setting for one run, checked in the same way: keys are those of the
pipeline (`--set pruning.correlation=0.4`, `--set 'weak_labels.labelers=[majority]'`, `--set gates.0.at_most=0.05`), or
begin with `compute.` or `store`; `null` takes a stage out (`--set subject=null`).

## A whole file

```yaml
{example}```
"""


_EXAMPLES = PAGE.with_name("setting_examples.yaml")


@cache
def shown_examples() -> dict[str, str]:
    """Examples of settings whose type alone does not show how they are written, by `Model.field`."""
    read = YAML(typ="safe").load(_EXAMPLES.read_text(encoding="utf-8"))
    return {str(name): str(example) for name, example in read.items()}


HEADINGS = {
    "subject": "`subject`, and each of `subjects`",
    "attacks": "Each of `attacks`",
    "defenses": "Each of `defenses`",
    "gates": "Each of `gates`",
}


def page(example: str) -> str:
    """The whole page; `example` is a pipelines.yaml to show."""
    sections = [INTRODUCTION.replace("{example}", example)]
    for heading, model in _models():
        sections.append(_section(heading, model))
    return "\n".join(sections)


def _models() -> Iterator[tuple[str, type[BaseModel]]]:
    """Every model with the key it stands under, outermost first."""
    file, pipeline = file_model(KINDS), pipeline_model(KINDS)
    yield "The file", file
    yield "`compute`", _model_in(file.model_fields["compute"])
    for key in ("notify", "mlflow", "openlineage"):
        yield from _with_inner(f"`{key}`", [_model_in(file.model_fields[key])])
    yield "A pipeline: `pipelines.NAME`", pipeline
    for name, field in pipeline.model_fields.items():
        if name != "subjects":
            yield from _with_inner(HEADINGS.get(name, f"`{name}`"), _models_in(field.annotation))


def _with_inner(heading: str, models: list[type[BaseModel]]) -> Iterator[tuple[str, type[BaseModel]]]:
    """The models that may stand under a heading, and those inside them."""
    for model in models:
        kind = next((f"{heading}: `{field.default}`" for field in tags(model)), heading)
        yield kind, model
        for name, field in model.model_fields.items():
            yield from _with_inner(f"`{name}` inside {heading[0].lower()}{heading[1:]}", _models_in(field.annotation))


def _section(heading: str, model: type[BaseModel]) -> str:
    lines = [f"## {heading}", "", _sentence(model.__doc__ or ""), ""]
    lines += ["| setting | what it is | type | default | example |", "|---|---|---|---|---|"]
    for name in writable(model):
        field = written(model)[name]
        cells = [
            f"`{name}`",
            _sentence(field.description or ""),
            _type_of(field),
            default_of(field),
            ", ".join(f"`{name}: {example}`" for example in examples_of(model, name)),
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def default_of(field: FieldInfo) -> str:
    """The default as it would be written; "required" where there is none, "not set" for null."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return "not set"
    if isinstance(value, BaseModel):
        return "as below"
    return f"`{_written(value)}`" if value != "" else "empty"


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


def _type_of(field: FieldInfo) -> str:
    inner = _models_in(field.annotation)
    if not inner:
        return expected_of_field(field)
    origin = get_origin(field.annotation)
    kind = "a list of mappings" if origin is tuple else "names, each with a mapping" if origin is dict else "a mapping"
    return f"{kind}, as below"


def _written(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_written(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _sentence(text: str) -> str:
    return " ".join(text.split())


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
    return page((PAGE.parents[1] / "pipelines.yaml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(current_page(), encoding="utf-8")
    CONCEPTS.write_text(with_figure(CONCEPTS.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PAGE} and the figure in {CONCEPTS} written\n")
