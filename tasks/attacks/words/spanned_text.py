"""A text under attack, cut into words by our tokenizer: a word means the same to attacks as to the trust oracle.

TextAttack's own text splits `3.5` in two, searches every word from the left each time, and goes through flair. This one
knows where its words stand, and replaces one of them bit for bit; only the surroundings of a replaced word are cut into
words anew, so that a candidate for a long text costs no more than one for a short text.
"""

from __future__ import annotations

from assay.tasks.attacks.words.bootstrap import textattack

textattack()

from textattack.shared import AttackedText  # noqa: E402

from assay.tasks.language.words import Word, words_of  # noqa: E402
from assay.tasks.subjects.texts.model import Encoded  # noqa: E402

_AROUND = 2  # words on each side that a replaced word could join


class SpannedText(AttackedText):  # type: ignore[misc]
    """A text with the spans of its words; what TextAttack keeps of changes (`attack_attrs`) is kept the same way."""

    def __init__(
        self, text: str, attack_attrs: dict[str, object] | None = None, origin: tuple[SpannedText, int] | None = None
    ) -> None:
        """The text; `origin` is the text that it came of, and which word of that was replaced by one word."""
        self._as_string, self._origin = text, origin
        self._spans = words_of(text) if attack_attrs is None else None
        self.root: SpannedText = self if origin is None else origin[0].root
        super().__init__(text, attack_attrs)

    @property
    def spans(self) -> list[Word]:
        """Where the words stand; found when it is asked for."""
        if self._spans is None:
            self._spans = words_of(self._as_string) if self._origin is None else self._shifted(*self._origin)
        return self._spans

    @property
    def words(self) -> list[str]:
        """The words in reading order."""
        return [word.text for word in self.spans]

    @property
    def num_words(self) -> int:
        """How many words it has: as many as the text that it came of."""
        return len(self.root.spans)

    @property
    def text(self) -> str:
        """The text as it is."""
        return self._as_string

    def word(self, index: int) -> str:
        """One of its words; of a candidate that is asked for its new word, nothing else is looked at."""
        if self._spans is None and self._origin is not None and self._origin[1] == index:
            return self._put_in(*self._origin)
        return self.spans[index].text

    def replace_word_at_index(self, index: int, new_word: str) -> SpannedText:
        """The text with one word replaced by one word, and everything else as it was."""
        word = self.spans[index]
        attrs = {
            "newly_modified_indices": {int(index)},
            "previous_attacked_text": self,
            "modified_indices": self.attack_attrs["modified_indices"] | {int(index)},
            "original_index_map": self.attack_attrs["original_index_map"],
        }
        new_text = self._as_string[: word.start] + new_word + self._as_string[word.end :]
        return SpannedText(new_text, attrs, (self, int(index)))

    def swapped(self, index: int, new_word: str) -> SpannedText | None:
        """The text with one word replaced by another; None where that would not be one word, or join its neighbours."""
        first, last = max(0, index - _AROUND), min(len(self.spans) - 1, index + _AROUND)
        word, start, end = self.spans[index], self.spans[first].start, self.spans[last].end
        before, after = self._as_string[start : word.start], self._as_string[word.end : end]
        actual = [one.text for one in words_of(before + new_word + after)]
        wanted = [one.text for one in words_of(before + word.text + after)]
        wanted[index - first] = new_word
        return self.replace_word_at_index(index, new_word) if actual == wanted else None

    def without_word(self, index: int) -> str:
        """The text without one word; for asking what the subject says of it."""
        word = self.spans[index]
        return self._as_string[: word.start] + self._as_string[word.end :]

    @property
    def changes(self) -> list[int]:
        """Which words are not those of the text that the attack began with."""
        return sorted(self.attack_attrs["modified_indices"])

    def _put_in(self, before: SpannedText, index: int) -> str:
        word = before.spans[index]
        return self._as_string[word.start : word.end + len(self._as_string) - len(before.text)]

    def _shifted(self, before: SpannedText, index: int) -> list[Word]:
        """The spans of the text before, those behind the replaced word further on by what it grew."""
        spans, longer = before.spans, len(self._as_string) - len(before.text)
        new = Word(self._put_in(before, index), spans[index].start, spans[index].end + longer)
        return [
            *spans[:index],
            new,
            *(Word(one.text, one.start + longer, one.end + longer) for one in spans[index + 1 :]),
        ]


def tokens_of_words(words: list[Word], encoded: Encoded) -> list[list[int]]:
    """Per word the places of its tokens among those of the text, found by their characters.

    A word that the tokenizer drops, or that lies beyond what the subject reads, has none.
    """
    places: list[list[int]] = [[] for _ in words]
    at = 0
    for token, (start, end, special) in enumerate(
        zip(encoded.starts.tolist(), encoded.ends.tolist(), encoded.special.tolist(), strict=True)
    ):
        if special or end <= start:
            continue
        while at < len(words) and words[at].end <= start:
            at += 1
        if at < len(words) and words[at].start < end:
            places[at].append(token)
    return places
