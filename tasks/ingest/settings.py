"""The settings of `source`: where a pipeline's samples come from, what their columns mean, and which people's
answers are gold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from assay.infra.settings import Settings
from assay.infra.storage.network import without_password


def as_many(value: object) -> object:
    """A word as a list of one; anything else as it is.

    >>> as_many("a.csv"), as_many(["a.csv", "b.csv"])
    (('a.csv',), ['a.csv', 'b.csv'])
    """
    return (value,) if isinstance(value, str) else value


Paths = Annotated[tuple[str, ...], BeforeValidator(as_many), Field(min_length=1)]
Names = Annotated[tuple[str, ...], BeforeValidator(as_many)]


class Scan(Settings):
    """How a medical scan becomes pictures of 8 bits: which values are shown, and which slices."""

    window: tuple[float, Annotated[float, Field(gt=1)]] | None = Field(default=None, examples=["[40, 400]"])
    """Centre and width of the values shown, in the modality's units. Left out, a DICOM file's own window, else all; of
    NIfTI those between the 1st and 99th percentile."""

    slices: Annotated[int, Field(ge=1, le=4096)] | None = Field(default=None, examples=["16"])
    """So many slices of a volume (or frames of a file), evenly; left out, all."""

    plane: Literal["axial", "coronal", "sagittal"] = "axial"
    """Across which plane of its header a NIfTI volume is cut."""


class PeoplesGold(Settings):
    """Answers of people that are gold; exports alone (`gold: answers.json`) are the short form."""

    label_studio: Paths = Field(examples=["answers.json", "answers/*.json"])
    """Exports of Label Studio (format JSON): paths, patterns or URLs. Of several answers of one person the last
    counts."""
    question: str = Field(default="label", min_length=1)
    """The choice that is the class, by its `from_name`; tasks of `assay export --label-studio 100` call it `label`."""
    id: str = Field(default="sample", min_length=1)
    """The field of a task's data that holds the sample's id; those tasks call it `sample`."""

    @model_validator(mode="before")
    @classmethod
    def _from_paths(cls, written: Any) -> Any:
        return {"label_studio": written} if isinstance(written, str | list | tuple) else written


ColumnType = Literal["int", "float", "bool", "text", "time"]

ORIGINS = (
    *("dataset", "parquet", "csv", "jsonl", "iob", "votes", "images", "files", "sql"),
    *("dicom", "nifti", "label_studio"),
)
"""Where samples can come from; a source says exactly one of them."""


MOST_DRAWN = 4096 * 4096
"""An image that samples keep has at most so many pixels."""

Side = Annotated[int, Field(ge=1, le=8192)]


Extent = Annotated[tuple[Side, Side], BeforeValidator(lambda value: (value, value) if type(value) is int else value)]


def _is_left_out(value: object) -> bool:
    """Whether it says nothing: then it is not in a key either, as before there was such a setting."""
    return value is None


class Pixels(Settings):
    """How an image is brought to the shape that all share. What is left out is as in the first image of the source."""

    size: Extent | None = Field(default=None, examples=["64", "[64, 96]"])
    """The size that images are drawn to (bilinear), proportions not kept: one number, or height and width."""
    resize: Side | None = Field(default=None, examples=["256"])
    """The length of the shorter side (bilinear), proportions kept; needs `crop`."""
    crop: Extent | None = Field(default=None, examples=["224"])
    """The size cut out of the middle, after `size` or `resize`."""
    margin: Annotated[int, Field(ge=0, le=4096)] = 0
    """So many pixels more on every side of the crop, for what moves images."""
    channels: Literal[1, 3] | None = Field(default=None, examples=["1", "3"])
    """1 is grey, 3 red, green and blue; palettes, alpha and CMYK need one of them."""
    shape: tuple[Side, ...] | None = Field(default=None, min_length=2, max_length=3, examples=["[28, 28]"])
    """The shape of images that are flat lists: height and width, with 1 or 3 channels last or first."""

    @property
    def cut(self) -> tuple[int, int] | None:
        """Height and width of what is cut out, the margin included."""
        return None if self.crop is None else (self.crop[0] + 2 * self.margin, self.crop[1] + 2 * self.margin)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for setting in ("size", "cut", "shape"):
            extents = getattr(self, setting) or ()
            if prod(extents) > MOST_DRAWN * (3 if len(extents) == 3 else 1):
                raise ValueError(
                    f"images of {' x '.join(map(str, extents))} have more than {MOST_DRAWN:,} pixels, the most that "
                    "is kept of an image; say less"
                )
        if self.size is not None and self.resize is not None:
            raise ValueError("pixels has both size and resize: size ignores proportions, resize keeps them; choose one")
        if self.resize is not None and self.crop is None:
            raise ValueError("resize leaves images of different proportions different: add crop, or use size")
        if self.margin and self.crop is None:
            raise ValueError("margin widens a crop: add crop")
        if self.cut is not None:
            short = self.resize is not None and min(self.cut) > self.resize
            if short or (self.size is not None and (self.cut[0] > self.size[0] or self.cut[1] > self.size[1])):
                raise ValueError(
                    f"crop and margin need {self.cut[0]} x {self.cut[1]} pixels, more than size or resize leaves; "
                    "enlarge these, or cut out less"
                )
        if self.shape is not None and len(self.shape) == 3 and not {self.shape[0], self.shape[2]} & {1, 3}:
            raise ValueError(f"shape {list(self.shape)} has neither 1 nor 3 channels, first or last")
        return self


_SCANS = {"id": "scan", "image": "image", "group": "patient"}
_MADE = {"dicom": _SCANS, "nifti": _SCANS, "label_studio": {"id": "task"}}
"""The columns that readers make, by what they mean."""


def _not_zero(value: int) -> int:
    if value == 0:
        raise ValueError("columns are counted from 1, or from the end with -1")
    return value


def _between_cells(value: str) -> str:
    if not value.isascii() or value in '"\r\n\0' or value.isalnum():
        raise ValueError(
            "expected one character between cells that is no letter, digit, quote, line break or NUL, such as a comma, "
            "; or \\t"
        )
    return value


_COLUMNS_OF_TABLES = ("image", "id", "label", "labels", "columns", "features", "split", "group")
"""Settings that name the columns of a table."""

_ONLY_ABOUT = {
    "iob_columns": ("iob",),
    "reader": ("files",),
    "query": ("sql",),
    "scan": ("dicom", "nifti"),
    "delimiter": ("csv", "votes", "files"),
}
"""Settings that are about samples from some origins alone."""

Place = Annotated[int, Field(ge=-100, le=100), AfterValidator(_not_zero)]


class Source(Settings):
    """One place the samples come from: exactly one of `dataset`, `parquet`, `csv`, `jsonl`, `iob`, `votes`,
    `images`, `files`, `sql`, `dicom`, `nifti` and `label_studio`."""

    places: ClassVar[tuple[str, ...]] = ORIGINS[1:]

    dataset: str | None = None
    """A data set by name, embedded (`sample/breast-cancer`) or of the catalogue (`youtube-spam`)."""
    parquet: Paths | None = None
    """Parquet files: paths beside pipelines.yaml, patterns (`day/*.parquet`) or URLs (`s3://bucket/day/*.parquet`)."""
    csv: Paths | None = None
    """CSV files with a header line, in UTF-8: paths, patterns or URLs."""
    jsonl: Paths | None = None
    """JSON Lines files (one object a line), in UTF-8: paths, patterns or URLs."""
    iob: Paths | None = Field(default=None, examples=["corpus/*.tsv"])
    """Tagged sentences in IOB or CoNLL files, which become the columns `tokens` and `tags`. Files named after train,
    devel and test get a `split`, those with -DOCSTART- a `document`; IOB1, BIOES and BILOU become IOB2."""
    iob_columns: tuple[Place, Place] = (1, -1)
    """Where a line of `iob` has its word and its tag: columns from 1, or from the end with -1."""
    votes: Paths | None = None
    """A table of votes (Parquet or CSV): a whole number per labelling function, -1 where it abstains."""
    images: Paths | None = Field(default=None, examples=["scans", "scans/*/*.png"])
    """Images in folders named after their classes; folders named train, valid or test above them become `split`."""
    files: Paths | None = Field(default=None, examples=["scores/*.xlsx"], exclude_if=_is_left_out)
    """Files of another format, which `reader` reads: paths, patterns or URLs."""
    reader: Literal["parquet", "csv", "jsonl"] | None = Field(default=None, examples=["csv"], exclude_if=_is_left_out)
    """Who reads `files`; also an installed package's, or your own as `module:object` or `file.py:object`."""
    sql: Annotated[tuple[str], BeforeValidator(as_many), AfterValidator(without_password)] | None = Field(
        default=None, examples=["sqlite:///comments.db", "${DATABASE_URL}"], exclude_if=_is_left_out
    )
    """A database by SQLAlchemy's address: SQLite (a path beside pipelines.yaml), PostgreSQL with the extra `sql`,
    others with their drivers. Secrets stand in it as names of environment variables:
    `postgresql://night:${DB_PASSWORD}@db/clinic`."""
    query: str | None = Field(default=None, min_length=1, examples=["select * from comments"], exclude_if=_is_left_out)
    """The `select` whose rows are the samples."""
    query_timeout: float = Field(default=600.0, gt=0, le=86_400, exclude=True)
    """Seconds until the database has to have the next rows; SQLite and PostgreSQL stop then."""
    dicom: Paths | None = Field(default=None, examples=["scans", "scans/*/*.dcm"], exclude_if=_is_left_out)
    """DICOM files (extra `medical`). A row is a frame: `image`, `patient` (a hash, the `group`), `slice`, `modality`,
    `body_part`, `view`, `laterality` and `sex`, no other tag. `label: folder` takes folders for classes."""
    nifti: Paths | None = Field(default=None, examples=["study/**/*.nii.gz"], exclude_if=_is_left_out)
    """NIfTI volumes (extra `medical`), a row a slice; `sub-07` in a path is the group, else each volume."""
    scan: Scan | None = Field(
        default=None, examples=["{window: [40, 400]}", "{slices: 16, plane: coronal}"], exclude_if=_is_left_out
    )
    """Which values and slices of `dicom` and `nifti` become pictures."""
    label_studio: Paths | None = Field(default=None, examples=["labelled.json"], exclude_if=_is_left_out)
    """Exports of Label Studio (format JSON). A row is a `task`, with a column for everything shown and for each
    question by its `from_name`: of choices what most people chose (`NAME_by_1`: person 1), of ratings the mean, of
    spans `tags` of `tokens`."""
    image: str | None = Field(default=None, examples=["file"])
    """The column with the images: paths from the table's folder, bytes of PNG or JPEG files, or arrays (whole numbers 0
    to 255, or numbers 0 to 1)."""
    pixels: Pixels | None = Field(default=None, examples=["{size: 64}", "{resize: 256, crop: 224, channels: 3}"])
    """How images are brought to one shape; without it one unlike the first in size or mode is rejected."""
    id: str | None = None
    """The column that names a sample, unique over all files; without it `file:row`."""
    label: str | None = None
    """The column with the gold class; a missing value (or -1 in a column of whole numbers) means unlabelled. So do `NA`
    and `None`, where `classes` does not name them."""
    labels: Names | None = Field(default=None, min_length=1, examples=["[effusion, oedema]", "findings"])
    """Instead of `label`, of several classes: columns of 1, 0 and -1 (unknown), or one that lists names (a list, or
    text such as `effusion|oedema`)."""
    tags: str | None = Field(default=None, min_length=1, examples=["tags"])
    """Instead of `label`, of sentences: the column with a tag (`B-Disease`, `I-Disease`, `O`) per word of `tokens`."""
    tokens: str = Field(default="tokens", min_length=1)
    """The column with the words that `tags` are of, a list per sample."""
    score: str | None = Field(default=None, min_length=1, examples=["similarity"])
    """Instead of `label`: a number, such as how similar two sentences are."""
    classes: Annotated[tuple[str, ...], Field(min_length=2)] | None = None
    """The classes in the order of their codes; left out, read off the gold labels."""
    columns: dict[str, ColumnType] | None = None
    """Types of columns of text files; others are inferred from the first 10 000 rows."""
    features: Names | None = None
    """The columns to keep beside id and label (default all); of votes, those that are no votes."""
    required: Names = ()
    """Columns in which a missing value (null, NaN, empty cell) rejects the row."""
    split: str | None = None
    """The column with the part that a sample belongs to (train, valid, test)."""
    group: str | None = Field(default=None, min_length=1, examples=["patient"], exclude_if=_is_left_out)
    """The column of what is independent: the patient, the document, the site. Hold-outs never part a group; intervals
    and tests count groups. No value is a group of its own."""
    gold: PeoplesGold | None = Field(default=None, examples=["answers.json"], exclude_if=_is_left_out)
    """People's answers in Label Studio, which override or complete the gold column, by id."""
    gold_in: Names | None = None
    """The parts (values of `split`) whose gold labels are used."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1), AfterValidator(_between_cells)] = ","
    """The character between the cells of a CSV file."""
    masked: bool | None = None
    """Whether reports and errors mask every word. Left out, as the catalogue says, else as `trust.masked`."""
    max_rejects: Annotated[float, Field(ge=0.0, le=1.0)] = 0.05
    """The share of rows that may be rejected before the run stops."""

    @property
    def keeps_only_named(self) -> bool:
        """Whether columns beside those that have a meaning are left out unless `features` name them."""
        return self.features is not None and self.votes is None

    @property
    def origin(self) -> str:
        """Which kind of source it is: the one place that is named."""
        return next(name for name in ORIGINS if getattr(self, name) is not None)

    @model_validator(mode="before")
    @classmethod
    def _with_the_columns_that_are_made(cls, given: object) -> object:
        """The columns that readers make themselves mean what they mean, unless somebody says otherwise."""
        if not isinstance(given, dict):
            return given
        defaults = next((meant for origin, meant in _MADE.items() if given.get(origin) is not None), {})
        return {**defaults, **given}

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        given = [name for name in ORIGINS if getattr(self, name) is not None]
        if len(given) != 1:
            listed = " and ".join(given) if given else "none of them"
            raise ValueError(f"a source is exactly one of {', '.join(ORIGINS)}, and here is {listed}")
        self.refuse_strays(self.origin, _ONLY_ABOUT)
        if self.files is not None and self.reader is None:
            raise ValueError("files and reader go together: the files, and who reads them")
        if self.sql is not None and self.query is None:
            raise ValueError("sql and query go together: the database, and the rows that are asked for")
        if self.sql is not None and self.id is None:
            raise ValueError("rows of a database have no order of their own: say which column of the query is the id")
        parts = (self.split, self.dataset, self.images, self.iob)
        has_split = any(part is not None for part in parts)
        if self.gold_in is not None and not has_split:
            raise ValueError("gold_in needs split: the column that says which part a sample belongs to")
        if self.classes is not None and len(set(self.classes)) < len(self.classes):
            raise ValueError(f"a class is named twice in classes: {', '.join(self.classes)}")
        self._require_columns_of_one_meaning()
        if self.group is not None and self.group == self.split:
            raise ValueError(
                f"{self.group} is both group and split: a split parts samples, and a group is never parted"
            )
        self._require_images_that_fit()
        self._require_one_truth()
        words = (*_COLUMNS_OF_TABLES, "tags", "score", "classes")
        self._require_none_of(words, "iob", "is about the columns of tables, and an iob file has words")
        return self

    def _require_none_of(self, names: Sequence[str], origin: str, reason: str) -> None:
        """Nothing, or the sentence for a setting that says nothing of a source from this origin."""
        setting = next((name for name in names if getattr(self, name)), None)
        if getattr(self, origin) is not None and setting is not None:
            raise ValueError(f"{setting} {reason}; leave it out")

    def _require_columns_of_one_meaning(self) -> None:
        meanings: dict[str, str] = {}
        for setting in ("id", "label", "image", "tags", "score"):
            column = getattr(self, setting)
            if column is not None and meanings.setdefault(column, setting) != setting:
                raise ValueError(f"{meanings[column]} and {setting} both name the column {column}: it is one of them")
        named = [(name, setting) for setting in ("labels", "features") for name in getattr(self, setting) or ()]
        for column, setting in (*named, (self.split, "split"), (self.group, "group")):
            if column in meanings and (meanings[column], setting) != ("id", "group"):
                raise ValueError(f"{meanings[column]} and {setting} both name the column {column}: it is one of them")
        if self.tags is not None and self.tokens == self.tags:
            raise ValueError(f"tokens and tags both name the column {self.tags}: the words, and a tag for each")
        for setting in ("labels", "features", "required"):
            names = getattr(self, setting) or ()
            if len(set(names)) < len(names):
                raise ValueError(f"a column is named twice in {setting}: {', '.join(names)}")

    def _require_one_truth(self) -> None:
        truths = [name for name in ("label", "labels", "tags", "score") if getattr(self, name) is not None]
        if len(truths) > 1:
            raise ValueError(f"{truths[0]} and {truths[1]} are two kinds of truth: give one of them")
        other = "iob" if self.iob is not None else next((truth for truth in truths if truth != "label"), None)
        if self.gold is not None and other is not None:
            raise ValueError(f"gold is one class a sample, and with {other} samples have another truth; leave gold out")

    def _require_images_that_fit(self) -> None:
        if self.label is not None and self.labels is not None:
            raise ValueError("label is for one class per sample, labels for several: give one of them")
        self._require_none_of(_COLUMNS_OF_TABLES, "images", "names a column, and a folder of images has none")
        has_images = self.image is not None or self.images is not None or self.dataset is not None
        if self.pixels is not None and not has_images:
            raise ValueError("pixels is about images: say which column holds them with image, or give images")


_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%|(0?\.\d{1,8}|1(?:\.0+)?)")


def share_of(text: str) -> float:
    """The share that a person wrote, above 0 and at most 1; raises ValueError for anything else.

    >>> share_of("5%"), share_of("0.05"), share_of("12.5 %"), share_of("100%")
    (0.05, 0.05, 0.125, 1.0)
    """
    match = _SHARE.fullmatch(text.strip())
    share = 0.0 if match is None else float(match[1]) / 100 if match[1] else float(match[2])
    if not 0 < share <= 1:
        raise ValueError("expected a share of the samples above 0 and up to 100 %, such as 5% or 0.05")
    return share


def share_in_words(share: float) -> str:
    """A share as a person reads it.

    >>> share_in_words(0.05), share_in_words(0.125)
    ('5 %', '12.5 %')
    """
    return f"{share * 100:.4g} %"
