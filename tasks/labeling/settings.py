"""What a pipeline says about its labelling functions: a rulebook that somebody programmed, or rules written down.

A written rule is a threshold, keywords or a regular expression, and the class that it votes for.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from assay.infra.settings import Settings, StandsOn
from assay.tasks.subjects.addresses.chat import form_at
from assay.tasks.subjects.addresses.given import Asking

Measure = Literal["brightness", "contrast", "colourfulness", "edges"]
"""What can be measured of a picture as it is."""


def _class_name(value: object) -> object:
    """A class as it is called: YAML reads `1` as a number and `true` as a truth value."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


ClassName = Annotated[str, BeforeValidator(_class_name), Field(min_length=1)]


class When(Settings):
    """What has to hold of a sample: bounds on a column or on a measure of its picture, or one value of a column."""

    column: str | None = Field(default=None, min_length=1, examples=["worst_radius"])
    """The column that is looked at; a rule abstains where the value is missing."""

    picture: Measure | None = Field(default=None, examples=["brightness"])
    """Instead, a measure of the picture, from 0 to 1: its mean (`brightness`), the spread of its values (`contrast`),
    how far its channels (`colourfulness`) or neighbouring pixels (`edges`) lie apart."""

    above: float | None = Field(default=None, examples=["16.8"])
    """The value lies above this."""

    below: float | None = Field(default=None, examples=["10"])
    """The value lies below this."""

    equals: bool | int | float | str | None = Field(default=None, examples=["smoker"])
    """The column says exactly this."""

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if (self.column is None) == (self.picture is None):
            raise ValueError("looks at a column or at the picture: give exactly one of column and picture")
        bounded = self.above is not None or self.below is not None
        if bounded == (self.equals is not None):
            raise ValueError("asks for bounds or for one value: give above, below or both, or equals")
        if self.equals is not None and self.picture is not None:
            raise ValueError("a measure of a picture has bounds: give above or below in place of equals")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise ValueError(f"holds of nothing: above {self.above:g} and below {self.below:g} leave no value")
        return self

    @property
    def called(self) -> str:
        """The condition in words that can name a rule.

        >>> When(column="worst radius", above=16.8).called
        'worst radius above 16.8'
        """
        bounds = [f"above {self.above:g}" if self.above is not None else ""]
        bounds += [f"below {self.below:g}" if self.below is not None else ""]
        bounds += [f"is {_class_name(self.equals)}" if self.equals is not None else ""]
        return " ".join([str(self.column or self.picture), *filter(None, bounds)])


LONGEST_NAME = 80
_OF_TEXTS = ("keywords", "pattern", "prompt")


class WrittenRule(Settings, populate_by_name=True):
    """One rule: `when`, `all`, `keywords`, `pattern` or `prompt`, and the class that it votes for where that holds."""

    name: str = Field(default="", max_length=LONGEST_NAME, examples=["big"])
    """What the rule is called; left out, after what it asks."""

    when: When | None = Field(default=None, examples=["{column: worst_radius, above: 16.8}"])
    """Bounds on a column or on the picture, or one value of a column."""

    all_: tuple[When, ...] | None = Field(
        default=None,
        alias="all",
        min_length=2,
        exclude_if=lambda conditions: conditions is None,
        examples=["[{column: lactate, above: 2}, {column: heart_rate, above: 90}]"],
    )
    """Several such conditions, all of which have to hold."""

    keywords: tuple[Annotated[str, Field(min_length=1)], ...] | None = Field(
        default=None, min_length=1, examples=["[subscribe, check out]"]
    )
    """Whole words or phrases, any of which will do, in whatever case."""

    pattern: str | None = Field(default=None, min_length=1, examples=['"https?://"'])
    """A regular expression (Python's), in whatever case."""

    unless: str | None = Field(default=None, min_length=1, examples=['"not good"'])
    """A regular expression that must not be found."""

    prompt: str | None = Field(
        default=None, min_length=1, exclude_if=lambda prompt: prompt is None, examples=['"Is this an advert? {text}"']
    )
    """What a model is asked (see `asking`), `{text}` where the text belongs. The rule votes where it says `yes`, or the
    class."""

    abstain: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=("no",), min_length=1, exclude_if=lambda words: words == ("no",), examples=["[no, unsure]"]
    )
    """What it says where the rule abstains; any other answer is a fault on that sample."""

    in_: str | None = Field(default=None, alias="in", min_length=1, examples=["text"])
    """The column of the text; left out, `text`."""

    vote: ClassName = Field(examples=["malignant"])
    """The class that it votes for, by name."""

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        asked = {"when": self.when, "all": self.all_} | {name: getattr(self, name) for name in _OF_TEXTS}
        given = [name for name, value in asked.items() if value is not None]
        if len(given) != 1:
            listed = " and ".join(given) or "none of them"
            raise ValueError(
                f"a rule asks exactly one of when, all, keywords, pattern and prompt, and here is {listed}"
            )
        if self.prompt is not None and (self.unless is not None or "{text}" not in self.prompt):
            raise ValueError("a prompt has {text} where the text belongs, and no unless")
        if self.conditions and (self.unless is not None or self.in_ is not None):
            raise ValueError(
                f"in and unless are about texts, and {given[0]} is about columns or a picture; leave them out"
            )
        for setting in ("pattern", "unless"):
            _require_readable(setting, getattr(self, setting))
        return self

    @property
    def called(self) -> str:
        """Its name, or what it asks.

        >>> WrittenRule(keywords=("subscribe", "check out"), vote="spam").called
        'says subscribe'
        """
        if self.name:
            return self.name
        if self.conditions:
            return " and ".join(condition.called for condition in self.conditions)
        if self.prompt is not None:
            return self.prompt.replace("{text}", "").strip()[:LONGEST_NAME]
        return f"says {self.keywords[0]}" if self.keywords else f"matches {self.pattern}"

    @property
    def text(self) -> str | None:
        """The column whose text it reads, if it reads one."""
        return None if self.conditions else self.in_ or "text"

    @property
    def conditions(self) -> tuple[When, ...]:
        """What has to hold of a sample's columns or picture; none where its text is read."""
        return self.all_ or (() if self.when is None else (self.when,))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at; none where that is the picture alone."""
        looked_at = (condition.column for condition in self.conditions) if self.conditions else (self.text,)
        return tuple(column for column in looked_at if column is not None)


def _require_readable(setting: str, pattern: str | None) -> None:
    if re.search(r"\{\d*,?0*[1-9]\d{4}", pattern or ""):
        raise ValueError(f"{setting} repeats something 10,000 times or more, which no text is searched for")
    try:
        re.compile(pattern or "")
    except (re.error, RecursionError, OverflowError, MemoryError) as fault:  # nested, or repeated, beyond all bounds
        raise ValueError(f"{setting} is no regular expression: {fault}") from fault


class WrittenRules(Settings):
    """Rules as a file of their own has them (`rules.yaml`), or a pipeline under `labeling`."""

    rules: tuple[WrittenRule, ...] = Field(
        default=(),
        exclude_if=lambda rules: not rules,
        examples=["[{name: big, when: {column: worst_radius, above: 16.8}, vote: malignant}]"],
    )
    """The rules, in the order in which they vote."""

    classes: tuple[ClassName, ...] | None = Field(
        default=None, exclude_if=lambda classes: classes is None, examples=["[ham, spam]"]
    )
    """The classes by name, where the rules do not vote for all of them."""

    asking: dict[str, Any] | None = Field(
        default=None, exclude_if=lambda asking: asking is None, examples=["{url: https://host/v1/chat/completions}"]
    )
    """How rules with a `prompt` ask: a model's `url`, and what a subject's `asking` says."""

    def asking_of(self, rule: WrittenRule) -> Asking:
        """How the model is asked about one rule; raises `ValueError` where that does not say enough."""
        asking = {name: value for name, value in (self.asking or {}).items() if name != "url"}
        form = form_at(str((self.asking or {}).get("url")))
        answers = {rule.vote: ("yes",), "abstain": rule.abstain}
        return Asking.model_validate({"form": form} | asking | {"prompt": rule.called, "answers": answers})

    @property
    def voted(self) -> tuple[str, ...]:
        """The classes that votes stand for: those given, then those that rules vote for."""
        return tuple(dict.fromkeys([*(self.classes or ()), *(rule.vote for rule in self.rules)]))

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        names = [rule.called for rule in self.rules]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"several rules are called {twice[0]!r}: give each a name of its own")
        if self.rules and len(self.voted) < 2:
            only = self.voted[0]
            raise ValueError(f"every rule votes for {only!r}: name the other classes too, as in classes: [{only}, …]")
        for rule in self.rules:
            if rule.prompt is not None:
                if "url" not in (self.asking or {}):
                    raise ValueError(f"the rule {rule.called!r} has a prompt: say whom to ask with asking: {{url: …}}")
                self.asking_of(rule)
        return self


class Labeling(StandsOn, WrittenRules):
    """Which labelling functions vote on the samples.

    Labelling functions are `functions` that somebody programmed, or `rules` written here.
    """

    functions: str | None = Field(
        default=None,
        min_length=1,
        examples=["breast-cancer", "rules.yaml", "rules.py", "rules.py:MY_RULES", "mypackage.rules:RULEBOOK"],
    )
    """A rulebook of ours by name, `module:object`, or beside the pipelines file `file.py`, `file.py:object` or
    `file.yaml` (`rules` and `classes` as here)."""

    fault_limit: float = Field(default=0.01, ge=0.0, le=1.0)
    """The share of samples on which a function may raise (it abstains there) before the run stops."""

    @model_validator(mode="after")
    def _one_rulebook(self) -> Self:
        if (self.functions is None) == (not self.rules):
            given = "neither" if self.functions is None else "both"
            raise ValueError(
                f"labelling functions are functions (a rulebook) or rules (written here), and here is {given}"
            )
        if self.functions is not None and self.classes is not None:
            raise ValueError("classes are about rules written here; a rulebook names its own")
        return self

    @property
    def file(self) -> str | None:
        """The file of written rules that `functions` names, if it names one.

        >>> Labeling(functions="rules.yaml").file, Labeling(functions="rules.py").file
        ('rules.yaml', None)
        """
        return self.functions if self.functions is not None and self.functions.endswith((".yaml", ".yml")) else None
