"""From what a user writes to a reference: `module:object`, or a file beside the pipelines file.

A file that the code reads counts when the settings name it, when the module opens it while it is imported (so it is
imported here), or when the code names it as a text.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.infra.code_loading import import_module_of
from assay.infra.code_reference import CodeReference
from assay.infra.code_sources import folder_of_package, imported_by, sources_of_file, sources_of_module
from assay.infra.errors import InputError
from assay.infra.ingredients import note_code
from assay.infra.listening import Heard, is_of_the_system
from assay.infra.own_files import files_in_texts, named_files, names_an_endpoint, standing, version_of
from assay.infra.settings import StandsOn

_CLIENTS = {
    "requests",
    "httpx",
    "urllib.request",
    "urllib3",
    "http.client",
    "aiohttp",
    "grpc",
    "websockets",
    "tritonclient",
}
NOTHING_ELSE = StandsOn()


def refer_to_code(written: str, beside: Path, stands_on: StandsOn = NOTHING_ELSE) -> CodeReference:
    """The reference behind `module:object` or `file.py:object`; paths count from the folder `beside`.

    Its module is imported on the way, so that the files which it opens are known.
    """
    place, _, attribute = written.rpartition(":")
    if not place or not attribute:
        raise InputError(f'"{written}" names no object: write module:object, or file.py:object.')
    return _refer(written, place, attribute, beside, stands_on)


def refer_to_module(written: str, place: str, beside: Path, stands_on: StandsOn = NOTHING_ELSE) -> CodeReference:
    """The reference to a whole module: `place` is its dotted name, or a file that counts from the folder `beside`."""
    return _refer(written, place, "", beside, stands_on)


def _refer(written: str, place: str, attribute: str, beside: Path, stands_on: StandsOn) -> CodeReference:
    if place.endswith(".py"):
        path = beside / place
        sources, module, home = sources_of_file(path, written), path.stem, str(path.parent.absolute())
    else:
        sources, module, home = sources_of_module(place, written), place, folder_of_package(place, written)
    reference = CodeReference(
        written,
        module,
        attribute,
        tuple(sorted(sources.items())),
        shipped=place.endswith(".py"),
        home=home,
        beside=str(beside.absolute()),
    )
    return reference if reference.is_ours else _with_dependencies(reference, stands_on)


def _with_dependencies(reference: CodeReference, stands_on: StandsOn) -> CodeReference:
    """The reference with its files and its version; the module is imported to hear what it opens."""
    beside = Path(reference.beside)
    sources = [source for _, source in reference.sources]
    texts = files_in_texts(sources, [reference.beside, *([reference.home] if reference.home else [])])
    named = [*named_files(stands_on, reference.written, beside), *(one for one in texts if not _is_system(one))]
    import_module_of(reference)
    heard = reference.everything_heard(Heard())
    files = standing([*named, *reference.read_files(heard)], beside)
    imports = {name for name, source in reference.sources for name in imported_by(source, name, "")}
    asks = bool(heard.hosts) or (names_an_endpoint(sources) and not _CLIENTS.isdisjoint(imports))
    version = version_of(stands_on, reference.written, beside, _run(), asks)
    whole = replace(reference, files=files, version=version)
    note_code(whole)
    return whole


def _run() -> str:
    """The run that this happens in, if any."""
    from assay.infra.runs import current_run

    try:
        return current_run().id
    except LookupError:
        return ""


def _is_system(path: Path) -> bool:
    return is_of_the_system(str(path.resolve()))
