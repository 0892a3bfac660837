"""HTML that is escaped by construction: a `Markup` is safe as it stands, every other string is text and is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

Child = str | int | None

_VOID = frozenset({"meta", "img", "br", "hr", "input", "link", "col"})
_SVG_LEAVES = frozenset({"path", "line", "circle", "rect", "polygon", "polyline"})


class Markup(str):
    """A piece of HTML that needs no escaping any more."""

    __slots__ = ()


def text(value: Child) -> Markup:
    """The value as HTML: markup stays as it is, everything else is escaped; control characters become visible.

    >>> text("<b>")
    '&lt;b&gt;'
    >>> text(Markup("<b>bold</b>"))
    '<b>bold</b>'
    """
    if value is None:
        return Markup("")
    if isinstance(value, Markup):
        return value
    return Markup(escape(_printable(str(value)), quote=True))


def tag(
    name: str, /, *children: Child, attributes: Mapping[str, str] | None = None, **more: str | int | bool | None
) -> Markup:
    """One element; attributes are escaped, `class_` is written `class`, underscores become dashes, None and False drop.

    >>> tag("p", "1 < 2", class_="note", hidden=True)
    '<p class="note" hidden>1 &lt; 2</p>'
    """
    written = [f' {key}="{escape(_printable(value), quote=True)}"' for key, value in (attributes or {}).items()]
    for key, value in more.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        written.append(f" {key}" if value is True else f' {key}="{escape(_printable(str(value)), quote=True)}"')
    opening = f"<{name}{''.join(written)}"
    if name in _VOID:
        return Markup(f"{opening}>")
    if name in _SVG_LEAVES and not children:
        return Markup(f"{opening}/>")
    return Markup(f"{opening}>{''.join(text(child) for child in children)}</{name}>")


def join(pieces: Iterable[Child], between: str = "") -> Markup:
    """The pieces one after the other, each escaped unless it is markup.

    >>> join(["a", Markup("<hr>"), "&"])
    'a<hr>&amp;'
    """
    return Markup(text(between).join(text(piece) for piece in pieces))


def rows_markup(rows: Iterable[Sequence[str]]) -> Markup:
    """Heads and rows between tabs, a line each: quick to open however many there are, a table where scripts run.

    >>> rows_markup([("name", "share"), ("a", "94 %")]).replace(chr(9), "|").splitlines()
    ['<pre class="rows" tabindex="0">name|share', 'a|94 %</pre>']
    """
    lines = ("\t".join(" ".join(cell.split()) for cell in row) for row in rows)
    return tag("pre", "\n".join(lines), class_="rows", tabindex=0)


def figure(title: str, note: str, *content: Child, class_: str | None = None, folded: str = "") -> Markup:
    """A figure: its title, a note where there is one, and what it shows; `folded` away behind its title and a count.

    >>> figure("Shares", "", tag("p", "half"))
    '<figure><figcaption><h3>Shares</h3></figcaption><p>half</p></figure>'
    """
    said = tag("p", note, class_="note") if note else None
    if folded:
        summary = tag("summary", title, " ", tag("span", folded, class_="count"))
        return tag("details", summary, said, *content, class_="fold")
    return tag("figure", tag("figcaption", tag("h3", title), said), *content, class_=class_)


def _printable(value: str) -> str:
    """The value without characters HTML forbids: control characters as Unicode pictures, lone surrogates as U+FFFD."""
    if value.isascii() and value.isprintable():
        return value
    return "".join(_picture(character) for character in value)


def _picture(character: str) -> str:
    code = ord(character)
    if character in "\t\n" or 0x20 <= code < 0x7F:
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if 0x7F <= code < 0xA0:
        return "\N{SYMBOL FOR DELETE}"
    if code in _BIDI:
        return "\N{REPLACEMENT CHARACTER}"
    return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= code <= 0xDFFF or code & 0xFFFE == 0xFFFE else character


_BIDI = frozenset({*range(0x202A, 0x202F), *range(0x2066, 0x206A)})
