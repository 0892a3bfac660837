"""The one parent of every room's settings (frozen, strict, closed: equal settings mean equal keys), and `Compute`."""

import ast
import inspect
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from assay.infra.errors import nearest


class Settings(BaseModel):
    """Options of a stage: immutable, every field documented, unknown names refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, field in documented_fields(cls).items():
            if field.description and (shown := properties.get(field.alias or name)) is not None:
                shown.setdefault("description", field.description)
        return schema

    places: ClassVar[tuple[str, ...]] = ()
    """Fields that say where something lies: other ones make no other kind of work."""

    def refuse_strays(self, kind: str, fields: Mapping[str, Collection[str]]) -> None:
        """Raises ValidationError, at its place, for a changed field that says nothing about this kind of settings;
        `fields` lists the kinds that each is about."""
        for name, kinds in fields.items():
            value = getattr(self, name)
            if kind not in kinds and value != type(self).model_fields[name].default:
                why = f"says nothing about `{kind}`, only about {' and '.join(f'`{other}`' for other in kinds)}"
                error = PydanticCustomError("value_error", "{error}", {"error": f"{why}; leave it out"})
                raise ValidationError.from_exception_data(
                    type(self).__name__, [InitErrorDetails(type=error, loc=(name,), input=value)]
                )


class ColumnSettings(Settings):
    """Settings about `columns`; a list of these alone is the short form."""

    @model_validator(mode="before")
    @classmethod
    def _from_a_list(cls, written: Any) -> Any:
        return {"columns": tuple(written)} if isinstance(written, list | tuple) else written


def _each_once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ValueError(f"{value} stands twice; name each once")
    return values


EachOnce = AfterValidator(_each_once)
"""What a list of settings is annotated with that may name nothing twice."""


def documented_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model, described by the docstrings under them; their source is read when somebody asks, since
    most commands show none.

    >>> documented_fields(VersionCommand)["command"].description.split(",")[0]
    'The program and its arguments'
    """
    for parent in (each for each in model.__mro__ if issubclass(each, Settings)):
        texts = _docstrings(sys.modules.get(parent.__module__, sys)).get(parent.__name__, {})
        for name in texts.keys() & model.model_fields.keys():
            field = model.model_fields[name]
            field.description = field.description or texts[name]
    return model.model_fields


@cache
def _docstrings(module: ModuleType) -> dict[str, dict[str, str]]:
    """The docstrings under the annotated names of a module's classes; none of a module that came here without its
    file, nor of one of Python's own in C. A module that was edited and imported again is another one."""
    with suppress(OSError, TypeError):
        whole = ast.walk(ast.parse(inspect.getsource(module)))
        return {node.name: dict(_under_fields(node.body)) for node in whole if isinstance(node, ast.ClassDef)}
    return {}


def _under_fields(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for declared, below in pairwise(body):
        match declared, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)


def first_paragraph(settings: type[Settings]) -> str:
    """What some settings are about, as the documents say it: the first paragraph of their docstring.

    >>> first_paragraph(VersionCommand)
    'A command whose output says which version answers.'
    """
    return " ".join((settings.__doc__ or "").partition("\n\n")[0].split())


def optional_field(settings: type[Settings], example: str, alias: str | None = None) -> tuple[Any, Any]:
    """A field of a model that may hold these settings, with what they are about and how they may be written."""
    return settings | None, Field(default=None, alias=alias, description=first_paragraph(settings), examples=[example])


def _as_written(value: object) -> object:
    """A share of the memory, or a version, as the text it is kept as: YAML reads `0.5` as a number."""
    return str(value) if isinstance(value, float | int) and not isinstance(value, bool) else value


class VersionCommand(Settings):
    """A command whose output says which version answers."""

    command: str = Field(min_length=1)
    """The program and its arguments, run without a shell beside pipelines.yaml."""


class StandsOn(Settings):
    """What somebody's own code stands on besides itself. Left out, none of it enters a key."""

    files: tuple[str, ...] = Field(default=(), exclude_if=lambda files: not files)
    """Files and folders that the code reads; they enter the key. Those that its module opens on import, or names as a
    text, are found without."""

    never_cached: bool = Field(default=False, exclude_if=lambda never: not never)
    """Whether the code is asked anew in every run."""

    version: Annotated[str, BeforeValidator(_as_written), Field(min_length=1)] | VersionCommand | None = Field(
        default=None, exclude_if=lambda version: version is None
    )
    """While it stays the same, answers are taken from the store. A text, or `{command: curl -s …}`, whose output is
    taken."""

    @model_validator(mode="after")
    def _asked_anew_or_by_version(self) -> "StandsOn":
        if self.never_cached and self.version is not None:
            raise ValueError("never_cached asks anew in every run whatever `version` says; leave one of them out")
        return self


ENGINES_HERE = ("local", "serial")


class Compute(Settings):
    """Where the work runs. None of it changes a result, so none of it enters a stage's key."""

    engine: str = "local"
    """`local` (worker processes), `serial` (this process), the address of a Dask scheduler, or the dotted path of a
    Dask cluster class."""
    options: dict[str, JsonValue] = {}
    """Arguments of the Dask cluster class that `engine` names."""
    workers: Literal["auto"] | Annotated[int, Field(ge=0, le=4096)] = "auto"
    """CPU workers; `auto` is one per core for `local`, else the cluster class's choice."""
    gpu: Literal["preferred", "required", "never"] = "preferred"
    """Where there is no GPU, `preferred` takes a CPU and `required` refuses to run; `never` always takes a CPU."""
    gpu_workers: Literal["auto"] | Annotated[int, Field(ge=0, le=64)] = "auto"
    """GPU workers of `local`; `auto` is one per CUDA device that it may see."""
    partitions: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    """Into how many partitions a source is cut; `auto` goes by its size."""
    retries: int = Field(default=2, ge=0, le=20)
    """How often a partition is tried again that failed or lost its worker."""
    quarantine: int = Field(default=0, ge=0)
    """How many partitions of a stage may fail for good, each named, before the run does; for rules, weak labels, the
    order, and tables along it. What looks at a subject's single answers, as attacks do, wants all of them."""
    at_once: Literal["auto"] | Annotated[int, Field(ge=1, le=256)] = "auto"
    """How many stages work at once; `auto` is as many as there are workers (one with `serial`)."""
    memory: Annotated[str, BeforeValidator(_as_written)] = Field(
        default="auto", pattern=r"^(auto|0?\.\d+|\d+(\.\d+)?\s*[kKMGT]?i?B)$", examples=["auto", "0.5"]
    )
    """Memory of one local worker: near it the worker pauses, beyond it the worker is restarted. `auto` shares the
    machine's by cores."""

    profile: Literal["strict", "portable"] = "strict"
    """Whose results are taken from the store: of the same make of processor (`strict`), or also of others that computed
    the same bits in a test (`portable`), so that mixed machines share a store."""

    @property
    def on_this_machine(self) -> bool:
        """Whether the work is done here, not on a cluster."""
        return self.engine in ENGINES_HERE

    @field_validator("engine")
    @classmethod
    def _engine_is_known(cls, engine: str) -> str:
        names_a_class = "." in engine and all(part.isidentifier() for part in engine.split("."))
        if names_a_class or engine in ENGINES_HERE or "://" in engine:
            return engine
        meant = nearest(engine, ENGINES_HERE)
        raise ValueError(
            "there is no such engine: write local, serial, a scheduler's address (tls://host:8786), "
            "or the dotted path of a Dask cluster class (dask_kubernetes.operator.KubeCluster)"
            + (f"; did you mean {meant}?" if meant else "")
        )

    @model_validator(mode="after")
    def _settings_fit_the_engine(self) -> "Compute":
        if self.options and (self.on_this_machine or "://" in self.engine):
            raise ValueError(f"options are arguments of a Dask cluster class, and engine {self.engine!r} is none")
        if self.engine == "local" and self.workers == 0 and self.gpu_workers == 0:
            raise ValueError("workers: 0 with gpu_workers: 0 leaves nobody to do the work; one of them must be more")
        return self
