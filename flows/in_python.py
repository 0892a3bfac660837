"""`from assay import audit, audit_model`: what the command line does, in a script or notebook, with a typed answer."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from inspect import isfunction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from assay.infra.errors import InputError, require_library
from assay.tasks.ingest.settings import share_in_words

if TYPE_CHECKING:
    import pandas as pd

    from assay.flows.starting.column_roles import Kind, Question


@dataclass(frozen=True)
class Audited:
    """A run that came to its end: how, what it says, and where its report lies.

    >>> audited = Audited("2026-11-22-0200-k3f9", "night", "done", ("Right on 96 %.",), (), "a/index.html", "a", 1.5)
    >>> audited.passed, print(audited)
    night · run 2026-11-22-0200-k3f9 · done
      Right on 96 %.
      Report a/index.html
    (True, None)
    """

    run: str
    pipeline: str
    status: str
    verdicts: tuple[str, ...]
    gates: tuple[str, ...]
    """What every gate said, in a sentence."""
    report: str
    """Where the report lies: a path, or an address in the store."""
    store: str = field(repr=False)
    seconds: float = field(default=0.0, compare=False)
    share: float = 1.0
    """The share of the samples that it looked at."""

    @property
    def passed(self) -> bool:
        """Whether every gate let it pass."""
        return self.status == "done"

    @cached_property
    def findings(self) -> pd.DataFrame:
        """Everything that was measured, a row each: metric, of, group, subject, value, interval, n, p and verdict."""
        from assay.infra.storage.parquet import read_parquet
        from assay.infra.storage.store import Store

        frame: pd.DataFrame = read_parquet(Store(self.store).folder, f"runs/{self.run}/findings.parquet").to_pandas()
        return frame

    def __str__(self) -> str:
        """What `assay run` says at its end."""
        of_sample = f" · a sample of {share_in_words(self.share)}" if self.share < 1 else ""
        head = f"{self.pipeline} · run {self.run} · {self.status}{of_sample}"
        return "\n".join([head, *(f"  {verdict}" for verdict in self.verdicts), f"  Report {self.report}"])

    def _repr_html_(self) -> str:
        """The verdict and the way to the report, as a notebook shows it; what comes from data is escaped.

        >>> audited = Audited("r1", "night", "done", ("a < b",), (), "a/index.html", "a")
        >>> "<li>a &lt; b</li>" in audited._repr_html_(), 'href="a/index.html"' in audited._repr_html_()
        (True, True)
        """
        items = Markup().join(Markup("<li>{}</li>").format(sentence) for sentence in (*self.verdicts, *self.gates))
        place = Path(self.report)
        link = place.as_uri() if place.is_absolute() else self.report
        return Markup(
            '<p><strong>{}</strong> · {} · run {}</p><ul>{}</ul><p><a href="{}" target="_blank">Report</a></p>'
        ).format(self.pipeline, self.status, self.run, items, link)


def audit(
    pipeline: str,
    config: str | Path = "pipelines.yaml",
    *,
    overrides: Sequence[str] = (),
    store: str | None = None,
    seed: int = 0,
    fresh: bool = False,
    sample: float = 1.0,
    progress: bool = False,
) -> Audited:
    """Run a pipeline of a pipelines.yaml now, as `assay run` does, and give what came of it.

    A gate that failed is no error: `passed` says so. Wrong input raises `InputError`, a run that broke `RunError`, both
    with the sentence that the command line says. `progress` prints its lines; without it nothing is printed. With a
    `sample` below 1 only that share of the samples is looked at, drawn by the seed.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "pipelines.yaml")
    >>> _ = file.write_text("pipelines: {night: {source: {dataset: sample/digits}}}")
    >>> audit("nigth", file)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    assay.infra.errors.InputError: There is no pipeline "nigth" in ... Did you mean night?  (assay list shows all)
    """
    from assay.flows.configuration.loading import load_project
    from assay.flows.running import run_pipeline
    from assay.infra.storage.store import Store

    project = load_project(config, pipeline=pipeline, overrides=overrides, store=store)
    stream = sys.stdout if progress else io.StringIO()
    result = run_pipeline(project, project.pipeline(pipeline), seed=seed, fresh=fresh, share=sample, stream=stream)
    record = Store(project.store).run(result.run)
    verdicts, gates = tuple(record.verdicts), tuple(str(gate["sentence"]) for gate in record.gates)
    return Audited(
        result.run, pipeline, result.status, verdicts, gates, result.report, project.store, result.seconds, record.share
    )


def audit_model(
    model: object,
    data: object,
    *,
    label: str | None = None,
    text: str | None = None,
    group: str | None = None,
    id: str | None = None,  # noqa: A002 - as the column is called everywhere else
    split: str | None = None,
    classes: Sequence[str] = (),
    features: Sequence[str] = (),
    trusted: Sequence[str] = (),
    weights: str | None = None,
    kind: Kind | None = None,
    name: str = "model",
    folder: str | Path | None = None,
    overwrite: bool = False,
    budget: str = "5m",
    seed: int = 0,
    progress: bool = False,
) -> Audited:
    """Audit a model on data now, as `assay audit` does, and give what came of it.

    The model is a fitted estimator of scikit-learn, a Torch module whose class is imported from a file, a function that
    is, a pipeline of transformers, or what the command line takes; the data is a data frame (of pandas, polars or
    Arrow), or a path. Both are written into the folder (left out, `assay-NAME`), with the `pipelines.yaml` by which
    `audit` runs them again; one that says something else is replaced with `overwrite` only. What the data does not show
    (the label, say) is named here, else `InputError` asks for it.
    What an estimator at hand is made of is trusted; of a skops file only what `trusted` names beyond what skops does.
    """
    from assay.flows.pipeline import seconds_in
    from assay.flows.starting.column_roles import Answers
    from assay.flows.starting.first_audit import (
        PIPELINES,
        Model,
        Wanted,
        pipelines_page,
        proposal_for,
        require_name,
        write_files,
    )

    try:
        seconds = seconds_in(budget)
    except ValueError as error:
        raise InputError(f"budget {budget!r}: {error}.") from error
    with _of_arguments():
        require_name(name)
    place = Path(os.path.abspath(folder or f"assay-{name}"))
    place.mkdir(parents=True, exist_ok=True)
    answers = Answers(kind, label, tuple(classes), id, text, group, split)
    file = place / PIPELINES
    replaced = [
        *([] if isinstance(model, str | os.PathLike) else [_ESTIMATOR, _TRANSFORMER, _WEIGHTS]),
        *([] if isinstance(data, str | os.PathLike) else [_DATA]),
        *([PIPELINES] if overwrite else []),
    ]
    with _of_arguments(), _restored_if_refused(place, replaced):
        referred = _refer_to(model, place)
        types, kept = (*trusted, *referred.trusted), referred.weights or weights
        brought = Model(referred.address, seconds, features=tuple(features), weights=kept, trusted=types)
        page = pipelines_page(proposal_for(Wanted(_path_of(data, place), place, name, answers, model=brought), _refuse))
        write_files({PIPELINES: page}, place)
        if file.read_text(encoding="utf-8") != page:
            raise InputError(
                f"{file} is there already and says something else: run it with audit({name!r}, {os.fspath(file)!r}), "
                "say overwrite=True, or name another folder."
            )
    return audit(name, file, seed=seed, progress=progress)


_OPTION = re.compile(r"--(?=(label|classes|id|text|group|split|kind|features|name)\b)")


@contextmanager
def _of_arguments() -> Iterator[None]:
    """What is said of the command line's options is said of the arguments, which are called the same.

    >>> with _of_arguments():
    ...     raise InputError("Say which column is the label with --label.")
    Traceback (most recent call last):
    assay.infra.errors.InputError: Say which column is the label with label.
    """
    try:
        yield
    except InputError as error:
        error.args = (_OPTION.sub("", str(error)), *error.args[1:])
        raise


_DATA, _ESTIMATOR = "assay-data.parquet", "assay-model.skops"
_TRANSFORMER, _WEIGHTS = "assay-model", "assay-model.safetensors"


@contextmanager
def _restored_if_refused(place: Path, names: Sequence[str]) -> Iterator[None]:
    """Write what has these names anew; where that is refused, what an earlier audit wrote lies there as before."""
    with TemporaryDirectory(dir=place, prefix=".assay-") as aside:
        _move(place, Path(aside), names)
        try:
            yield
        except BaseException:
            with TemporaryDirectory(dir=place, prefix=".assay-") as refused:
                _move(place, Path(refused), names)
            _move(Path(aside), place, names)
            raise


def _move(place: Path, to: Path, names: Sequence[str]) -> None:
    for name in names:
        if (place / name).exists():
            shutil.move(place / name, to / name)


def _refuse(question: Question) -> str:
    raise InputError(question.refusal(by=""))


@dataclass(frozen=True)
class _ModelReference:
    """The address of a model, and what a subject says of it besides."""

    address: str
    trusted: tuple[str, ...] = ()
    """The types in a file of it that skops does not trust by itself."""
    weights: str | None = None


def _refer_to(model: Any, place: Path) -> _ModelReference:
    """The model as it was given, in a file that is written into the folder, or in the code that it comes from."""
    if isinstance(model, str | os.PathLike):
        path, colon, name = os.fspath(model).partition(":")
        return _ModelReference(f"{os.path.abspath(path)}{colon}{name}" if os.path.exists(path) else os.fspath(model))
    if hasattr(model, "save_pretrained"):
        model.save_pretrained(place / _TRANSFORMER)
        return _ModelReference(str(place / _TRANSFORMER))
    if hasattr(model, "state_dict"):
        return _with_weights(model, place / _WEIGHTS)
    if isfunction(model):
        return _ModelReference(_imported_from(model, "The model"))
    if not hasattr(model, "get_params"):
        raise InputError(
            f"The model is of the type {type(model).__name__}: give a fitted estimator of scikit-learn, a Torch "
            "module, a pipeline of transformers, a function, or an address as on the command line "
            "(model.onnx, file.py:object, org/name)."
        )
    require_library("skops", "skops, which writes estimators of scikit-learn,", "skops")
    import skops.io

    from assay.tasks.subjects.addresses.model_files import untrusted_types

    content = skops.io.dumps(model)
    types = untrusted_types(content)
    if defined_here := [kind for kind in types if kind.startswith("__main__.")]:
        raise InputError(_NOT_IMPORTED.format(f"The model holds {defined_here[0]}, which"))
    (place / _ESTIMATOR).write_bytes(content)
    return _ModelReference(str(place / _ESTIMATOR), tuple(types))


_NOT_IMPORTED = (
    "{} this script or notebook defines, and workers cannot import it from there: define it in a file of its own "
    "(model.py), and import it."
)


def _imported_from(thing: Any, what: str) -> str:
    """The address of a function or a class: where workers import it from."""
    module, name = sys.modules[thing.__module__], thing.__qualname__
    file = getattr(module, "__file__", None)
    if thing.__module__ == "__main__" or file is None or getattr(module, name, None) is not thing:
        raise InputError(_NOT_IMPORTED.format(f"{what} is {name}, which"))
    return f"{thing.__module__ if module.__package__ else file}:{name}"


def _with_weights(model: Any, file: Path) -> _ModelReference:
    """A Torch module, by the class that builds it and a file of its weights."""
    from safetensors.torch import save_file

    kind, weights = type(model), model.state_dict()
    address, shapes = (
        _imported_from(kind, "The class of the model"),
        {name: each.shape for name, each in weights.items()},
    )
    try:
        if {name: each.shape for name, each in kind().state_dict().items()} != shapes:
            raise TypeError("its weights are others")
    except TypeError as fault:
        raise InputError(
            f"The model is not what {kind.__name__}() builds ({fault}): give the address of a function that builds it, "
            "as model.py:build, and `weights`, a file that safetensors.torch.save_file wrote of its state_dict()."
        ) from fault
    save_file({name: each.detach().cpu().clone().contiguous() for name, each in weights.items()}, file)
    return _ModelReference(address, weights=str(file))


def _path_of(data: object, place: Path) -> str:
    """The path of data: where a data frame was written into the folder, or as it was given."""
    if isinstance(data, str | os.PathLike):
        return os.fspath(data)
    if not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            f"The data is of the type {type(data).__name__}: give a data frame (pandas, polars, Arrow) or a path."
        )
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [str(name) for name in getattr(data, "columns", ())]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"The data has two columns {twice!r}: drop or rename one.")
    try:
        table = data.to_arrow() if hasattr(data, "to_arrow") else pa.table(data)  # polars knows what Parquet takes
        unnamed = [column for column in table.column_names if column.startswith("__index_level_")]
        pq.write_table(table.drop_columns(unnamed), place / _DATA)
    except pa.ArrowException as fault:
        raise InputError(
            f"The data, of the type {type(data).__name__}, cannot be written as Parquet ({fault.args[-1]}): give a "
            "data frame whose columns hold values of one kind each (text, numbers, truths, dates), or drop the others."
        ) from fault
    return str(place / _DATA)
