"""Strings are text, markup is markup, and nothing in between."""

from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.reporting.markup import Markup, join, tag, text


@given(st.text())
def test_printable_text_comes_back_as_the_same_words(words):
    if words.isprintable():
        assert unescape(tag("p", words)) == f"<p>{words}</p>"


@given(st.text(), st.text())
def test_no_text_opens_a_tag_or_leaves_its_attribute(words, value):
    page = tag("p", words, title=value)
    assert page.count("<") == 2
    assert page.count('"') == 2


def test_attributes_that_are_off_are_left_out():
    assert tag("input", hidden=False, class_=None, checked=True) == "<input checked>"


def test_name_may_be_an_attribute():
    assert tag("meta", name="viewport") == '<meta name="viewport">'


def test_joined_strings_are_escaped_and_so_is_what_stands_between():
    assert join(["<", Markup("<b></b>")], between="&") == "&lt;&amp;<b></b>"


def test_text_is_escaped_once():
    assert text(text("&")) == "&amp;"
