"""Networks of transformers out of their files: safetensors only, nothing fetched, no code of the model's run.

The attention is the plain one ("eager"): the fused kernels take another path when no text of a block is padded, and
then what a network says of a text would depend on its neighbours.
"""

from __future__ import annotations

import json
import logging
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from assay.infra.errors import InputError
from assay.infra.image_operators import declare_image_operators
from assay.tasks.subjects.token_networks.model_bounds import made_of_files
from assay.tasks.subjects.token_networks.sources import ModelSource

Head = Literal["tokens", "classes", "score", "images", "none"]
_WHAT = {
    "tokens": "token classifier",
    "classes": "sequence classifier",
    "score": "scorer of sentence pairs",
    "images": "classifier of images",
    "none": "encoder",
}

LOADING = {
    "local_files_only": True,
    "trust_remote_code": False,
    "use_safetensors": True,
    "attn_implementation": "eager",
}
"""How any model of transformers is read."""
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "mpnet", "longformer"}
_USUAL_LIMIT = 512
_ABOUT_TOKENIZER = "tokenizer_config.json"
_TOKENIZER_ARGUMENTS = (_ABOUT_TOKENIZER, "special_tokens_map.json")
"""Files whose entries become arguments of a tokenizer's class, whatever they are called."""
_NAMES_FILES = re.compile("file|vocab|spm|ckpt|init_inputs|_kwargs")


def read_network(files: Mapping[str, bytes], who: str, head: Head, outputs: int | None = None) -> Any:
    """The transformers module that configuration and safetensors files make; refused where weights are missing.

    With `outputs` it is to be trained: it gets a last layer of so many outputs, fresh where its own does not fit.
    """
    declare_image_operators()
    import transformers

    kinds = {
        "tokens": transformers.AutoModelForTokenClassification,
        "classes": transformers.AutoModelForSequenceClassification,
        "score": transformers.AutoModelForSequenceClassification,
        "images": transformers.AutoModelForImageClassification,
        "none": transformers.AutoModel,
    }
    fresh = {} if outputs is None else {"num_labels": outputs, "ignore_mismatched_sizes": True}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        with made_of_files(who, _WHAT[head], hide=folder), _without_advice():
            module, loading = kinds[head].from_pretrained(folder, output_loading_info=True, **LOADING, **fresh)
    missing = sorted(loading["missing_keys"])
    if missing and outputs is None and head != "none":
        raise InputError(
            f"{who} is no trained {_WHAT[head]}: it has no weights for {', '.join(missing[:3])}; name a fine-tuned "
            "one, or say how Assay is to train it (`train: {epochs: 5}`)."
        )
    return module


@contextmanager
def _without_advice() -> Iterator[None]:
    """Transformers says that a fresh head is untrained, in the middle of our lines; what matters, we say ourselves."""
    logger = logging.getLogger("transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def complete(files: Mapping[str, bytes], written: str) -> dict[str, bytes]:
    """A model's files with `tokenizer.json` among them, made of older vocabulary files where it is missing."""
    if "tokenizer.json" in files:
        return dict(files)
    declare_image_operators()
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(_without_files(content) if name in _TOKENIZER_ARGUMENTS else content)
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            tokenizer_json = tokenizer.backend_tokenizer.to_str()
        except Exception as fault:  # whatever a library raises on somebody's files is about those files
            raise InputError(
                f'"{written}" has no tokenizer.json, and none can be made of its files: save it again with a fast '
                "tokenizer (tokenizer.save_pretrained)."
            ) from fault
    return dict(files) | {"tokenizer.json": tokenizer_json.encode()}


def _without_files(content: bytes) -> bytes:
    """A tokenizer's configuration, or its map of special tokens, without the files that it names: they are read under
    their usual names, out of the model's own folder, and another name may lead anywhere.

    >>> _without_files(b'{"vocab_file": "/etc/hostname", "vocab_size": 9, "do_lower_case": true}')
    b'{"vocab_size": 9, "do_lower_case": true}'
    """
    about = json.loads(content)
    kept = {key: value for key, value in about.items() if isinstance(value, int) or not _NAMES_FILES.search(key)}
    return json.dumps(kept).encode()


def limit_of(config: Any, files: Mapping[str, bytes]) -> int:
    """The most tokens a model reads: what its tokenizer says, but no more than it has positions."""
    positions = getattr(config, "max_position_embeddings", None) or _USUAL_LIMIT
    if config.model_type in _OFFSET_POSITIONS:
        positions -= (config.pad_token_id or 0) + 1
    tokenizer = json.loads(files.get(_ABOUT_TOKENIZER, b"{}"))
    return max(1, int(min(tokenizer.get("model_max_length") or positions, positions)))


def pad_of(config: Any) -> int:
    """The token that fills blocks up; a model without one is given its end token, so that it finds its last word."""
    if config.pad_token_id is None:
        end = config.eos_token_id
        config.pad_token_id = end if isinstance(end, int) else 0
    return int(config.pad_token_id)


def about_as_it_came(module: Any, files: Mapping[str, bytes], source: ModelSource) -> dict[str, Any]:
    """What every card says of a model that came trained."""
    return {
        "how": "as it came",
        "commit": source.commit,
        "limit": limit_of(module.config, files),
        "parameters": sum(weights.numel() for weights in module.parameters()),
    }
