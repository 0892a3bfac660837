"""torchvision beside a Torch that it was not built with: it can be imported all the same.

PyPI's torchvision is built for CUDA. Beside a Torch for processors its own operators (on boxes, for detection) do not
load, and for want of their names even `import torchvision` raises, and with it transformers and timm, which import it
where it is installed. Networks that classify use none of these operators: their names are declared, and nothing else.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_NAMED_AT_IMPORT = ("nms", "qnms")
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


@cache
def declare_image_operators() -> object:
    """What holds the names that torchvision misses here, None where it misses none; to be called before it, timm or
    transformers is imported."""
    spec = find_spec("torchvision") if "torchvision" not in sys.modules else None
    library = None if spec is None or spec.origin is None else Path(spec.origin).with_name("_C.so")
    if library is None or not library.is_file():
        return None
    import torch

    try:
        torch.ops.load_library(str(library))
    except OSError:
        declared = torch.library.Library("torchvision", "DEF")
        for name in _NAMED_AT_IMPORT:
            declared.define(f"{name}{_SIGNATURE}")
        return declared
    return None
