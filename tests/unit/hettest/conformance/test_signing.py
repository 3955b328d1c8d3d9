"""A signature is by a key and over one manifest; neither can be exchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from hettest.conformance import signing
from hettest.errors import UsageError
from tests.unit.hettest.conformance.conftest import needs_ssh_keygen, public

DATA = b'{"schema": "x"}\n'


@needs_ssh_keygen
def test_a_signature_holds_for_its_key(keys: tuple[Path, Path]) -> None:
    mine, _ = keys

    assert signing.verify(DATA, signing.sign(DATA, mine), public(mine)) == str(public(mine))


@needs_ssh_keygen
def test_allowed_signers_say_who_it_is(keys: tuple[Path, Path], tmp_path: Path) -> None:
    mine, other = keys
    allowed = tmp_path / "allowed"
    allowed.write_text(
        f"other@example.org {public(other).read_text()}me@example.org {public(mine).read_text()}"
    )

    assert signing.verify(DATA, signing.sign(DATA, mine), allowed) == "me@example.org"


@needs_ssh_keygen
def test_another_key_is_refused(keys: tuple[Path, Path]) -> None:
    mine, other = keys

    with pytest.raises(ValueError, match="signed by another key"):
        signing.verify(DATA, signing.sign(DATA, other), public(mine))


@needs_ssh_keygen
def test_other_data_are_refused(keys: tuple[Path, Path]) -> None:
    mine, _ = keys
    signature = signing.sign(DATA, mine)

    with pytest.raises(ValueError, match="does not hold"):
        signing.verify(DATA + b" ", signature, public(mine))
    with pytest.raises(ValueError, match="does not hold"):
        signing.consistent(DATA + b" ", signature)
    assert "SHA256:" in signing.consistent(DATA, signature)


@needs_ssh_keygen
def test_what_is_no_signature_is_refused(keys: tuple[Path, Path]) -> None:
    with pytest.raises(ValueError, match=r"does not hold|signed by another"):
        signing.consistent(DATA, b"nonsense")
    with pytest.raises(ValueError, match=r"does not hold|signed by another"):
        signing.verify(DATA, b"nonsense", public(keys[0]))


@needs_ssh_keygen
def test_a_private_key_and_no_key_are_told(keys: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a private key, expected the public one"):
        signing.verify(DATA, b"", keys[0])
    with pytest.raises(UsageError, match="found no such file"):
        signing.sign(DATA, tmp_path / "none")
    (tmp_path / "bad").write_text("no key")
    with pytest.raises(UsageError, match="ssh-keygen did not sign"):
        signing.sign(DATA, tmp_path / "bad")


def test_without_ssh_keygen_it_says_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "key").write_text("")

    with pytest.raises(UsageError, match=r"found no ssh-keygen.*OpenSSH"):
        signing.sign(DATA, tmp_path / "key")
