"""Eleven rules on comments under music videos: those that want something are spam, those about the music are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.tasks.labeling.rules import ABSTAIN, ColumnRule, Rulebook

if TYPE_CHECKING:
    import pandas as pd

HAM, SPAM = 0, 1


def says(name: str, pattern: str, vote: int) -> ColumnRule[pd.DataFrame]:
    """The rule that votes where a comment matches a regular expression, whatever the case."""

    def search(comments: pd.DataFrame) -> object:
        return np.where(comments["text"].str.contains(pattern, case=False, regex=True, na=False), vote, ABSTAIN)

    return ColumnRule(name, search)


def is_short(comments: pd.DataFrame) -> object:
    """Ham where a comment has fewer than 35 characters: who wants something needs more."""
    return np.where(comments["text"].str.len() < 35, HAM, ABSTAIN)


def is_long(comments: pd.DataFrame) -> object:
    """Spam where a comment has more than 160 characters: who likes a song says so in fewer."""
    return np.where(comments["text"].str.len() > 160, SPAM, ABSTAIN)


RULEBOOK = Rulebook(
    "youtube-spam",
    ("ham", "spam"),
    [
        says("check_out", "check (?:it |this |me |us |my |him |her )?.{0,12}out", SPAM),
        says("subscribe", "subscri|sub me|sub 4|sub back", SPAM),
        says("link", r"https?:|www\.|\.com|youtu\.be", SPAM),
        says("please", r"\b(?:please|plz|pls)\b", SPAM),
        says("my_own", r"\bmy (?:new |first |own )?(?:channel|video|vid|song|music|page|cover|remix)", SPAM),
        says("asks_for_clicks", r"\b(?:follow|vote|share|click|visit|sign up|thumbs up)\b", SPAM),
        says("money", r"\$|\b(?:money|free|earn|cash|win)\b", SPAM),
        ColumnRule("long", is_long),
        ColumnRule("short", is_short),
        says("the_music", r"\b(?:song|songs|lyrics|beat|voice|dance|video clip|listening)\b", HAM),
        says("likes_it", r"\b(?:love|loved|best|awesome|amazing|beautiful|great|miss)\b", HAM),
    ],
)
