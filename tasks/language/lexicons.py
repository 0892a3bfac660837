"""Names of things, grouped by what they name: which terms stand in a sentence, and what else each is called.

Names are compared by their letters and digits, case folded, so that `Non-steroidal` is found in `non - steroidal`,
however the words of a sentence were cut. Only abbreviations (at most four letters, with capitals behind the first)
must be written as the lexicon writes them: `ALL` is a leukaemia, and `all` is not; `SAMe` is a drug, and `same` is
not.

The lexicon of the catalogue has DOID's diseases, DrugBank's substances, and MeSH for what neither knows. A synonym
must name the same concept. DOID says so of its exact synonyms, and DrugBank of those in its vocabulary. A heading of
MeSH also gathers narrower, wider and related terms (`death`: `near-death experience`), so its names are used only
where DOID and DrugBank have none of them. A name that merely adds words to another one is taken for a narrower one
(`chronic hepatitis`, `lithium carbonate`). Whatever is no synonym is still a name that can be found in a sentence, as
a concept by itself.
"""

from __future__ import annotations

import csv
import functools
import gzip
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from operator import attrgetter
from pathlib import Path

from toolz import groupby

from assay.infra.errors import InputError
from assay.infra.user_code.references import read_given_text
from assay.tasks.language.words import normalised

SHIPPED = "terms.tsv"

_HEADER = ["concept", "type", "name"]
_ATOM = re.compile(r"[^\W_]+")
_ABBREVIATION = 4  # letters at most


@dataclass(frozen=True, slots=True)
class Name:
    """One name of one concept, and the kind of thing that it is."""

    concept: str
    kind: str
    text: str


Atoms = tuple[str, ...]


def atoms_of(text: str) -> Atoms:
    """The runs of letters and digits of a text, in the form in which they are compared.

    >>> atoms_of("Non-Steroidal drug's")
    ('non', 'steroidal', 'drug', 's')
    """
    return tuple(normalised(run) for run in _ATOM.findall(text))


def differ_by_plural(name: Atoms, other: Atoms) -> bool:
    """Whether two names are the same, or differ in nothing but the plural of a word.

    >>> differ_by_plural(("stones",), ("stone",)), differ_by_plural(("necrosis",), ("necroses",))
    (True, True)
    >>> differ_by_plural(("seizure",), ("convulsion",))
    False
    """
    return is_plural(name, other) or is_plural(other, name)


def is_plural(name: Atoms, other: Atoms) -> bool:
    """Whether a name is the other one, or its plural.

    >>> is_plural(("renal", "stones"), ("renal", "stone")), is_plural(("neuropathy",), ("neuropathies",))
    (True, False)
    """
    return len(name) == len(other) and all(a == b or a in _plurals(b) for a, b in zip(name, other, strict=True))


@dataclass(frozen=True)
class Lexicon:
    """Names by concept. Two names that differ only in case or punctuation count as one."""

    names: tuple[Name, ...]

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the names."""
        spelt = "\n".join(f"{name.concept}\t{name.kind}\t{name.text}" for name in self.names)
        return hashlib.sha256(spelt.encode()).hexdigest()

    @cached_property
    def _by_atoms(self) -> dict[Atoms, list[Name]]:
        by_atoms = groupby(lambda name: atoms_of(name.text), self.names)
        return {atoms: names for atoms, names in by_atoms.items() if atoms}

    @cached_property
    def _longest(self) -> dict[str, int]:
        """Per first run of a name, how many runs the longest such name has."""
        longest: dict[str, int] = {}
        for atoms in self._by_atoms:
            longest[atoms[0]] = max(longest.get(atoms[0], 0), len(atoms))
        return longest

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of things that it has names of, case folded."""
        return frozenset(name.kind.casefold() for name in self.names)

    @cached_property
    def _by_concept(self) -> dict[str, list[Name]]:
        return dict(groupby(attrgetter("concept"), self.names))

    def names_of(self, text: str) -> tuple[Name, ...]:
        """The entries of the lexicon that a text is a name of; none, one, or several concepts.

        >>> lexicon = Lexicon((Name("c1", "Disease", "heart attack"), Name("c2", "Disease", "ALL")))
        >>> [len(lexicon.names_of(text)) for text in ("Heart-attack", "ALL", "all", "heart")]
        [1, 1, 0, 0]
        """
        return tuple(name for name in self._by_atoms.get(atoms_of(text), ()) if _capitals_agree(name.text, text))

    def synonyms(self, concept: str, text: str) -> list[str]:
        """What else the concept is called: never the text itself, nor its plural, nor a name of other concepts too."""
        own = atoms_of(text)
        texts: dict[Atoms, str] = {}
        for name in self._by_concept.get(concept, ()):
            atoms = atoms_of(name.text)
            shared = any(other.concept != concept for other in self._by_atoms.get(atoms, ()))
            if atoms and not differ_by_plural(atoms, own) and not shared:
                texts.setdefault(atoms, name.text)
        return [texts[atoms] for atoms in sorted(texts)]

    def terms_in(self, words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """The terms in a sentence, longest first at each place, left to right: first word, word after the last, kind.

        >>> lexicon = Lexicon((Name("c1", "Disease", "heart attack"), Name("c1", "Disease", "attack")))
        >>> list(lexicon.terms_in(["a", "Heart", "attack", ",", "one", "attack"]))
        [(1, 3, 'Disease'), (5, 6, 'Disease')]
        """
        atoms = [(atom, at) for at, word in enumerate(words) for atom in atoms_of(word)]
        opens = [place == 0 or atoms[place - 1][1] != at for place, (_, at) in enumerate(atoms)]
        place = 0
        while place < len(atoms):
            length, kind = self._longest_at(words, atoms, opens, place)
            if length:
                yield atoms[place][1], atoms[place + length - 1][1] + 1, kind
            place += max(length, 1)

    def _longest_at(
        self, words: Sequence[str], atoms: Sequence[tuple[str, int]], opens: Sequence[bool], place: int
    ) -> tuple[int, str]:
        """How many runs from this place are the longest name there (0 for none), and its kind."""
        if not opens[place]:
            return 0, ""
        for length in range(min(self._longest.get(atoms[place][0], 0), len(atoms) - place), 0, -1):
            end = place + length
            if end < len(atoms) and not opens[end]:
                continue  # the name would end within a word
            names = self._by_atoms.get(tuple(atom for atom, _ in atoms[place:end]), ())
            text = " ".join(words[atoms[place][1] : atoms[end - 1][1] + 1])
            fitting = [name for name in names if _capitals_agree(name.text, text)]
            if fitting:
                return length, fitting[0].kind
        return 0, ""


def shipped_lexicon() -> Lexicon:
    """The lexicon that comes with Assay: diseases and drugs, with their synonyms."""
    text = resources.files("assay.data").joinpath("lexicons", SHIPPED).read_text(encoding="utf-8")
    return parse_lexicon(text, "the lexicon of Assay")


def read_lexicon(path: Path) -> Lexicon:
    """The lexicon in a file: UTF-8 text (also gzipped), a header, then a concept, a type and a name a line."""
    return parse_lexicon(read_given_text(path, "The lexicon"), str(path))


def parse_lexicon(text: str, called: str) -> Lexicon:
    """The lexicon in a text of lines, tabs between their cells; further columns are left out.

    >>> parse_lexicon("concept\\ttype\\tname\\nc1\\tDisease\\tstroke\\n", "it").names
    (Name(concept='c1', kind='Disease', text='stroke'),)
    """
    lines = text.splitlines()
    if not lines or lines[0].split("\t")[:3] != _HEADER:
        raise InputError(
            f"{called}, line 1: expected the header {', '.join(_HEADER)} with tabs between them, one name a line below."
        )
    names = dict.fromkeys(_names(lines[1:], called))
    if not names:
        raise InputError(f"{called} has no names; expected one a line: concept, type, name, with tabs between them.")
    return Lexicon(tuple(names))


def _names(lines: Iterable[str], called: str) -> Iterator[Name]:
    for number, line in enumerate(lines, 2):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) < 3 or not cells[0] or not atoms_of(cells[2]):
            raise InputError(f"{called}, line {number}: {line.strip()[:80]!r} is not a concept, a type and a name.")
        yield Name(cells[0], cells[1], cells[2])


def _plurals(word: str) -> set[str]:
    """A word in the plural, as it may be formed."""
    irregular = {word[:-1] + "ies"} if word.endswith("y") else {word[:-2] + "es"} if word.endswith("is") else set()
    return {f"{word}s", f"{word}es"} | irregular


def _capitals_agree(name: str, text: str) -> bool:
    """Whether a text with the letters of this name is this name: abbreviations keep their capitals."""
    letters = [letter for letter in name if letter.isalpha()]
    if len(letters) <= _ABBREVIATION and (name.isupper() or any(letter.isupper() for letter in letters[1:])):
        return "".join(_ATOM.findall(text)) == "".join(_ATOM.findall(name))
    return True


CATALOGUE = "disease-chemical-synonyms"
"""What the catalogue calls the lists."""

DISEASE, CHEMICAL = "Disease", "Chemical"
_LONGEST = 40  # letters and signs of a synonym; longer ones are formulas
_ENDINGS = re.compile(r"(?:um|us|[aeio])?$")
_SPELT = (("ph", "f"), ("h", ""), ("y", "i"), ("k", "c"), ("z", "c"), ("ae", "e"), ("oe", "e"), ("ss", "s"))
_LETTERS = 4  # a name of MeSH has at least so many: without its capitals `all` is no leukaemia


def catalogue_lexicon() -> Lexicon:
    """The diseases and chemicals of the catalogue's lists with their synonyms."""
    from assay.data.catalog import located

    return lexicon_in(located(CATALOGUE).folder)


@functools.lru_cache(maxsize=1)
def lexicon_in(folder: Path) -> Lexicon:
    """The lexicon out of the three lists in a folder; several attacks of a run share it."""
    covered, sure = set[str](), list[Name]()
    for row in _rows(folder / "doid_terms.tsv.gz"):
        covered |= set(_parts(row["mesh_xrefs"]))
        diseases = _writable_names(row["doid"], DISEASE, [row["name"], *_parts(row["exact_synonyms"])])
        sure += _with_own_concepts(diseases, diseases[:1])
    for row in _rows(folder / "drugbank_vocabulary.tsv.gz"):
        names = [row["name"], *_parts(row["synonyms"])]
        written = [_in_a_sentence(name) for name in dict.fromkeys(names) if not _foreign(name, row["name"])]
        substances = _writable_names(row["drugbank_id"], CHEMICAL, written)
        sure += _with_own_concepts(substances, substances)
    known = {atoms_of(name.text) for name in sure}
    for (heading, kind), rows in groupby(["mesh_id", "kind"], _rows(folder / "mesh_terms.tsv.gz")).items():
        terms = _writable_names(heading, kind.capitalize(), [row["term"] for row in rows])
        gathered = [name for name in terms if sum(map(str.isalpha, name.text)) >= _LETTERS]
        taken = heading in covered or any(atoms_of(name.text) in known for name in gathered)
        apart = [_own_concept(name) for name in gathered] if taken else _with_own_concepts(gathered, gathered)
        sure += [name for name in apart if atoms_of(name.text) not in known]
    return Lexicon(tuple(dict.fromkeys(sure)))


def _writable_names(concept: str, kind: str, names: Iterable[str]) -> list[Name]:
    """The names that somebody may write in a sentence: no index forms (`acid, acetylsalicylic`), brackets or brands."""
    return [
        Name(concept, kind, name)
        for name in map(str.strip, names)
        if not _symbol(name)
        and ", " not in name
        and not set("()[]{}") & set(name)
        and "brand of" not in name.casefold()
    ]


def _symbol(name: str) -> bool:
    """Whether a name is too short to be told from other things: `K`, `Al`, `Met`.

    >>> [_symbol(name) for name in ("K", "Met", "HTN", "flu", "")]
    [True, True, False, False, True]
    """
    letters = [letter for letter in name if letter.isalpha()]
    return len(letters) < 3 or (len(letters) == 3 and not (name.isupper() or name.islower()))


def _with_own_concepts(names: list[Name], others: list[Name]) -> list[Name]:
    """The names, each that adds words to one of the others as a concept by itself: `lithium carbonate` is one salt of
    lithium, and `benign neoplasm` one kind of neoplasm. So are plurals of the others, and formulas."""
    atoms = {atoms_of(name.text) for name in others}
    return [
        _own_concept(name)
        if len(name.text) > _LONGEST or any(_is_more_specific(atoms_of(name.text), other) for other in atoms)
        else name
        for name in names
    ]


def _is_more_specific(name: Atoms, other: Atoms) -> bool:
    """Whether a name is another's plural, or has all its words, in the plural or another spelling or not, and more."""
    adds = len(other) < len(name) and all(any(_same(word, own) for own in name) for word in other)
    return adds or (name != other and is_plural(name, other))


def _same(word: str, other: str) -> bool:
    return differ_by_plural((word,), (other,)) or _common_spelling(word) == _common_spelling(other)


def _own_concept(name: Name) -> Name:
    return Name(f"{name.concept}/{name.text}", name.kind, name.text)


def _in_a_sentence(name: str) -> str:
    """A name of DrugBank, all of which begin with a capital, as it stands within a sentence.

    >>> [_in_a_sentence(name) for name in ("Acetylsalicylic acid", "PEG-IFN alfa-2A", "Peyrone's Chloride", "Fe")]
    ['acetylsalicylic acid', 'PEG-IFN alfa-2A', "Peyrone's Chloride", 'Fe']
    """
    common = len(name) > 3 and name[0].isupper() and name[1:].islower()
    return name[0].lower() + name[1:] if common else name


def _foreign(name: str, own: str) -> bool:
    """Whether a name is the substance's own name in another language: by its letters, its spelling or its ending.

    >>> [_foreign(*pair) for pair in (("Cétuximab", "Cetuximab"), ("Metadona", "Methadone"), ("ASA", "Aspirin"))]
    [True, True, False]
    """
    return not name.isascii() or (name.casefold() != own.casefold() and _common_spelling(name) == _common_spelling(own))


@functools.lru_cache(maxsize=200_000)
def _common_spelling(name: str) -> str:
    """A name as far as languages agree on it."""
    plain = name.casefold()
    for letters, other in _SPELT:
        plain = plain.replace(letters, other)
    return _ENDINGS.sub("", plain, count=1)


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split("|") if part.strip()]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        lines = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as fault:
        raise InputError(f"{path} cannot be read ({fault}); `assay data get {CATALOGUE}` brings it anew.") from fault
    yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
