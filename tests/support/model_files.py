"""Models in files, made with the libraries that people make them with."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def onnx_of_columns(path: Path, *, batch: int | None = None, each: tuple[float, ...] = (0.4, 0.4)) -> Path:
    """Probabilities of two classes: that of the second is 0.1 and `each` of what its columns hold."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    columns, weights = len(each), np.array([[-one, one] for one in each], np.float32)
    nodes = [
        helper.make_node("MatMul", ["rows", "weights"], ["raised"]),
        helper.make_node("Add", ["raised", "bias"], ["probabilities"]),
    ]
    graph = helper.make_graph(
        nodes,
        "spam",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [batch or "n", columns])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [batch or "n", 2])],
        [
            numpy_helper.from_array(weights, "weights"),
            numpy_helper.from_array(np.array([0.9, 0.1], np.float32), "bias"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return path


def onnx_of_images(path: Path, *, bands: int = 3, side: int = 16, batch: int | None = None) -> Path:
    """Logits of images [n, 1, side, side]: how bright each band of columns is, five columns each."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = np.zeros((1, side, side, bands), np.float32)
    for band in range(bands):
        weights[:, :, 5 * band : 5 * band + 5, band] = 0.05
    nodes = [
        helper.make_node("Flatten", ["images"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "bands",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [batch or "n", 1, side, side])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch or "n", bands])],
        [numpy_helper.from_array(weights.reshape(-1, bands), "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return path


def skops_of(path: Path, model: object) -> Path:
    """A fitted model in a skops file."""
    import skops.io

    skops.io.dump(model, path)
    return path
