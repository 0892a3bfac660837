"""A plan says what a run would do, and does none of it."""

from plumbing_workload import Weights

from assay.infra.stages.branches import CACHED, MAY_RUN, WILL_RUN, Plan
from assay.infra.stages.stage import stage, write_files
from assay.infra.storage.artifacts import Artifact


@stage(version=1, title="first")
def first(text: str) -> Artifact[Weights]:
    return write_files({"w": text.encode()}, into=Weights)


@stage(version=1, title="second", gpu=True)
def second(weights: Artifact[Weights]) -> Artifact[Weights]:
    return write_files({"w": b"always the same"}, into=Weights)


def outlooks(make_run, text: str, **options: object) -> list[tuple[str, str]]:
    run = make_run(**options)
    plan = run.conductor = Plan()
    with run.unrecorded():
        second(first(text))
    return [(stage.title, stage.outlook) for stage in plan.stages]


def test_a_plan_follows_the_flow_without_running_it(make_run):
    assert outlooks(make_run, "a") == [("first", WILL_RUN), ("second", MAY_RUN)]
    assert make_run().store.runs() == []


def test_a_plan_knows_what_the_store_holds(make_run):
    with make_run():
        second(first("a"))
    assert outlooks(make_run, "a") == [("first", CACHED), ("second", CACHED)]
    assert outlooks(make_run, "b") == [("first", WILL_RUN), ("second", MAY_RUN)]
    assert outlooks(make_run, "a", fresh=True)[0] == ("first", WILL_RUN)


def test_the_sentences_of_a_run_move_none_of_its_stages_from_where_the_plan_has_them(make_run):
    run = make_run()
    plan = run.conductor = Plan()
    with run.unrecorded():
        second(first("a"))
    with make_run() as night:
        made = first("a")
        night.notice("One file is new.")
        night.notice("Another one is gone.")
        second(made)
    assert night.record.notices == ["One file is new.", "Another one is gone."]
    assert [stage.place for stage in night.record.stages] == [stage.place for stage in plan.stages] == ["0", "1"]
