"""Whatever file a model's folder names, in its index, configuration or archive: only the model's own files are read."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_paths import HOW_MANY, MARKER, Traps, require_nothing_of
from model_files import onnx_of_columns

from assay.infra.errors import InputError
from assay.tasks.attacks.texts.resolved import resolve_word_attack
from assay.tasks.attacks.texts.settings import Guided
from assay.tasks.subjects.addresses.mlflow_models import _file_of
from assay.tasks.subjects.addresses.model_files import onnx_model, skops_model
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.token_networks.hugging_face import complete, read_network
from assay.tasks.subjects.token_networks.sources import find_model

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "film")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny classifier of texts with an old vocabulary and no tokenizer.json."""
    import transformers

    folder = tmp_path_factory.mktemp("bert")
    sizes = {
        "vocab_size": 8,
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
    }
    transformers.BertForSequenceClassification(transformers.BertConfig(**sizes)).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    return folder


@pytest.fixture
def traps(bert: Path, tmp_path: Path) -> Traps:
    """The model's folder with traps in it, and weights of somebody else's beside it."""
    from safetensors.numpy import save

    traps = Traps.lay(tmp_path, save({MARKER: np.zeros(2, np.float32)}), ".safetensors")
    for file in bert.iterdir():
        shutil.copy(file, traps.folder)
    return traps


def answers(traps: Traps) -> object:
    """What is read of the model; or the refusal."""
    try:
        return find_model("inside", None, traps.folder.parent).read()
    except InputError as refusal:
        return str(refusal)


def says(folder: Path, **more: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | more))


@pytest.mark.parametrize("entry", ["weight_map", "transformers_weights", "configuration_files"])
def test_no_name_in_an_index_or_a_configuration_leads_out(traps: Traps, entry: str) -> None:
    assert isinstance(answers(traps), dict)
    config = (traps.folder / "config.json").read_text()
    refusals = []
    for path in [*traps.paths(7), 7, ["x"], {}]:
        if entry == "weight_map":
            (traps.folder / "model.safetensors.index.json").write_text(json.dumps({entry: {"w": path}}))
        else:
            (traps.folder / "config.json").write_text(config)
            says(traps.folder, **{entry: [path] if entry == "configuration_files" else path})
        refusals.append(answers(traps))
    assert len(refusals) == HOW_MANY + 3
    assert all(isinstance(refusal, str) and "names the file" in refusal for refusal in refusals)
    require_nothing_of(MARKER, refusals)


def test_weights_in_several_files_are_read(traps: Traps) -> None:
    from safetensors import safe_open

    first = "model-00001-of-00001.safetensors"
    (traps.folder / "model.safetensors").rename(traps.folder / first)
    with safe_open(traps.folder / first, "np") as weights:
        named = dict.fromkeys(weights.keys(), first)
    index = {"metadata": {"total_size": 1}, "weight_map": named}
    (traps.folder / "model.safetensors.index.json").write_text(json.dumps(index))
    files = find_model("inside", None, traps.folder.parent).read()
    assert read_network(files, "It", "classes").config.hidden_size == 8


@pytest.mark.parametrize(
    "more",
    [
        {"use_pretrained_backbone": True, "backbone": "/outside"},
        {"architecture": "local-dir:/outside"},
        {"model_args": {"checkpoint_path": "/outside/weights.pth"}},
        {"vision_config": {"model_type": "detr", "use_pretrained_backbone": True, "backbone": "/outside"}},
    ],
)
def test_a_configuration_that_loads_another_model_is_refused(traps: Traps, more: dict[str, Any]) -> None:
    says(traps.folder, **more)
    assert "which may read files that are not the model's" in str(answers(traps))


@pytest.mark.parametrize("entry", ["vocab_file", "tokenizer_file", "fast_tokenizer_files", "merges_file", "spm_file"])
def test_the_words_of_a_tokenizer_are_those_of_its_folder(traps: Traps, entry: str) -> None:
    words = traps.secret.with_name("words.txt")
    words.write_text("\n".join((*WORDS[:5], MARKER)))
    for path in (str(words), "../outside/words.txt", "words.txt"):
        value = [path, "../outside/tokenizer.1.0.json"] if entry.endswith("s") else path
        about = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, entry: value}
        (traps.folder / "tokenizer_config.json").write_text(json.dumps(about))
        made = complete(find_model("inside", None, traps.folder.parent).read(), "inside")["tokenizer.json"]
        assert b"film" in made
        require_nothing_of(MARKER, made)


def test_a_map_of_special_tokens_names_no_words(traps: Traps) -> None:
    words = traps.secret.with_name("words.txt")
    words.write_text("\n".join((*WORDS[:5], MARKER)))
    for entry in ({"vocab_file": str(words)}, {"vocab_file": "../outside/words.txt", "mask_token": "[MASK]"}):
        (traps.folder / "special_tokens_map.json").write_text(json.dumps(entry))
        made = complete(find_model("inside", None, traps.folder.parent).read(), "inside")["tokenizer.json"]
        assert b"film" in made
        require_nothing_of(MARKER, made)


def test_arguments_of_a_tokenizers_library_open_nothing(traps: Traps, monkeypatch: pytest.MonkeyPatch) -> None:
    import sentencepiece

    opened: list[str] = []
    pieces = sentencepiece.SentencePieceProcessor
    monkeypatch.setattr(pieces, "LoadFromFile", lambda _, file: opened.append(file) or True)
    (traps.folder / "spiece.model").write_bytes(b"")
    about = {"tokenizer_class": "AlbertTokenizer", "sp_model_kwargs": {"model_file": str(traps.secret)}}
    (traps.folder / "tokenizer_config.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match="none can be made of its files"):
        complete(find_model("inside", None, traps.folder.parent).read(), "inside")
    assert [Path(file).name for file in opened] == ["spiece.model"]


def test_links_of_a_folder_stay_in_it_and_those_of_the_hubs_cache_in_the_models(traps: Traps, tmp_path: Path) -> None:
    weights = traps.folder / "model.safetensors"
    hub = tmp_path / "models--a--b"
    (hub / "blobs").mkdir(parents=True)
    snapshot = hub / "snapshots" / "c0ffee"
    shutil.copytree(
        traps.folder,
        snapshot,
        ignore=lambda *_: [each.name for each in traps.folder.iterdir() if each.is_symlink() or each.is_fifo()],
    )
    (snapshot / "model.safetensors").rename(hub / "blobs" / "b10b")
    (snapshot / "model.safetensors").symlink_to("../../blobs/b10b")
    assert "model.safetensors" in find_model("models--a--b/snapshots/c0ffee", None, tmp_path).read()
    for target in (traps.secret, Path("/dev/zero")):
        for place in (weights, snapshot / "model.safetensors"):
            place.unlink()
            place.symlink_to(target)
        for name in ("inside", "models--a--b/snapshots/c0ffee"):
            with pytest.raises(InputError, match=r"leaves its folder through a symbolic link|has no weights"):
                find_model(name, None, tmp_path)


def test_an_encoder_of_sentences_reads_its_own_files(traps: Traps) -> None:
    (traps.folder / "tokenizer.json").write_text("{}")
    assert resolve_word_attack(Guided(encoder="inside"), traps.folder.parent).encoder.content
    says(traps.folder, transformers_weights=str(traps.secret))
    with pytest.raises(InputError, match="names the file"):
        resolve_word_attack(Guided(encoder="inside"), traps.folder.parent)
    says(traps.folder, transformers_weights=None)
    (traps.folder / "tokenizer.json").unlink()
    (traps.folder / "tokenizer.json").symlink_to(traps.secret)
    with pytest.raises(InputError, match="leaves its folder"):
        resolve_word_attack(Guided(encoder="inside"), traps.folder.parent)


def field(number: int, content: bytes, wide: bool = False) -> bytes:
    """A field of a protocol buffer; `wide` writes its two numbers longer than they need be."""
    head, size = [number << 3 | 2], []
    length = len(content)
    while length or not size:
        size.append(length & 127)
        length >>= 7
    written = b""
    for digits in (head, size):
        more = [*digits, 0] if wide else digits
        written += bytes([digit | 128 for digit in more[:-1]] + more[-1:])
    return written + content


@pytest.mark.parametrize("wide", [False, True])
def test_an_onnx_file_with_weights_elsewhere_is_refused(traps: Traps, wide: bool) -> None:
    import onnx

    honest = onnx_of_columns(traps.folder / "honest.onnx").read_bytes()
    settings = Subject(model="m.onnx", features=("links", "begs"))
    assert onnx_model(settings, "m.onnx", honest).content == honest
    tensor = field(8, b"more") + b"\x10\x01\x08\x02\x70\x01"
    for path in traps.paths(8):
        entry = field(1, b"location", wide) + field(2, path.encode(errors="replace"))
        content = honest + field(7, field(5, tensor + field(13, entry)))  # a message may come in parts
        with pytest.raises(InputError, match="keeps weights in another file"):
            onnx_model(settings, "m.onnx", content)
    read = onnx.load_model_from_string(content)
    assert read.graph.initializer[-1].external_data[0].key == "location"


def test_no_file_that_mlflow_names_leads_out(traps: Traps) -> None:
    (traps.folder / "model.onnx").write_bytes(b"honest")
    results = []
    for path in [*traps.paths(9), "model.onnx"]:
        (traps.folder / "MLmodel").write_text(json.dumps({"flavors": {"onnx": {"data": path}}}))
        try:
            results.append(_file_of(traps.folder, "models:/m@a"))
        except InputError as refusal:
            results.append(str(refusal))
    assert results[-1] == ("model.onnx", b"honest")
    assert all(isinstance(result, str) for result in results[:-1])
    require_nothing_of(MARKER, results)
    (traps.folder / "MLmodel").unlink()
    (traps.folder / "MLmodel").symlink_to(traps.secret)
    with pytest.raises(InputError, match="leaves its folder through a symbolic link"):
        _file_of(traps.folder, "models:/m@a")


def test_the_names_inside_a_skops_file_lead_nowhere(traps: Traps) -> None:
    import skops.io
    from sklearn.linear_model import LogisticRegression

    packed = skops.io.dumps(LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]))
    settings = Subject(model="m.skops", features=("links", "begs"))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    inner = next(name for name in contents if name.endswith(".npy"))
    for path in traps.paths(10):
        schema = contents["schema.json"].decode().replace(json.dumps(inner), json.dumps(path))
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as archive:
            for name, content in contents.items():
                if name != inner:
                    archive.writestr(name, schema if name == "schema.json" else content)
        with pytest.raises(InputError) as refusal:
            skops_model(settings, "m.skops", sink.getvalue())
        require_nothing_of(MARKER, str(refusal.value))
