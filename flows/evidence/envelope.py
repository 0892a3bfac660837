"""Statements signed by Ed25519 in DSSE envelopes, and the Merkle tree over the files that they speak of.

An envelope is read only as it is written here: whoever changes a byte of it, signed or not, changes what it is.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from assay.infra.errors import InputError
from assay.infra.storage.folders import require_regular

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_PRIVATE = "openssl genpkey -algorithm ed25519 -out key.pem"
_PUBLIC = "openssl pkey -in key.pem -pubout -out key.pub"


@dataclass(frozen=True)
class ByCommand:
    """Somebody's own way to sign, or to check it, in place of a key in a file: cosign without a key, a hardware module.

    The command gets what is signed on its standard input; `signer` is whom the envelopes name.
    """

    signer: str
    command: str

    def public_key(self) -> ByCommand:
        """What checks is named alike."""
        return self

    def sign(self, content: bytes) -> bytes:
        """What the command writes: a signature, with a certificate or whatever else goes with it."""
        done = self._run(self.command, content, stderr=None)  # it may ask its user to log in
        if done.returncode or not done.stdout:
            raise InputError(f"{self.command!r} has not signed ({done.returncode}); why, it says itself.")
        return done.stdout

    def verify(self, signature: bytes, content: bytes) -> None:
        """Raises unless the command ends with 0; `SIGNATURE` in it stands for a file of what `sign` gave."""
        from cryptography.exceptions import InvalidSignature

        with tempfile.NamedTemporaryFile() as file:
            file.write(signature)
            file.flush()
            if self._run(self.command.replace("SIGNATURE", file.name), content, stderr=subprocess.DEVNULL).returncode:
                raise InvalidSignature

    def _run(self, command: str, content: bytes, stderr: int | None) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                shlex.split(command), input=content, stdout=subprocess.PIPE, stderr=stderr, check=False
            )
        except (OSError, ValueError, IndexError) as error:  # the last: it is empty
            raise InputError(f"The command {command!r} cannot be run: {error}") from error


PrivateKey: TypeAlias = "Ed25519PrivateKey | ByCommand"
PublicKey: TypeAlias = "Ed25519PublicKey | ByCommand"


def read_private_key(path: Path | ByCommand) -> PrivateKey:
    """The private key in a PEM file, or the command that signs."""
    if isinstance(path, ByCommand):
        return path
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    wanted = f"private key of Ed25519 without a password: {_PRIVATE} makes one"
    key = _read_key(path, partial(load_pem_private_key, password=None), Ed25519PrivateKey, wanted)
    return cast("Ed25519PrivateKey", key)


def read_public_key(path: Path | ByCommand) -> PublicKey:
    """The public key in a PEM file, or the command that checks."""
    if isinstance(path, ByCommand):
        return path
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    wanted = f"public key of Ed25519: its owner writes one with {_PUBLIC}"
    return cast("Ed25519PublicKey", _read_key(path, load_pem_public_key, Ed25519PublicKey, wanted))


def _read_key(path: Path, load: Callable[[bytes], object], kind: type, wanted: str) -> object:
    """The key of that kind in a file; nothing of the file stands in what is said of it."""
    from cryptography.exceptions import UnsupportedAlgorithm

    require_regular(path)
    try:
        key = load(path.read_bytes())
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}; name a PEM file with --key.") from error
    except (ValueError, TypeError, UnsupportedAlgorithm):  # the second: it is locked by a password
        key = None
    if not isinstance(key, kind):
        raise InputError(f"{path} holds no {wanted}")
    return key


def key_id(key: PublicKey) -> str:
    """What a key is called: the sha256 of its SubjectPublicKeyInfo (`openssl pkey -pubin -outform DER | sha256sum`)."""
    if isinstance(key, ByCommand):
        return key.signer
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def canonical_json(value: object) -> bytes:
    """The one form in which a value is signed and hashed.

    >>> canonical_json({"b": 1, "a": "ä"}).decode()
    '{"a":"ä","b":1}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def signed_envelope(statement: Mapping[str, Any], key: PrivateKey) -> bytes:
    """The statement in a DSSE envelope."""
    payload = canonical_json(statement)
    return _envelope(payload, key.sign(_signed_bytes(payload)), key_id(key.public_key()))


def statement_in(envelope: bytes, key: PublicKey, called: str) -> dict[str, Any]:
    """The statement that an envelope holds; raises where this key has not signed exactly these bytes."""
    from cryptography.exceptions import InvalidSignature

    payload, signature, signer = _taken_apart(envelope, called)
    if signer != key_id(key):
        raise InputError(f"{called} is signed with another key ({signer[:64]}), not with {key_id(key)}.")
    try:
        key.verify(signature, _signed_bytes(payload))
    except InvalidSignature:
        raise InputError(f"{called} is not what was signed: its signature does not fit.") from None
    return json.loads(payload)  # type: ignore[no-any-return]  # the key has signed it


def unverified_statement(envelope: bytes, called: str) -> dict[str, Any]:
    """The statement that an envelope of one's own store holds, whoever signed it."""
    return json.loads(_taken_apart(envelope, called)[0])  # type: ignore[no-any-return]


def _taken_apart(envelope: bytes, called: str) -> tuple[bytes, bytes, str]:
    """Payload, signature and the name of the key."""
    try:
        read = json.loads(envelope)
        (signature,) = read["signatures"]
        payload, bits = (base64.b64decode(text, validate=True) for text in (read["payload"], signature["sig"]))
        if _envelope(payload, bits, signature["keyid"]) == envelope:
            return payload, bits, str(signature["keyid"])
    except (KeyError, TypeError, ValueError, binascii.Error, RecursionError):
        pass
    raise InputError(f"{called} is no envelope as assay attest writes it.")


def _envelope(payload: bytes, signature: bytes, signer: str) -> bytes:
    encoded, bits = (base64.b64encode(content).decode() for content in (payload, signature))
    return canonical_json(
        {"payload": encoded, "payloadType": PAYLOAD_TYPE, "signatures": [{"keyid": signer, "sig": bits}]}
    )


def _signed_bytes(payload: bytes) -> bytes:
    """What is signed: DSSE's pre-authentication encoding of type and payload."""
    return b"DSSEv1 %d %b %d %b" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)


def merkle_root(checksums: Mapping[str, str]) -> str:
    """The root of the tree over named files, in the order of their names; a leaf is a name, NUL, and a sha256."""
    return tree_hash([f"{name}\0{checksums[name]}".encode() for name in sorted(checksums)]).hex()


def tree_hash(leaves: Sequence[bytes]) -> bytes:
    """The Merkle tree hash of RFC 9162, section 2.1.1.

    >>> tree_hash([]).hex()[:16], tree_hash([b""]).hex()[:16]
    ('e3b0c44298fc1c14', '6e340b9cffb37a98')
    """
    if len(leaves) < 2:
        return hashlib.sha256(b"".join(b"\0" + leaf for leaf in leaves)).digest()
    split = 1 << (len(leaves) - 1).bit_length() - 1  # the largest power of two below their number
    return hashlib.sha256(b"\1" + tree_hash(leaves[:split]) + tree_hash(leaves[split:])).digest()
