from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from assay.infra.errors import InputError
from assay.infra.user_code.references import refer_to_code
from assay.infra.user_code.sources import file_below


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


def a_team_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that Python finds, which takes a number from another one through a package; no other test has them."""
    name = f"team_{folder.name.replace('-', '_')}"
    write(
        folder / "lib",
        {
            f"{name}_audit.py": f"from {name}_parts.outer import value\nFOUND = [value]\n",
            f"{name}_parts/__init__.py": "",
            f"{name}_parts/outer.py": "from .inner import value\n",
            f"{name}_parts/inner.py": "value = 1\n",
        },
    )
    monkeypatch.syspath_prepend(folder / "lib")
    return name


def test_an_edit_of_a_module_that_a_named_module_imports_is_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = a_team_module(tmp_path, monkeypatch)
    before = refer_to_code(f"{name}_audit:FOUND", tmp_path)
    assert before.load() == [1]
    write(tmp_path / "lib", {f"{name}_parts/inner.py": "value = 200\n"})
    after = refer_to_code(f"{name}_audit:FOUND", tmp_path)
    assert after.fingerprint != before.fingerprint
    assert after.load() == [200]  # not what this process imported before


def test_an_edit_of_a_team_s_package_that_a_file_imports_is_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = a_team_module(tmp_path, monkeypatch)
    write(tmp_path, {"rules.py": f"import numpy\nfrom {name}_parts import outer\nFOUND = [outer.value]\n"})
    before = refer_to_code("rules.py:FOUND", tmp_path)
    assert before.load() == [1]
    assert [module for module, _ in before.elsewhere] == [f"{name}_parts{part}" for part in ("", ".inner", ".outer")]
    write(tmp_path / "lib", {f"{name}_parts/inner.py": "value = 200\n"})
    after = refer_to_code("rules.py:FOUND", tmp_path)
    assert after.fingerprint != before.fingerprint
    assert after.load() == [200]


def test_a_package_with_a_part_for_another_system_is_read_without_importing_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {
        "__init__": "if False:\n    from .windows import console\nFOUND = [1]\n",
        "windows/__init__": "raise OSError\n",
    }
    write(tmp_path, {f"elsewhere_too/{part}.py": source for part, source in parts.items()})
    monkeypatch.syspath_prepend(tmp_path)
    found = refer_to_code("elsewhere_too:FOUND", tmp_path)
    assert [name for name, _ in found.sources] == ["elsewhere_too", "elsewhere_too.windows"]
    assert found.load() == [1]


def test_of_a_package_and_a_file_of_one_name_the_package_is_read_as_python_imports_it(tmp_path: Path) -> None:
    (tmp_path / "helper").mkdir()
    (tmp_path / "helper" / "__init__.py").write_text("N = 1")
    (tmp_path / "helper.py").write_text("N = 2")
    imported = subprocess.run(
        [sys.executable, "-c", "import helper; print(helper.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(file_below(tmp_path, "helper")) == imported.stdout.strip()
