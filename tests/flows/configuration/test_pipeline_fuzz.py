"""Whatever stands in pipelines.yaml, the answer is a project or an error in words, never a traceback."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repository import ROOT
from ruamel.yaml import YAML

from assay.flows.audits.table import KINDS
from assay.flows.configuration.loading import load_project
from assay.flows.pipeline import file_model, pipeline_model
from assay.infra.errors import InputError
from assay.infra.settings import Compute
from assay.tasks.ingest.settings import Source
from assay.tasks.subjects.settings import Subject

Pipeline = pipeline_model(KINDS)
MODELS = (file_model(KINDS), Pipeline, Source, Subject, Compute)
WORDS = [name for model in MODELS for name in model.model_fields] + [
    "majority",
    "snorkel",
    "ordering.trend_p",
    "4/255",
    "1/0",
    "auto",
    "logistic",
    "sample/x",
    "../..",
    "0 2 * * *",
]
ATOMS = st.one_of(st.sampled_from(WORDS), st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | ATOMS, inner, max_size=5),
    max_leaves=25,
)
PIPELINE = st.dictionaries(st.sampled_from(list(Pipeline.model_fields)), VALUES, max_size=12)
FUZZ = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def answers(file: Path, **options: object) -> None:
    said = "a project"
    try:
        load_project(file, **options)
    except InputError as error:
        said = str(error)
    assert said


@FUZZ
@given(
    st.fixed_dictionaries(
        {}, optional={"store": VALUES, "compute": VALUES, "pipelines": st.dictionaries(ATOMS, PIPELINE, max_size=2)}
    )
)
def test_no_structure_is_a_traceback(tmp_path: Path, value: dict[str, object]) -> None:
    file = tmp_path / "pipelines.yaml"
    try:
        with file.open("w", encoding="utf-8") as sink:
            YAML(typ="safe", pure=True).dump(value, sink)
    except (TypeError, UnicodeEncodeError):
        return  # not every structure can be written as YAML
    answers(file)


@FUZZ
@given(st.binary(max_size=80))
def test_no_bytes_are_a_traceback(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "pipelines.yaml").write_bytes(content)
    answers(tmp_path / "pipelines.yaml")


@FUZZ
@given(st.integers(0, 400), st.text(alphabet=st.sampled_from("{}[]:,-'\"&*!|>#\n \t0az"), max_size=6))
def test_a_damaged_good_file_is_no_traceback(tmp_path: Path, place: int, damage: str) -> None:
    good = (ROOT / "pipelines.yaml").read_text(encoding="utf-8")
    (tmp_path / "pipelines.yaml").write_text(good[:place] + damage + good[place + len(damage) :], encoding="utf-8")
    answers(tmp_path / "pipelines.yaml")


@FUZZ
@given(st.lists(st.text(alphabet=st.sampled_from("pruning.corelatsubj=0123[]{}:,- \n&*!"), max_size=24), max_size=3))
def test_no_override_is_a_traceback(tmp_path: Path, overrides: list[str]) -> None:
    answers(ROOT / "pipelines.yaml", pipeline="breast-cancer", overrides=overrides)
