"""Catalogue data sets arrive whole and checked, or not at all."""

import gzip
import hashlib
import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.data import catalog as catalog_module
from assay.data.catalog import CatalogEntry, CatalogFile, catalog, data_folder, entry_of, fetch, located
from assay.infra.errors import InputError

CONTENT = b"id,text\n1,hello\n"
PACKED = gzip.compress(CONTENT, mtime=1)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def entry(*files: CatalogFile) -> CatalogEntry:
    return CatalogEntry(
        title="T", creator="C", source="S", licence="L", used_for="U", folder="tiny", loader=None, files=files
    )


def plain(url: str | None = None) -> CatalogFile:
    return CatalogFile(name="a.csv", bytes=len(CONTENT), sha256=sha256(CONTENT), url=url)


@pytest.fixture(autouse=True)
def downloads(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of `tiny` in an empty cache; no mirror is known but to the test that asks for the real one."""
    if request.node.get_closest_marker("mirror") is None:
        monkeypatch.delenv("ASSAY_MIRROR", raising=False)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "data"))
    return tmp_path / "data" / "tiny"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mirror" / "tiny"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_bytes(CONTENT)
    monkeypatch.setenv("ASSAY_MIRROR", str(tmp_path / "mirror"))
    return tmp_path / "mirror"


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    def put(one: CatalogEntry) -> None:
        monkeypatch.setattr(catalog_module, "catalog", lambda: {"tiny": one})

    return put


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    served = tmp_path / "served"
    served.mkdir()
    (served / "a.csv").write_bytes(CONTENT)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, directory=str(served), **kwargs)

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def test_every_entry_says_where_it_is_from_and_under_which_licence() -> None:
    entries = catalog()
    assert len(entries) >= 30
    for name, one in entries.items():
        assert one.title, name
        assert one.source, name
        assert one.licence, name
        assert not (one.files and one.folder is None), name


def test_the_nine_case_studies_are_all_there() -> None:
    studies = [name for name in catalog() if name.startswith("alarms-")]
    assert len(studies) == 5
    assert all(entry_of(name).embedded == f"sample/{name}" for name in studies)
    for name in ("crossmodal", "recsys", "youtube-spam", "weather-crowd"):
        assert entry_of(name).loader is not None


def test_an_unknown_name_is_answered_with_the_closest_one() -> None:
    with pytest.raises(InputError, match="did you mean youtube-spam"):
        entry_of("youtube-span")


@pytest.mark.usefixtures("mirror")
def test_a_data_set_comes_from_the_mirror(use: object, downloads: Path) -> None:
    use(entry(plain()))
    folder = fetch("tiny")
    assert folder == downloads
    assert (folder / "a.csv").read_bytes() == CONTENT
    assert [path.name for path in folder.iterdir()] == ["a.csv"]


def test_a_wrong_checksum_keeps_nothing(use: object, mirror: Path, downloads: Path) -> None:
    use(entry(plain()))
    (mirror / "tiny" / "a.csv").write_bytes(CONTENT + b"2,changed\n")
    with pytest.raises(InputError, match=r"not the a\.csv that the catalogue knows"):
        fetch("tiny")
    assert not downloads.exists()


@pytest.mark.usefixtures("mirror")
def test_a_damaged_file_is_fetched_again_and_a_whole_one_left_alone(use: object) -> None:
    use(entry(plain()))
    path = fetch("tiny") / "a.csv"
    path.write_bytes(CONTENT[:-3])
    assert fetch("tiny") == path.parent
    assert path.read_bytes() == CONTENT
    before = path.stat().st_mtime_ns
    fetch("tiny")
    assert path.stat().st_mtime_ns == before


def test_a_data_set_comes_from_its_address(use: object, server: str) -> None:
    use(entry(plain(f"{server}/a.csv")))
    assert (fetch("tiny") / "a.csv").read_bytes() == CONTENT


def test_a_file_that_lies_unpacked_at_its_address_is_packed_here(use: object, server: str) -> None:
    packed = CatalogFile(
        name="a.csv.gz",
        bytes=len(PACKED),
        sha256=sha256(PACKED),
        url=f"{server}/a.csv",
        unpacked_sha256=sha256(CONTENT),
    )
    use(entry(packed))
    path = fetch("tiny") / "a.csv.gz"
    assert gzip.decompress(path.read_bytes()) == CONTENT
    ours = located("tiny").fingerprint
    path.write_bytes(PACKED)  # the same content, packed by somebody else
    assert located("tiny").fingerprint == ours


def test_an_address_that_does_not_answer_is_one_sentence(use: object, server: str, downloads: Path) -> None:
    use(entry(plain(f"{server}/missing.csv")))
    with pytest.raises(InputError, match=r"a\.csv of tiny could not be fetched from .*404"):
        fetch("tiny")
    assert not downloads.exists()


def test_an_address_at_which_something_else_than_http_answers_is_one_sentence(use: object) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            with listening.accept()[0] as caller:
                caller.recv(1 << 16)
                caller.sendall(b"220 mail.example ready\r\n")

        threading.Thread(target=greet, daemon=True).start()
        use(entry(plain(f"http://127.0.0.1:{listening.getsockname()[1]}/a.csv")))
        with pytest.raises(InputError, match=r"a\.csv of tiny could not be fetched from .*220 mail\.example"):
            fetch("tiny")


def test_neither_mirror_nor_address_says_what_to_set(use: object) -> None:
    use(entry(plain()))
    with pytest.raises(InputError, match=r"set ASSAY_MIRROR to a folder that has tiny/a\.csv"):
        fetch("tiny")


@pytest.mark.parametrize(
    ("name", "page", "layout", "checksum"),
    [
        (
            "isic-uda1",
            "https://github.com/epostIt/MachineLearning/tree/88a5c93",
            "scans/malignant/*.jpg",
            "e7be76902d09",
        ),
        (
            "chest-xray",
            "https://github.com/waliatushar/ai-pneumonia-detection/tree/362d6d1",
            "dataset/train/NORMAL",
            "cb02b3f894a4",
        ),
    ],
)
def test_what_no_address_has_says_where_the_original_is_and_how_to_point_assay_at_it(
    name: str, page: str, layout: str, checksum: str
) -> None:
    for ask in (fetch, located):
        with pytest.raises(InputError) as refused:
            ask(name)
        said = str(refused.value)
        assert page in said
        assert layout in said
        assert "`source: {images: " in said
        assert f"sha256 {checksum}" in said
        assert str(entry_of(name).licence) in said
        assert "assay data get" not in said


@pytest.mark.usefixtures("mirror")
def test_pages_and_advice_change_no_fingerprint(use: object) -> None:
    use(entry(plain()))
    before = located("tiny").fingerprint
    use(entry(plain()).model_copy(update={"page": "https://example.org", "bring": "do this"}))
    assert located("tiny").fingerprint == before


def test_a_file_cannot_leave_its_folder(use: object) -> None:
    use(entry(CatalogFile(name="../a.csv", bytes=1, sha256="0" * 64)))
    with pytest.raises(InputError, match=r"entry tiny names the file .* leaves its folder"):
        fetch("tiny")


def test_an_address_must_be_https(use: object) -> None:
    use(entry(plain("file:///etc/hostname")))
    with pytest.raises(InputError, match="not https"):
        fetch("tiny")


def test_a_data_set_that_is_not_here_says_how_to_get_it(use: object) -> None:
    use(entry(plain()))
    with pytest.raises(InputError, match=r"not here .* set ASSAY_MIRROR to a folder that has tiny/a\.csv"):
        located("tiny")
    use(entry(plain("https://example.org/a.csv")))
    with pytest.raises(InputError, match="run `assay data get tiny` first"):
        located("tiny")


def test_a_changed_file_is_refused_when_it_is_read(use: object, mirror: Path) -> None:
    use(entry(plain()))
    assert located("tiny").folder == mirror / "tiny"
    (mirror / "tiny" / "a.csv").write_bytes(b"something else")
    with pytest.raises(InputError, match="its sha256 differs"):
        located("tiny")


def test_embedded_entries_say_that_nothing_is_to_be_fetched() -> None:
    with pytest.raises(InputError, match="say `dataset: sample/breast-cancer`"):
        fetch("breast-cancer")


def test_entries_without_files_say_what_to_bring() -> None:
    with pytest.raises(InputError, match=r"bring train_entries\.csv"):
        fetch("crossmodal")
    with pytest.raises(InputError, match=r"put train_entries\.csv.* into .*crossmodal"):
        located("crossmodal")


def test_downloads_go_to_the_cache_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    monkeypatch.setenv("ASSAY_DATA", "/data")
    assert data_folder() == Path("/data")
    monkeypatch.delenv("ASSAY_DATA")
    assert data_folder() == Path("/c/assay/data")


@pytest.mark.mirror
def test_the_mirror_holds_every_file_the_catalogue_knows() -> None:
    wrong = []
    for name, one in catalog().items():
        if one.files:
            try:
                located(name)
            except InputError as error:
                wrong.append(str(error))
    assert wrong == []
