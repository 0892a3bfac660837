"""The parts of speech a word can have, by lemminflect's dictionary of English."""

from __future__ import annotations

import functools

from assay.tasks.language.words import normalised


@functools.lru_cache(maxsize=65_536)
def parts_of_speech(word: str) -> frozenset[str]:
    """All universal parts of speech that a word can have; none where the dictionary does not know it.

    >>> sorted(parts_of_speech("Films")), sorted(parts_of_speech("dull")), parts_of_speech("xyzzing")
    (['NOUN', 'VERB'], ['ADJ', 'VERB'], frozenset())
    """
    from lemminflect import getAllLemmas

    return frozenset(getAllLemmas(normalised(word)))


def could_be_alike(word: str, other: str) -> bool:
    """Whether two words can be the same part of speech: a word that nobody knows is like no other.

    >>> could_be_alike("film", "movie"), could_be_alike("film", "quickly"), could_be_alike("xyzzing", "film")
    (True, False, False)
    """
    return bool(parts_of_speech(word) & parts_of_speech(other))
