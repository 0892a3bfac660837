from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.infra.errors import InputError
from assay.infra.user_code.references import refer_to_code


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_a_package_beside_the_file_comes_along_with_its_relative_imports(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.py": "from parts.outer import value\n",
            "parts/__init__.py": "",
            "parts/outer.py": "from .inner import value\n",
            "parts/inner.py": "value = 42\n",
            "parts/idle.py": "value = 0\n",
        },
    )
    found = refer_to_code("main.py:value", tmp_path)
    assert [name for name, _ in found.sources] == ["main", "parts", "parts.inner", "parts.outer"]
    assert found.load() == 42


def test_two_files_of_one_name_are_two_objects(tmp_path: Path) -> None:
    write(tmp_path, {"a/mine.py": "value = 1\n", "b/mine.py": "value = 2\n"})
    first, second = (refer_to_code("mine.py:value", tmp_path / folder) for folder in ("a", "b"))
    assert (first.load(), second.load(), first.load()) == (1, 2, 1)
    assert first.fingerprint != second.fingerprint


def test_a_file_called_like_an_installed_module_does_not_replace_it(tmp_path: Path) -> None:
    import json

    write(tmp_path, {"json.py": "value = 1\n"})
    assert refer_to_code("json.py:value", tmp_path).load() == 1
    assert sys.modules["json"] is json


def test_an_installed_object_is_found_by_module_name() -> None:
    import textwrap

    found = refer_to_code("textwrap:dedent", Path())
    assert found.load() is textwrap.dedent
    assert found.shipped is False


def test_the_line_of_a_fault_is_that_of_the_users_code(tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "def f():\n    return inner()\n\ndef inner():\n    raise ValueError('x')\n"})
    found = refer_to_code("mine.py:f", tmp_path)
    function = found.load()
    assert callable(function)
    with pytest.raises(ValueError, match="x") as caught:
        function()
    assert found.line_of(caught.value) == " (line 5)"
    assert found.line_of(ValueError("raised nowhere")) == ""


def test_an_object_that_is_not_there_is_refused_with_a_near_one(tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "model = 1\n"})
    with pytest.raises(InputError, match="did you mean model"):
        refer_to_code("mine.py:modle", tmp_path).load()
