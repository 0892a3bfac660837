import numpy as np
import pyarrow as pa
import pytest

from assay.infra.errors import InputError
from assay.tasks.labeling.rules import ABSTAIN, ColumnRule, Rulebook, as_arrow, column_rule, sample_rule

CLASSES = ("no", "yes")


def has_link(x):
    return 1 if "http" in x.text else ABSTAIN


def test_rules_bear_the_names_of_their_functions():
    @column_rule
    def by_column(samples):
        return samples["text"].str.len()

    book = Rulebook("book", CLASSES, [by_column, has_link, ColumnRule("named", np.zeros_like)])
    assert book.names == ("by_column", "has_link", "named")


def test_a_snorkel_function_enters_under_its_own_name():
    from snorkel.labeling import LabelingFunction

    assert Rulebook("book", CLASSES, [LabelingFunction("links", f=has_link)]).names == ("links",)


def test_a_column_rule_may_ask_for_arrow():
    @column_rule(frame=as_arrow)
    def rows(table):
        return np.zeros(table.num_rows, np.int8)

    assert rows.frame(pa.table({"id": ["a"]})).num_rows == 1


@pytest.mark.parametrize(
    ("classes", "rules", "complaint"),
    [
        (CLASSES, [], "holds no labelling function"),
        (("only",), [has_link], "names 1 classes"),
        ("ham", [has_link], "names 1 classes"),
        (CLASSES, [has_link, sample_rule(has_link)], "several labelling functions named 'has_link'"),
        (("a", "a"), [has_link], "several classes named 'a'"),
        (CLASSES, [lambda x: 0], "named '<lambda>'"),
        (CLASSES, [ColumnRule("id", len)], "named 'id'"),
        (CLASSES, [has_link, 7], "Entry 2 of the rulebook book is 7"),
    ],
)
def test_a_rulebook_that_cannot_vote_is_refused_at_the_door(classes, rules, complaint):
    with pytest.raises(InputError, match=complaint):
        Rulebook("book", classes, rules)
