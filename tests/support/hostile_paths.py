"""Paths that a stranger may write where data names files: all want the secret beside the folder, or to keep us busy."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

MARKER = "the-secret-of-next-door"
HOW_MANY = 300


@dataclass(frozen=True)
class Traps:
    """A folder that a project names, beside it a secret, and in it links to the secret, a pipe and an endless device.

    `ending` is what files of the kind end in.
    """

    folder: Path
    secret: Path
    ending: str

    @classmethod
    def lay(cls, place: Path, content: bytes, ending: str) -> Traps:
        """The traps below a new folder; the secret holds the content."""
        folder, outside = place / "inside", place / "outside"
        (folder / "sub").mkdir(parents=True)
        outside.mkdir()
        secret = outside / f"secret{ending}"
        secret.write_bytes(content)
        (folder / f"link{ending}").symlink_to(secret)
        (folder / "linked").symlink_to(outside)
        (folder / f"zero{ending}").symlink_to("/dev/zero")
        (folder / f"turns{ending}").symlink_to(f"turns{ending}")
        os.mkfifo(folder / f"pipe{ending}")
        return cls(folder, secret, ending)

    def paths(self, seed: int, count: int = HOW_MANY) -> list[str]:
        """So many different paths, each of which leads to nothing that may be read; the same for the same seed."""
        drawn, found = random.Random(seed), dict[str, None]()
        for path in self._always():
            found[path] = None
        while len(found) < count:
            found[self._drawn(drawn)] = None
        return list(found)[:count]

    def _always(self) -> Iterator[str]:
        end, secret = self.ending, str(self.secret)
        yield from ("", ".", "./", "..", "../", "/", " ", "\x00", "a\x00b", "\x7f", "a\nb", "\ud800", "..\ud800/x")
        yield from (f"link{end}", f"linked/secret{end}", f"zero{end}", f"pipe{end}", f"turns{end}", "sub", "linked")
        yield from (f"link{end}::x", f"sub/../link{end}::{secret}", f"x::{secret}", f"simplecache::file://{secret}")
        yield from (secret, f"/{secret}", f"file:{secret}", f"file://{secret}", f"FILE://{secret}", f"local://{secret}")
        yield from (f"s3://bucket/a{end}", f"http://127.0.0.1:9/a{end}", f"data:text/plain,{MARKER[:3]}", "memory://a")
        yield from (f"C:\\outside\\secret{end}", f"C:/secret{end}", f"\\\\host\\share\\a{end}", f"//host/share/a{end}")
        yield from ("/dev/zero", "/proc/self/environ", "../" * 40 + secret[1:], f"~/{secret}", f"${{HOME}}/a{end}")
        yield from ("x" * 300 + end, "x/" * 3000 + f"a{end}", "../" * 2000, "%25" * 400 + f"2e%2e/a{end}")
        yield from (f"..\uff0foutside\uff0fsecret{end}", f"\u2025/outside/secret{end}", f"\uff0e\uff0e/secret{end}")
        yield from (f".. /outside/secret{end}", f"... /outside/secret{end}", f"..\t/secret{end}", f"nowhere{end} . .")

    def _drawn(self, draw: random.Random) -> str:
        up = draw.choice(["..", "..", "..", "sub/../..", "./..", ".//..", "nowhere/../..", "linked/..", "linked"])
        steps = [up, *([".."] * draw.choice([0, 0, 1, 5])), "outside", f"secret{self.ending}"]
        path = draw.choice(["/", "/", "//", "/./"]).join(steps)
        if draw.random() < 0.2:
            path = draw.choice(["", "file://", "file:", "FILE:///", "s3://b/"]) + str(self.secret)
        for _ in range(draw.choice([0, 0, 1, 2, 3])):
            path = draw.choice(
                [
                    lambda text: quote(text, safe=draw.choice(["", "/", "."])),
                    lambda text: text.replace(".", draw.choice(["%2e", "%2E", "%252e"])),
                    lambda text: text.replace("/", draw.choice(["%2f", "%2F", "\\", "%5c", "\u2215"])),
                    lambda text: text + draw.choice([" ", ".", "/", "::", "::x", "\x00", "%00", "?a", "#b", "\n"]),
                    lambda text: draw.choice(["./", "sub/../", "C:", "\\\\?\\", " ", "%2e/", "\u202e"]) + text,
                ]
            )(path)
        return path


def require_nothing_of(marker: str, *results: object) -> None:
    """Fails where the secret lies in what came out, wherever in it."""
    assert marker.encode() not in pickle.dumps(results)
