"""One lock for each real device of this machine, across workers and processes.

Devices of kind ``cpu`` and ``sim`` are as many as one likes; any other is held by one item at a
time. The kernel gives a lock back when its holder dies.
"""

from __future__ import annotations

import os
import platform
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from hettest.devicemap import kind_of
from hettest.limits import PATIENCE

if TYPE_CHECKING:
    from filelock import FileLock

_SHARED: Final = ("cpu", "sim")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


class DeviceBusy(Exception):
    """A device was not to be had in time; says which, and where its lock is."""


def default_folder() -> Path:
    """Return the folder of the locks of all users of this machine."""
    return Path(tempfile.gettempdir()) / "hettest-device-locks"


@final
@dataclass
class DeviceLocks:
    """The devices that this process holds, and waits for."""

    folder: Path = field(default_factory=default_folder)
    patience: float = PATIENCE
    _locks: dict[str, FileLock] = field(default_factory=dict)

    @contextmanager
    def hold(self, devices: Sequence[str]) -> Iterator[None]:
        """Hold the real ones among ``devices``; may be nested.

        Raises:
            DeviceBusy: Somebody else holds one for too long, or the lock cannot be made.
        """
        real = sorted({d for d in devices if kind_of(d) not in _SHARED})  # in one order for all
        with ExitStack() as held:
            for device in real:
                held.enter_context(self._acquired(device))
            yield

    @contextmanager
    def _acquired(self, device: str) -> Iterator[None]:
        from filelock import Timeout

        lock = self._lock(device)
        try:
            lock.acquire(timeout=self.patience)
        except Timeout:
            raise DeviceBusy(
                f"{device} was held by another process for {self.patience:g} s ({lock.lock_file})"
            ) from None
        except OSError as error:
            raise DeviceBusy(f"{device} cannot be locked: {error}") from error
        try:
            yield
        finally:
            lock.release()

    def _lock(self, device: str) -> FileLock:
        from filelock import FileLock

        if device not in self._locks:
            with suppress(OSError):  # whether it can be used is found out by locking
                self.folder.mkdir(parents=True, exist_ok=True)
                os.chmod(self.folder, 0o777)
            name = _UNFIT.sub("-", f"{platform.node()}-{device}")
            self._locks[device] = FileLock(self.folder / f"{name}.lock", mode=0o666)
        return self._locks[device]
