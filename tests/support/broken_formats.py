"""More projects that something is wrong with: databases, people's answers, scans, lakes, models at addresses, plug-ins,
and whatever claims more than it holds. Importing this module adds them to the generators of broken inputs.
"""

from __future__ import annotations

import gzip
import http.server
import io
import json
import sqlite3
import struct
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from broken_inputs import HOSTILE_NAMES, HOSTILE_VALUES, ROWS, WRITERS, Draw, Pipeline, as_csv, generator, rows

ODD_JSON: list[Any] = [
    None,
    True,
    -1,
    0,
    2**63,
    -(2**70),
    10**400,
    1.5,
    float("inf"),
    float("nan"),
    "",
    "x",
    "\ud800",
    "\x1b[31m",
    "9" * 400,
    [],
    {},
    [[]],
    [1],
    [["a"], 1, None],
    {"a": {"b": [1]}},
    [{}],
    "x" * 5000,
]


def mutated(draw: Draw, value: Any) -> Any:
    """The value with another one somewhere in it."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(list(value))
        if draw.random() < 0.1:
            return {name: inner for name, inner in value.items() if name != key}
        return {**value, key: mutated(draw, value[key])}
    if isinstance(value, list) and value and draw.random() < 0.85:
        at = draw.randrange(len(value))
        return [*value[:at], mutated(draw, value[at]), *value[at + 1 :]]
    return draw.noted(ODD_JSON)


# --- tables


@generator
def whole_lines(draw: Draw, folder: Path) -> Pipeline:
    line = draw.noted([b"[1]", b"1", b"null", b'"x"', b"[]", b"[[[1]]]", b"true", b"{}", b'{"a": 10e999}', b"[{}]"])
    (folder / "data.jsonl").write_bytes((line + b"\n") * draw.choice([1, 60]))
    return {"source": {"jsonl": "data.jsonl", "id": "id", "label": "label"}}


@generator
def odd_databases(draw: Draw, folder: Path) -> Pipeline:
    name = draw.noted(["x", "", " ", *HOSTILE_NAMES[:6], "x" * 3000, "1"]).replace('"', '""')
    value = draw.noted([1, "text", b"\xff\0", None, 2**62, 1e308, "\x1b[31m", "9" * 400])
    with sqlite3.connect(folder / "data.db") as database:
        database.execute(f'create table samples (id, "{name}", label)')
        database.executemany(
            "insert into samples values (?, ?, ?)", [(at, value if at % 3 else at, "ab"[at % 2]) for at in range(ROWS)]
        )
    endless = "with recursive n(id) as (select 1 union all select id + 1 from n) select id, 'a' as label from n"
    query = draw.noted(
        [
            "select * from samples",
            "select * from samples",
            "select id, label, * from samples",
            endless,
            f"select sum(id) as id, 'a' as label from ({endless})",
            "select id, label, zeroblob(900000000) as x from samples",
            "select id, label, replace(hex(zeroblob(50000000)), '0', 'words ') as x from samples",
            "select 1 as id, 2 as id",
            "select id, label, id + 9223372036854775807 as x from samples",
            "values (1, 2)",
            "select",
            "-- nothing",
            "with a as (" * 500 + "select 1",
            "select " + "(" * 5000,
            "select id, label from samples; drop table samples",
            "drop table samples",
        ]
    )
    if draw.random() < 0.2:
        content = (folder / "data.db").read_bytes()
        at = draw.randrange(len(content))
        draw.kind.append("damaged")
        (folder / "data.db").write_bytes(content[:at] + draw.randbytes(100) + content[at + 100 :])
    return {
        "source": {"sql": "sqlite:///data.db", "query": query, "id": "id", "label": "label", "query_timeout": 3.0},
        **({"subject": {"model": "logistic"}} if draw.random() < 0.3 else {}),
    }


@generator
def extreme_numbers(draw: Draw, folder: Path) -> Pipeline:
    """Numbers that single precision, a square or a sum cannot hold, in a column of every reader of tables."""
    from safetensors.numpy import save_file

    value = draw.noted([1e308, -1.7976931348623157e308, 3.5e38, -3.4028234663852886e38, 1e200, 1e155, 1e19, 5e-324])
    table = rows(draw)
    column = draw.noted(["x", "x", "y", "score"])
    for row in table:
        row["score"] = round(draw.random(), 3)
    for at in draw.sample(range(ROWS), draw.noted([1, ROWS // 2, ROWS])):
        table[at][column] = value
    for row in table:
        row["x"] = float(row["x"])
    kind = draw.noted(["csv", "jsonl", "parquet", "sql", "delta"])
    source: dict[str, Any] = {"id": "id", "label": "label"}
    if kind == "sql":
        with sqlite3.connect(folder / "data.db") as database:
            database.execute("create table samples (id, x, y, text, label, score)")
            database.executemany(
                "insert into samples values (?, ?, ?, ?, ?, ?)", [tuple(row.values()) for row in table]
            )
        source |= {"sql": "sqlite:///data.db", "query": "select * from samples"}
    elif kind == "delta":
        import deltalake

        deltalake.write_deltalake(folder / "lake", pa.Table.from_pylist(table))
        source["parquet"] = "lake"
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(table), folder / "data.parquet")
        source["parquet"] = "data.parquet"
    else:
        source[kind] = f"data.{kind}"
        (folder / f"data.{kind}").write_bytes(as_csv(table) if kind == "csv" else WRITERS[kind](table))
    (folder / "model.py").write_text(
        "import numpy as np\nfrom torch import nn\n\n\ndef module():\n    return nn.Linear(2, 2)\n\n\n"
        "def score(pairs):\n    return [float(len(first)) for first, _ in pairs]\n\n\n"
        "def predict(table):\n    x = np.asarray(table['x'], np.float32)\n"
        "    return np.stack([x > x.mean(), x <= x.mean()], axis=1).astype(float)\n"
    )
    save_file({"weight": np.ones((2, 2), np.float32), "bias": np.zeros(2, np.float32)}, folder / "weights.safetensors")
    subject = draw.named(
        {
            "logistic": {"model": "logistic"},
            "predict": {"model": "model.py:predict"},
            "module": {"model": "model.py:module", "weights": "weights.safetensors", "features": ["x", "y"]},
            "scorer": {"scorer": "model.py:score", "pair": ["text", "id"]},
        }
    )
    made: Pipeline = {"source": source, "subject": subject}
    if "scorer" in subject:
        source.pop("label")
        source["score"] = "score"
    else:
        made |= {"slices": {"columns": ["x", "y"]}, "duplicates": {}}
    return made


@generator
def odd_answers(draw: Draw, folder: Path) -> Pipeline:
    people = draw.noted([1, 2, 2, 2000])
    tasks: list[Any] = [
        {
            "id": at,
            "data": {"text": f"word{at} and more", "sample": f"s{at}", "n": at},
            "annotations": [
                {
                    "completed_by": person,
                    "result": [
                        {"type": "choices", "from_name": "label", "value": {"choices": ["ab"[at % 2]]}},
                        {"type": "rating", "from_name": "stars", "value": {"rating": 3}},
                        {
                            "type": "labels",
                            "from_name": "ner",
                            "value": {"start": 0, "end": 4, "labels": ["X"], "text": "word"},
                        },
                    ],
                }
                for person in (range(people) if people < 2000 or at < 2000 else ())
                if people < 2000 or person == at
            ],
        }
        for at in range(2000 if people == 2000 else 20)
    ]
    for _ in range(draw.choice([0, 1, 1, 3]) if people < 2000 else 0):
        at = draw.randrange(len(tasks))
        tasks[at] = mutated(draw, tasks[at])
    (folder / "answers.json").write_text(json.dumps(tasks))
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    if draw.random() < 0.4:
        return {"source": {"csv": "data.csv", "id": "id", "label": "label", "gold": "answers.json"}}
    truth = draw.noted([{"label": "label"}, {"score": "stars"}, {"tags": "ner"}, {}])
    return {"source": {"label_studio": "answers.json", **truth}}


@generator
def odd_bombs(draw: Draw, folder: Path) -> Pipeline:
    """Small files that unpack to much."""
    kind = draw.noted(["repeated text", "repeated bytes", "many nulls", "a list of repeats", "gz", "skops"])
    plain = {"id": pa.array(range(ROWS)), "label": pa.array(["a", "b"] * (ROWS // 2))}
    if kind == "skops":
        with (
            zipfile.ZipFile(folder / "model.skops", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed,
            packed.open("schema.json", "w", force_zip64=True) as inside,
        ):
            inside.write(b'{"a": "')
            for _ in range(draw.choice([1, 1500])):
                inside.write(b"0" * 1_000_000)
            inside.write(b'"}')
        (folder / "data.csv").write_bytes(as_csv(rows(draw)))
        return {
            "source": {"csv": "data.csv", "id": "id", "label": "label"},
            "subject": {"model": "model.skops", "features": ["x", "y"]},
        }
    if kind == "gz":
        with gzip.open(folder / "data.csv.gz", "wb", 1) as unpacked:
            unpacked.write(b"id,label\n")
            for _ in range(8):
                unpacked.write(b"1,a\n" * 250_000)
        return {"source": {"csv": "data.csv.gz", "id": "id", "label": "label"}}
    if kind == "many nulls":
        some = pa.table(
            {"id": range(100), "label": ["a", "b"] * 50, "x": pa.nulls(100, pa.list_(pa.float64(), 100_000))}
        )
        with pq.ParquetWriter(folder / "data.parquet", some.schema, compression="zstd") as sink:
            for _ in range(40):
                sink.write_table(some)
        return {"source": {"parquet": "data.parquet", "id": "id", "label": "label"}}
    n = 1_500
    word = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array(["x" * 1_000_000]))
    plain = {"id": pa.array(range(n)), "label": pa.array(["a", "b"] * (n // 2))}
    column = {
        "repeated text": lambda: word,
        "repeated bytes": lambda: pa.DictionaryArray.from_arrays(word.indices, word.dictionary.cast(pa.binary())),
        "a list of repeats": lambda: pa.ListArray.from_arrays(pa.array(np.arange(n + 1), pa.int32()), word),
    }[kind]()
    pq.write_table(pa.table(plain | {"x": column}), folder / "data.parquet", compression="zstd")
    return {"source": {"parquet": "data.parquet", "id": "id", "label": "label"}}


@generator
def odd_lakes(draw: Draw, folder: Path) -> Pipeline:
    import deltalake

    table = pa.table(
        {"id": pa.array(range(ROWS)), "x": pa.array(range(ROWS)), "label": pa.array(["a", "b"] * (ROWS // 2))}
    )
    deltalake.write_deltalake(str(folder / "lake"), table)
    log = next((folder / "lake" / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    deep = draw.choice([40, 1000, 100_000])
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 4, "cardinality": 1}
    how = draw.noted(["mutated", "mutated", "deep value", "deep line", "deletion vector", "deep statistics", "cut"])
    if how == "mutated":
        at = draw.randrange(len(actions))
        actions[at] = mutated(draw, actions[at])
    elif how == "deletion vector":
        next(action for action in actions if "add" in action)["add"]["deletionVector"] = vector
    elif how == "deep statistics":
        next(action for action in actions if "add" in action)["add"]["stats"] = "[" * deep + "]" * deep
    text = "\n".join(json.dumps(action) for action in actions)
    if how == "deep value":
        text = text.replace('"tags": ', '"tags": ' + "[" * deep, 1) + '\n{"txn": ' + "[" * deep + "]" * deep + "}"
    elif how == "deep line":
        text += "\n" + '{"a":' * deep + "1" + "}" * deep
    elif how == "cut":
        text = text[: draw.randrange(len(text))]
    log.write_text(text)
    return {"source": {"parquet": "lake", "id": "id", "label": "label"}}


# --- scans


@generator
def odd_dicom(draw: Draw, folder: Path) -> Pipeline:
    import pydicom
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

    tag = draw.noted(
        [
            "NumberOfFrames",
            "NumberOfFrames",
            "Rows",
            "Columns",
            "BitsAllocated",
            "BitsStored",
            "SamplesPerPixel",
            "PixelRepresentation",
            "PhotometricInterpretation",
            "WindowCenter",
            "WindowWidth",
            "RescaleSlope",
            "ImageOrientationPatient",
            "PatientID",
            "Modality",
            "PlanarConfiguration",
        ]
    )
    value = draw.noted([0, 1, -1, 7, 2**31 - 1, 65_535, "", "x", "\x1b[31m", 1e30, "nan", None, [1, 2, 3]])
    for label in ("a", "b"):
        for at in range(4):
            meta = FileMetaDataset()
            meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = SecondaryCaptureImageStorage, generate_uid()
            meta.TransferSyntaxUID = ExplicitVRLittleEndian
            scan = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
            scan.PatientID, scan.Modality = f"{label}{at}", "CT"
            scan.Rows = scan.Columns = 12
            scan.SamplesPerPixel, scan.PhotometricInterpretation = 1, "MONOCHROME2"
            scan.BitsAllocated = scan.BitsStored = 8
            scan.HighBit, scan.PixelRepresentation = 7, 0
            scan.PixelData = bytes(range(144))
            sink = io.BytesIO()
            with pydicom.config.disable_value_validation():
                try:
                    if at == 0 or draw.random() < 0.2:
                        setattr(scan, tag, value)
                    pydicom.dcmwrite(sink, scan)
                except Exception:  # noqa: BLE001  not every value can be written into every tag
                    sink = io.BytesIO(b"\0" * 128 + b"DICM" + draw.randbytes(300))
            (folder / "scans" / label).mkdir(parents=True, exist_ok=True)
            (folder / "scans" / label / f"{at}.dcm").write_bytes(sink.getvalue())
    more = {"scan": {"slices": 2}} if draw.random() < 0.3 else {}
    return {"source": {"dicom": "scans", "label": "folder", "max_rejects": draw.choice([0.05, 1.0]), **more}}


@generator
def odd_nifti(draw: Draw, folder: Path) -> Pipeline:
    import nibabel

    for label in ("a", "b"):
        image = nibabel.Nifti1Image(np.arange(512, dtype=np.int16).reshape(8, 8, 8), np.eye(4))
        content = bytearray(image.to_bytes())
        if draw.random() < 0.6:
            what = draw.noted(["affine", "dim", "datatype", "bitpix", "vox_offset", "slope", "sform", "magic", "any"])
            at = {
                "affine": 280,
                "dim": 40 + 2 * draw.randrange(8),
                "datatype": 70,
                "bitpix": 72,
                "vox_offset": 108,
                "slope": 112,
                "sform": 254,
                "magic": 344,
                "any": draw.randrange(348),
            }[what]
            if what == "affine":
                content[280:328] = draw.choice([b"\0" * 48, struct.pack("<f", float("nan")) * 12, b"\xff" * 48])
            else:
                number = draw.choice([0, 1, -1, 4, 7, 300, 32_767])
                content[at : at + 2] = struct.pack("<h", number)
        name, data = "scan.nii", bytes(content)
        if draw.random() < 0.5:
            name, more = "scan.nii.gz", draw.choice([0, 0, 1, 1500])
            data = gzip.compress(data) + gzip.compress(bytes(1_000_000)) * more
            draw.kind.append(f"gz of {more} MB more")
        (folder / "scans" / label).mkdir(parents=True, exist_ok=True)
        (folder / "scans" / label / name).write_bytes(data)
    return {"source": {"nifti": "scans", "label": "folder", "max_rejects": draw.choice([0.05, 1.0])}}


# --- models, rules and plug-ins


def loop(times: str = "") -> bytes:
    """An ONNX model that turns in a circle before it answers."""
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Identity", ["x"], ["y"])],
        "body",
        [value("at", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("x", TensorProto.FLOAT, None)],
        [value("on", TensorProto.BOOL, []), value("y", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("Loop", [times, "yes", "in"], ["turned"], body=body),
        helper.make_node("Softmax", ["turned"], ["probabilities"]),
    ]
    given = [
        helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
        helper.make_tensor("times", TensorProto.INT64, [], [2**62]),
    ]
    return _model(nodes, given)


def _model(nodes: list[Any], given: list[Any], kind: int = 1) -> bytes:
    from onnx import TensorProto, helper

    rows = helper.make_tensor_value_info("in", TensorProto.FLOAT, [None, 2])
    answers = helper.make_tensor_value_info("probabilities", kind, [None, 2])
    made = helper.make_graph(nodes, "g", [rows], [answers], given)
    content: bytes = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    ).SerializeToString()
    return content


def graph(draw: Draw) -> bytes:
    """An ONNX model that answers for two features, or does not come to an answer."""
    from onnx import TensorProto, helper

    kind = draw.noted(["whole", "endless loop", "much memory", "many steps", "damaged", "cut", "wide", "text"])
    softmax = helper.make_node("Softmax", ["in"], ["probabilities"])
    nodes: list[Any] = {
        "much memory": [
            helper.make_node("ConstantOfShape", ["shape"], ["big"]),
            helper.make_node("ReduceSum", ["big"], ["sum"]),
            helper.make_node("Add", ["in", "sum"], ["probabilities"]),
        ],
        "wide": [helper.make_node("Concat", ["in"] * 500, ["probabilities"], axis=1)],
        "text": [helper.make_node("Cast", ["in"], ["probabilities"], to=TensorProto.STRING)],
    }.get(kind, [softmax])
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [200_000, 200_000])
    if kind in ("endless loop", "many steps"):
        return loop("" if kind == "endless loop" else "times")
    content = _model(nodes, [shape], TensorProto.STRING if kind == "text" else TensorProto.FLOAT)
    at = draw.randrange(len(content))
    if kind == "damaged":
        return content[:at] + draw.randbytes(4) + content[at + 4 :]
    return content[:at] if kind == "cut" else content


@generator
def odd_graphs(draw: Draw, folder: Path) -> Pipeline:
    (folder / "model.onnx").write_bytes(graph(draw))
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    return {
        "source": {"csv": "data.csv", "id": "id", "label": "label"},
        "subject": {"model": "model.onnx", "features": ["x", "y"]},
    }


@generator
def odd_plugins(draw: Draw, folder: Path) -> Pipeline:
    code = draw.noted(
        [
            "while True: pass",
            "import time; time.sleep(10**6)",
            "import sys; sys.exit(3)",
            "import os; os._exit(3)",
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "import ctypes; ctypes.string_at(0)",
            "raise BaseException('\\x1b[31m')",
            "raise ValueError('\\x1b]0;x\\x07' * 20000)",
            "print('\\x1b[31mred')",
            "import sys; sys.stderr.write('\\x1b[31mred')",
            "X = 3",
            "def f(:",
            "import nowhere",
            "1/0",
            "import signal, os; signal.raise_signal(signal.SIGTERM)",
            "raise KeyboardInterrupt",
            "\0",
        ]
    )
    (folder / "mine.py").write_text(code + "\n")
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    pipeline: Pipeline = {"source": {"csv": "data.csv", "id": "id", "label": "label"}}
    where = draw.noted(["attack", "reader", "labeler"])
    if where == "attack":
        return pipeline | {"subject": {"classifier": "small-bert", "train": {"epochs": 1}}, "attacks": ["mine.py:X"]}
    if where == "reader":
        return {"source": {"files": "data.csv", "reader": "mine.py:X", "id": "id", "label": "label"}}
    return pipeline | {"labeling": {"functions": "rules.yaml"}, "weak_labels": {"labelers": ["mine.py:X"]}}


@generator
def odd_patterns(draw: Draw, folder: Path) -> Pipeline:
    pattern = draw.noted(
        [
            "(" * 1000 + "a" + ")" * 1000,
            "(" * 60_000,
            "(a+)+$",
            "(a|a)*b",
            "(?P<x>a)(?P<x>b)",
            "a{1000000000}",
            "(a{1,60000}){1,60000}",
            "[",
            "(?i)" * 200,
            "\\",
            "(?<=a+)b",
            "(?(1)a|b)",
            "\ud800",
            "x" * 1_000_000,
        ]
    )
    rules = {"rules": [{"name": "one", "pattern": pattern, "vote": "a"}, {"keywords": ["word"], "vote": "b"}]}
    (folder / "rules.yaml").write_text(json.dumps(rules))
    table = rows(draw)
    for row in table:
        row["text"] = "a" * draw.choice([5, 40, 5000])
    (folder / "data.csv").write_bytes(as_csv(table))
    return {
        "source": {"csv": "data.csv", "id": "id", "label": "label"},
        "labeling": {"functions": "rules.yaml"},
        "weak_labels": {"labelers": ["majority"]},
    }


class _Hostile(http.server.BaseHTTPRequestHandler):
    body: bytes = b""
    code: int = 200
    more: ClassVar[dict[str, str]] = {}
    how: str = "whole"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.how != "whole":
            self.without_end()
            return
        self.send_response(self.code)
        for name, value in self.more.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def without_end(self) -> None:
        """It begins an answer that does not end, in bytes that come one by one, or is gone."""
        first, each = {
            "status that drips": (b"", b"H"),
            "headers that drip": (b"HTTP/1.1 200 OK\r\n", b"x"),
            "headers without end": (b"HTTP/1.1 200 OK\r\n", b"X-One: more\r\n"),
            "continue without end": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
            "body that drips": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n[", b" "),
            "chunks without end": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
            "chunks of 2^62": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"4000000000000000\r\n "),
            "two lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 20\r\n\r\n[]", b""),
            "a length below 0": (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n[]", b""),
            "nothing": (b"", b""),
        }[self.how]
        self.wfile.write(first)
        while each:
            self.wfile.write(each)
            time.sleep(0.05)
        self.close_connection = True

    do_GET = do_HEAD = do_POST  # noqa: N815 - as the server calls them

    def log_message(self, *_: object) -> None:
        pass


HOW = (*["whole"] * 10, "status that drips", "headers that drip", "headers without end", "continue without end")
HOW = (*HOW, "body that drips", "chunks without end", "chunks of 2^62", "two lengths", "a length below 0", "nothing")


def served(**answers: object) -> int:
    """The port at which a service answers so, in a thread; clients that go away are nothing to tell of."""
    handler = type("Handler", (_Hostile,), answers)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])


@generator
def odd_services(draw: Draw, folder: Path) -> Pipeline:
    body: Callable[[], bytes] = draw.named(
        {
            "empty lists": lambda: b"[" + b"[]," * 5_000_000 + b"[]]",
            "huge numbers": lambda: b'{"predictions": [[' + b"9" * 400 + b", 1]]}",
            "huge for all": lambda: json.dumps({"predictions": [[10**400, 0]] * 32}).encode(),
            "exponents": lambda: json.dumps({"predictions": [[1e308, 0]] * 32}).encode().replace(b"308", b"999"),
            "deep": lambda: b"[" * 100_000 + b"]" * 100_000,
            "long text": lambda: json.dumps({"predictions": "x" * 800_000}).encode(),
            "kserve": lambda: json.dumps(
                {"outputs": [{"name": "p", "shape": ["x" * 800_000, 2], "data": [1] * 64}]}
            ).encode(),
            "kserve nothing": lambda: b'{"outputs": [{}]}',
            "kserve inputs": lambda: json.dumps({"inputs": [{"name": "x" * 800_000}, {}], "outputs": []}).encode(),
            "null": lambda: b"null",
            "bytes": lambda: draw.randbytes(1000),
            "nothing": lambda: b"",
            "mutated": lambda: json.dumps(mutated(draw, {"predictions": [[0.5, 0.5]] * 32})).encode(),
            "escapes": lambda: b'{"predictions": "\\u001b[31m"}',
        }
    )
    code = draw.noted([200, 200, 200, 302, 418, 401])
    header = draw.noted(["", "Location", "Content-Type", "Retry-After"])
    value = draw.choice(["x" * 60_000, "http://[::1", "\x1b[31m", "9" * 400])
    more = {header: value} if header else {}
    port = served(body=body(), code=code, more=more, how=draw.noted(HOW))
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    url = draw.noted(
        [
            "http://127.0.0.1:{}/a",
            "http://127.0.0.1:{}/a",
            "http://127.0.0.1:{}/v2/models/m",
            "http://[::1",
            "http://a:999999/",
        ]
    )
    return {
        "source": {"csv": "data.csv", "id": "id", "label": "label"},
        "subject": {"model": url.format(port), "features": ["x", "y"], "asking": {"timeout": 3, "retries": 0}},
    }


CHAT: dict[str, Any] = {
    "id": "1",
    "model": "m",
    "system_fingerprint": "f",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "text": "a",
            "message": {"role": "assistant", "content": "a", "refusal": None},
            "logprobs": {
                "content": [
                    {
                        "token": "a",
                        "logprob": -0.1,
                        "bytes": [97],
                        "top_logprobs": [{"token": "a", "logprob": -0.1}, {"token": "b", "logprob": -2.4}],
                    }
                ]
            },
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
}


@generator
def odd_talk(draw: Draw, folder: Path) -> Pipeline:
    """A model that answers in words: in odd ones, or in an odd form."""
    said = draw.noted(["a", "", " " * 300_000, "a b", "```json\n" * 20_000, '{"label": ' * 5000, "\x1b[31m", "\ud800"])
    answer: Any = {**CHAT, "choices": [{**CHAT["choices"][0], "message": {"content": said}}]}
    for _ in range(draw.choice([0, 1, 1, 3])):
        answer = mutated(draw, answer if draw.random() < 0.5 else CHAT)
    code = draw.noted([200, 200, 200, 200, 400, 429, 500])
    port = served(body=json.dumps(answer).encode(), code=code, how=draw.noted(HOW))
    prompt = draw.noted(
        [*["Is it a or b? {text}"] * 14, "{text}", "no place", "{text.__class__}", "{", "{0}", "", "{text}" * 999]
    )
    (folder / "prompt.txt").write_text(prompt)
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    asking: dict[str, Any] = {
        "model": "m",
        "prompt": "prompt.txt",
        "answers": {"a": ["yes"], "b": ["no"]},
        "read": draw.noted(["label", "first-token", "json"]),
        "timeout": 3,
        "retries": 0,
        "at_once": draw.choice([1, 16]),
        "price": {"input": 0.15, "output": 0.6},
        "cost": 5,
    }
    if asking["read"] != "json" and draw.random() < 0.5:
        asking["logprobs"] = True
    if draw.random() < 0.2:
        asking[draw.noted([*asking, "headers", "repeats", "parameters"])] = draw.noted(HOSTILE_VALUES)
    return {
        "source": {"csv": "data.csv", "id": "id", "label": "label"},
        "subject": {"classifier": f"http://127.0.0.1:{port}/v1/chat/completions", "asking": asking},
    }


# --- the file itself, as YAML may write it

PLAIN = """compute: {{engine: serial}}
{before}
pipelines:
  night:
    source: {{csv: data.csv, id: id, label: label{inside}}}
    {key}: {value}
{after}
"""


def seldom(draw: Draw, is_odd: bool, options: list[str]) -> str:
    """The first of the options, which nothing is wrong with, or any of them where this is what is to be odd."""
    return draw.noted(options if is_odd else options[:1])


@generator
def odd_yaml(draw: Draw, folder: Path) -> Pipeline:
    many = draw.choice([30, 1000, 20_000])
    odd = draw.choice(["value", "value", "before", "before", "after", "inside", "encoding", "all"])
    value = seldom(
        draw,
        odd in ("value", "all"),
        [
            "plain",
            "1:" * many + "1",
            "0x" + "f" * many,
            "0b" + "1" * many,
            "9" * many,
            "9" * many + ".5e" + "9" * min(many, 1000),
            "1_" * many + "1",
            ".inf",
            ".nan",
            "2026-99-99",
            "2026-11-25T99:99:99Z",
            "0001-01-01T00:00:00+99:99",
            "!!timestamp x",
            "!!binary '===='",
            "!!binary " + "QUFB" * many,
            "!!int x",
            "!!float ''",
            "!!bool 7",
            "!!null 3",
            "!!set {a, b}",
            "!!omap [a: 1, a: 2]",
            "!!pairs [a: 1, a: 2]",
            "!!str [a]",
            "!!seq {a: b}",
            "!!map [a]",
            "!!python/object/apply:os.system [x]",
            "!<tag:yaml.org,2002:python/name:os.system> x",
            "!nowhere x",
            "*nowhere",
            "&a *a",
            "&a [*a]",
            "&a {b: *a}",
            "? [a, b] : c",
            "{[a]: b}",
            "{{a: b}: c}",
            "{? : x}",
            "|\n" + "      words\n" * many,
            ">9\n  x",
            "|+-\n  x",
            '"\\x1b[31m\\u202e"',
            '"\\ud800"',
            '"\\U0010ffff"',
            '"\\UFFFFFFFF"',
            '"' + "\\n" * many,
            "'" + "x" * many,
            "{" * many,
            "[" * many + "]" * many,
            "- a",
            "x # " + "y" * many,
            "%",
            "@x",
            "`x`",
            "\t x",
            "a: b: c",
        ],
    )
    merged = "base: &b {description: words}\nmore: "
    befores = {
        "nothing": "",
        "merged often": merged + "{<<: [" + ", ".join(["*b"] * many) + "]}",
        "merges that multiply": "m0: &m0 {a: 1}\n"
        + "\n".join(f"m{at + 1}: &m{at + 1} {{<<: [{', '.join([f'*m{at}'] * 20)}]}}" for at in range(20)),
        "lists that multiply": "l0: &l0 [x, x]\n"
        + "\n".join(f"l{at + 1}: &l{at + 1} [{', '.join([f'*l{at}'] * 9)}]" for at in range(20)),
        "merged with itself": "more: &m {<<: *m}",
        "merged with a list": "base: &b [1]\nmore: {<<: *b}",
        "merged with a word": "more: {<<: words}",
        "many anchors": "\n".join(f"k{at}: &k{at} x" for at in range(min(many, 5000))),
        "a directive": "%YAML 9.9\n---",
        "a tag of its own": "%TAG ! tag:evil,2026:\n---",
        "two documents": "---\na: b\n---",
        "the same key twice": "pipelines: {night: {source: {csv: other.csv}}}",
        "a key of many letters": "x" * min(many, 2000) + ": 1",
        "a key that is a list": "? [a]\n: 1",
        "a key that is a map": "? {a: b}\n: 1",
        "no key": ": 1",
        "an escape": "\x1b[31m: 1",
    }
    before = befores[seldom(draw, odd in ("before", "all"), list(befores))]
    after = seldom(draw, odd in ("after", "all"), ["", "...\nx", "---", "\t", "  x: 1", "]", "\0", "# \u202e"])
    insides = ["", ", <<: {id: x}", ", ?", ", description: *b", ", id: id", ", 1: 2", ", null: 1"]
    inside = seldom(draw, odd in ("inside", "all"), insides)
    keys = ["description", "evaluation", "subject", "gates", "schedule", "<<", "=", "[a]", "1.5"]
    key = seldom(draw, odd in ("value", "all"), keys)
    text = PLAIN.format(before=before, inside=inside, key=key, value=value, after=after)
    encodings = ["utf-8", "utf-16", "utf-32", "latin-1", "utf-8-sig"]
    encoding = seldom(draw, odd in ("encoding", "all"), encodings)
    (folder / "pipelines.yaml").write_bytes(text.encode(encoding, errors="replace"))
    (folder / "data.csv").write_bytes(as_csv(rows(draw)))
    return {"config": folder / "pipelines.yaml"}
