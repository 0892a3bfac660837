"""Which of the broken inputs are rightly accepted, each kind with the reason and with what has to be said of it.

A kind that is accepted and is not named here fails the test: then either the input is to be refused, or what is odd
about it is to be said at the head of the run, or the reason why it is right belongs here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

REJECTED = r"[1-9]\d* rejected"
SAID_TO_VOTE = r"No vote of .* is -1"
NEVER = r"\d never votes? \("


class Accepted(NamedTuple):
    """Kinds of input (a pattern that the whole kind matches), why they are accepted, and what the run says of them."""

    kind: str
    why: str
    said: str = ""


ACCEPTED = (
    # text files
    Accepted(r"damaged_text: \w+, (CRLF|CR|a byte order mark|blank lines)", "the same text in another spelling"),
    Accepted(r"damaged_text: \w+, (escapes|a quote|noise)", "letters that a text may have; shown escaped"),
    Accepted(r"damaged_text: \w+, cut", "cut between two rows nobody can see it; cut within one, that row is rejected"),
    Accepted(r"damaged_text: jsonl, a carriage return", "white space between two fields"),
    Accepted(r"damaged_text: iob, NULs", "in a word, which may hold any letter; shown escaped"),
    Accepted(
        r"damaged_text: \w+, (NULs|a byte order mark within|a carriage return|a row of delimiters|an endless line)"
        r"(, .*)?",
        "one row in sixty, which max_rejects allows",
        REJECTED,
    ),
    Accepted(r"damaged_text: iob, header only", "it has none: its first line is a sentence"),
    Accepted(r"damaged_text: iob, twice", "sentences have no ids of their own"),
    Accepted(r"packed_text: \w+, (gz|bz2|xz|zip)", "nothing is wrong with it"),
    Accepted(
        r"packed_text: \w+, zip, (twice|noise|an endless line)",
        "its end says where data lies; times and rights are not read",
    ),
    Accepted(r"packed_text: \w+, (gz|bz2|xz), twice", "packed files may be put one behind the other"),
    Accepted(r"packed_text: \w+, (gz|bz2|xz), (CRLF|CR)", "packed bytes in which no line ended"),
    Accepted(
        r'odd_json: (1|null|"x"|\[\]|\{\}|\{|\[+|\{"a".*|\{"c0".*|\{"id": (1e999|NaN|"\\ud800|\{).*|\{"id": "z", "id".*'
        r'|\{"id": "z", "(x|label)": [\["{2].*)',
        "one row in sixty, which max_rejects allows",
        REJECTED,
    ),
    Accepted(r'odd_json: \{"id": "z", "label": tru', "one row in sixty, or a class of its own", REJECTED),
    Accepted(r'odd_json: \{"id": "z", "x": 9+', "too large for a number, so infinite; subjects that read it refuse it"),
    Accepted(r'odd_json: \{"id": "\\u0000".*', "an id may be any text; shown escaped"),
    Accepted(r'odd_json: \{"(?!id"|a"|c0").*', "a row may have a field of its own, of any name; shown escaped"),
    Accepted(r"odd_header:  id ,x,y,text, label , ,", "names are trimmed"),
    # values
    Accepted(r"odd_values: id, .*", "an id may be any text; shown escaped"),
    Accepted(r"odd_values: text, .*", "a text may be any text; shown escaped"),
    Accepted(r"odd_values: label, ( ?|nan|-1), \w+", "no gold label: the sample has none"),
    Accepted(r"odd_values: label, .*", "a class, if several samples have it; of one that is alone it is said"),
    Accepted(
        r"odd_values: x, ( ?|nan|-1|0|1\.5|1e400|9+|-9\d+|99999999), \w+", "a number, a missing or an infinite one"
    ),
    Accepted(r"odd_values: x, .*, csv", "text in place of numbers; where most are numbers it is said"),
    Accepted(r"odd_values: x, .*, jsonl", "rows of another type are rejected; where all are text, it is text"),
    Accepted(
        r"extreme_numbers: \S+, [xy], \d+, \w+, (predict|scorer)",
        "a function reads its columns itself, and a scorer reads none of them",
    ),
    Accepted(r"extreme_numbers: \S+, score, \d+, \w+, (predict|module)", "a column that these do not read"),
    Accepted(
        r"extreme_numbers: (5e-324|-3\.4028234663852886e\+38), .*", "single precision holds it, or takes it for 0"
    ),
    Accepted(r"odd_votes: \[(None, 1|-1, 0, 1|-2, 0|-1, 0, 5000)\], .*", "votes"),
    Accepted(r"odd_votes: \[(0, 1, 2|1, 1|0)\], .*, classes given", "what 0 means was said, so nobody abstains"),
    Accepted(r"odd_votes: \[(0, 1, 2|1, 1|0)\], .*", "functions that always vote", SAID_TO_VOTE),
    Accepted(r"odd_votes: \[-1, -1\], .*", "another column votes, and it is said which never do", NEVER),
    # Parquet
    Accepted(r"damaged_parquet: .*, 60", "whole, and a column may have any name; shown escaped"),
    Accepted(r"damaged_parquet: .*, 60, (NULs|noise)", "bytes that nobody reads, or that have no checksum"),
    Accepted(r"damaged_parquet: .*, 60, twice", "the end of a Parquet file says where its data lies"),
    Accepted(
        r"odd_parquet: (interval|empty struct|list of maps|map|deep|zone|.*), (x|text|tokens)", "no stage reads it"
    ),
    Accepted(r"odd_parquet: (interval|empty struct), \w+", "Parquet cannot hold it, so it is not there"),
    Accepted(r"odd_parquet: dictionary( of numbers)?, \w+", "the same values, stored otherwise"),
    Accepted(
        r"odd_parquet: (time|date|date64|duration|decimal|decimal256|half|uint64|nan|infinite|bool|null|large|far \w+"
        r"|no text|zone), (split|group)",
        "values by which samples can be parted",
    ),
    Accepted(r"odd_parquet: infinite, label", "a class called inf; of one that is alone it is said"),
    Accepted(r"odd_parquet: (decimal|decimal256|half|uint64|nan|bool), score", "numbers"),
    Accepted(r"odd_parquet: (half|uint64|large|decimal|bool|nan), (id|label|predicted)", "the same values otherwise"),
    # images
    Accepted(r"odd_arrays: \[\[0, 255\], \[7, 8\]\], None", "an image", r"2 x 2 pixels"),
    Accepted(
        r"odd_arrays: \[1, 2, 3\], (None|\[3, 1, 1\])",
        "one pixel of three channels, or three pixels, which is said",
        r"1 x [13] pix",
    ),
    Accepted(r"odd_arrays: \[0, 0, .*, (None|\[4, 4\])", "sixteen numbers are a square", r"4 x 4 pixels"),
    Accepted(r"odd_images: .*None, (0\.0|0\.05|1\.0)", "images of one size; what is none is rejected", r"\d pixels"),
    Accepted(r"odd_images: .*\{'(size|channels)': \d+\}, (0\.0|0\.05|1\.0)", "brought to one form", r"\d pixels"),
    # answers, databases, lakes, scans, models
    Accepted(r"odd_answers: .*", "what Label Studio may have written; what it may not is refused by its task"),
    Accepted(r"odd_databases: .*", "rows, whatever their columns are called"),
    Accepted(r"odd_lakes: mutated, .*", "what is changed says nothing of the files of the latest version"),
    Accepted(r"odd_lakes: deep value", "the line that is deep says nothing of the table"),
    Accepted(r"odd_dicom: .*", "a tag that does not change what is seen, or scans that are rejected", r"\d rejected"),
    Accepted(r"odd_nifti: .*", "slices, or volumes that are rejected", r"\d rejected"),
    Accepted(r"odd_bombs: gz", "two million rows, and nothing wrong with them"),
    Accepted(r"odd_graphs: (whole|damaged|much memory|text)", "it answers with probabilities"),
    Accepted(r"odd_plugins: (print|import sys; sys\.stderr).*", "what its own code prints is its own"),
    Accepted(r"odd_patterns: .*", "it finds, or does not find, what it looks for"),
    Accepted(r"odd_services: mutated, .*", "probabilities, in spite of the change"),
    Accepted(r"odd_talk: .*", "an answer that names no class is none, and counts as wrong"),
    # settings
    Accepted(r"odd_yaml: .*", "the same settings, as YAML may write them"),
    Accepted(r"odd_settings: .*", "the setting allows the value"),
    Accepted(r"odd_options: compute\.engine=serial", "it is one"),
)


def unexpected(answers: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the projects that were run to their end, those that nobody said should be, or that went without a word."""
    return [one for one in answers if one["code"] in (0, 1) and not _is_expected(one)]


def _is_expected(answer: dict[str, Any]) -> bool:
    kind = answer["what"].partition(" --set ")[0]
    return any(re.fullmatch(one.kind, kind) and re.search(one.said, answer["said"]) for one in ACCEPTED)
