"""One lock for each real device of this machine, across workers, processes and users.

Devices of kind ``cpu`` and ``sim`` are as many as one likes; any other is held by one item at a
time. Two locks are taken, and the kernel gives both back when their holder dies:

* a file in a folder that is the user's alone, for the processes of one user. Who owns the folder
  and the file, and that neither is a link, is found out from what was opened, so that nobody can
  put another one in its place;
* on Linux a name of the kernel's (an abstract socket), for those of different users. There is no
  file that one of them would have to let the other write to.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from hettest.devicemap import kind_of
from hettest.limits import PATIENCE

_SHARED: Final = ("cpu", "sim")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")
_STEP: Final = 0.05
"""Seconds between two attempts."""

_HELD: Final = (errno.EAGAIN, errno.EADDRINUSE)
_NO_NAMES: Final = (errno.EAFNOSUPPORT, errno.EPERM, errno.EACCES)
"""What systems say that let nobody have such names."""


class DeviceBusy(Exception):
    """A device was not to be had in time; says which, and where its lock is."""


def default_folder() -> Path:
    """Return the folder of this user's locks on this machine."""
    user = os.geteuid() if hasattr(os, "geteuid") else "user"
    return Path(tempfile.gettempdir()) / f"hettest-device-locks-{user}"


@final
@dataclass
class DeviceLocks:
    """The devices that this process holds, and waits for."""

    folder: Path = field(default_factory=default_folder)
    patience: float = PATIENCE
    scope: str = field(default_factory=tempfile.gettempdir)
    """Who knows of each other: all users with this folder of temporary files."""

    _held: dict[str, int] = field(default_factory=dict)
    """How often each device is held."""

    _locks: dict[str, ExitStack] = field(default_factory=dict)

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
        if not self._held.get(device):
            self._locks[device] = self._acquire(device)
        self._held[device] = self._held.get(device, 0) + 1
        try:
            yield
        finally:
            self._held[device] -= 1
            if not self._held[device]:
                self._locks.pop(device).close()

    def _acquire(self, device: str) -> ExitStack:
        """Return both locks of a device, which closing gives back."""
        import platform

        deadline = time.monotonic() + self.patience
        with ExitStack() as locks:
            name = _UNFIT.sub("-", f"{platform.node()}-{device}") + ".lock"
            for lock in (_FileLock(self.folder, name), _NameLock(self.scope, device)):
                try:
                    held = _patiently(lock.acquired, deadline)
                except OSError as error:
                    raise DeviceBusy(f"{device} cannot be locked: {_said(error)}") from error
                if held is None:
                    raise DeviceBusy(
                        f"{device} was held by {lock.holder()} for {self.patience:g} s ({lock})"
                    )
                locks.enter_context(held)
            return locks.pop_all()


def _patiently(
    acquired: Callable[[], AbstractContextManager[object]], deadline: float
) -> AbstractContextManager[object] | None:
    """Return what was acquired before the deadline; ``None`` if somebody else held it till then."""
    while True:
        try:
            return acquired()
        except OSError as error:
            if error.errno not in _HELD:
                raise
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(_STEP, left))


def _said(error: OSError) -> str:
    return str(error) if error.errno is None else f"{error.filename}: {error.strerror}"


@final
@dataclass(frozen=True)
class _FileLock:
    """A file that one process of this user holds at a time."""

    folder: Path
    name: str

    def __str__(self) -> str:
        return str(self.folder / self.name)

    def holder(self) -> str:
        return "another process"

    def acquired(self) -> AbstractContextManager[object]:
        """Return the lock.

        Raises:
            OSError: It is held, or the folder or the file is not one of this user's alone.
        """
        if os.name != "posix":
            return self._elsewhere()
        import fcntl

        with ExitStack() as opened:
            folder = self._folder()
            opened.callback(os.close, folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            try:
                handle = os.open(self.name, flags, 0o600, dir_fd=folder)
            except OSError as error:
                raise OSError(f"{self}: {error.strerror}; remove it") from error
            with ExitStack() as kept:
                kept.callback(os.close, handle)
                _require_own(str(self), os.fstat(handle), stat.S_ISREG, "a plain file")
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return kept.pop_all()

    def _folder(self) -> int:
        """Return the folder, opened; made if it is not there, and closed to other users."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(self.folder, flags)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            raise OSError(
                f"{self.folder} is a link or no folder; remove it, or set TMPDIR"
            ) from error
        try:
            found = os.fstat(handle)
            _require_own(str(self.folder), found, stat.S_ISDIR, "a folder")
            if found.st_mode & 0o077:
                os.fchmod(handle, 0o700)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _elsewhere(self) -> AbstractContextManager[object]:
        """Return the lock on systems where temporary files are each user's own anyway."""
        from filelock import FileLock, Timeout

        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            return FileLock(self.folder / self.name).acquire(timeout=0)
        except Timeout as error:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error


def _require_own(
    name: str, found: os.stat_result, is_kind: Callable[[int], bool], kind: str
) -> None:
    """Raise `OSError` unless what was opened is of a kind, and this user's."""
    if not is_kind(found.st_mode):
        raise OSError(f"{name} is not {kind}; remove it, or set TMPDIR")
    if found.st_uid != os.geteuid():
        raise OSError(
            f"{name} belongs to the user {found.st_uid}, expected {os.geteuid()}; set TMPDIR"
        )


@final
@dataclass(frozen=True)
class _NameLock:
    """A name that the kernel gives to one process of the machine at a time."""

    scope: str
    device: str

    def __str__(self) -> str:
        return f"the name of {self.device} in {self.scope}"

    @property
    def address(self) -> bytes:
        import hashlib

        digest = hashlib.sha256(os.fsencode(f"{self.scope}\0{self.device}")).hexdigest()
        return b"\0hettest-device-" + digest[:32].encode()

    def acquired(self) -> AbstractContextManager[object]:
        """Return the lock; where the system has no such names, nothing.

        Raises:
            OSError: It is held.
        """
        if not sys.platform.startswith("linux"):
            return ExitStack()
        import socket

        with ExitStack() as kept:
            try:
                own = kept.enter_context(closing(socket.socket(socket.AF_UNIX)))
                own.bind(self.address)
                own.listen()  # so that others can ask who it is
            except OSError as error:
                if error.errno not in _NO_NAMES:
                    raise
            return kept.pop_all()

    def holder(self) -> str:
        """Return who holds it, as the kernel says."""
        import socket
        import struct

        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(1)
            try:
                asking.connect(self.address)
                size = struct.calcsize("3i")
                found = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
            except OSError:
                return "another process"
        process, user, _ = struct.unpack("3i", found)
        return f"process {process} of user {user}"
