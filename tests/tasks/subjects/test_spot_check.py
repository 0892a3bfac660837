"""A changed model never passes on yesterday's numbers: files enter the key, the rest is found out by asking again."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import Classes, Samples
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.infra.terminal import signals_as_errors
from assay.tasks.subjects import spot_check
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.spot_check import as_it_answers_now, spread
from assay.tasks.subjects.tables.task import predict_samples, train_subject

ROWS = 200

UNHEARD = '''
import ctypes

def read():
    """The file's first letter, opened by the C library, which Python's audit hook does not hear."""
    libc = ctypes.CDLL(None)
    libc.open.argtypes = [ctypes.c_char_p, ctypes.c_int]
    libc.read.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
    handle, letter = libc.open((FOLDER + "/" + NAME).encode(), 0), ctypes.create_string_buffer(8)
    libc.read(handle, letter, 1)
    libc.close(handle)
    return letter.value.decode()
'''

ANSWER = """
import numpy as np

def answer(table, sure):
    high = np.asarray(table["x"]) > 100
    second = np.where(high, sure, 1 - sure)
    return np.stack([1 - second, second], axis=1)
"""


@stage(version=1)
def some_samples() -> Artifact[Samples]:
    ids = [f"s{at:03d}" for at in range(ROWS)]
    table = pa.table({"id": ids, "gold": pa.array([at % 2 for at in range(ROWS)], pa.int16()), "x": list(range(ROWS))})
    return write_table(table, into=Samples)


@stage(version=1)
def two_classes() -> Artifact[Classes]:
    return write_table(pa.table({"code": pa.array([0, 1], pa.int16()), "name": ["low", "high"]}), into=Classes)


def night(folder: Path, **settings: object) -> tuple[ResolvedSubject, list[float]]:
    """One night's subject and the probabilities of its second class."""
    samples, classes = some_samples(), two_classes()
    resolved = resolve_subject(Subject(name="team", **settings), folder)
    resolved, files = as_it_answers_now(samples, classes, resolved, partial(train_subject, samples, None, classes))
    made = collect(predict_samples(samples, classes, files, resolved), ["probabilities"])
    return resolved, [row[1] for row in made["probabilities"].to_pylist()]


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_a_file_that_the_module_opens_is_in_the_key(make_run, tmp_path):
    write(
        tmp_path,
        sure__txt="0.9",
        answers__py=ANSWER,
        m__py="from pathlib import Path\nfrom answers import answer\n"
        "SURE = float(Path(__file__).with_name('su' + 're.txt').read_text())\n"
        "def predict(table):\n    return answer(table, SURE)\n",
    )
    with make_run():
        _, first = night(tmp_path, model="m.py:predict")
    write(tmp_path, sure__txt="0.2")
    with make_run():
        resolved, second = night(tmp_path, model="m.py:predict")
    assert (first[-1], second[-1]) == (0.9, 0.2)
    assert [name for name, _ in resolved.code.files] == ["sure.txt"]


def test_a_file_that_is_opened_while_it_predicts_is_refused_with_the_line_to_write(make_run, tmp_path):
    write(
        tmp_path,
        sure__txt="0.9",
        answers__py=ANSWER,
        m__py="from answers import answer\ndef predict(table):\n"
        "    return answer(table, float(open('su' + 're.txt').read()))\n",
    )
    with make_run(), pytest.raises(InputError, match=r"files: \[sure.txt\]"):
        night(tmp_path, model="m.py:predict")
    with make_run():
        assert night(tmp_path, model="m.py:predict", files=("sure.txt",))[1][-1] == 0.9
    write(tmp_path, sure__txt="0.3")
    with make_run():
        assert night(tmp_path, model="m.py:predict", files=("sure.txt",))[1][-1] == 0.3


def unheard(folder: Path, name: str = "'su' + 're.txt'") -> None:
    write(
        folder,
        answers__py=ANSWER,
        m__py=f"from answers import answer\nFOLDER, NAME = {str(folder)!r}, {name}\n{UNHEARD}\n"
        "def predict(table):\n    return answer(table, int(read()) / 10)\n",
    )


def test_what_nobody_heard_is_found_out_by_asking_again(make_run, tmp_path):
    write(tmp_path, sure__txt="9")
    unheard(tmp_path)
    with make_run() as run:
        night(tmp_path, model="m.py:predict")
        assert run.record.asked_again == {}
    with make_run() as run:
        _, same = night(tmp_path, model="m.py:predict")
        assert run.record.stages[-1].cached
        (said,) = run.record.asked_again.values()
        assert said.startswith("32 samples, drawn anew tonight, answered as before; a change of 2 % of its answers esc")
        assert run.record.notices == []
    write(tmp_path, sure__txt="2")
    with make_run() as run:
        _, changed = night(tmp_path, model="m.py:predict")
        assert not run.record.stages[-1].cached
        assert "answered otherwise than in the store" in run.record.notices[0]
        assert run.record.asked_again == {"team": "32 of 32 samples answered otherwise than before"}
    with make_run() as run:  # the next night of the changed model takes what that one computed
        assert night(tmp_path, model="m.py:predict")[1] == changed
        assert run.record.stages[-1].cached
    assert (same[-1], changed[-1]) == (0.9, 0.2)


def test_a_file_that_the_code_names_is_in_the_key_though_nobody_heard_it(make_run, tmp_path):
    write(tmp_path, sure__txt="9")
    unheard(tmp_path, "'sure.txt'")
    with make_run():
        before, _ = night(tmp_path, model="m.py:predict")
    write(tmp_path, sure__txt="2")
    with make_run() as run:
        after, changed = night(tmp_path, model="m.py:predict")
        assert run.record.notices == []
    assert changed[-1] == 0.2
    assert before.fingerprint != after.fingerprint


@pytest.fixture
def endpoint() -> Iterator[tuple[str, dict[str, str]]]:
    """An endpoint that says how sure the model is, and what it says just now."""
    state = {"sure": "0.9", "asked": ""}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state["asked"] += "."
            self.send_response(200)
            self.end_headers()
            self.wfile.write(state["sure"].encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}", state
    server.shutdown()


def asks(folder: Path, url: str) -> None:
    write(
        folder,
        answers__py=ANSWER,
        m__py=f"import urllib.request\nfrom answers import answer\ndef predict(table):\n"
        f"    return answer(table, float(urllib.request.urlopen({url}).read()))\n",
    )


def test_an_endpoint_is_asked_anew_in_every_run(make_run, tmp_path, endpoint):
    where, state = endpoint
    asks(tmp_path, repr(f"http://{where}/sure"))
    for sure in ("0.9", "0.9", "0.1"):
        state |= {"sure": sure, "asked": ""}
        with make_run():
            assert night(tmp_path, model="m.py:predict")[1][-1] == float(sure)
        assert state["asked"]


def test_an_endpoint_with_a_version_is_asked_again_when_the_version_changes(make_run, tmp_path, endpoint):
    where, state = endpoint
    asks(tmp_path, repr(f"http://{where}/sure"))
    for version, sure, expected in (("1", "0.9", 0.9), ("1", "0.5", 0.9), ("2", "0.4", 0.4)):
        state["sure"] = sure
        write(tmp_path, version__txt=version)
        with make_run():
            made = night(tmp_path, model="m.py:predict", version={"command": "cat version.txt"})
        assert made[1][-1] == expected


def test_an_address_that_nobody_could_read_is_refused_with_the_line_to_write(make_run, tmp_path, endpoint):
    where, _ = endpoint
    asks(tmp_path, f"'http:' + '//' + {where!r}")
    with make_run(), pytest.raises(InputError, match="never_cached: true"):
        night(tmp_path, model="m.py:predict")
    with make_run():
        assert night(tmp_path, model="m.py:predict", never_cached=True)[1][-1] == 0.9


@pytest.mark.parametrize(
    ("command", "said"),
    [("false", "ended with code 1"), ("true", "printed nothing"), ("no-such-program", "cannot be"), ("'", "cannot be")],
)
def test_a_version_command_that_says_nothing_is_refused(tmp_path, command, said):
    write(tmp_path, m__py="def predict(table):\n    return table\n")
    with pytest.raises(InputError, match=said):
        resolve_subject(Subject(model="m.py:predict", version={"command": command}), tmp_path)


@pytest.mark.parametrize(
    ("leaving", "said"),
    [
        ("raise SystemExit(7)", "exit 7"),
        ("import os; os._exit(98)", r"os\._exit\(98\)"),
        ("exit()", "exit None"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise BaseException('no')", "BaseException"),
    ],
)
@pytest.mark.parametrize("when", ["at import", "at work"])
def test_a_model_that_leaves_is_told_by_name(make_run, tmp_path, leaving, said, when):
    body = f"{leaving}\n" if when == "at import" else f"def predict(table):\n    {leaving}\n"
    write(tmp_path, m__py=body)
    with signals_as_errors(), make_run(), pytest.raises(InputError, match=said) as caught:
        night(tmp_path, model="m.py:predict")
    assert "m.py:predict" in str(caught.value)


def test_settings_of_own_code_are_refused_where_there_is_none():
    with pytest.raises(ValueError, match="`files`, which is about a function of your own"):
        Subject(model="logistic", files=("model.joblib",))
    with pytest.raises(ValueError, match="leave one of them out"):
        Subject(model="m.py:predict", never_cached=True, version="1")


def test_keys_of_models_without_files_are_as_ever(tmp_path):
    write(tmp_path, m__py="def predict(table):\n    return [[1.0, 0.0]] * table.num_rows\n")
    assert resolve_subject(Subject(model="m.py:predict"), tmp_path).fingerprint == (
        "5d05ea6d43d14d8f79c163eb83c5ef1c2e7a5c425a1e8fa423623c3a8f21acf9"
    )


def test_the_samples_are_others_each_night_and_of_every_answer():
    n = 1000
    sure = np.random.default_rng(0).uniform(0.5, 1, n)
    answers = np.arange(n) % 50 == 0  # two of a hundred
    table = pa.table(
        {
            "id": [f"s{at}" for at in range(n)],
            "predicted": answers.astype(int),
            "probabilities": [[p, 1 - p] for p in sure],
        }
    )
    nights = [spread(table, 32, np.random.default_rng(night)) for night in range(400)]
    assert {len(set(night)) for night in nights} == {32}
    assert nights[0] != nights[1]
    assert len(set().union(*nights)) == n, "everything is asked about sooner or later"
    of_rare = [sum(answers[at] for at in night) for night in nights]
    assert min(of_rare) >= 0
    assert np.mean(of_rare) == pytest.approx(0.64, abs=0.2)
    spreads = [np.std(np.sort(sure[night])[[4, 16, 28]] - [0.56, 0.75, 0.94]) for night in nights]
    assert np.mean(spreads) < 0.03, "as sure as all are"


def test_a_second_change_that_the_fixed_samples_do_not_show_is_found_by_those_of_the_night(
    make_run, tmp_path, monkeypatch
):
    monkeypatch.setattr(spot_check, "_digest", lambda _: "alike")
    unheard(tmp_path)
    for letter, answered in (("9", 0.9), ("2", 0.2), ("3", 0.3), ("3", 0.3), ("4", 0.4), ("9", 0.9)):
        write(tmp_path, sure__txt=letter)
        with make_run():
            assert night(tmp_path, model="m.py:predict")[1][-1] == answered
    monkeypatch.setattr(spot_check, "MOST_CHANGES", 1)
    write(tmp_path, sure__txt="5")
    with make_run():
        assert night(tmp_path, model="m.py:predict")[1][-1] == 0.5


ORDERED = """
import numpy as np

class Fitted:
    classes_ = np.array(CLASSES)
    def predict_proba(self, table):
        return np.tile([0.25, 0.75], (len(table), 1))

model = Fitted()
"""


def test_columns_that_a_model_names_in_another_order_are_not_read_as_the_audits(run, tmp_path):
    write(tmp_path, **{"model.py": ORDERED.replace("CLASSES", "['high', 'low']")})
    with pytest.raises(InputError, match=r"are high, low \(its `classes_`\), and the audit reads low, high: write"):
        night(tmp_path, model="model.py:model")


@pytest.mark.parametrize("listed", ["['low', 'high']", "[0, 1]", "['nein', 'ja']"])
def test_columns_in_the_audits_order_or_under_other_names_are_read_as_they_come(run, tmp_path, listed):
    write(tmp_path, **{"model.py": ORDERED.replace("CLASSES", listed)})
    assert set(night(tmp_path, model="model.py:model")[1]) == {0.75}
