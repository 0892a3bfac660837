import pickle
import pkgutil
import subprocess
import sys
import textwrap

import pyarrow as pa
import pytest
from stage_lock import LOCK, read_lock

from assay.infra.errors import InputError
from assay.tasks.labeling import rulebooks
from assay.tasks.labeling.rulebook_source import _OURS, refer_to_rulebook
from assay.tasks.labeling.voting import apply_rules

SAMPLES = pa.table({"id": ["a", "b"], "text": ["see http://x", "hello"]})

SMALLEST = """
    CLASSES = ("ham", "spam")
    def has_link(x): return 1 if "http" in x.text else -1
    RULES = [has_link]
"""


def write(folder, **modules):
    for name, source in modules.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))


def votes(reference):
    return apply_rules(SAMPLES, reference.load())[0].drop_columns(["id"]).to_pydict()


def test_a_file_of_three_lines_is_a_rulebook(tmp_path):
    write(tmp_path, rules=SMALLEST)
    reference = refer_to_rulebook("rules.py", beside=tmp_path)
    assert votes(reference) == {"has_link": [1, -1]}
    assert reference.load().classes == ("ham", "spam")


def test_decorated_functions_need_no_list_and_keep_their_order(tmp_path):
    write(
        tmp_path,
        rules="""
        import numpy as np
        from snorkel.labeling import labeling_function
        from assay.tasks.labeling.rules import column_rule, sample_rule
        CLASSES = "ham", "spam"
        @sample_rule
        def link(x): return 1 if "http" in x.text else -1
        @column_rule
        def short(samples): return np.where(samples["text"].str.len() < 8, 0, -1)
        @labeling_function()
        def greets(x): return 0 if "hello" in x.text else -1
        """,
    )
    assert votes(refer_to_rulebook("rules.py", beside=tmp_path)) == {
        "link": [1, -1],
        "short": [-1, 0],
        "greets": [-1, 0],
    }


def test_an_object_of_a_file_is_named_after_a_colon(tmp_path):
    write(tmp_path, rules=SMALLEST + "\n    FEWER = RULES[:1]\n")
    assert refer_to_rulebook("rules.py:FEWER", beside=tmp_path).load().names == ("has_link",)
    with pytest.raises(InputError, match=r'"rules.py:FEWR" hold no object named \'FEWR\'; did you mean FEWER\?'):
        refer_to_rulebook("rules.py:FEWR", beside=tmp_path)


def test_a_module_with_an_object_is_imported(tmp_path, monkeypatch):
    write(tmp_path, some_house_rules=SMALLEST, house__words="HTTP = 'http'")
    monkeypatch.syspath_prepend(str(tmp_path))
    reference = refer_to_rulebook("some_house_rules:RULES")
    assert votes(reference) == {"has_link": [1, -1]}
    assert not reference.code.shipped


def test_rules_travel_with_the_modules_beside_them(tmp_path):
    write(
        tmp_path,
        rules="""
        from words import LINKS
        CLASSES = ("ham", "spam")
        def has_link(x):
            from lists.more import SURE
            return SURE if any(word in x.text for word in LINKS) else -1
        RULES = [has_link]
        """,
        words="LINKS = ['http']",
        lists__more="SURE = 1",
        unrelated="raise RuntimeError('nobody imports me')",
    )
    reference = refer_to_rulebook("rules.py", beside=tmp_path)
    assert [name for name, _ in reference.code.sources] == ["lists.more", "rules", "words"]
    parcel = tmp_path / "parcel"
    parcel.write_bytes(pickle.dumps(reference))
    for name in ("rules.py", "words.py", "lists/more.py"):
        (tmp_path / name).unlink()
    program = f"""
import pickle, pyarrow as pa
from assay.tasks.labeling.voting import apply_rules
reference = pickle.load(open({str(parcel)!r}, "rb"))
table = pa.table({{"id": ["a", "b"], "text": ["see http://x", "hello"]}})
print(apply_rules(table, reference.load()))
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "has_link: [[1,-1]]" in said.stdout
    assert said.stdout.endswith("{})\n")


def test_two_files_may_have_neighbours_of_the_same_name(tmp_path):
    rules = """
        from __future__ import annotations
        from dataclasses import dataclass
        import lists.more
        CLASSES = ("ham", "spam")
        @dataclass
        class Word:
            text: str
        def early(x): return lists.more.VOTE
        def late(x):
            from lists import more
            return more.VOTE
        RULES = [early, late]
    """
    write(tmp_path / "one", rules=rules, lists__more="VOTE = 0")
    write(tmp_path / "two", rules=rules, lists__more="VOTE = 1")
    one, two = (refer_to_rulebook("rules.py", beside=tmp_path / folder) for folder in ("one", "two"))
    assert votes(one) == {"early": [0, 0], "late": [0, 0]}
    assert votes(two) == {"early": [1, 1], "late": [1, 1]}


def test_a_neighbour_does_not_hide_an_installed_module_for_good(tmp_path):
    import json

    write(tmp_path, rules=SMALLEST.replace("RULES", "import json; json.VOTE\n    RULES"), json="VOTE = 1")
    refer_to_rulebook("rules.py", beside=tmp_path)
    assert sys.modules["json"] is json
    assert json.loads("[1]") == [1]


def test_the_fingerprint_is_that_of_the_code_and_nothing_else(tmp_path):
    rules = "import words\n" + textwrap.dedent(SMALLEST)
    for folder in ("one", "two"):
        write(tmp_path / folder, rules=rules, words="A = 1", unrelated=f"name = '{folder}'")
    one = refer_to_rulebook("rules.py", beside=tmp_path / "one")
    assert one.fingerprint == refer_to_rulebook("rules.py", beside=tmp_path / "two").fingerprint
    write(tmp_path / "two", words="A = 2")
    assert one.fingerprint != refer_to_rulebook("rules.py", beside=tmp_path / "two").fingerprint
    assert one.fingerprint != refer_to_rulebook("rules.py:RULES", beside=tmp_path / "one").fingerprint


def test_our_rulebooks_have_a_declared_fingerprint_each_so_that_moving_our_code_makes_nobody_vote_again():
    names = [module.name for module in pkgutil.iter_modules(rulebooks.__path__)]
    prints = {name: refer_to_rulebook(name.replace("_", "-")).fingerprint for name in names}
    assert prints == _OURS
    assert len(set(prints.values())) == len(names)
    locked = read_lock(LOCK)
    assert {f"RULEBOOKS: {name}" for name in names} <= locked.keys()


def test_relative_imports_count_as_imports(tmp_path, monkeypatch):
    write(
        tmp_path,
        pack_of_rules____init__="",
        pack_of_rules__words="SPAM = 1",
        pack_of_rules__deep____init__="",
        pack_of_rules__deep__rules="""
        from ..words import SPAM
        from .. import classes
        CLASSES = classes.CLASSES
        def always(x): return SPAM
        """,
        pack_of_rules__classes='CLASSES = ("ham", "spam")',
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path, pack_of_rules__deep__book="from .rules import CLASSES, always\nRULES = [always]")
    sources = dict(refer_to_rulebook("pack_of_rules.deep.book").code.sources)
    assert {"pack_of_rules.words", "pack_of_rules.classes", "pack_of_rules.deep.rules"} <= set(sources)


@pytest.mark.parametrize(
    ("functions", "source", "complaint"),
    [
        (
            "rules.py",
            "import no_such_module_anywhere",
            r"does not import: ModuleNotFoundError: No module named.*line 1",
        ),
        (
            "rules.py",
            "CLASSES = 1\n1 / 0",
            r'"rules.py" does not import: ZeroDivisionError: division by zero \(line 2\)',
        ),
        ("rules.py", "CLASSES = (", "is not Python: .* in line 1"),
        ("rules.py", "def f(x): return 1\nRULES = [f]", "do not say which classes"),
        ("rules.py", "CLASSES = ('a', 'b')", "holds no labelling function"),
        ("rules.py:CLASSES2", "CLASSES2 = 3", "names a int, expected a Rulebook or a list of rules"),
        ("absent.py", "", "There is no file .*absent.py"),
        ("no_such_module_anywhere:RULES", "", 'There is no module "no_such_module_anywhere"'),
        ("brest-cancer", "", r'no rulebook "brest-cancer" .*; did you mean breast-cancer\?'),
        ("zzz", "", 'no rulebook "zzz" .*; known here: alarms, breast-cancer, lesions, reviews, youtube-spam'),
    ],
)
def test_rules_that_cannot_be_had_are_explained_in_one_sentence(tmp_path, functions, source, complaint):
    (tmp_path / "rules.py").write_text(source)
    with pytest.raises(InputError, match=complaint) as caught:
        refer_to_rulebook(functions, beside=tmp_path)
    assert "\n" not in str(caught.value)
