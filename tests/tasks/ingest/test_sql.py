"""Samples from a database: read only, ordered by id, cut anywhere; what is secret of its address is nowhere."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from direct_nights import Heard, perform_night

from assay.flows.configuration.loading import load_project
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve
from assay.tasks.ingest.task import ingest

SECRET = "h0rse:b@ttery/staple"
QUERY = "select id, age, marker as m, site, answer from patients where note not like '%:left out%' order by age"
SITES = ("north", "south", "south:east")


def rows(count: int = 60) -> list[tuple[Any, ...]]:
    return [
        (f"p{at:03d}", 20 + at, at / 7, SITES[at % 3], "sick" if at % 3 else "well", "" if at % 10 else "x:left out")
        for at in range(count)
    ]


def fill(folder: Path, found: list[tuple[Any, ...]] | None = None) -> Path:
    with sqlite3.connect(folder / "clinic.db") as made:
        made.execute("create table patients (id text, age integer, marker real, site text, answer text, note text)")
        made.executemany("insert into patients values (?,?,?,?,?,?)", rows()[::-1] if found is None else found)
    made.close()
    return folder / "clinic.db"


def asked(**more: Any) -> Source:
    return Source.model_validate({"sql": "sqlite:///clinic.db", "query": QUERY, "id": "id", "label": "answer"} | more)


def ingested(make_run: Any, folder: Path, source: Source, **compute: Any) -> tuple[Any, Any]:
    with make_run(store=str(folder / f"store{compute.get('partitions')}"), **compute):
        resolved = resolve(source, folder)
        found = ingest(resolved, resolved.settings)
        return collect(found.samples, None), collect(found.rejects, None)


def test_rows_come_in_the_order_of_their_ids_in_any_cut(make_run: Any, tmp_path: Path) -> None:
    fill(tmp_path)
    whole, _ = ingested(make_run, tmp_path, asked(), partitions=1)
    cut, _ = ingested(make_run, tmp_path, asked(), partitions=7)
    wanted = [row for row in rows() if not row[5]]
    assert whole.equals(cut)
    assert whole["id"].to_pylist() == [row[0] for row in wanted]
    assert whole["age"].to_pylist() == [row[1] for row in wanted]
    assert whole["m"].to_pylist() == [row[2] for row in wanted]
    assert whole["site"].to_pylist() == [row[3] for row in wanted]


def test_the_rows_are_the_source_and_not_the_file_they_lie_in(tmp_path: Path) -> None:
    place = fill(tmp_path)
    before = resolve(asked(), tmp_path).fingerprint
    moved = tmp_path / "moved"
    moved.mkdir()
    fill(moved, rows())
    assert resolve(asked(), moved).fingerprint == before
    with sqlite3.connect(place) as other:
        other.execute("update patients set note = 'y' where id = 'p001'")
    assert resolve(asked(), tmp_path).fingerprint == before
    with sqlite3.connect(place) as other:
        other.execute("update patients set age = 99 where id = 'p001'")
    other.close()
    assert resolve(asked(), tmp_path).fingerprint != before


def test_what_is_written_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    place = fill(tmp_path)
    resolved = resolve(asked(), tmp_path)
    assert resolved.fingerprint
    with sqlite3.connect(place) as other:
        other.execute("update patients set age = 99 where id = 'p001'")
    other.close()
    with pytest.raises(InputError, match=r"clinic\.db changed while being read"):
        resolved.require_unchanged()


def test_a_cell_that_does_not_fit_rejects_its_row_with_its_number(make_run: Any, tmp_path: Path) -> None:
    odd = [(*row[:1], "old" if at == 31 else row[1], *row[2:]) for at, row in enumerate(rows())]
    fill(tmp_path, odd)
    samples, rejects = ingested(make_run, tmp_path, asked(columns={"age": "int"}))
    assert samples.num_rows == 53
    assert [(one["row"], one["column"], one["reason"]) for one in rejects.to_pylist()] == [
        (28, "age", "'old' is not a whole number")
    ]


def test_a_database_is_only_read(tmp_path: Path) -> None:
    place = fill(tmp_path)
    for query in ("select * from patients; delete from patients", "with x as (select 1) delete from patients"):
        with pytest.raises(InputError, match=r"clinic\.db \(sql\) does not answer the query"):
            resolve(asked(query=query), tmp_path).fingerprint  # noqa: B018
    with sqlite3.connect(place) as other:
        assert other.execute("select count(*) from patients").fetchone() == (60,)
    other.close()
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"sql": "sqlite:///other.db"}, r"There is no database sqlite:///other\.db \(sql\); it was looked for at"),
        ({"sql": "sqlite://"}, "a database in memory"),
        ({"sql": "${NO_SUCH_DATABASE}"}, "and the environment variable NO_SUCH_DATABASE is not set"),
        ({"sql": "clinic.db"}, r"clinic\.db \(sql\) is no address of a database; write it as in sqlite:///"),
        ({"query": "delete from patients"}, "begins with 'delete', and only `select` reads"),
        ({"query": "select * from patient"}, "does not answer the query: no such table: patient"),
        ({"query": "select age from patients"}, "has no column 'id', which `id` names; it has age"),
        ({"columns": {"weight": "float"}}, "has no column 'weight', which `columns` names"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(tmp_path: Path, more: dict[str, Any], sentence: str) -> None:
    from assay.tasks.ingest.sources import first_look

    fill(tmp_path)
    with pytest.raises(InputError, match=sentence) as caught:
        first_look(resolve(asked(**more), tmp_path), None)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "address", [f"postgresql://night:{SECRET}@db/clinic", f"postgresql://db/clinic?user=night&password={SECRET}"]
)
def test_a_password_in_the_file_is_refused_and_not_repeated(tmp_path: Path, address: str) -> None:
    file = tmp_path / "pipelines.yaml"
    file.write_text(f"pipelines:\n  p:\n    source: {{sql: '{address}', query: select 1 as id, id: id}}\n")
    with pytest.raises(InputError, match="there is a password in it") as caught:
        load_project(file)
    assert "h0rse" not in str(caught.value)
    assert "staple" not in str(caught.value)


def test_one_asks_for_rows_with_an_id() -> None:
    for given, sentence in (
        ({"query": None}, "sql and query go together"),
        ({"id": None}, "which column of the query"),
    ):
        with pytest.raises(ValueError, match=sentence):
            asked(**given)


def test_sources_without_a_database_enter_keys_as_before() -> None:
    assert not {"sql", "query"} & set(Source(csv=("a.csv",)).model_dump(mode="json"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server of this test's own, on a socket in its folder; its password is SECRET."""
    installed = Path("/usr/lib/postgresql")
    initdb, pg_ctl = (
        shutil.which(name) or str(next(installed.glob(f"*/bin/{name}"), "")) for name in ("initdb", "pg_ctl")
    )
    if not initdb or not pg_ctl:
        pytest.skip("no PostgreSQL server is installed here")
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # sockets want short paths
    (folder / "password").write_text(SECRET)
    who = {"user": "nobody"} if os.geteuid() == 0 else {}
    if who:
        shutil.chown(folder, "nobody")
        shutil.chown(folder / "password", "nobody")

    def call(*words: str) -> None:
        subprocess.run(words, check=True, capture_output=True, cwd=folder, timeout=120, **who)

    call(initdb, "-D", f"{folder}/data", "-U", "night", "-A", "scram-sha-256", "--pwfile", f"{folder}/password", "-N")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    call(pg_ctl, "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start")
    try:
        yield f"postgresql://night:${{DB_PASSWORD}}@/postgres?host={folder}"
    finally:
        call(pg_ctl, "-D", f"{folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture
def clinic(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same, with patients in it."""
    import psycopg

    monkeypatch.setenv("DB_PASSWORD", SECRET)
    host = server.rpartition("=")[2]
    with psycopg.connect(host=host, user="night", password=SECRET, dbname="postgres") as made:
        made.execute("drop table if exists patients")
        made.execute(
            "create table patients (id uuid, age int, marker numeric, born timestamptz, site text, answer text, "
            "note text)"
        )
        for at, row in enumerate(rows()):
            code = f"00000000-0000-0000-0000-{at:012d}"
            born = f"19{40 + at % 50}-01-01 12:00+02"
            made.execute("insert into patients values (%s,%s,%s,%s,%s,%s,%s)", (code, row[1], row[2], born, *row[3:]))
    return server


def test_postgresql_gives_the_same_samples(make_run: Any, tmp_path: Path, clinic: str) -> None:
    query = QUERY.replace("age,", "age, born::date as day, born,")
    found, _ = ingested(make_run, tmp_path, asked(sql=clinic, query=query), partitions=3)
    wanted = [row for row in rows() if not row[5]]
    assert found["age"].to_pylist() == [row[1] for row in wanted]
    assert found["m"].to_pylist() == pytest.approx([row[2] for row in wanted])
    assert str(found.schema.field("born").type) == "timestamp[us]"
    assert str(found["born"][0]).startswith("1941-01-01 10:00")
    assert found["id"][0].as_py() == "00000000-0000-0000-0000-000000000001"


def test_nothing_of_a_night_holds_the_password(tmp_path: Path, clinic: str, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pipelines.yaml").write_text(
        "pipelines:\n  night:\n    source: {sql: '" + clinic + "', query: select * from patients, id: id,\n"
        "      label: answer}\n    subject: {model: logistic, features: [age]}\n"
    )
    heard = Heard()
    result = perform_night(tmp_path, "night", heard=heard)
    assert result.status == "done"
    assert any(line.startswith("ingest: 60 samples, 0 rejected · postgres, ordered by id") for line in heard.stages)
    files = [file for file in (tmp_path / "store").rglob("*") if file.is_file()]
    assert len(files) > 10
    for word in ("h0rse", "b@ttery", "b%40ttery", "staple"):
        assert not [file for file in files if word.encode() in file.read_bytes()]
        assert word not in "".join(capfd.readouterr()) + "".join(heard.stages + heard.notices)


@pytest.mark.parametrize("address", ["${DB_ADDRESS}", "postgresql://night:${DB_PASSWORD}@/postgres?host={host}"])
def test_a_wrong_password_is_a_sentence_without_it(
    tmp_path: Path, clinic: str, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    host = clinic.rpartition("=")[2]
    monkeypatch.setenv("DB_PASSWORD", "wr0ng:w@rd")
    monkeypatch.setenv("DB_ADDRESS", f"postgresql://night:wr0ng%3Aw%40rd@/postgres?host={host}")
    with pytest.raises(InputError, match="password authentication failed") as caught:
        resolve(asked(sql=address.replace("{host}", host)), tmp_path).fingerprint  # noqa: B018
    assert "wr0ng" not in str(caught.value)
    assert caught.value.__cause__ is None or "wr0ng" not in repr(caught.value.__cause__)


def test_a_query_that_writes_is_refused_by_postgresql(tmp_path: Path, clinic: str) -> None:
    for query in ("with gone as (delete from patients returning *) select * from gone", "select 1 as id into other"):
        with pytest.raises(InputError, match="does not answer the query"):
            resolve(asked(sql=clinic, query=query), tmp_path).fingerprint  # noqa: B018


def test_a_network_wants_images_of_a_query_too(tmp_path: Path) -> None:
    fill(tmp_path)
    file = tmp_path / "pipelines.yaml"
    file.write_text(
        "pipelines:\n  p:\n    source: {sql: 'sqlite:///clinic.db', query: select * from patients, id: id}\n"
        "    subject: {network: small-cnn}\n"
    )
    with pytest.raises(InputError, match="looks at images, and the source names none"):
        load_project(file)
