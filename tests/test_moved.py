"""Modules that moved can be imported by the names that documents gave them, with a warning."""

from __future__ import annotations

import importlib
import sys

import pytest

from assay.moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_is_the_new_module_with_a_warning(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, old, raising=False)
    new = importlib.import_module(MOVED[old])
    with pytest.warns(DeprecationWarning, match=f"{old} is {MOVED[old]} now"):
        assert importlib.import_module(old) is new
    assert new.__spec__ is not None
    assert new.__spec__.name == MOVED[old]
