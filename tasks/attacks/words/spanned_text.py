"""A text under attack, cut into words by our tokenizer: a word means the same to attacks as to the trust oracle.

TextAttack's own text splits `3.5` in two, searches every word from the left each time, and goes through flair. This one
knows where its words stand, and replaces one of them bit for bit.
"""

from __future__ import annotations

from assay.tasks.attacks.words.bootstrap import textattack

textattack()

from textattack.shared import AttackedText  # noqa: E402

from assay.tasks.language.words import Word, words_of  # noqa: E402
from assay.tasks.subjects.text_model import Encoded  # noqa: E402


class SpannedText(AttackedText):  # type: ignore[misc]
    """A text with the spans of its words; what TextAttack keeps of changes (`attack_attrs`) is kept the same way."""

    def __init__(self, text: str, attack_attrs: dict[str, object] | None = None) -> None:
        """The text; with `attack_attrs` it is one that came of another."""
        self.spans = words_of(text)
        self._as_string, self._listed = text, [word.text for word in self.spans]
        super().__init__(text, attack_attrs)

    @property
    def words(self) -> list[str]:
        """The words in reading order."""
        return self._listed

    @property
    def num_words(self) -> int:
        """How many words it has."""
        return len(self.spans)

    @property
    def text(self) -> str:
        """The text as it is."""
        return self._as_string

    def replace_word_at_index(self, index: int, new_word: str) -> SpannedText:
        """The text with one word replaced, and everything else as it was."""
        word = self.spans[index]
        attrs = {
            "newly_modified_indices": {int(index)},
            "previous_attacked_text": self,
            "modified_indices": self.attack_attrs["modified_indices"] | {int(index)},
            "original_index_map": self.attack_attrs["original_index_map"],
        }
        return SpannedText(self._as_string[: word.start] + new_word + self._as_string[word.end :], attrs)

    def swapped(self, index: int, new_word: str) -> SpannedText | None:
        """The text with one word replaced by another; None where that would not be one word, or join its neighbours."""
        made = self.replace_word_at_index(index, new_word)
        fits = len(made.spans) == len(self.spans) and made.spans[index].text == new_word
        return made if fits else None

    def without_word(self, index: int) -> SpannedText:
        """The text without one word; only for asking what the subject says of it."""
        return self.replace_word_at_index(index, "")

    @property
    def changes(self) -> list[int]:
        """Which words are not those of the text that the attack began with."""
        return sorted(self.attack_attrs["modified_indices"])


def tokens_of_words(words: list[Word], encoded: Encoded) -> list[list[int]]:
    """Per word the places of its tokens among those of the text, found by their characters.

    A word that the tokenizer drops, or that lies beyond what the subject reads, has none.
    """
    found: list[list[int]] = [[] for _ in words]
    at = 0
    for token, (start, end, special) in enumerate(
        zip(encoded.starts.tolist(), encoded.ends.tolist(), encoded.special.tolist(), strict=True)
    ):
        if special or end <= start:
            continue
        while at < len(words) and words[at].end <= start:
            at += 1
        if at < len(words) and words[at].start < end:
            found[at].append(token)
    return found
