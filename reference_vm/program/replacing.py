"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of ``path`` at the end.

    Until then, and if writing fails, what stood there stays as it was.

    Raises:
        OSError: The file cannot be written, or what stands there is no file, such as a device.
    """
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no file" if not path.is_dir() else f"{path} is a folder")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


__all__ = ["replacing"]
