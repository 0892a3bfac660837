"""Code that is called stands in its folder, however many threads call, and everybody comes home."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.infra.errors import RunError
from assay.infra.user_code import supervision
from assay.infra.user_code.supervision import is_of_the_system, working_in


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    return str(tmp_path / "one"), str(tmp_path / "two")


def in_threads(*works: Callable[[], None]) -> None:
    faults: list[BaseException] = []

    def carry_out(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as fault:  # noqa: BLE001 - it is raised where the test sees it
            faults.append(fault)

    threads = [threading.Thread(target=carry_out, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    for fault in faults:
        raise fault


def test_an_inner_visit_gives_the_outer_folder_back(folders: tuple[str, str]) -> None:
    one, two = folders
    home = os.getcwd()
    with working_in(one):
        with working_in(two):
            assert os.getcwd() == two
        assert os.getcwd() == one
        with pytest.raises(ValueError, match="inside"), working_in(one):
            raise ValueError("inside")
        assert os.getcwd() == one
    assert os.getcwd() == home


def test_threads_of_one_folder_stand_in_it_together_and_the_last_goes_home(folders: tuple[str, str]) -> None:
    one, _ = folders
    home, together, first_left = os.getcwd(), threading.Barrier(2), threading.Event()

    def first() -> None:
        with working_in(one):
            together.wait(20)
        first_left.set()

    def second() -> None:
        with working_in(one):
            together.wait(20)
            assert first_left.wait(20)
            assert os.getcwd() == one

    in_threads(first, second)
    assert os.getcwd() == home


def test_nobody_is_moved_while_working_even_where_visits_are_nested_crosswise(folders: tuple[str, str]) -> None:
    home = os.getcwd()

    def work(outer: str, inner: str) -> Callable[[], None]:
        def visit() -> None:
            for _ in range(200):
                with working_in(outer):
                    assert os.getcwd() == outer
                    with working_in(inner):
                        assert os.getcwd() == inner
                    assert os.getcwd() == outer

        return visit

    one, two = folders
    in_threads(work(one, two), work(two, one), work(one, one), work(two, two))
    assert os.getcwd() == home


def test_a_folder_that_is_never_left_is_told_to_those_who_wait(
    folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = folders
    home, inside, over = os.getcwd(), threading.Event(), threading.Event()
    monkeypatch.setattr(supervision, "WAIT_SECONDS", 0.05)

    def stays() -> None:
        with working_in(one):
            inside.set()
            assert over.wait(20)

    def waits() -> None:
        assert inside.wait(20)
        with pytest.raises(RunError, match=f"code from {one} was at work"), working_in(two):
            pass
        over.set()

    in_threads(stays, waits)
    assert os.getcwd() == home


def test_a_guest_that_moves_away_moves_nobody_after_it(folders: tuple[str, str]) -> None:
    one, two = folders
    home = os.getcwd()
    with working_in(one):
        os.chdir(two)
        with working_in(one):
            assert os.getcwd() == one
    assert os.getcwd() == home


def test_where_this_machine_has_no_such_folder_code_runs_where_it_is(tmp_path: Path) -> None:
    home = os.getcwd()
    with working_in(str(tmp_path / "elsewhere")):
        assert os.getcwd() == home


def test_an_environment_behind_a_link_is_nobodys_model_and_a_link_to_a_file_of_the_machine_is_somebodys(
    tmp_path: Path,
) -> None:
    (tmp_path / "current").symlink_to(sys.prefix)
    (tmp_path / "zones").symlink_to("/etc/hosts")
    assert is_of_the_system(f"{tmp_path}/current/bin/assay")
    assert is_of_the_system("/etc/hosts")
    assert not is_of_the_system(f"{tmp_path}/zones")
