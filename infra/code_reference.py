"""A user's code by reference: what travels to the workers, and what of it is in the keys of its results.

What travels is where the code is and, for a file, its bytes and those of the modules beside it that it imports. The
fingerprint is the content of exactly that code and of the files that it stands on, so that an edited model runs again,
one whose weights were replaced does too, and an untouched one does not. While the code is called it is heard: a file
that it opens without being known is refused with the line to write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.infra.code_loading import load_object
from assay.infra.errors import InputError
from assay.infra.listening import Heard, is_of_the_system, listening, read_by, source_of
from assay.infra.no_answers import no_answer
from assay.infra.own_code import kept_in
from assay.infra.own_files import Standing, digest_of, shown
from assay.infra.shipped_modules import package_of


@dataclass(frozen=True)
class CodeReference:
    """An object in someone's code, or (`attribute` empty) a module: picklable, hashable, equal when the code is.

    `written` is how the user named it. `module` is imported by that name, unless `shipped`: then it and its
    neighbours are made from `sources`. `home` is the folder that its modules lie in, `beside` that of pipelines.yaml.
    """

    written: str
    module: str
    attribute: str
    sources: tuple[tuple[str, bytes], ...]
    shipped: bool
    home: str = ""
    beside: str = "."
    files: Standing = ()
    """What the code reads besides: files by name, with the hash of their content."""
    version: str = ""
    """What stands for answers from elsewhere (an endpoint, a clock); empty where there are none."""

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the module's source, of every module of the same origin that it imports, and of its files."""
        state = hashlib.sha256(f"{self.module}:{self.attribute}".encode())
        for name, source in sorted(self.sources):
            state.update(f"\0{name}\0{len(source)}\0".encode() + source)
        for name, digest in self.files:
            state.update(f"\0file\0{name}\0{digest}".encode())
        if self.version:
            state.update(f"\0version\0{self.version}".encode())
        return state.hexdigest()

    @property
    def is_ours(self) -> bool:
        """Whether the code is a part of Assay, which needs no watching."""
        return not self.shipped and self.module.partition(".")[0] == "assay"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names under which Python knows the modules of this code, its own first."""
        package = f"{package_of(dict(self.sources), self.home)}." if self.shipped else ""
        others = sorted(name for name, _ in self.sources if name != self.module)
        return tuple(f"{package}{name}" for name in (self.module, *others))

    def load(self) -> object:
        """The object itself; each process makes it once."""
        return load_object(self)

    @contextmanager
    def at_work(self, what: str) -> Iterator[None]:
        """Within the block the code is called: from its folder, unable to leave, and heard in what it reads.

        `what` it is (`model`, `classifier`) begins the sentence where it reads what its key does not know of.
        """
        if self.is_ours:
            yield
            return
        with kept_in(f'The {what} "{self.written}"', self.beside), listening() as heard:
            try:
                yield
            except Exception as fault:
                if why := no_answer(fault):
                    raise InputError(
                        f'The {what} "{self.written}" asked {self._host(heard)}, which did not answer ({why}): start '
                        "it, or correct the address, and run again; what is finished is kept."
                    ) from fault
                raise
        self._require_known(what, heard)

    @property
    def asks_elsewhere(self) -> bool:
        """Whether what answers is not this code: an endpoint, or whatever else `version` stands for."""
        return bool(self.version)

    def _host(self, heard: Heard) -> str:
        return next(reversed(self.everything_heard(heard).hosts), "a service")

    @contextmanager
    def at_import(self) -> Iterator[None]:
        """Within the block the module is imported; what it reads is kept with the names of its modules."""
        if self.is_ours:
            yield
            return
        self.everything_heard(Heard())  # from now on its modules are heard
        with kept_in(f'"{self.written}"', self.beside), listening() as heard:
            yield
        module = read_by(self.names[0])
        module.files |= heard.files
        module.hosts |= heard.hosts

    def _require_known(self, what: str, heard: Heard) -> None:
        """Raises where a file was opened, or a host asked, that could change and the key of the results would not."""
        heard = self.everything_heard(heard)
        known = {digest for _, digest in self.files}
        stranger = next((path for path in self.read_files(heard) if digest_of(path) not in known), None)
        if stranger is not None:
            name = shown(stranger, Path(self.beside))
            if name in dict(self.files):
                raise InputError(
                    f'{stranger}, which the {what} "{self.written}" reads, is not the file that the run began with: it '
                    "was changed meanwhile, or is another one on this machine; run again."
                )
            raise InputError(
                f'The {what} "{self.written}" opened {name}, and what is in it is not part of the key of its results: '
                f"write `files: [{name}]` beside it (or open the file when the module is imported), so that they are "
                "computed anew when the file changes."
            )
        if heard.hosts and not self.version:
            raise InputError(
                f'The {what} "{self.written}" asked {next(iter(heard.hosts))}, whose answers can change without its '
                "code: write `never_cached: true` beside it, or `version: …` with what stands for the answers."
            )

    def everything_heard(self, heard: Heard) -> Heard:
        """What a block heard and what the modules of this code read, in whatever thread."""
        every = Heard(dict(heard.files), dict(heard.hosts))
        for name in self.names:
            module = read_by(name, self.home)
            every.files |= module.files
            every.hosts |= module.hosts
        return every

    def read_files(self, heard: Heard) -> Iterator[Path]:
        """Of the files that were opened, those that are somebody's data or code and not yet among the sources."""
        sources = {source for _, source in self.sources}
        for name in heard.files:
            path = Path(source_of(name))
            at_home = bool(self.home) and path.is_relative_to(self.home)
            if not path.is_file() or (not at_home and is_of_the_system(str(path))) or path.suffix in (".so", ".pyc"):
                continue
            if path.suffix == ".py" and (not at_home or path.read_bytes() in sources):
                continue
            yield path

    def raised(self, fault: BaseException, masked: bool = False) -> str:
        """What was raised, and in which line; `masked` without its words, which may quote the data it was given."""
        words = "" if masked else f": {fault}"
        return f"{type(fault).__name__}{words}{self.line_of(fault)}"

    def line_of(self, fault: BaseException) -> str:
        """` (line 12)` for an error raised in this code, or nothing."""
        trace, where = fault.__traceback__, ""
        while trace is not None:
            if Path(trace.tb_frame.f_code.co_filename).stem == self.module.rpartition(".")[2]:
                where = f" (line {trace.tb_lineno})"
            trace = trace.tb_next
        return where
