"""Signatures over a report's manifest, by ``ssh-keygen -Y``: keys that everybody has already."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hettest.errors import UsageError
from hettest.files import write_bytes, write_text
from hettest.files.reading import DocumentError, read_text

NAMESPACE: Final = "hettest"
SIGNER: Final = "signer"
"""What a lone public key is called, which has no name of its own."""

_KEY: Final = re.compile(r"(ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+ \S+")
_SECONDS: Final = 120


def sign(data: bytes, key: Path) -> bytes:
    """Return a signature over ``data`` by the private key at ``key``, or one that an agent holds.

    Raises:
        UsageError: There is no ``ssh-keygen``, or it will not sign; says what it said.
    """
    if not key.is_file():
        raise UsageError(f"--sign={key}: found no such file, expected an ssh key")
    with tempfile.TemporaryDirectory() as folder:
        signed = Path(folder) / "manifest.json"
        write_bytes(signed, data)
        done = _ssh_keygen(["-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(signed)])
        signature = signed.with_name("manifest.json.sig")
        if done.returncode or not signature.is_file():
            raise UsageError(f"--sign={key}: ssh-keygen did not sign: {_said(done)}")
        return signature.read_bytes()


def verify(data: bytes, signature: bytes, key: Path) -> str:
    """Return who signed ``data``.

    Args:
        data: The manifest.
        signature: What `sign` returned for it.
        key: A public key, or an allowed-signers file as ssh-keygen reads them.

    Raises:
        UsageError: There is no ``ssh-keygen``, or the key cannot be read.
        ValueError: The signature is not by this key, or not over these data.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "signature"
        write_bytes(found, signature)
        allowed = Path(folder) / "allowed_signers"
        write_text(allowed, _allowed(key))
        who = _signer(found, allowed)
        checked = ["-Y", "verify", "-f", str(allowed), "-I", who, "-n", NAMESPACE]
        done = _ssh_keygen([*checked, "-s", str(found)], data)
        if done.returncode:
            raise ValueError(f"the signature does not hold: {_said(done)}")
        return str(key) if who == SIGNER else who


def consistent(data: bytes, signature: bytes) -> str:
    """Return what ssh-keygen says of a signature over ``data`` by whatever key.

    Raises:
        UsageError: There is no ``ssh-keygen``.
        ValueError: It is not over these data.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "signature"
        write_bytes(found, signature)
        done = _ssh_keygen(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(found)], data)
    if done.returncode:
        raise ValueError(f"the signature does not hold: {_said(done)}")
    return done.stdout.decode(errors="replace").strip()


def _allowed(key: Path) -> str:
    """Return the allowed signers that a file names; of a public key that one alone."""
    try:
        text = read_text(key)
    except DocumentError as error:
        raise UsageError(f"--key={error}") from error
    if "PRIVATE KEY" in text:
        raise UsageError(f"--key={key}: is a private key, expected the public one, {key}.pub")
    if _KEY.match(text.lstrip()):
        return f'{SIGNER} namespaces="{NAMESPACE}" {text.strip()}\n'
    return text


def _signer(signature: Path, allowed: Path) -> str:
    done = _ssh_keygen(["-Y", "find-principals", "-s", str(signature), "-f", str(allowed)])
    names = done.stdout.decode(errors="replace").splitlines()
    if done.returncode or not names:
        raise ValueError("it was signed by another key, or by one that is not allowed to")
    return names[0].strip()


def _ssh_keygen(args: Sequence[str], data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise UsageError(
            "found no ssh-keygen, which makes and checks signatures; it comes with OpenSSH 8.1 "
            "or later (package openssh-client)"
        )
    try:
        return subprocess.run(
            [program, *args], input=data, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"ssh-keygen did not end within {_SECONDS} s") from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    text = (done.stderr or done.stdout).decode(errors="replace").strip()
    return " / ".join(text.splitlines()) or f"exit code {done.returncode}"
