"""Tables of choices: what a setting can name (an attack, a corruption, a labeler …), ours and those of plug-ins.

A choice is an immutable value: the word that names it or the settings class whose tag is that word, its function, and
whatever else must be known of it. A room's table is the tuple of ours; plug-ins join it when a pipeline is loaded, from
installed packages (an entry-point group) or as `module:object`. What a setting can say, error menus and documents
derive from the table. Settings that name a plug-in know where it comes from: its name, version and source enter the
keys of stages, and its code travels to the workers. Ours stay as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from importlib.metadata import EntryPoint
from operator import or_
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Field, SerializerFunctionWrapHandler, create_model, model_serializer

from assay.infra.errors import AssayError, InputError, error_text, faults_in_words, suggestion
from assay.infra.settings import Settings, documented_fields
from assay.infra.user_code.references import CodeReference, refer_to_code

_plugin_identity: ContextVar[Mapping[str, str] | None] = ContextVar("assay_plugin", default=None)


@contextmanager
def plugin_scope(identity: Mapping[str, str] | None) -> Iterator[None]:
    """Within the block, stages are called for the plug-in of that identity; for Assay itself where it is None."""
    token = _plugin_identity.set(identity)
    try:
        yield
    finally:
        _plugin_identity.reset(token)


def plugin_in_key(module: str) -> dict[str, Mapping[str, str]]:
    """What the key of a stage in a module says of the plug-in that the stage belongs to; nothing of a stage of ours.

    >>> with plugin_scope({"name": "balance", "version": "1.0"}):
    ...     plugin_in_key("assay_balance.task"), plugin_in_key("assay.tasks.ordering.task")
    ({'plugin': {'name': 'balance', 'version': '1.0'}}, {})
    """
    identity = _plugin_identity.get()
    return {} if identity is None or module.partition(".")[0] == "assay" else {"plugin": identity}


M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Origin:
    """Where a plug-in comes from: its code, and the package that brought it where one is installed."""

    name: str
    reference: CodeReference
    package: str = ""
    version: str = ""

    @property
    def identity(self) -> dict[str, str]:
        """What of it enters a key."""
        known = {"name": self.name, "package": self.package, "version": self.version}
        return {**known, "source": self.reference.fingerprint}


_DUMPED = "plugins"


def plugins_in(dumped: object) -> dict[str, dict[str, str]]:
    """The identities of the plug-ins that dumped settings name, by the word for each.

    >>> plugins_in({"weak_labels": {"labelers": ["mine"], "plugins": {"mine": {"name": "mine", "package": ""}}}})
    {'mine': {'name': 'mine', 'package': ''}}
    """
    if isinstance(dumped, Mapping):
        inner = [plugins_in(value) for key, value in dumped.items() if key != _DUMPED]
        return reduce(or_, inner, dict(dumped.get(_DUMPED) or {}))
    return reduce(or_, map(plugins_in, dumped), {}) if isinstance(dumped, list | tuple) else {}


def without_plugins(dumped: Any) -> Any:
    """Dumped settings as they are written, without the identities of plug-ins.

    >>> without_plugins({"weak_labels": {"labelers": ["mine"], "plugins": {"mine": {"name": "mine"}}}})
    {'weak_labels': {'labelers': ['mine']}}
    """
    if isinstance(dumped, Mapping):
        return {key: without_plugins(value) for key, value in dumped.items() if key != _DUMPED}
    return [without_plugins(value) for value in dumped] if isinstance(dumped, list | tuple) else dumped


class FromPlugins(Settings):
    """Settings that can name a plug-in: dumped with its identity, and pickled with its code."""

    plugin_field: ClassVar[str] = ""
    plugin_origins: ClassVar[Mapping[str, Origin]] = MappingProxyType({})

    @property
    def plugins_named(self) -> dict[str, Origin]:
        """The plug-ins among the words that these settings name."""
        named = getattr(self, self.plugin_field)
        words = (named,) if isinstance(named, str) else tuple(named or ())
        return {word: self.plugin_origins[word] for word in words if word in self.plugin_origins}

    @model_serializer(mode="wrap")
    def _with_identity(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        identities = {word: origin.identity for word, origin in self.plugins_named.items()}
        return {**dump(self), **({_DUMPED: identities} if identities else {})}

    def __reduce__(self) -> tuple[Any, ...]:
        # The class may be in nobody's module: it is made again over there, before the values inside are read.
        return _empty, type(self)._recipe, self.__getstate__()

    _recipe: ClassVar[tuple[Any, ...]] = ()


def with_types(base: type[M], types: Mapping[str, Any]) -> type[M]:
    """The model in which some fields take other types: those of a table that plug-ins have joined.

    >>> from assay.infra.settings import Compute
    >>> with_types(Compute, {"gpu": str})(gpu="perhaps").gpu
    'perhaps'
    """
    fields: dict[str, Any] = {name: (kind, base.model_fields[name]) for name, kind in types.items()}
    return create_model(base.__name__, __base__=base, __module__=base.__module__, __doc__=base.__doc__, **fields)


def offered(group: str) -> list[EntryPoint]:
    """What installed packages announce in a group, of which nothing is imported yet."""
    folders = tuple((folder, _modified_at(folder)) for folder in sys.path)
    return sorted(_announced(folders).get(group, ()), key=lambda point: (point.name, point.value))


def installed(group: str, named: Container[str] | None = None) -> Iterator[Origin]:
    """What installed packages offer in a group, or only what goes by these names: each is imported."""
    for point in offered(group):
        if named is not None and point.name not in named:
            continue
        package, version = (point.dist.name, point.dist.version) if point.dist else ("an unknown package", "")
        written = f"{point.name} = {point.value} of {package} {version}".rstrip()
        reference = replace(refer_to_code(point.value, Path(), on_trial=True), written=written)
        yield Origin(point.name, reference, package, version)


@lru_cache(maxsize=1)
def _announced(_folders: tuple[tuple[str, int], ...]) -> dict[str, list[EntryPoint]]:
    """What all packages in these folders announce, by group: looking through them takes longer than reading a file."""
    from importlib.metadata import entry_points

    points = entry_points()
    return {group: list(points.select(group=group)) for group in points.groups if group.startswith("assay.")}


def _modified_at(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


def referred(written: str, folder: Path) -> Origin:
    """What a `module:object` brings; paths count from the folder."""
    return Origin(written, refer_to_code(written, folder, on_trial=True))


def plugin_title(origin: Origin) -> str:
    """The plug-in as a sentence begins with it."""
    by = f" of {origin.package} {origin.version}".rstrip() if origin.package else ""
    return f'The plug-in "{origin.name}"{by}'


def origin_of(settings: object, word: str) -> Origin | None:
    """Where the plug-in of that word comes from, as these settings know; None of what comes with Assay."""
    return settings.plugin_origins.get(word) if isinstance(settings, FromPlugins) else None


def plugin_faults(settings: object, word: str, masked: bool = False) -> AbstractContextManager[None]:
    """Within the block, what the plug-in of that word raises is told with its name and line; `masked` without its
    words, which may quote the data."""
    origin = origin_of(settings, word)
    if origin is None:
        return nullcontext()
    title, code = plugin_title(origin), origin.reference
    return faults_in_words(lambda fault: f"{title} raised {code.raised(fault, masked)}.", masked)


def object_identity(origin: Origin) -> tuple[str, str, bool]:
    """Which object of which code it is, by whatever name."""
    return origin.reference.fingerprint, origin.reference.attribute, origin.reference.shipped


@lru_cache(maxsize=256)
def tagged_settings(tag: str, word: str, origin: Origin) -> type[Settings]:
    """The settings of a plug-in, told where it comes from."""
    settings: type[Settings] = vars(origin.reference.load())["settings"]
    return _extended(settings, tag, {word: origin}, (tagged_settings, tag, word, origin), {})


@lru_cache(maxsize=256)
def listing_settings(
    base: type[Settings],
    listing: str,
    origins: tuple[tuple[str, Origin], ...],
    words: tuple[str, ...],
    references: tuple[tuple[str, str], ...],
) -> type[Settings]:
    """Settings that list words, told of plug-ins."""
    declared = base.model_fields[listing]
    spelt = dict(references)

    def spelt_out(value: object) -> object:
        return spelt.get(value, value) if isinstance(value, str) else value

    word = Annotated[Literal[words], BeforeValidator(spelt_out)] if spelt else Literal[words]
    wider = {listing: (_widened(declared.annotation, word), declared)}
    return _extended(base, listing, dict(origins), (listing_settings, base, listing, origins, words, references), wider)


def _extended(
    base: type[Settings], naming: str, origins: Mapping[str, Origin], recipe: tuple[Any, ...], fields: dict[str, Any]
) -> type[Settings]:
    parents = cast(tuple[type[FromPlugins], ...], (FromPlugins, base))
    model = create_model(base.__name__, __base__=parents, __module__=base.__module__, __doc__=base.__doc__, **fields)
    model.plugin_field, model.plugin_origins, model._recipe = naming, MappingProxyType(dict(origins)), recipe
    return model


def _widened(annotation: Any, word: Any) -> Any:
    """The type with the words that it takes replaced by `word`."""
    kind, parts = get_origin(annotation), get_args(annotation)
    if kind is Literal:
        return word
    if kind in (Union, UnionType):
        return reduce(or_, (_widened(part, word) for part in parts))
    if kind is Annotated:
        return Annotated[_widened(parts[0], word), *parts[1:]]
    return kind[tuple(_widened(part, word) for part in parts)] if kind is not None else annotation


def _empty(make: Callable[..., type[Settings]], *recipe: Any) -> Settings:
    """Settings of a class made by its recipe, whose values are filled in by pickle."""
    kind = make(*recipe)
    return kind.__new__(kind)


@dataclass(frozen=True)
class Named:
    """A choice without settings of its own: a setting lists its word."""

    word: str

    def conformance(self) -> list[str]:
        """What keeps it from being used like the others, a sentence each; kinds of choice try it out."""
        return []


@dataclass(frozen=True)
class Tagged:
    """A choice with settings, whose tag (`attack: Literal["pgd"] = "pgd"`) is its word; `tag` says which field that is.

    Kinds of choice set `tag` and, of which class settings have to be, `bases`; they add their function and what else
    must be known of them.
    """

    tag: ClassVar[str]
    bases: ClassVar[tuple[type[Settings], ...]] = (Settings,)
    settings: type[Settings]

    def __post_init__(self) -> None:
        declared = self.settings.model_fields.get(self.tag)
        words = () if declared is None else get_args(declared.annotation)
        if declared is None or len(words) != 1 or declared.default != words[0]:
            raise InputError(
                f"{self.settings.__name__} does not say which {self.tag} it is: give it "
                f'`{self.tag}: Literal["a-word"] = "a-word"`.'
            )
        if not issubclass(self.settings, self.bases):
            asked = self.bases[0].__name__
            raise InputError(f"{self.settings.__name__} is no {asked}: derive it from that, as Assay's own are.")

    @property
    def word(self) -> str:
        """What a setting calls it."""
        return str(self.settings.model_fields[self.tag].default)

    @property
    def without_default(self) -> list[str]:
        """What keeps its settings from being tried as they are, as a sentence."""
        required = [field for field, declared in self.settings.model_fields.items() if declared.is_required()]
        name, which = self.settings.__name__, ", ".join(required)
        return [f"{name} has no default for {which}: a pipeline may name it by its word alone."] if required else []

    def conformance(self) -> list[str]:
        """What keeps it from being used like the others, a sentence each; kinds of choice try it out."""
        name, fields = self.settings.__name__, documented_fields(self.settings)
        mute = [field for field, declared in fields.items() if not declared.description]
        # Of a file that travelled here only its bytes are known, in which nobody looks for docstrings.
        sentences = [
            f"`{field}` of {name} has no sentence: write one in a docstring under it; the documents show it."
            for field in (mute if getattr(sys.modules.get(self.settings.__module__), "__file__", None) else ())
        ]
        if self.without_default:
            return sentences
        dumped = self.settings().model_dump(mode="json", by_alias=True)
        if self.settings.model_validate(dumped) != self.settings():
            sentences.append(f"{name} is another after it was written to JSON and read again.")
        return sentences


def check_plugin(choice: object) -> list[str]:
    """What keeps a plug-in from being used like what comes with Assay, a sentence each; nothing where all is well."""
    if not isinstance(choice, Named | Tagged):
        return [f"It is of the type {type(choice).__name__}, and a plug-in is a choice, such as an ImageAttackChoice."]
    return choice.conformance()


def tried(attempt: Callable[[], list[str] | None]) -> list[str]:
    """What trying a plug-in has come to, in sentences, whatever it raises."""
    try:
        return attempt() or []
    except AssayError as error:
        return [str(error)]
    except Exception as fault:  # noqa: BLE001  an author is told whatever it was
        return [f"it raised {error_text(fault)}"]


AnyChoice = Named | Tagged
C = TypeVar("C", bound=AnyChoice)
T = TypeVar("T", bound=Tagged)
N = TypeVar("N", bound=Named)
S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Choices(Generic[C]):
    """A table of choices: `what` is what they are called in sentences, `group` where installed packages offer theirs,
    and `kind` what a plug-in must be."""

    what: str
    group: str
    kind: type[C]
    all: tuple[C, ...]
    origins: Mapping[str, Origin] = field(default_factory=dict)
    references: Mapping[str, str] = field(default_factory=dict)  # `module:object` as written, to its word

    def __post_init__(self) -> None:
        twice = sorted({word for at, word in enumerate(self.words) if word in self.words[:at]})
        if twice:
            raise InputError(f'There are two choices of {self.what} called "{twice[0]}": rename one of them.')

    def __iter__(self) -> Iterator[C]:
        return iter(self.all)

    @property
    def words(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(choice.word for choice in self.all)

    def named(self, word: str, settings: Settings | None = None) -> C:
        """The choice of that word; `settings` that name it know of plug-ins."""
        origin = self.origins.get(word) or origin_of(settings, word)
        if origin is not None:
            return self._checked(origin)
        for choice in self.all:
            if choice.word == word:
                return choice
        raise InputError(f'There is no such {self.what}: "{word}"; {suggestion(word, self.words)}.')

    def with_plugins(self, folder: Path, written: Iterable[str] = (), named: Container[str] | None = None) -> Self:
        """The table with what installed packages offer (or only what is `named` so), and with the `module:object`s
        among the words that are `written`; paths in them count from the `folder` of the pipelines file."""
        origins = (*installed(self.group, named), *(referred(word, folder) for word in written if ":" in word))
        return reduce(lambda table, origin: table._with(origin), origins, self)

    def with_those_of(self, settings: Settings) -> Self:
        """The table with the plug-ins that settings name."""
        origins = settings.plugins_named.values() if isinstance(settings, FromPlugins) else ()
        return reduce(lambda table, origin: table._with(origin), origins, self)

    def _with(self, origin: Origin) -> Self:
        choice = self._checked(origin)
        written = {} if origin.package else {origin.name: choice.word}
        known = self.origins.get(choice.word)
        if known is None and choice.word in self.words:
            raise InputError(
                f'{plugin_title(origin)} is called "{choice.word}", and so is the {self.what} that comes with Assay: '
                "rename the plug-in."
            )
        if known is not None and object_identity(known) != object_identity(origin):
            first, second = known.reference.written, origin.reference.written
            raise InputError(f'Two plug-ins are called "{choice.word}", {first} and {second}: rename one.')
        table = replace(self, references={**self.references, **written})
        if known is not None:
            return table
        choices = (*self.all, self._with_origin(choice, origin))
        return replace(table, all=choices, origins={**self.origins, choice.word: origin})

    def _checked(self, origin: Origin) -> C:
        choice = origin.reference.load()
        if not isinstance(choice, self.kind):
            raise InputError(
                f"{plugin_title(origin)} is of the type {type(choice).__name__}, and a plug-in of the group "
                f"{self.group} is a value of the type {self.kind.__module__}.{self.kind.__name__}."
            )
        if origin.package and choice.word != origin.name:
            raise InputError(f'{plugin_title(origin)} calls itself "{choice.word}": give the entry point that name.')
        return choice

    def _with_origin(self, choice: C, origin: Origin) -> C:  # noqa: ARG002  what has settings is told where it comes from
        return choice


@dataclass(frozen=True)
class NamedChoices(Choices[N]):
    """A table of choices that a setting lists by their words."""

    @property
    def literal(self) -> Any:
        """The type of a word in the list."""
        return Literal[self.words]

    def settings_with(self, base: type[S], listing: str) -> type[S]:
        """The settings whose field `listing` lists words of ours, where it may list those of plug-ins as well."""
        if not self.origins:
            return base
        origins, references = tuple(self.origins.items()), tuple(self.references.items())
        return cast(type[S], listing_settings(base, listing, origins, self.words, references))


@dataclass(frozen=True)
class TaggedChoices(Choices[T]):
    """A table of choices with settings, told apart by their tag; `presets` are settings that go by a name, `bundles`
    several of them that go by one."""

    presets: Mapping[str, Settings] = field(default_factory=dict)
    bundles: Mapping[str, tuple[Settings, ...]] = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """The setting that says which choice is meant."""
        return self.kind.tag

    @property
    def fields(self) -> frozenset[str]:
        """Every setting of every choice, as it is written: what else stands alone in a mapping is a short form."""
        return frozenset(
            declared.alias or name for choice in self.all for name, declared in choice.settings.model_fields.items()
        )

    @property
    def union(self) -> Any:
        """The type of a setting that takes any of the choices, also written short: `- fgsm`, `- pgd: {steps: 20}`."""
        kinds = reduce(or_, (choice.settings for choice in self.all))
        told_apart = Annotated[kinds, Field(discriminator=self.tag)] if len(self.all) > 1 else kinds
        return Annotated[told_apart, BeforeValidator(self.spelt_out)]

    def of(self, settings: Settings) -> T:
        """The choice that the settings are those of."""
        return self.named(str(getattr(settings, self.tag, type(settings).__name__)), settings)

    def spelt_out(self, value: object) -> object:
        """What is written short, spelt out: `fgsm` by name, `pgd: {steps: 20}` under its word, `module:object` too."""
        if isinstance(value, str):
            if value in self.presets:
                return self.presets[value]
            if value in self.words or value in self.references:
                return {self.tag: self.references.get(value, value)}
            raise ValueError(f"there is no {self.what} {value!r}; there are {', '.join((*self.words, *self.presets))}")
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((word, options),) = value.items()
            if (word in self.words or word in self.references) and isinstance(options, dict | None):
                value = {**(options or {}), self.tag: word}
        word = value.get(self.tag)
        return (
            {**value, self.tag: self.references[word]} if isinstance(word, str) and word in self.references else value
        )

    def _with_origin(self, choice: T, origin: Origin) -> T:
        return replace(choice, settings=tagged_settings(self.tag, choice.word, origin))
