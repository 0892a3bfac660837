"""A scheduler behind TLS is asked only with certificates in hand: without, the answer comes at once and in words."""

from pathlib import Path

import dask
import distributed  # its defaults must be there before they are changed
import pytest

from assay.infra.engines import dask_start
from assay.infra.engines.dask_worker import run_worker
from assay.infra.engines.opening import open_engine
from assay.infra.errors import InputError
from assay.infra.settings import Compute

ADDRESS = "tls://127.0.0.1:9"


def certificates(**files: str | None) -> object:
    """Dask configured with these certificate files and no others."""
    assert distributed.__name__ in dask.config.config
    given = {"ca-file": files.get("ca")}
    for part in ("client", "worker"):
        given |= {f"{part}.cert": files.get("cert"), f"{part}.key": files.get("key")}
    return dask.config.set({f"distributed.comm.tls.{name}": value for name, value in given.items()})


def test_no_certificates_are_said_with_the_names_to_set_before_anybody_is_asked(monkeypatch) -> None:
    """Dask asks an address for half a minute before it says anything."""
    monkeypatch.setattr(dask_start, "Client", lambda *_args, **_options: pytest.fail("somebody was asked"))
    with certificates(), pytest.raises(InputError, match="TLS__CLIENT__CERT"):
        open_engine(Compute(engine=ADDRESS))


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_said(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with certificates(ca=str(file), cert=str(file), key=str(file)):
        with pytest.raises(InputError, match="cannot be read"):
            open_engine(Compute(engine=ADDRESS))
        with pytest.raises(InputError, match="cannot be read"):
            run_worker(ADDRESS)


def test_an_open_address_is_refused_in_words_where_dask_is_told_to_encrypt() -> None:
    encrypted = dask.config.set({"distributed.comm.require-encryption": True})
    said = r"compute\.engine: tcp://127.0.0.1:9 cannot be connected to: encryption"
    with encrypted, pytest.raises(InputError, match=said):
        open_engine(Compute(engine="tcp://127.0.0.1:9"))
