"""A model that answers in words: what it is asked with a prompt, how its answer is read, and what counts as none.

Any server will do that speaks OpenAI's protocol (`/v1/chat/completions`, `/v1/completions`: OpenAI, vLLM, llama.cpp,
Ollama). An answer is read strictly: what names no class, a refusal and an answer that was cut short are no answers.
They are counted as wrong, never dropped. Probabilities come from log probabilities alone.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from assay.data.images import png
from assay.infra.errors import InputError
from assay.infra.masking import mask
from assay.tasks.subjects.addresses.given import Asking, FormName, GivenModel, KindName, plain_word

PLACE, IMAGE, OPTIONS = "{text}", "{image}", "{options}"
"""Where a sample's text or picture stands in a prompt, and the names of the classes, in the order of `answers`."""
PLACES: dict[KindName, str] = {"classifier": PLACE, "network": IMAGE}
UNPARSED, REFUSED, TRUNCATED = "unparsed", "refused", "truncated"
NO_ANSWERS = (UNPARSED, REFUSED, TRUNCATED)
"""Why an answer counts as none."""
FORMS: dict[FormName, str] = {"chat": "/chat/completions", "completions": "/completions"}
"""The forms in which a model is asked in words, and how their addresses end."""
MOST_TOKENS = {"label": 16, "first-token": 1, "json": 64}
"""How long an answer may be, by how it is read."""
_TOP = {"chat": 20, "completions": 5}  # the most that OpenAI and vLLM give
_REFUSAL = re.compile(
    r"\W*(i['\u2019]?m sorry|i am sorry|sorry\b|i can(no|['\u2019])t\b|i(['\u2019]m| am) (unable|not able)"
    r"|i won['\u2019]t\b|as an ai\b)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```(?:json)?(.*)```", re.DOTALL)
_READ = 10_000  # letters of an answer that are looked at
_LABEL_KEYS = ("label", "answer", "class")

Row = list[float]
Reading = Row | dict[str, str]
"""What one answer comes to: a number per class, or `why` it is none and the `text` that came."""


class UnreadableReplyError(InputError):
    """A reply that is not what the protocol says: cut short, in another encoding, or something else."""


def form_at(url: str) -> FormName:
    """The form that an address shows; `auto` where it shows none.

    >>> form_at("https://host/v1/chat/completions"), form_at("http://host/v1/completions"), form_at("http://host/spam")
    ('chat', 'completions', 'auto')
    """
    path = url.partition("?")[0].rstrip("/")
    return next((form for form, end in FORMS.items() if path.endswith(end)), "auto")


@dataclass(frozen=True)
class Reply:
    """What a server answers: the text, why it ended, the log probabilities of the first token, tokens, version."""

    text: str
    finish: str = "stop"
    refused: bool = False
    first: Mapping[str, float] | None = None
    tokens: tuple[int, int] | None = None
    version: str = ""


class Message(NamedTuple):
    """A message of a prompt, and who says it."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """What is asked in words: the messages around a text, as they stand in the prompt file."""

    asking: Asking
    messages: tuple[Message, ...]

    def replaced(self, old: str, new: str) -> tuple[Message, ...]:
        """The messages with something else in the place of what stands there."""
        return tuple(Message(role, content.replace(old, new)) for role, content in self.messages)

    def body(self, items: Sequence[Any]) -> dict[str, Any]:
        """The request about one text, or one picture [c, h, w]."""
        asking = self.asking
        options = replace(self, messages=self.replaced(OPTIONS, ", ".join(asking.spellings)))
        messages = [{"role": role, "content": _with_sample(content, items[0])} for role, content in options.messages]
        limit = {} if "max_completion_tokens" in asking.parameters else {"max_tokens": MOST_TOKENS[asking.read]}
        body = {"model": asking.model, "temperature": 0, **limit, **asking.parameters}
        if asking.form == "completions":
            more = {"logprobs": _TOP["completions"]} if asking.logprobs else {}
            return body | {"prompt": "\n\n".join(str(message["content"]) for message in messages), **more}
        more = {"logprobs": True, "top_logprobs": _TOP["chat"]} if asking.logprobs else {}
        return body | {"messages": messages, **more}


def _with_sample(content: str, item: Any) -> str | list[dict[str, Any]]:
    """What a message says about a sample: its text in its place, or its picture, as PNG, between parts of text."""
    if isinstance(item, str) or IMAGE not in content:
        return content.replace(PLACE, item if isinstance(item, str) else PLACE)
    before, _, after = content.partition(IMAGE)
    url = f"data:image/png;base64,{base64.b64encode(png(item)).decode()}"
    start, end = ([{"type": "text", "text": text}] if text.strip() else [] for text in (before, after))
    return [*start, {"type": "image_url", "image_url": {"url": url}}, *end]


def read_prompt(asking: Asking, content: bytes, place: str = PLACE) -> Prompt:
    """The prompt in a file: one message as plain text, or a YAML or JSON list of messages with `role` and `content`,
    examples among them."""
    from ruamel.yaml import YAML, YAMLError

    try:
        text = content.decode("utf-8-sig")
        messages = [{"role": "user", "content": text}]
        if (ending := Path(str(asking.prompt)).suffix) in (".yaml", ".yml", ".json"):
            messages = json.loads(text) if ending == ".json" else YAML(typ="safe").load(text)
        listed = tuple(Message(str(message["role"]), str(message["content"])) for message in messages)
    except (ValueError, RecursionError, YAMLError, TypeError, KeyError) as fault:
        raise InputError(
            f"The prompt {asking.prompt} is neither UTF-8 text nor a list of messages with `role` and `content`: "
            f"correct it ({type(fault).__name__})."
        ) from fault
    if not any(place in content for _, content in listed):
        raise InputError(f"The prompt {asking.prompt} has no {place}: write it where a sample's {place[1:-1]} belongs.")
    return Prompt(asking, listed)


def with_prompt(given: GivenModel, messages: Sequence[Message]) -> GivenModel:
    """The model asked with other messages, which are counted as a variant of its prompt."""
    asking = given.asking.model_copy(update={"prompt": "variant.json"})
    content = json.dumps([message._asdict() for message in messages]).encode()
    return replace(given, content=content, asking=asking, variant_of=str(given.asking.prompt))


def reply_in(answer: Any, who: str) -> Reply:
    """The reply in an answer of `/v1/chat/completions` or `/v1/completions`."""
    try:
        choice = answer["choices"][0]
        message = choice.get("message") or {"content": choice["text"]}
        text, refusal = message.get("content"), message.get("refusal")
        finish = str(choice.get("finish_reason") or "stop")
        usage = answer.get("usage") or {}
        tokens = (int(usage["prompt_tokens"]), int(usage.get("completion_tokens", 0))) if usage else None
        first = _first_token(choice.get("logprobs"))
        words = str(text or refusal or "")[:_READ].encode("utf-8", "replace").decode()  # half a sign may be cut off
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as fault:
        raise UnreadableReplyError(
            f"{who} answered otherwise than /v1/chat/completions and /v1/completions do ({type(fault).__name__}): "
            "correct the address or `asking.form`."
        ) from fault
    version = " ".join(str(answer[name]) for name in ("model", "system_fingerprint") if answer.get(name))
    return Reply(words, finish, bool(refusal) or finish == "content_filter", first, tokens, version)


def _first_token(logprobs: Any) -> Mapping[str, float] | None:
    """The log probabilities of the tokens that might have come first: as the chat protocol lists them (llama.cpp does
    so for both), or as a dictionary per token."""
    if not logprobs:
        return None
    listed = logprobs["content"][0] if logprobs.get("content") else logprobs
    top = listed["top_logprobs"]
    pairs = top[0].items() if listed is logprobs else ((each["token"], each["logprob"]) for each in top)
    first = {str(token): float(value) for token, value in pairs}
    if max(first.values(), default=0.0) > 0.001:  # as much as rounding may add
        raise ValueError("the logarithm of a probability is at most 0")
    return first


def read_reply(reply: Reply, asking: Asking) -> Reading:
    """The numbers of a reply, a class each in the order of `answers`; or why it is no answer."""
    named = class_named(reply.text, asking)
    cut = reply.finish == "length" and asking.read != "first-token"
    row = None if named is None or cut or reply.refused else _numbers(named, reply, asking)
    if row is not None:
        return row
    why = TRUNCATED if cut else REFUSED if reply.refused or _REFUSAL.match(reply.text) else UNPARSED
    return {"why": why, "text": mask(reply.text)}


def _numbers(named: str, reply: Reply, asking: Asking) -> Row | None:
    """1 for the class that was named; with `logprobs` the share of each class among the first tokens that name one: a
    token that begins several names is taken to go on as the answer did."""
    if not asking.logprobs:
        return [float(name == named) for name in asking.spellings]
    mass = dict.fromkeys(asking.spellings, 0.0)
    for token, value in (reply.first or {}).items():
        start = plain_word(token)
        begun = {name for name, spelt in asking.spellings.items() if start and any(s.startswith(start) for s in spelt)}
        if named in begun or len(begun) == 1:
            mass[named if named in begun else begun.pop()] += math.exp(value)
    total = sum(mass.values())
    return [part / total for part in mass.values()] if total > 0 else None


def class_named(text: str, asking: Asking) -> str | None:
    """The class that an answer names, read strictly; None where it names none.

    >>> asking = Asking(form="chat", model="m", prompt="p.txt", answers={"spam": ["junk"], "ham": []})
    >>> [class_named(text, asking) for text in ("Junk.", " ham", "It is ham", "")]
    ['spam', 'ham', None, None]
    """
    label = plain_word(_label(text, asking.read))
    return next((name for name, spelt in asking.spellings.items() if label in spelt), None)


def _label(text: str, read: str) -> str:
    """What in a text stands for the answer: all of it, its first word, or the label in its JSON object."""
    if read == "first-token":
        return (text.split() or [""])[0]
    if read == "label":
        return text
    fenced = _FENCE.fullmatch(text.strip())
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return ""
    labels = [value[key] for key in _LABEL_KEYS if key in value] if isinstance(value, dict) else []
    named = labels[0] if len(labels) == 1 and isinstance(labels[0], str | int | float) else ""
    return named if isinstance(named, str) else json.dumps(named)  # a class may be called 1, or true
