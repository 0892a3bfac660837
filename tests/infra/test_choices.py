"""Tables of choices: what plug-ins bring to them, what of it enters a key, and what travels to the workers."""

from __future__ import annotations

import importlib
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from pydantic import TypeAdapter, ValidationError

from assay.infra.errors import InputError
from assay.infra.settings import Settings, documented_fields
from assay.infra.storage.keys import key_part
from assay.infra.user_code.choices import Named, NamedChoices, Tagged, TaggedChoices


class Quiet(Settings):
    sound: Literal["quiet"] = "quiet"
    level: int = 1


class Loud(Settings):
    sound: Literal["loud"] = "loud"


@dataclass(frozen=True)
class Sound(Tagged):
    tag: ClassVar[str] = "sound"
    make: Callable[[], str] = str


@dataclass(frozen=True)
class Colour(Named):
    rgb: tuple[int, int, int] = (0, 0, 0)


class Painting(Settings):
    colours: tuple[Literal["red", "blue"], ...] = ("red",)
    """Which colours are used."""


SOUNDS = TaggedChoices("sound", "assay.test-sounds", Sound, (Sound(Quiet), Sound(Loud)))
COLOURS = NamedChoices("colour", "assay.test-colours", Colour, (Colour("red", (255, 0, 0)), Colour("blue")))

HUM = """
from typing import Literal
from choices_of_the_test import Settings, Sound
from pitch import HERTZ

class Hum(Settings):
    sound: Literal["hum"] = "hum"
    hertz: int = HERTZ

HUM = Sound(Hum, lambda: "mmm")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a user's, who writes a sound and a colour; what they import of Assay is this module."""
    monkeypatch.setitem(sys.modules, "choices_of_the_test", sys.modules[__name__])
    (tmp_path / "hum.py").write_text(HUM)
    (tmp_path / "pitch.py").write_text("HERTZ = 440\n")
    (tmp_path / "green.py").write_text("from choices_of_the_test import Colour\nGREEN = Colour('green', (0, 255, 0))\n")
    return tmp_path


def installed(
    site: Path, monkeypatch: pytest.MonkeyPatch, group: str, package: str, code: str, *points: str, version: str = "1.0"
) -> None:
    """A package as pip leaves it: its module, and its entry points."""
    (site / f"{package}.py").write_text(code)
    told = site / f"{package}-{version}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (told / "entry_points.txt").write_text(f"[{group}]\n" + "\n".join(points) + "\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, package, raising=False)


def test_our_own_settings_enter_keys_as_they_are() -> None:
    table = SOUNDS.with_plugins(Path())
    quiet = TypeAdapter(table.union).validate_python("quiet")
    assert type(quiet) is Quiet
    assert key_part(quiet) == {"settings": {"sound": "quiet", "level": 1}}
    assert table is SOUNDS  # nothing was brought, so nothing is built anew


def test_a_file_of_ones_own_is_named_wherever_a_name_is(folder: Path) -> None:
    table = SOUNDS.with_plugins(folder, ["hum.py:HUM", "loud"])
    read = TypeAdapter(tuple[table.union, ...]).validate_python(  # type: ignore[name-defined]
        ("hum", "hum.py:HUM", {"hum.py:HUM": {"hertz": 50}}, {"sound": "hum.py:HUM", "hertz": 50}, "loud")
    )
    assert [(one.sound, getattr(one, "hertz", None)) for one in read] == [
        ("hum", 440),
        ("hum", 440),
        ("hum", 50),
        ("hum", 50),
        ("loud", None),
    ]
    assert SOUNDS.of(read[0]).make() == "mmm", "the table of ours finds what settings of a plug-in know"
    assert table.words == ("quiet", "loud", "hum")
    assert {"hertz", "level", "sound"} == table.fields


def test_name_and_source_of_a_plug_in_enter_the_key(folder: Path) -> None:
    def key() -> object:
        return key_part(SOUNDS.with_plugins(folder, ["hum.py:HUM"]).named("hum").settings())

    def of(brought: Path) -> object:
        table = SOUNDS.with_plugins(brought, ["hum.py:HUM"])
        return key_part(TypeAdapter(table.union).validate_python("hum"))

    first = of(folder)
    assert first == of(folder)
    assert isinstance(first, dict)
    assert first["settings"]["plugins"]["hum"]["name"] == "hum.py:HUM"
    (folder / "pitch.py").write_text("HERTZ = 440  # a fork of it\n")
    assert of(folder) != first, "a module that it imports has changed"


def test_settings_of_a_plug_in_are_read_by_a_process_that_never_saw_its_file(folder: Path) -> None:
    settings = TypeAdapter(SOUNDS.with_plugins(folder, ["hum.py:HUM"]).union).validate_python({"hum": {"hertz": 3}})
    assert pickle.loads(pickle.dumps(settings)) == settings
    code = (
        "import importlib.util, pickle, sys\n"
        f"spec = importlib.util.spec_from_file_location({__name__!r}, {__file__!r})\n"
        "here = importlib.util.module_from_spec(spec)\n"
        f"sys.modules[{__name__!r}] = sys.modules['choices_of_the_test'] = here\n"
        "spec.loader.exec_module(here)\n"
        "settings = pickle.load(sys.stdin.buffer)\n"
        "print(settings.hertz, here.SOUNDS.of(settings).make())"
    )
    there = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(settings), capture_output=True, cwd="/", check=False
    )
    assert there.stdout.decode() == "3 mmm\n", there.stderr.decode()


def test_a_list_of_words_takes_those_of_plug_ins(folder: Path) -> None:
    table = COLOURS.with_plugins(folder, ["green.py:GREEN"])
    wider = table.settings_with(Painting, "colours")
    assert COLOURS.settings_with(Painting, "colours") is Painting
    plain, green = wider(colours=("blue",)), wider(colours=("blue", "green.py:GREEN"))  # type: ignore[arg-type]
    assert key_part(plain) == key_part(Painting(colours=("blue",))), "a plug-in that is not named changes no key"
    assert green.model_dump()["colours"] == ("blue", "green")
    assert "green" in green.model_dump()["plugins"]
    assert COLOURS.named("green", green).rgb == (0, 255, 0)
    assert pickle.loads(pickle.dumps(green)) == green
    assert documented_fields(wider)["colours"].description == "Which colours are used."
    with pytest.raises(ValidationError, match="'red', 'blue' or 'green'"):
        wider(colours=("gren",))  # type: ignore[arg-type]


@pytest.fixture
def hums_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package assay_hums 2.3, which offers the sound `hum`."""
    site = tmp_path / "site"
    site.mkdir()
    code = HUM.replace("from pitch import HERTZ", "HERTZ = 7")
    installed(site, monkeypatch, SOUNDS.group, "assay_hums", code, "hum = assay_hums:HUM", version="2.3")


@pytest.mark.usefixtures("hums_installed")
def test_installed_packages_are_read_when_a_table_is_asked_to(folder: Path) -> None:
    table = SOUNDS.with_plugins(folder)
    settings = TypeAdapter(table.union).validate_python("hum")
    known = key_part(settings)["settings"]["plugins"]["hum"]
    assert (known["name"], known["package"], known["version"]) == ("hum", "assay_hums", "2.3")
    assert SOUNDS.with_plugins(folder, ["assay_hums:HUM"]).words == table.words, "the same by its other name"


@pytest.mark.parametrize(
    ("code", "point", "said"),
    [
        ("raise KeyError('sox')", "hum = broken:HUM", "does not import: KeyError: 'sox' (line 1)."),
        ("HUM = 3", "hum = broken:HUM", 'The plug-in "hum" of broken 1.0 is of the type int, and a plug-in of'),
        ("HUM = 3", "hum = broken:HUMM", "names an object that is not there; did you mean HUM?"),
        (HUM, "drone = broken:HUM", 'The plug-in "drone" of broken 1.0 calls itself "hum": give the entry point that'),
        (HUM.replace('"hum"', '"loud"'), "loud = broken:HUM", 'is called "loud", and so is the sound that comes with'),
        (HUM.replace('"hum"', "3").replace("Literal[3]", "int"), "hum = broken:HUM", "does not say which sound it is"),
    ],
)
def test_a_plug_in_that_is_broken_is_one_sentence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, point: str, said: str
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    installed(site, monkeypatch, SOUNDS.group, "broken", code.replace("from pitch import HERTZ", "HERTZ = 1"), point)
    with pytest.raises(InputError) as caught:
        SOUNDS.with_plugins(folder)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_plug_ins_of_one_name_are_refused(folder: Path) -> None:
    (folder / "other.py").write_text(HUM)
    with pytest.raises(InputError, match=r'are called "hum", hum.py:HUM and other.py:HUM: rename one\.'):
        SOUNDS.with_plugins(folder, ["hum.py:HUM", "other.py:HUM"])


@pytest.mark.usefixtures("hums_installed")
def test_two_plug_ins_of_one_name_are_named_with_their_packages(folder: Path) -> None:
    with pytest.raises(
        InputError, match=r'"hum", hum = assay_hums:HUM of assay_hums 2\.3 and hum.py:HUM: rename one\.'
    ):
        SOUNDS.with_plugins(folder, ["hum.py:HUM"])


def test_no_such_choice_is_said_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r'There is no such colour: "bleu"; did you mean blue\?'):
        COLOURS.named("bleu")


CRASHES = {
    "while True: pass": "has not been imported within 0.5 s",
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": "crashes Python .SIGSEGV. when it is imported",
    "import signal; signal.raise_signal(signal.SIGTERM)": "crashes Python .SIGTERM. when it is imported",
    "import ctypes; ctypes.CDLL(None).exit(3)": "ends the process .exit 3. when it is imported",
    "import os; os._exit(3)": r"tried to end its process .os\._exit\(3\). in bad.py, line 1",
    "raise SystemExit(3)": "tried to end its process .exit 3. in bad.py, line 1",
}


IMPORTING = """
import sys
from pathlib import Path
from assay.infra.errors import InputError
from assay.infra.user_code import references
from assay.tasks.attacks.table import ATTACKS

references.IMPORT_SECONDS = 0.5
for folder in sys.argv[1:]:
    try:
        ATTACKS.with_plugins(Path(folder), ["bad.py:HUM"])
        print("imported")
    except InputError as error:
        print(" ".join(str(error).split()))
    sys.modules.pop("bad", None)
"""


def test_a_plug_in_that_takes_its_interpreter_along_is_named(tmp_path: Path) -> None:
    folders = [tmp_path / str(at) for at in range(len(CRASHES))]
    for folder, code in zip(folders, CRASHES, strict=True):
        folder.mkdir()
        (folder / "bad.py").write_text(code + "\n")
    # In a process with a single thread: only of such can a whole copy be made, which imports the plug-in first.
    command = [sys.executable, "-c", IMPORTING, *map(str, folders)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
    for sentence, expected in zip(said, CRASHES.values(), strict=True):
        assert re.search('"bad.py:HUM" ' + expected, sentence)


def test_what_nobody_names_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, SOUNDS.group, "assay_harm", "raise SystemExit", "harm = assay_harm:HARM")
    assert SOUNDS.with_plugins(tmp_path, named={"quiet"}) is SOUNDS
    assert "assay_harm" not in sys.modules
    with pytest.raises(InputError, match="tried to end its process"):
        SOUNDS.with_plugins(tmp_path, named={"harm"})


def test_what_a_plug_in_prints_is_shown_and_not_obeyed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "loud.py").write_text("import sys\nprint('\\x1b[31mred')\nsys.stderr.write('\\x1b]0;title\\x07')\n" + HUM)
    assert "hum" in SOUNDS.with_plugins(folder, ["loud.py:HUM"]).words
    said = capsys.readouterr()
    assert (said.out, said.err) == ("\ufffd[31mred\n", "\ufffd]0;title\ufffd")


def test_settings_in_a_file_that_was_edited_and_imported_again_are_described_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for names in (["first"], ["first", "second"]):
        fields = "".join(f'    {name}: int = 1\n    """The {name}."""\n' for name in names)
        code = f"from assay.infra.settings import Settings\n\nclass Edited(Settings):\n{fields}"
        (tmp_path / "edited_settings.py").write_text(code)
        monkeypatch.delitem(sys.modules, "edited_settings", raising=False)
        importlib.invalidate_caches()
        described = documented_fields(importlib.import_module("edited_settings").Edited)
        assert [field.description for field in described.values()] == [f"The {name}." for name in names]
