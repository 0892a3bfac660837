"""The lexicon out of the catalogue's lists: DOID's diseases, DrugBank's substances, and MeSH for what neither knows.

A synonym must name the same concept. DOID says so of its exact synonyms, and DrugBank of those in its vocabulary. A
heading of MeSH also gathers narrower, wider and related terms (`death`: `near-death experience`), so its names are used
only where DOID and DrugBank have none of them. A name that merely adds words to another one is taken for a narrower one
(`chronic hepatitis`, `lithium carbonate`). Whatever is no synonym is still a name that can be found in a sentence, as a
concept by itself.
"""

from __future__ import annotations

import csv
import functools
import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from assay.infra.errors import InputError
from assay.tasks.language.lexicons import Atoms, Lexicon, Name, atoms_of, differ_by_plural, is_plural

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
        written = [_in_a_sentence(one) for one in dict.fromkeys(names) if not _foreign(one, row["name"])]
        substances = _writable_names(row["drugbank_id"], CHEMICAL, written)
        sure += _with_own_concepts(substances, substances)
    known = {atoms_of(one.text) for one in sure}
    headings: dict[tuple[str, str], list[str]] = {}
    for row in _rows(folder / "mesh_terms.tsv.gz"):
        headings.setdefault((row["mesh_id"], row["kind"].capitalize()), []).append(row["term"])
    for (heading, kind), terms in headings.items():
        gathered = [one for one in _writable_names(heading, kind, terms) if sum(map(str.isalpha, one.text)) >= _LETTERS]
        taken = heading in covered or any(atoms_of(one.text) in known for one in gathered)
        apart = [_own_concept(one) for one in gathered] if taken else _with_own_concepts(gathered, gathered)
        sure += [one for one in apart if atoms_of(one.text) not in known]
    return Lexicon(tuple(dict.fromkeys(sure)))


def _writable_names(concept: str, kind: str, names: Iterable[str]) -> list[Name]:
    """The names that somebody may write in a sentence: no index forms (`acid, acetylsalicylic`), brackets or brands."""
    return [
        Name(concept, kind, one)
        for one in map(str.strip, names)
        if not _symbol(one) and ", " not in one and not set("()[]{}") & set(one) and "brand of" not in one.casefold()
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
    atoms = {atoms_of(one.text) for one in others}
    return [
        _own_concept(one) if len(one.text) > _LONGEST or _is_more_specific(atoms_of(one.text), atoms) else one
        for one in names
    ]


def _is_more_specific(name: Atoms, others: set[Atoms]) -> bool:
    return any(_adds(name, other) or (name != other and is_plural(name, other)) for other in others)


def _adds(name: Atoms, other: Atoms) -> bool:
    """Whether a name has every word of another, in the plural or another spelling or not, and more."""
    return len(other) < len(name) and all(any(_same(word, mine) for mine in name) for word in other)


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
    return [one.strip() for one in cell.split("|") if one.strip()]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        lines = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as fault:
        raise InputError(f"{path} cannot be read ({fault}); `assay data get {CATALOGUE}` brings it anew.") from fault
    yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
