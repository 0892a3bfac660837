import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assay.data.samples.alarms import AFTER, ALARM_TYPES, BEFORE, alarms
from assay.data.samples.alarms_monitor import SHOWN
from assay.data.samples.alarms_physiology import at_rest, autoregressive, episode
from assay.infra.errors import InputError
from assay.tasks.labeling.conditions import Signals
from assay.tasks.labeling.rulebook_source import refer_to_rulebook
from assay.tasks.labeling.voting import apply_rules
from assay.tasks.statistics.vote_counts import vote_matrix

ENOUGH = 20  # votes before a rule's accuracy says anything


@pytest.fixture(scope="module")
def cohort():
    return {kind: alarms(kind) for kind in ALARM_TYPES}


@pytest.fixture(scope="module")
def voted(cohort):
    book = refer_to_rulebook("alarms").load()
    return {kind: vote_matrix(apply_rules(table, book)[0]) for kind, table in cohort.items()}


def test_there_are_as_many_alarms_as_in_the_papers_table_2(cohort):
    assert [table.num_rows for table in cohort.values()] == [79, 1315, 312, 574, 3265]


def test_there_are_sixty_two_rules_and_none_of_them_raises(cohort):
    book = refer_to_rulebook("alarms").load()
    assert len(book.rules) == 62
    for table in cohort.values():
        assert apply_rules(table, book)[1] == {}


def test_rules_are_right_55_to_95_percent_of_the_time_where_they_vote(cohort, voted):
    judged = exempt = 0
    for kind, matrix in voted.items():
        gold = cohort[kind].column("gold").to_numpy()
        for place in range(matrix.shape[1]):
            votes = matrix[:, place]
            cast = votes >= 0
            if cast.sum() < ENOUGH:
                exempt += 1
                continue
            judged += 1
            assert 0.55 <= (votes == gold)[cast].mean() <= 0.95, (kind, place)
    assert (judged, exempt) == (102, 5 * 62 - 102)


def test_fairness_is_no_accident_of_the_seed():
    from statsmodels.stats.proportion import proportion_confint

    book, outside = refer_to_rulebook("alarms").load(), []
    for kind in ALARM_TYPES:
        table = alarms(kind, seed=11)
        gold, matrix = table.column("gold").to_numpy(), vote_matrix(apply_rules(table, book)[0])
        for place, name in enumerate(book.names):
            cast = matrix[:, place] >= 0
            if cast.sum() >= ENOUGH:
                hits = int((matrix[:, place] == gold)[cast].sum())
                low, high = proportion_confint(hits, int(cast.sum()), alpha=0.01, method="wilson")
                if high < 0.55 or low > 0.95:
                    outside.append((kind, name))
    assert outside == []


def test_both_classes_are_common_and_every_rule_votes_somewhere(cohort, voted):
    for kind, table in cohort.items():
        assert 0.3 <= np.mean(table.column("gold").to_numpy()) <= 0.55, kind
        assert (voted[kind] >= 0).any(axis=1).mean() > 0.8, kind
    assert (np.concatenate(list(voted.values())) >= 0).any(axis=0).all()


def test_rules_depend_on_each_other_so_that_pruning_has_work_to_do(voted):
    for kind, matrix in voted.items():
        signed = np.select([matrix == 0, matrix == 1], [-1.0, 1.0], 0.0)
        moving = signed[:, signed.std(axis=0) > 0]
        correlated = np.abs(np.corrcoef(moving.T) - np.eye(moving.shape[1])) > 0.5
        assert correlated.any(axis=0).sum() >= 10, kind


def test_alarms_come_again_from_the_same_seed_and_differ_with_another(cohort):
    assert alarms("respiratory-rate-low").equals(cohort["respiratory-rate-low"])
    other = alarms("respiratory-rate-low", seed=1)
    assert not other.column("spo2").equals(cohort["respiratory-rate-low"].column("spo2"))


def test_every_alarm_is_one_on_the_monitor(cohort):
    for kind, table in cohort.items():
        alarm = ALARM_TYPES[kind]
        window = Signals(table).window(alarm.vital, -2, 1)
        beyond = window.values > alarm.limit if alarm.high else window.values < alarm.limit
        assert beyond.all(), kind
        before = Signals(table).window(alarm.vital, -10, -2).values
        assert not (before > alarm.limit if alarm.high else before < alarm.limit).any(), kind


def test_series_are_whole_numbers_in_a_window_around_the_alarm(cohort):
    for table in cohort.values():
        lengths = pc.list_value_length(table.column("spo2")).to_numpy()
        assert ((lengths == table.column("alarm_second").to_numpy() + AFTER) & (lengths <= BEFORE + AFTER)).all()
        assert (lengths < BEFORE + AFTER).any()
        for name in SHOWN:
            values = table.column(name).combine_chunks().flatten()
            shown = values.drop_null().to_numpy()
            assert (shown == np.round(shown)).all()
            assert values.null_count < 0.1 * len(values)
    assert set(cohort["spo2-low"].column("spo2").combine_chunks().flatten().drop_null().to_pylist()) <= set(
        range(30, 101)
    )


def test_gold_is_the_physiology_that_nobody_sees(cohort):
    spo2 = cohort["spo2-low"]
    gold = spo2.column("gold").to_numpy()
    after = Signals(spo2).window("spo2", 0, 60).values
    low = (after < ALARM_TYPES["spo2-low"].critical).sum(axis=1)
    assert low[gold == 1].mean() > 1.5 * low[gold == 0].mean()
    assert ((low >= 20) & (gold == 0)).mean() > 0.05
    assert ((low < 20) & (gold == 1)).mean() > 0.05


def test_the_table_names_its_classes_and_its_samples(cohort):
    table = cohort["heart-rate-low"]
    assert table.schema.metadata[b"classes"] == b'["suppressible", "non-suppressible"]'
    assert table.schema.field("spo2").type == pa.list_(pa.float32())
    assert len(set(table.column("id").to_pylist())) == 79


def test_an_unknown_alarm_type_is_named_with_those_there_are():
    with pytest.raises(InputError, match="no alarm type 'spo2-high'; there are heart-rate-low"):
        alarms("spo2-high")


def test_noise_has_the_deviation_and_the_memory_it_is_asked_for():
    noise = autoregressive(np.random.default_rng(0), (4000, 60), deviation=3, memory_seconds=5)
    assert noise[:, 0].std() == pytest.approx(3, rel=0.05)
    assert noise[:, -1].std() == pytest.approx(3, rel=0.05)
    assert np.corrcoef(noise[:, 20], noise[:, 25])[0, 1] == pytest.approx(np.exp(-1), abs=0.05)


def test_an_episode_is_whole_for_as_long_as_it_lasts():
    hump = episode(100, np.array([20.0]), np.array([30.0]), np.array([5.0]))
    assert hump[0, 20:51].min() == 1
    assert hump[0, :15].max() == hump[0, 56:].max() == 0


def test_patients_at_rest_have_infants_vital_signs():
    rest = at_rest(np.random.default_rng(0), 2000, 30)
    assert {vital: round(float(series.mean())) for vital, series in rest.items()} == {
        "heart_rate": 135,
        "respiratory_rate": 38,
        "spo2": 97,
    }
