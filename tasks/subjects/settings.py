"""Options of a subject (a model under audit, or predictions that exist already), of trainings and held-out samples.

Also how ε is written in any setting, and what suits the trainings that Assay knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from operator import not_
from typing import Annotated, Literal, Self, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from assay.infra.errors import suggestion
from assay.infra.settings import EachOnce, Settings, StandsOn
from assay.tasks.subjects.addresses.given import Asking, KindName
from assay.tasks.subjects.addresses.table import address_of, examples_for, is_only_asked, out_of_place, wrong_address


def as_number(value: object) -> object:
    """A fraction written as text, such as `4/255`, as a number; anything else as it is. Levels of 255 are refused."""
    if isinstance(value, str) and "/" in value:
        try:
            number = float(Fraction(value.replace(" ", "")))
        except (ValueError, ZeroDivisionError) as error:
            raise ValueError(f"{value!r} is no fraction such as 4/255") from error
        _require_share(number, value)
        return number
    if isinstance(value, int | float) and not isinstance(value, bool):
        _require_share(value, f"{value:g}")
    return value


def _require_share(number: float, written: str) -> None:
    """Nothing, or that ε is more than the whole range of a pixel: whoever writes 8 means 8 of 255 levels."""
    if not number > 1:
        return
    levels = float(number).is_integer() and number <= 255
    way_out = f"for {number:g} of 255 levels write {number:g}/255" if levels else "write a number such as 0.1 or 8/255"
    raise ValueError(f"pixel values lie in [0, 1], and {written} is more than all of it; {way_out}")


def as_tuple(value: object) -> object:
    """A single value as the only one of several."""
    return (value,) if isinstance(value, int | float | str) else value


def eps_name(eps: float) -> str:
    """How an ε is written in findings and gates: as a short decimal, or in levels of 255 where it has none.

    >>> [eps_name(eps) for eps in (0, 4 / 255, 0.1, 0.2, 1)]
    ['eps=0', 'eps=4/255', 'eps=0.1', 'eps=0.2', 'eps=1']
    """
    short, levels = f"{eps:g}", eps * 255
    if float(short) != eps and abs(levels - round(levels)) < 1e-9:
        return f"eps={round(levels)}/255"
    return f"eps={short}"


Eps = Annotated[float, BeforeValidator(as_number), Field(ge=0, le=1)]
EpsGrid = Annotated[tuple[Eps, ...], BeforeValidator(as_tuple), Field(min_length=1), EachOnce]


NETWORKS = (
    *("small-cnn", "attnmel", "attnmel-softmax", "vgg19", "vgg19-bn", "resnet50", "resnet101", "resnet152"),
    *("inception-v3", "chexnet", "vgg-cifar", "wide-resnet"),
)
"""The image networks that can be built by name."""

WAYS: tuple[KindName, ...] = get_args(KindName)

KNOWN: dict[str, tuple[str, ...]] = {
    "model": ("logistic",),
    "network": NETWORKS,
    "classifier": ("small-bert", "minilm-linear"),
    "tagger": ("small-tagger", "minilm"),
    "scorer": ("small-scorer", "minilm"),
    "predictions": (),
}
"""What Assay knows by name, by the setting that names it."""


ONLY_ABOUT: dict[str, tuple[KindName, ...]] = {
    "weights": ("model", "network"),
    **dict.fromkeys(("width", "crop", "mean", "std", "block"), ("network",)),
    "text": ("classifier",),
    "revision": ("network", "classifier", "tagger", "scorer"),
    "trusted": ("model", "classifier"),
    **dict.fromkeys(("tokens", "tags"), ("tagger",)),
    **dict.fromkeys(("pair", "score"), ("scorer",)),
    "train": ("network", "classifier", "tagger", "scorer"),
    **dict.fromkeys(("features", "folds", "interval"), ("model",)),
    "predicts": ("model", "predictions"),
}
"""Settings of a subject that are about some kinds alone."""


class Training(Settings):
    """How a network, or a text classifier, is trained. What is audited never trains."""

    epochs: int = Field(default=15, ge=1, le=10_000)
    """How often every training sample is seen."""

    batch_size: int = Field(default=64, ge=1, le=65_536)
    """Samples per step."""

    optimizer: Literal["adam", "sgd"] = "adam"
    """Adam, or stochastic gradient descent with Nesterov momentum."""

    learning_rate: float = Field(default=1e-3, gt=0, le=10)
    """The step size; with `one-cycle`, the highest."""

    momentum: float = Field(default=0.9, ge=0, lt=1)
    """The momentum of `sgd`."""

    weight_decay: float = Field(default=0.0, ge=0, le=1)
    """The L2 penalty on the weights."""

    schedule: Literal["one-cycle", "step", "constant"] = "one-cycle"
    """How the step size moves: up and down once, to a tenth every `step_epochs`, or not at all."""

    step_epochs: int = Field(default=10, ge=1)
    """After how many epochs the schedule `step` divides by ten."""

    loss: Literal["cross-entropy", "focal"] = "cross-entropy"
    """The loss; of several labels, binary cross-entropy per label in either case."""

    augment: tuple[Literal["flip-horizontal", "flip-vertical", "shift", "rotate", "crop", "window"], ...] = ()
    """How training images are varied; `window` cuts the subject's `crop` out anywhere."""

    validation: float = Field(default=0.1, ge=0, lt=1)
    """The share of the training samples set aside for the validation curve; it chooses nothing by default."""

    snapshots: int = Field(default=0, ge=0, le=50, exclude_if=lambda snapshots: not snapshots)
    """At how many epochs weights are kept, for `dynamics` of `hardness`."""


class Evaluation(Settings):
    """Which samples are audited, and which may train. No sample is ever in both. Of tables all samples are audited, but
    for `since`; where a model of yours learned from some, the source's `gold_in` says whose labels judge it."""

    column: str | None = Field(default=None, min_length=1)
    """The column with the part a sample belongs to; left out, the source's `split`, or `split`."""

    split: str = "test"
    """The part that is audited."""

    train: str = "train"
    """The part that subjects and generators learn from."""

    since: str | float | None = Field(default=None, exclude_if=lambda since: since is None, examples=["2026-09-01"])
    """Instead, for a `column` of dates or numbers: what is not below this is audited, what lies before may train."""

    holdout: float = Field(default=0.25, gt=0, lt=1)
    """Without a split column: the share that is audited, by a hash of the content; copies, pairs that share a sentence
    and sentences of one `document` stay together."""

    limit: int | None = Field(default=None, ge=1)
    """At most so many are audited, in proportion to the classes, at least one of each."""


class Subject(StandsOn):
    """A model under audit: one that Assay trains, one that the user brings, or only its predictions."""

    name: str = Field(default="subject", min_length=1, max_length=80)
    """What the subject is called in findings, gates and the report."""

    model: str | None = Field(default=None, min_length=1)
    """`logistic` (trained by Assay), your own as `module:object` or `file.py:object`, or by address:
    `https://host/predict`, `model.onnx`, `model.skops`, `models:/name@alias`, `timm:NAME`, `torchvision:NAME`,
    `./folder` or `org/name` of Hugging Face. An address stands for a `network` where the source has images, for a
    `classifier` beside `text`."""

    asking: Asking | None = Field(
        default=None, exclude_if=lambda asking: asking is None, examples=["{batch: 64, rate: 5}"]
    )
    """How a model behind `https://…` is asked."""

    predictions: str | None = Field(default=None, min_length=1)
    """A column with another system's predictions, as class names or codes."""

    weights: str | None = Field(default=None, min_length=1)
    """A safetensors file for the Torch module that `model` builds."""

    network: str | None = Field(default=None, min_length=1)
    """An image network by name (small-cnn, attnmel, attnmel-softmax, vgg19, vgg19-bn, resnet50, resnet101, resnet152,
    inception-v3, chexnet, vgg-cifar, wide-resnet, `timm:NAME`, `torchvision:NAME`), a builder of your own as
    `module:object` or `file.py:object`, a Hugging Face directory or hub id (with its `revision`), or without gradients:
    `https://…`, `model.onnx`."""

    width: float = Field(default=1.0, gt=0, le=4)
    """The channels of a named network, as a multiple of the published ones."""

    crop: int | None = Field(default=None, ge=4, le=4096)
    """The side of the centred square that `network` sees, in pixels; left out, whole images."""

    mean: tuple[float, ...] | None = None
    """What `network` subtracts per channel from pixels in [0, 1]; left out, measured on the training images, or 0 with
    `weights`."""

    std: tuple[float, ...] | None = None
    """What `network` divides by per channel; left out, measured likewise, or 1 with `weights`."""

    block: int = Field(default=64, ge=1, le=4096)
    """How many images `network` looks at together; fewer need less memory, another number may change last bits."""

    classifier: str | None = Field(default=None, min_length=1)
    """A text classifier: `small-bert` or `minilm-linear` (trained by Assay), a Hugging Face directory or hub id, a
    function of your own that gives probabilities for a list of texts, or a service (`https://…`)."""

    revision: str | None = Field(default=None, min_length=1)
    """The commit of a hub `network`, `classifier`, `tagger` or `scorer`."""

    trusted: tuple[str, ...] = Field(default=(), exclude_if=not_, examples=[["sklearn.tree._tree.Tree"]])
    """The types in a skops file that are made though skops does not trust them by itself, because you know where the
    file comes from: forests, boosting and searches hold such."""

    text: str = Field(default="text", min_length=1)
    """The column that `classifier` reads."""

    tagger: str | None = Field(default=None, min_length=1)
    """A token classifier that marks entities: `small-tagger` (trained by Assay), `minilm` (fine-tuned by Assay), a
    Hugging Face directory or hub id, or a function of your own that gives tags for a list of sentences, each a list of
    words."""

    tokens: str = Field(default="tokens", min_length=1)
    """The column of words that `tagger` reads; left out, as `source.tokens` says."""

    tags: str = Field(default="tags", min_length=1)
    """The column of tags that `tagger` should give; left out, the one of `source.tags`."""

    scorer: str | None = Field(default=None, min_length=1)
    """A model that scores how similar two sentences are: `small-scorer` (trained by Assay), `minilm` (fine-tuned by
    Assay), a Hugging Face directory or hub id, or a function of your own that gives scores for a list of pairs."""

    pair: tuple[str, str] = ("first", "second")
    """The two columns that `scorer` reads."""

    score: str = Field(default="score", min_length=1)
    """The column of scores that `scorer` should give; left out, the one of `source.score`."""

    predicts: str | None = Field(
        default=None, min_length=1, exclude_if=lambda column: column is None, examples=["price"]
    )
    """The column of true numbers that a regression `model` (its `predict`, a function, or `model.skops`) or
    `predictions` are held against. The model never sees that column."""

    interval: float | None = Field(default=None, gt=0, lt=1, exclude_if=lambda level: level is None, examples=[0.9])
    """How often the intervals of a regression model should hold the truth. It then gives three numbers a sample: the
    prediction, and the lower and upper end of its interval."""

    noise: tuple[Annotated[float, Field(gt=0, le=10)], ...] = Field(
        default=(), exclude_if=lambda amounts: not amounts, examples=[[0.1, 0.5]]
    )
    """Normal noise on the `features` of a regression model, in standard deviations of each column: how much worse it
    predicts then."""

    train: Training | None = None
    """How it is trained; left out, it comes as it is, or with `weights`. Taggers and scorers that Assay names are
    always trained."""

    features: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The columns that the model sees, in this order; left out, `logistic` takes every numeric one."""

    train_on: Literal["gold", "weak"] = "gold"
    """What it learns from: gold labels, or the first labeler's weak ones, where decided. Gold judges."""

    folds: int = Field(default=5, ge=2, le=100)
    """Into how many parts samples are split so that `logistic` predicts none it learned from."""

    @property
    def kind(self) -> KindName:
        """Which of the settings names it.

        >>> Subject(scorer="small-scorer").kind
        'scorer'
        """
        return next(name for name in WAYS if getattr(self, name) is not None)

    @property
    def named(self) -> str:
        """What that setting says."""
        return str(getattr(self, self.kind))

    @property
    def stands_on(self) -> StandsOn:
        """The files and the version that its answers depend on."""
        return self

    @property
    def has_gradient(self) -> bool:
        """Whether attacks can follow its gradient: a file of another library, and a service, are only asked.

        >>> Subject(network="m.onnx").has_gradient, Subject(network="small-cnn", train={}).has_gradient
        (False, True)
        """
        return not is_only_asked(self.named)

    @field_validator("model", "network", "classifier", "tagger", "scorer")
    @classmethod
    def _names_are_known(cls, named: str | None, info: ValidationInfo) -> str | None:
        if named is None:
            return None
        kind = str(info.field_name)
        if why := wrong_address(kind, named):
            raise ValueError(why)
        if kind not in ("model", "network") or named in KNOWN[kind] or ":" in named or address_of(named) is not None:
            return named
        if others := [f"{other}: {named}" for other, names in KNOWN.items() if named in names]:
            looks_at = "columns" if kind == "model" else "images"
            raise ValueError(f"is no {kind} of {looks_at}; write {' or '.join(others)}")
        raise ValueError(
            f"there is no such {kind}; {suggestion(named, KNOWN[kind])} (one of your own is written as "
            f"module:object or file.py:object, or by its address {examples_for(kind)})"
        )

    @model_validator(mode="after")
    def _settings_fit_its_kind(self) -> Self:
        for why in self._against():
            raise ValueError(f"the subject {self.name} {why}")
        self.refuse_strays(self.kind, ONLY_ABOUT)
        return self

    def _against(self) -> Iterator[str]:
        """What does not fit together, each as the end of a sentence about the subject."""
        written = {name: str(getattr(self, name)) for name in WAYS if getattr(self, name) is not None}
        addresses = [address_of(named) for named in written.values()]
        own_code = any(":" in named for name, named in written.items() if name != "predictions")
        # The record of a run names all settings, also those that were left open.
        changed = {name for name, field in type(self).model_fields.items() if getattr(self, name) != field.default}
        given = next((name for name in StandsOn.model_fields if name in changed), None)
        if given is not None and not any(addresses) and not own_code:
            yield f"has `{given}`, which is about a function of your own (module:object or file.py:object)"
        if len(written) != 1:
            yield (
                "needs exactly one of `model` (logistic, module:object or file.py:object), `network` (images), "
                "`classifier` (text), `tagger` (entities), `scorer` (pairs of sentences) or `predictions` (a column of "
                f"the samples), and has {' and '.join(written) or 'none of them'}"
            )
        kind, train, (address,) = self.kind, self.train, addresses
        if self.weights is not None and self.model == "logistic":
            yield "has `weights` but no Torch module to load them into"
        if why := out_of_place(self.named, changed):
            yield f"has {why}"
        if address is None and self.asking is not None:
            yield "has `asking`, which is about an address (https://…)"
        if address is None and self.trusted:
            yield "has `trusted`, which is about a skops file"
        is_built_here = address is None or (address.followed and not address.brings_weights)
        if kind == "network" and is_built_here and (self.weights is None) == (train is None):
            yield "needs either `train` (Assay trains the network) or `weights` (a safetensors file), and not both"
        if train is not None and self.classifier == "minilm-linear":
            yield "has `train`, but its classifier is a linear layer that needs no epochs: leave `train` out"
        if train is not None and train.snapshots and kind not in ("network", "classifier"):
            yield "has `snapshots`, which are kept of a network or a classifier"
        if self.crop is None and train is not None and "window" in train.augment:
            yield "is trained on windows of its images: `crop` says how large"
        if train is not None and kind in ("classifier", "tagger", "scorer") and ":" in self.named:
            yield f"has `train`, but its {kind} comes as it is: leave it out"
        yield from self._against_regression()
        if self.features is not None and len(set(self.features)) < len(self.features):
            twice = min(name for name in self.features if self.features.count(name) > 1)
            yield f"lists the feature {twice!r} more than once"

    def _against_regression(self) -> Iterator[str]:
        """What does not fit a subject that predicts a number, or one that does not."""
        if self.predicts is None:
            if self.interval is not None:
                yield "has `interval`, which is about regression: say with `predicts` which column it predicts"
            if self.noise:
                yield "has `noise`, which is about regression: say with `predicts` which column it predicts"
            return
        if self.noise and (self.features is None or self.model is None):
            yield "has `noise`, which is put on the `features` of a `model`: list the columns of numbers that it reads"
        address = address_of(self.model or "")
        if self.model == "logistic" or (address is not None and not address.predicts):
            way = "name a function of yours (model.py:predict) or a file (model.skops)"
            yield f"has `predicts`, and {self.named} is asked for classes: {way}"
        if self.predicts in ("id", "gold", self.predictions, *(self.features or ())):
            yield f"is held against {self.predicts!r}, so that it may neither see nor be that column"


TAGGING = {
    "small-tagger": Training(epochs=15, batch_size=16, learning_rate=3e-3, validation=0),
    "minilm": Training(epochs=3, batch_size=16, learning_rate=2e-4, validation=0),
}
"""What suits the taggers that Assay knows."""

SCORING = {
    "small-scorer": Training(epochs=12, batch_size=32, learning_rate=3e-3, validation=0),
    "minilm": Training(epochs=8, batch_size=8, learning_rate=5e-5, validation=0),
}
"""What suits the scorers that Assay knows."""

FURTHER = Training(epochs=5, batch_size=16, learning_rate=5e-5, validation=0)
"""What suits a Hugging Face model that is trained further; the paper's are, as it describes in its section 4."""


def options_of(subject: Subject) -> Training | None:
    """How the tagger or scorer is trained: as `train` says, and what it leaves open as suits; None: as it came.

    >>> options_of(Subject(tagger="minilm", train={"epochs": 1})).learning_rate
    0.0002
    >>> options_of(Subject(tagger="some/folder")) is None
    True
    """
    suits = (TAGGING if subject.kind == "tagger" else SCORING).get(subject.named)
    if subject.train is None:
        return suits
    given = {name: getattr(subject.train, name) for name in subject.train.model_fields_set}
    return (suits or FURTHER).model_copy(update=given)
