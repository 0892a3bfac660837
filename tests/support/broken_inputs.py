"""Projects that something is wrong with, drawn at random: every kind of source, file and setting has its generator."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import socket
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

T = TypeVar("T")


class Draw(random.Random):
    """A source of draws that remembers, in words, what it drew: the kind of fault that a project has."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.kind: list[str] = []

    def named(self, options: dict[str, T]) -> T:
        """One of the options; its name is part of the kind."""
        name = self.choice(list(options))
        self.kind.append(name)
        return options[name]

    def noted(self, options: Sequence[T]) -> T:
        """One of the options; its beginning is part of the kind."""
        option = self.choice(options)
        self.kind.append(option.decode("latin-1")[:24] if isinstance(option, bytes) else str(option)[:24])
        return option


Pipeline = dict[str, Any]
Generator = Callable[[Draw, Path], Pipeline]
GENERATORS: list[Generator] = []

ROWS = 60
HOSTILE_NAMES = [
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "‮gnihtemos",
    "a\nb",
    "",
    " ",
    "x" * 5000,
    "id",
    "gold",
    "image",
    "labels",
    "rank",
    "a,b",
    '"',
    "\x9b1m",
    "é" * 40,
    "<script>alert(1)</script>",
    "__index_level_0__",
    "..",
    "/",
    "None",
    "1",
]
HOSTILE_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    -(2**70),
    1e308,
    1e-300,
    0.5,
    "",
    " ",
    "x",
    "\x1b[31m",
    "‮",
    "../..",
    "/dev/zero",
    "/dev/random",
    "/proc/self/mem",
    "pipe",
    "sock",
    "~",
    "*",
    "**",
    "[",
    "a::b",
    "file:///dev/zero",
    "http://127.0.0.1:9/x",
    "s3://b/x",
    "foo://x",
    "x" * 5000,
    [],
    [[]],
    ["a", "a"],
    {},
    {"a": {"b": {"c": 1}}},
    "a:b",
    "os:system",
    "nowhere.py:f",
    "1/0",
    "4/255",
    "label",
    "id",
    "text",
    "logistic",
    "small-cnn",
    "small-bert",
    "digits",
    [None],
    [1, "a"],
    ["label"],
    "-1",
]


def generator(function: Generator) -> Generator:
    """Marks a function as a generator of broken projects."""
    GENERATORS.append(function)
    return function


def broken_project(seed: int, folder: Path) -> list[str]:
    """Writes the project of that number into the folder; the kind of its fault, and options of the command line."""
    draw = Draw(seed)
    make = GENERATORS[seed % len(GENERATORS)]
    folder.mkdir(parents=True)
    made = make(draw, folder)
    config = made.pop("config", None)
    options: list[str] = made.pop("options", [])
    if config is None:
        file = {"compute": {"engine": "serial"}, "pipelines": {"night": made}}
        (folder / "pipelines.yaml").write_text(json.dumps(file))  # JSON is YAML
    kind = "".join(letter if letter.isprintable() else "?" for letter in ", ".join(draw.kind))
    return [f"{make.__name__}: {kind}", *options]


# --- rows of text


def rows(draw: Draw) -> list[dict[str, Any]]:
    """Rows that nothing is wrong with."""
    return [
        {"id": f"s{at}", "x": at % 7, "y": round(draw.random(), 3), "text": f"word{at} and more", "label": "ab"[at % 2]}
        for at in range(ROWS)
    ]


def as_csv(table: list[dict[str, Any]]) -> bytes:
    lines = [",".join(table[0])] + [",".join(str(value) for value in row.values()) for row in table]
    return ("\n".join(lines) + "\n").encode()


def as_jsonl(table: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in table).encode()


def as_iob(table: list[dict[str, Any]]) -> bytes:
    return "".join(f"word{at} O\ndrug B-Drug\nmore I-Drug\n\n" for at in range(len(table))).encode()


def damage(draw: Draw, content: bytes) -> bytes:
    """Bytes with something wrong anywhere in them."""
    at = draw.randrange(len(content))
    end = min(len(content), at + draw.choice([1, 10, 200]))
    line = content.find(b"\n", at) + 1
    return draw.named(
        {
            "cut": lambda: content[:at],
            "NULs": lambda: content[:at] + b"\0" * draw.choice([1, 5000]) + content[end:],
            "noise": lambda: content[:at] + draw.randbytes(end - at) + content[end:],
            "a quote": lambda: content[:at] + b'"' + content[at:],
            "a byte order mark within": lambda: content[:at] + b"\xff\xfe" + content[at:],
            "a carriage return": lambda: content[:at] + b"\r" + content[at:],
            "an endless line": lambda: content[:line] + b"x" * draw.choice([100_000, 10_000_000]) + content[line:],
            "a row of delimiters": lambda: content[:line] + b"," * draw.choice([50, 100_000]) + b"\n" + content[line:],
            "escapes": lambda: content[:line] + "\x1b[2J‮\x9b".encode() + content[line:],
            "blank lines": lambda: content[:line] + b"\n" * 1000 + content[line:],
            "CRLF": lambda: content.replace(b"\n", b"\r\n"),
            "CR": lambda: content.replace(b"\n", b"\r"),
            "UTF-16": lambda: content.decode("latin-1").encode("utf-16"),
            "a byte order mark": lambda: b"\xef\xbb\xbf" + content,
            "header only": lambda: content[: content.find(b"\n") + 1],
            "twice": lambda: content + content,
            "only NULs": lambda: b"\0" * 100_000,
            "only line ends": lambda: b"\n" * 1000,
            "empty": lambda: b"",
            "only noise": lambda: draw.randbytes(2000),
        }
    )()


def packed(draw: Draw, name: str, content: bytes) -> tuple[str, bytes]:
    """A packed file, whole or damaged."""
    kind = draw.noted(["gz", "bz2", "xz", "zip", "zip"])
    if kind == "zip":
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(draw.choice([0, 1, 1, 2])):
                archive.writestr(f"{number}{name}", content)
        data = sink.getvalue()
    else:
        data = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[kind](content)
    return f"{name}.{kind}", damage(draw, data) if draw.random() < 0.8 and kind != "utf" else data


WRITERS = {"csv": as_csv, "jsonl": as_jsonl, "iob": as_iob}


def text_source(draw: Draw, folder: Path, kind: str, content: bytes, **source: Any) -> Pipeline:
    """A pipeline over one text file."""
    name = f"data.{kind}"
    (folder / name).write_bytes(content)
    named: dict[str, Any] = {} if kind == "iob" else {"id": "id", "label": "label"}
    pipeline: Pipeline = {"source": {kind: name, **named, **source}}
    if kind != "iob" and draw.random() < 0.2:
        pipeline["subject"] = {"model": "logistic", "features": ["x", "y"]}
    return pipeline


@generator
def damaged_text(draw: Draw, folder: Path) -> Pipeline:
    kind = draw.noted(["csv", "jsonl", "iob"])
    try:
        content = damage(draw, WRITERS[kind](rows(draw)))
    except UnicodeError:
        content = b"\xff"
    return text_source(draw, folder, kind, content)


@generator
def packed_text(draw: Draw, folder: Path) -> Pipeline:
    kind = draw.noted(["csv", "jsonl", "iob"])
    content = WRITERS[kind](rows(draw) * draw.choice([1, 2000]))
    try:
        name, data = packed(draw, f"data.{kind}", content)
    except UnicodeError:
        name, data = "data.csv.gz", b"\x1f\x8b"
    (folder / name).write_bytes(data)
    return {"source": {kind: name}}


@generator
def odd_json(draw: Draw, folder: Path) -> Pipeline:
    depth = draw.choice([10, 31, 33, 1000, 50_000, 100_000])
    table = rows(draw)
    line = draw.noted(
        [
            b'{"id": "z", "x": ' + b"[" * depth + b"]" * depth + b', "label": "a"}',
            b'{"id": "z", "x": ' + b"[" * depth,
            b'{"a":' * depth + b"1" + b"}" * depth,
            b"[" * depth,
            b"1",
            b"null",
            b'"x"',
            b"[]",
            b"{}",
            b"{",
            b'{"id": 1e999, "label": "a"}',
            b'{"id": NaN}',
            b'{"id": "z", "id": "y", "label": "a"}',
            b'{"id": "z", "x": ' + b"9" * 5000 + b', "label": "a"}',
            b'{"id": "z", "label": ["a"]}',
            b'{"id": {"a": 1}, "label": "a"}',
            b'{"id": "z", "label": {"a": 1}}',
            b'{"id": "z", "x": "2024-01-01T00:00:00", "label": "a"}',
            b'{"id": "z", "label": true}',
            b'{"id": "\\ud800", "label": "a"}',
            b'{"id": "\\u0000", "label": "a"}',
            b'{"": 1, "id": "z", "label": "a"}',
            json.dumps({f"c{at}": at for at in range(draw.choice([50, 100_000]))}).encode(),
            json.dumps({draw.choice(HOSTILE_NAMES): 1, "id": "z", "label": "a"}).encode(),
        ]
    )
    first, rest = (line, as_jsonl(table)) if draw.random() < 0.5 else (as_jsonl(table).rstrip(), line)
    return text_source(draw, folder, "jsonl", first + b"\n" + rest)


@generator
def odd_header(draw: Draw, folder: Path) -> Pipeline:
    header = draw.noted(
        [
            b"id,x,x,text,label",
            b",,,,",
            b"id,x,y,text,label,",
            b"id",
            b'"id,x,y,text,label',
            b"id;x;y;text;label",
            b"id,x,y,text,label,gold",
            b"id,x,y,text,gold",
            b",".join(b"c%d" % at for at in range(100_000)),
            b"\x1b[31m,x,y,text,label",
            b" id ,x,y,text, label ",
            b"1,2,3,4,5",
            b"id,x,y,text," + b"l" * 2_000_000,
        ]
    )
    body = as_csv(rows(draw)).partition(b"\n")[2]
    return text_source(
        draw,
        folder,
        "csv",
        header + b"\n" + body,
        delimiter=draw.noted([",", ",", ";", "\t", "\n", "ab", "\0", '"', "x", "é"]),
    )


@generator
def odd_columns_named(draw: Draw, folder: Path) -> Pipeline:
    named = {
        setting: draw.choice([*("id", "x", "y", "text", "label"), *HOSTILE_NAMES[:6], "lable"])
        for setting in draw.sample(
            ["id", "label", "image", "split", "score", "tags", "tokens", "features", "required", "labels", "gold_in"], 3
        )
    }
    draw.kind += [f"{setting}={str(value)[:12]}" for setting, value in named.items()]
    kind = draw.noted(["csv", "jsonl"])
    (folder / f"data.{kind}").write_bytes(WRITERS[kind](rows(draw)))
    columns = {
        "columns": {
            draw.choice(["x", "text", "nowhere"]): draw.choice(["int", "time", "bool", "text", "float", "date"])
        }
    }
    return {"source": {kind: f"data.{kind}", **named, **(columns if draw.random() < 0.3 else {})}}


@generator
def odd_values(draw: Draw, folder: Path) -> Pipeline:
    table = rows(draw)
    column = draw.noted(["id", "x", "label", "text"])
    value = draw.noted(
        [
            "",
            " ",
            "nan",
            "-1",
            "0",
            "1e400",
            "9" * 400,
            "\x1b[31m",
            "‮abc",
            "a" * 300_000,
            "1.5",
            "true",
            "=1+1",
            "s1",
            "99999999",
            "-9223372036854775809",
        ]
    )
    for at in draw.sample(range(ROWS), draw.choice([1, 5, ROWS])):
        table[at][column] = value
    kind = draw.noted(["csv", "jsonl"])
    return text_source(draw, folder, kind, WRITERS[kind](table))


@generator
def odd_votes(draw: Draw, folder: Path) -> Pipeline:
    values = draw.noted(
        [[-1, 0, 1], [0, 1, 2], [-1, 0, 5000], ["a", "b"], [0.5, 1], [-2, 0], [None, 1], [1, 1], [-1, -1], [0]]
    )
    names = draw.noted([["r1", "r2", "r3"], ["id", "r1"], ["label", "r1"], ["r\x1b[31m", "r2"], ["r1"], ["gold", "r1"]])
    table = {name: pa.array([draw.choice(values) for _ in range(ROWS)]) for name in names}
    if draw.random() < 0.7:
        table["truth"] = pa.array(["a", "b"] * (ROWS // 2)) if draw.random() < 0.5 else pa.array([0, 1] * (ROWS // 2))
    pq.write_table(pa.table(table), folder / "votes.parquet")
    source: dict[str, Any] = {"votes": "votes.parquet"} | ({"label": "truth"} if draw.random() < 0.5 else {})
    if draw.random() < 0.4:
        draw.kind.append("classes given")
        source["classes"] = ["a", "b"]
    return {"source": source, "weak_labels": {"labelers": ["majority"]}, "ordering": {"datasets": 5}}


# --- Parquet


def arrays() -> dict[str, Callable[[], pa.Array]]:
    """Columns of every odd type."""
    n = ROWS
    deep: pa.DataType = pa.int64()
    for _ in range(60):
        deep = pa.list_(deep)
    return {
        "map": lambda: pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int64())),
        "list of maps": lambda: pa.array([[[("a", 1)]]] * n, pa.list_(pa.map_(pa.string(), pa.int64()))),
        "list": lambda: pa.array([[0.2, 0.8]] * n),
        "list of null": lambda: pa.array([[None]] * n),
        "struct": lambda: pa.array([{"a": 1, "b": None}] * n),
        "empty struct": lambda: pa.array([{}] * n, pa.struct([])),
        "null": lambda: pa.nulls(n),
        "decimal": lambda: pa.array([1] * n, pa.decimal128(38, 10)),
        "decimal256": lambda: pa.array([1] * n, pa.decimal256(70, 10)),
        "far future": lambda: pa.array([2**62] * n, pa.timestamp("us")),
        "far past": lambda: pa.array([-(2**62)] * n, pa.timestamp("ms")),
        "far date": lambda: pa.array([2**31 - 1] * n, pa.date32()),
        "date": lambda: pa.array([19000] * n, pa.date32()),
        "date64": lambda: pa.array([2**60 // 86_400_000 * 86_400_000] * n, pa.date64()),
        "zone": lambda: pa.array([0] * n, pa.timestamp("ns", "Mars/Olympus")),
        "time": lambda: pa.array([86_399_999_999] * n, pa.time64("us")),
        "duration": lambda: pa.array([2**62] * n, pa.duration("s")),
        "half": lambda: pa.array([np.float16(1)] * n),
        "uint64": lambda: pa.array([2**64 - 1] * n, pa.uint64()),
        "binary": lambda: pa.array([b"\xff\0"] * n),
        "fixed binary": lambda: pa.array([b"abcd"] * n, pa.binary(4)),
        "no text": lambda: pa.Array.from_buffers(
            pa.string(), n, [None, pa.py_buffer(np.arange(n + 1, dtype=np.int32).tobytes()), pa.py_buffer(b"\xff" * n)]
        ),
        "dictionary": lambda: pa.array(["a", "b"] * (n // 2)).dictionary_encode(),
        "dictionary of numbers": lambda: pa.array([1, 2] * (n // 2)).dictionary_encode(),
        "deep": lambda: pa.array([None] * n, deep),
        "nan": lambda: pa.array([float("nan")] * n),
        "infinite": lambda: pa.array([float("inf"), -float("inf")] * (n // 2)),
        "bool": lambda: pa.array([True, None] * (n // 2)),
        "fixed list": lambda: pa.array([[1.0, 2.0]] * n, pa.list_(pa.float64(), 2)),
        "large": lambda: pa.array(["a"] * n, pa.large_string()),
        "interval": lambda: pa.array([pa.MonthDayNano([1, 2, 3])] * n),
        "words": lambda: pa.array([["a", "b"]] * n),
    }


@generator
def odd_parquet(draw: Draw, folder: Path) -> Pipeline:
    made = arrays()
    name = draw.noted(list(made))
    column = made[name]()
    place = draw.noted(["x", "id", "label", "text", "split", "group", "predicted", "image", "score", "tokens"])
    plain: dict[str, Any] = {
        "id": [f"s{at}" for at in range(ROWS)],
        "x": list(range(ROWS)),
        "text": ["some words"] * ROWS,
        "label": ["a", "b"] * (ROWS // 2),
    }
    table = pa.table(plain | {place: column})
    try:
        pq.write_table(table, folder / "data.parquet")
    except (pa.ArrowException, ValueError, OSError):
        pq.write_table(pa.table(plain), folder / "data.parquet")
    source: dict[str, Any] = {"parquet": "data.parquet", "id": "id", "label": "label"}
    if place in ("split", "group", "image", "score"):
        source[place] = place
    if place == "score":
        source.pop("label")
    pipeline: Pipeline = {"source": source}
    if place == "predicted":
        pipeline["subject"] = {"predictions": "predicted"}
    if place == "x" and draw.random() < 0.5:
        pipeline["subject"] = {"model": "logistic"}
    return pipeline


@generator
def damaged_parquet(draw: Draw, folder: Path) -> Pipeline:
    sink = io.BytesIO()
    names = draw.noted(
        [
            ["id", "x", "label"],
            ["id", "id", "label"],
            ["id", "x\0", "label"],
            ["id", draw.choice(HOSTILE_NAMES), "label"],
            [f"c{at}" for at in range(6000)],
        ]
    )
    columns = [pa.array([f"s{at}" for at in range(ROWS)]), pa.array(range(ROWS)), pa.array(["a", "b"] * (ROWS // 2))]
    columns += [columns[1]] * (len(names) - 3)
    table = pa.Table.from_arrays(columns, names=names)
    table = table.slice(0, draw.noted([0, 1, ROWS, ROWS]))
    pq.write_table(table, sink)
    content = sink.getvalue()
    try:
        content = damage(draw, content) if draw.random() < 0.6 else content
    except UnicodeError:
        content = content[:-7]
    (folder / "data.parquet").write_bytes(content)
    return {"source": {"parquet": "data.parquet", "id": "id", "label": "label"}}


# --- images


def png(extent: tuple[int, int], mode: str = "L") -> bytes:
    from PIL import Image

    sink = io.BytesIO()
    Image.new(mode, (extent[1], extent[0]), 1 if mode == "1" else None).save(sink, "PNG")
    return sink.getvalue()


@generator
def odd_images(draw: Draw, folder: Path) -> Pipeline:
    as_table = draw.random() < 0.5
    lines = []
    every = draw.random() < 0.3
    for at in range(12):
        kind = "ab"[at % 2]
        (folder / "scans" / kind).mkdir(parents=True, exist_ok=True)
        content, name = png((12, 12)), f"{at}.png"
        place = folder / "scans" / kind
        if every or at == draw.randrange(12):
            content, name = odd_image(draw, place, name, content)
        if content is not None:
            try:
                (place / name).write_bytes(content)
            except OSError:
                continue
        lines.append(f"{at},{draw.choice(['', '', '', '/', '../']) if at == 3 else ''}scans/{kind}/{name},{kind}")
    pixels = draw.noted(
        [
            None,
            None,
            {"size": 8},
            {"size": [8192, 8192]},
            {"resize": 8192, "crop": 8},
            {"channels": 3},
            {"crop": 4000},
            {"shape": [3, 3]},
        ]
    )
    source: dict[str, Any] = {"images": "scans"}
    if as_table:
        (folder / "table.csv").write_bytes(
            ("id,file,label\n" + "\n".join(lines) + "\n").encode(errors="surrogateescape")
        )
        source = {
            "csv": "table.csv",
            "id": "id",
            "image": draw.choice(["file", "file", "fiel", "label"]),
            "label": "label",
        }
    return {"source": source | ({"pixels": pixels} if pixels else {}) | {"max_rejects": draw.noted([0.0, 0.05, 1.0])}}


IMAGES = (
    "a pipe",
    "endless",
    "a file elsewhere",
    "a socket",
    "very high",
    "very wide",
    "a header of 2³¹ pixels",
    "an odd name",
    "another mode",
    "an empty file",
    "damage",
    "half a file",
)


def odd_image(draw: Draw, place: Path, name: str, content: bytes) -> tuple[bytes | None, str]:
    choice = draw.randrange(12)
    draw.kind.append(IMAGES[choice])
    target = place / name
    if choice == 0:
        os.mkfifo(target)
        return None, name
    if choice == 1:
        target.symlink_to("/dev/zero")
        return None, name
    if choice == 2:
        target.symlink_to("/etc/hostname")
        return None, name
    if choice == 3:
        socket.socket(socket.AF_UNIX).bind(str(target)) if len(str(target)) < 100 else target.mkdir()
        return None, name
    if choice == 4:
        return png((1, draw.choice([5000, 40_000]))), name
    if choice == 5:
        return png((40_000, 1), "RGB"), name
    if choice == 6:
        header = b"IHDR" + struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 2, 0, 0, 0)
        return content[:12] + header + content[29:], name
    if choice == 7:
        return content, draw.choice(
            ["a\x1b[31m.png", "‮.png", "a\nb.png", os.fsdecode(b"\xff\xfe.png"), "x" * 250 + ".png", " .png"]
        )
    if choice == 8:
        return png((12, 12), draw.choice(["RGB", "RGBA", "P", "1", "I;16", "LA"])), name
    if choice == 9:
        return b"", name
    return damage(draw, content[:40] + content[40:]) if choice == 10 else content[: len(content) // 2], name


@generator
def odd_arrays(draw: Draw, folder: Path) -> Pipeline:
    cell = draw.noted(
        [
            [],
            [1, 2, 3],
            [[1, 2], [3]],
            [[0, 255], [7, 8]],
            [[0, 300]],
            [[None, 1]],
            [[float("nan"), 1.0]],
            [0] * 16,
            [[[1]] * 5000] * 2,
            [[-1, 2]],
        ]
    )
    lines = "".join(
        json.dumps(
            {"id": str(at), "image": cell if at or draw.random() < 0.5 else [[0, 1], [1, 0]], "label": "ab"[at % 2]}
        )
        + "\n"
        for at in range(12)
    )
    (folder / "data.jsonl").write_text(lines)
    shape = draw.noted([None, [4, 4], [8192, 8192], [3, 1, 1], [1]])
    return {
        "source": {"jsonl": "data.jsonl", "id": "id", "image": "image", "label": "label"}
        | ({"pixels": {"shape": shape}} if shape else {})
    }


# --- models, vectors, lists


@generator
def odd_hugging_face(draw: Draw, folder: Path) -> Pipeline:
    from safetensors.numpy import save_file

    model = folder / "model"
    model.mkdir()
    config: dict[str, Any] = {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification"],
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
        "vocab_size": 20,
        "max_position_embeddings": 16,
        "id2label": {"0": "a", "1": "b"},
        "label2id": {"a": 0, "b": 1},
    }
    key = draw.noted(
        [
            *config,
            "quantization_config",
            "auto_map",
            "torch_dtype",
            "pad_token_id",
            "layer_norm_eps",
            "hidden_act",
            "num_labels",
            "rope_scaling",
            "_attn_implementation",
        ]
    )
    config[key] = draw.noted(
        [
            None,
            -1,
            0,
            3,
            100_000,
            10**12,
            1e30,
            "x",
            "",
            [],
            {},
            {"0": "x", "1": "y"},
            {"a": "b"},
            {"quant_method": "gptq", "bits": 4},
            {"quant_method": "bitsandbytes", "load_in_4bit": True},
            {"quant_method": "awq"},
            {"quant_method": "nowhere"},
            "gelu",
            True,
            {"AutoConfig": "evil.Config"},
        ]
    )
    content = json.dumps(config).encode()
    if draw.random() < 0.15:
        content = draw.choice([b"", b"[]", b"{", b"null", b'{"a":' * 5000, b"\xff", b"1"])
    (model / "config.json").write_bytes(content)
    save_file({"w": np.zeros((2, 2), np.float32)}, model / "model.safetensors")
    if draw.random() < 0.3:
        weights = (model / "model.safetensors").read_bytes()
        (model / "model.safetensors").write_bytes(
            draw.choice(
                [b"", weights[:10], struct.pack("<Q", 2**60) + weights[8:], weights[:8] + b"{" * 50, b"\0" * 100]
            )
        )
    vocabulary = "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "word", "and", "more"])
    draw.choice(
        [
            lambda: (model / "vocab.txt").write_text(vocabulary),
            lambda: (model / "tokenizer.json").write_text("{}"),
            lambda: (model / "tokenizer.json").write_bytes(b"\xff"),
            lambda: None,
        ]
    )()
    if draw.random() < 0.3:
        (model / "tokenizer_config.json").write_text(
            draw.choice(
                [
                    "[]",
                    "{",
                    '{"model_max_length": -5}',
                    '{"model_max_length": 1e30}',
                    '{"tokenizer_class": "Evil"}',
                    '{"model_max_length": "x"}',
                ]
            )
        )
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    return {
        "source": {"csv": "data.csv", "id": "id", "label": "label"},
        "subject": {"classifier": draw.choice(["model", "model", "model", "http://127.0.0.1:9/v1", "nowhere/at-all"])},
    }


@generator
def odd_vectors(draw: Draw, folder: Path) -> Pipeline:
    content = draw.noted(
        [
            b"3 100000000000\n",
            b"100000000000 3\n",
            b"2 0\na\nb\n",
            b"2 3\na 1 2 3\nb 1 2\n",
            b"a 1 2 3\nb 1 2\n",
            b"\x80\x04",
            b"PK\3\4",
            b"",
            b"a " + b"1 " * 500_000,
            b"2 2\na 1 nan\nb 1 2\n",
            b"99999999999999999999999 2\n",
            b"-1 5\n",
            b"2 2\n\xff\xfe 1 2\nb 1 2\n",
            struct.pack("<i", 793712314) + b"\0" * 20,
            struct.pack("<14i", 793712314, 12, *[2**30] * 12) + b"\1" * 60,
            gzip.compress(b"a 1 2 3\n" * 100)[:-9],
            b"\0" * 1000,
        ]
    )
    name = draw.choice(["v.txt", "v.bin", "v.txt.gz"])
    (folder / name).write_bytes(content)
    os.mkfifo(folder / "pipe")
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    named = draw.choice([name, name, name, "pipe", "/dev/zero", "nowhere.txt"])
    attack = draw.choice(
        [
            {"attack": "a2t", "vectors": named},
            {"attack": "a2t", "vectors": "fasttext", "keep": named},
            {"attack": "guided", "encoder": named},
        ]
    )
    return {
        "source": {"csv": "data.csv", "id": "id", "label": "label"},
        "subject": {"classifier": "small-bert", "train": {"epochs": 1}},
        "attacks": [attack],
    } | ({"trust": {"providers": [named]}} if draw.random() < 0.4 else {})


@generator
def odd_weights(draw: Draw, folder: Path) -> Pipeline:
    (folder / "w.safetensors").write_bytes(
        draw.noted([b"", struct.pack("<Q", 2**63), struct.pack("<Q", 10) + b"{" * 10, b"\0" * 100, draw.randbytes(300)])
    )
    os.mkfifo(folder / "pipe.safetensors")
    (folder / "net.py").write_bytes(
        draw.choice(
            [
                b"def f(classes):\n    import torch\n    return torch.nn.Linear(2, classes)\n",
                b"\0",
                b"(" * 5000,
                b"def f(:",
                b"\xff",
                b"f = 3",
                b"1/0",
                b"raise ValueError('\\x1b[31m')",
            ]
        )
    )
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    return {
        "source": {"csv": "data.csv", "id": "id", "label": "label"},
        "subject": {
            "model": "net.py:f",
            "features": ["x", "y"],
            "weights": draw.choice(["w.safetensors", "pipe.safetensors", "/dev/zero", "w.pt", "nowhere.safetensors"]),
        },
    }


@generator
def odd_rationales(draw: Draw, folder: Path) -> Pipeline:
    column = draw.noted(
        [
            [None] * ROWS,
            ["["] * ROWS,
            ["[" * 5000] * ROWS,
            [[0, 1]] * ROWS,
            [[{"start": -1, "end": 5}]] * ROWS,
            ["x" * 1000] * ROWS,
            [1] * ROWS,
        ]
    )
    table = pa.table(
        {
            "id": [f"s{at}" for at in range(ROWS)],
            "text": [f"word{at} and more" for at in range(ROWS)],
            "label": ["a", "b"] * (ROWS // 2),
            "why": pa.array(column),
        }
    )
    pq.write_table(table, folder / "data.parquet")
    (folder / "model.py").write_text("def f(texts):\n    return [[0.5, 0.5]] * len(texts)\n")
    return {
        "source": {"parquet": "data.parquet", "id": "id", "label": "label"},
        "subject": {"classifier": "model.py:f"},
        "trust": {"rationales": "why", "explainers": [draw.choice(["lime", "shap", "gradient", "occlusion"])]},
    }


# --- settings and the file itself


@generator
def odd_settings(draw: Draw, folder: Path) -> Pipeline:
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    os.mkfifo(folder / "pipe")
    pipeline: Pipeline = {
        "source": {"csv": "data.csv", "id": "id", "label": "label", "delimiter": ",", "max_rejects": 0.1},
        "evaluation": {"split": "test", "limit": 10},
        "subject": {"model": "logistic", "features": ["x", "y"]},
        "statistics": {"significance": 0.05},
        "description": "plain",
        "gates": [{"finding": "subject.accuracy", "at_least": 0.1}],
    }
    for _ in range(draw.choice([1, 1, 2])):
        part = draw.noted(list(pipeline))
        inner = pipeline[part] if isinstance(pipeline[part], dict) else None
        if inner and draw.random() < 0.8:
            inner[draw.noted([*inner, draw.choice(HOSTILE_NAMES)])] = draw.noted(HOSTILE_VALUES)
        else:
            pipeline[part] = draw.noted(HOSTILE_VALUES)
    return pipeline


@generator
def odd_origins(draw: Draw, folder: Path) -> Pipeline:
    os.mkfifo(folder / "pipe")
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    (folder / "table.csv").symlink_to(draw.choice(["data.csv", "nowhere", "table.csv", "/dev/zero", "."]))
    (folder / os.fsdecode(b"\xff.csv")).write_bytes(as_csv(rows(draw)))
    (folder / "\x1b[31m.csv").write_bytes(as_csv(rows(draw)))
    origin = draw.noted(["csv", "jsonl", "parquet", "iob", "votes", "images", "dataset"])
    return {"source": {origin: draw.noted([*HOSTILE_VALUES, "table.csv", "data.csv", "*.csv", "pipe", "."])}}


@generator
def odd_options(draw: Draw, folder: Path) -> Pipeline:
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    deep = draw.choice([50, 1000, 20_000])
    option = draw.noted(
        [
            "a." * deep + "b=1",
            "source.csv=" + "[" * deep,
            "source.csv=" + "[" * deep + "]" * deep,
            "source.csv=" + "{a: " * deep + "}" * deep,
            "=",
            "x",
            ".=1",
            "source.csv=\0",
            "source.csv=*a",
            "source=&a [*a]",
            "source.csv=/dev/zero",
            "subject.model=\x1b[31m",
            "compute.engine=serial",
            "compute.engine=os.system",
            "store=\x1b[31m",
            "gates.99.finding=x",
            "evaluation.limit=" + "9" * 5000,
            "source.id=!!python/object:os.system x",
        ]
    )
    return {"source": {"csv": "data.csv", "id": "id", "label": "label"}, "options": ["--set", option]}


@generator
def odd_files(draw: Draw, folder: Path) -> Pipeline:
    place = folder / "pipelines.yaml"
    deep = draw.choice([60, 1000, 100_000])
    made = draw.choice(
        [
            lambda: os.mkfifo(place),
            lambda: place.symlink_to("/dev/zero"),
            lambda: place.symlink_to("/dev/random"),
            lambda: place.mkdir(),
            lambda: place.write_bytes(b"[" * deep),
            lambda: place.write_bytes(b"a: " * deep),
            lambda: place.write_bytes(b"- " * deep),
            lambda: place.write_bytes(b"{a: " * deep),
            lambda: place.write_bytes(b"x" * 2_000_000),
            lambda: place.write_bytes(b"\0" * 100),
            lambda: place.write_bytes(
                b"a: &a [x, x, x]\n"
                + b"".join(b"%c: &%c [*%c, *%c, *%c, *%c]\n" % (98 + at, 98 + at, *[97 + at] * 4) for at in range(20))
            ),
            lambda: place.write_bytes(
                b"pipelines:\n" + b"".join(b"  n%d: {source: {csv: a}}\n" % at for at in range(2000))
            ),
            lambda: place.write_bytes(b"pipelines: {night: {source: {csv: '\x1b[31m\xe2\x80\xae'}}}"),
            lambda: place.symlink_to("pipelines.yaml"),
            lambda: place.write_bytes(
                b'pipelines: {night: {description: "\\e[31m\\u202e", source: {csv: "\\e]0;x\\a"}}}'
            ),
            lambda: None,
        ]
    )
    made()
    return {"config": place}
