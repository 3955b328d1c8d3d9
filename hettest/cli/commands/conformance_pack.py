"""``hettest conformance pack``: one archive of a report, its digest, and a signature."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hettest.cli.commands.conformance_verify import files_of
from hettest.cli.output import echo
from hettest.conformance import manifest, packing, signing
from hettest.conformance.bundle import ENDING
from hettest.errors import UsageError

NAME = "pack"
HELP = "Pack a conformance report into one archive and print its digest; sign it with an ssh key."


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a conformance report")],
    out: Annotated[
        Path | None, typer.Option("--out", help=f"the archive [default: DIR{ENDING}]")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--sign", metavar="KEY", help="sign with this ssh key")
    ] = None,
) -> None:
    path = folder.with_name(folder.resolve().name + ENDING) if out is None else out
    if not path.name.endswith(ENDING):
        raise UsageError(f"--out={path}: the name must end in {ENDING}")
    files = files_of(folder)
    files.pop(manifest.SIGNATURE, None)
    if key is not None:
        files[manifest.SIGNATURE] = signing.sign(files[manifest.NAME], key)
    digest = packing.pack(files, path)
    signed = "signed" if key is not None else "not signed"
    echo(f"packed: {path} ({len(files)} files, {signed})")
    echo(f"digest: {digest}")
