"""What a Hugging Face model's files announce, looked at before transformers makes anything of it.

A configuration is written by others, and a network of a hundred thousand layers, or of a vocabulary that no memory
holds, is built without a question; a model in fewer bits needs a library that is not everywhere.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from assay.infra.contained_paths import contained
from assay.infra.errors import AssayError, InputError

MOST_LAYERS = 1000
MOST_PER_BYTE = 64
"""So many numbers, at most, does a configuration announce per byte of weights: layers may share theirs."""

_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers")
_WIDTHS = ("hidden_size", "d_model", "n_embd", "dim", "embedding_size")
_INNER = ("intermediate_size", "d_ff", "n_inner", "hidden_dim", "encoder_ffn_dim")
_BY_STAGE: dict[str, Callable[[list[int]], int]] = {"depths": sum, "hidden_sizes": max}
"""What an image network says stage by stage, and what of it counts: all its layers, its widest stage."""
_ROWS = ("vocab_size", "max_position_embeddings", "n_positions", "type_vocab_size")
_OBJECTS = ("config.json", "tokenizer_config.json", "tokenizer.json", "special_tokens_map.json", "added_tokens.json")
_FEWER_BITS = {
    "bitsandbytes": "bitsandbytes",
    "gptq": "gptqmodel",
    "awq": "awq",
    "hqq": "hqq",
    "quanto": "optimum.quanto",
    "torchao": "torchao",
    "compressed-tensors": "compressed_tensors",
    "aqlm": "aqlm",
    "eetq": "eetq",
}
"""Ways to keep weights in fewer bits, each with the library that reads them."""


def require_bearable_model(files: Mapping[str, bytes], who: str) -> None:
    """Nothing, or the sentence for the file, and the word in it, that no model has."""
    objects = {name: _object(files[name], name, who) for name in _OBJECTS if name in files}
    config = objects.get("config.json", {})
    require_own_files(files, who)
    wrong = partial(_unreadable, who)
    sizes = {name: config[name] for name in (*_LAYERS, *_WIDTHS, *_INNER, *_ROWS) if config.get(name) is not None}
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise wrong(f"config.json says {name}: {str(size)[:40]}, and a whole number is expected there")
    stages = {name: _by_stage(config, name, wrong) for name in _BY_STAGE}
    layers = max((*(sizes[name] for name in _LAYERS if name in sizes), stages["depths"]))
    if layers > MOST_LAYERS:
        raise wrong(f"config.json says {layers:,} layers, and at most {MOST_LAYERS:,} are built")
    width, inner, entries = (_largest(sizes, names) for names in (_WIDTHS, _INNER, _ROWS))
    width, entries = max(width, stages["hidden_sizes"]), max(entries, _patches(config, wrong))
    numbers = width * entries + layers * (4 * width * width + 2 * width * inner)
    room = sum(len(content) for name, content in files.items() if name.endswith(".safetensors"))
    if room and numbers > (room + (1 << 20)) * MOST_PER_BYTE:
        raise wrong(f"config.json announces some {numbers:,} numbers, and its weights have {room:,} bytes")
    _require_library(config.get("quantization_config"), wrong)


def require_own_files(files: Mapping[str, bytes], who: str) -> None:
    """Nothing, or the sentence for a file that the model names and does not have: transformers would look for it
    wherever the name leads."""
    for name in (name for name in files if name == "config.json" or name.endswith(".index.json")):
        about = _object(files[name], name, who)
        weights, others = about.get("weight_map") or {}, about.get("configuration_files") or []
        if not isinstance(weights, dict) or not isinstance(others, list):
            raise _unreadable(who, f"the files that {name} names are no list of names")
        for file in (*weights.values(), *others, about.get("transformers_weights")):
            if file is not None and not (isinstance(file, str) and file in files):
                contained(None, file, f"The {name} of {who}")
                raise _unreadable(who, f"{name} names the file {file!r}, which is not there")
        if name == "config.json" and (key := _looks_elsewhere(about)):
            raise _unreadable(who, f"config.json says {key}, which may read files that are not the model's")


def _looks_elsewhere(config: Mapping[str, Any]) -> str:
    """The entry by which a configuration, or that of a part of the model in it, has its library load another model;
    empty where there is none."""
    arguments = config.get("model_args")
    given = list(arguments) if isinstance(arguments, dict) else []
    loading = [f"model_args.{key}" for key in given if "checkpoint" in key or "pretrained" in key]
    loading += ["architecture"] if ":" in str(config.get("architecture", "")) else []
    loading += ["use_pretrained_backbone"] if config.get("use_pretrained_backbone") else []
    parts = (_looks_elsewhere(part) for part in config.values() if isinstance(part, dict))
    return next(iter(loading), "") or next(filter(None, parts), "")


@contextmanager
def made_of_files(who: str, what: str, hide: str = "") -> Iterator[None]:
    """Whatever a library raises on somebody's files is about those files: said by name, never as a fault of ours."""
    try:
        yield
    except AssayError:
        raise
    except Exception as fault:
        reason = " ".join((str(fault).replace(hide, who) if hide else str(fault)).split())[:600]
        raise InputError(f"{who} cannot be read as a {what}: {reason or type(fault).__name__}") from fault


def _largest(sizes: Mapping[str, int], names: tuple[str, ...]) -> int:
    return max((sizes[name] for name in names if name in sizes), default=0)


def _by_stage(config: Mapping[str, Any], name: str, wrong: Callable[[str], InputError]) -> int:
    stages = config.get(name) or []
    if not isinstance(stages, list) or not all(type(one) is int and one >= 0 for one in stages):
        raise wrong(f"config.json says {name}: {str(stages)[:40]}, and a list of whole numbers is expected there")
    return _BY_STAGE[name](stages or [0])


def _patches(config: Mapping[str, Any], wrong: Callable[[str], InputError]) -> int:
    """In how many patches an image network sees an image, each of which has a place to learn.

    >>> _patches({"image_size": 224, "patch_size": 16}, InputError)
    196
    """
    image, patch = (_side(config, name, wrong) for name in ("image_size", "patch_size"))
    return int(image // patch) ** 2 if patch else 0


def _side(config: Mapping[str, Any], name: str, wrong: Callable[[str], InputError]) -> int:
    sides = config.get(name) or 0
    sides = sides if isinstance(sides, list) else [sides]
    if not sides or not all(type(one) is int and one >= 0 for one in sides):
        raise wrong(f"config.json says {name}: {str(sides)[:40]}, and whole numbers are expected there")
    return int(max(sides))


def _object(content: bytes, name: str, who: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as fault:
        raise InputError(f"{who} has a {name} that is no JSON ({str(fault)[:100]}); save the model again.") from fault
    if not isinstance(value, dict):
        raise InputError(f"{who} has a {name} that is a {type(value).__name__}, not an object; save the model again.")
    return value


def _require_library(quantised: object, wrong: Callable[[str], InputError]) -> None:
    """Nothing, or the sentence for weights in fewer bits that nothing here can read."""
    if quantised is None:
        return
    method = quantised.get("quant_method") if isinstance(quantised, dict) else None
    library = _FEWER_BITS.get(str(method))
    if library is None:
        raise wrong(f"config.json says quantization_config with quant_method: {method!s:.40}, which is not known")
    if importlib.util.find_spec(library.partition(".")[0]) is None:
        raise wrong(
            f"its weights are kept in fewer bits ({method}), which needs the package {library}, and it is missing"
        )


def _unreadable(who: str, what: str) -> InputError:
    return InputError(f"{who} cannot be read: {what}; correct it, or save the model again as it was trained.")
