"""Renewal of the certificate in an access file, as the command does it: under a lock, and only where the result can be kept."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable, Iterator

from .access import Access, read
from .error import AccessFileError, Unavailable
from .v1 import access_pb2

# How long another renewal of the same file may take, in seconds; then it is left to the next time.
_TURN = 15.0
_RETRY = 0.05


def renew(access: Access, ask: Callable[[], access_pb2.IssuedCertificate]) -> Access:
    """What the access file lets one in with after its renewal. `ask` asks the coordinator for the certificate."""
    assert access.file is not None
    # A link stays, and what it leads to is written.
    path = access.file.resolve()
    try:
        seen = path.stat()
        if seen.st_uid != os.geteuid() or not seen.st_mode & stat.S_IWUSR:
            raise AccessFileError(f"{path} is read-only, or another user's")
        with _turn(path):
            now = read(path)
            if now is None or now.certificate != access.certificate:
                # Another program has renewed it, or it is gone.
                return access if now is None else access.with_credentials(now)
            with path.open(newline="") as file:
                text = file.read()
            # Each certificate counts in the share of this user: what could not be kept is not asked for.
            _write(path, text)
            issued = ask()
            renewed = Access(access.address, issued.authority, issued.certificate, access.key, file=access.file)
            text = _replaced(text, access.certificate, renewed.certificate)
            if renewed.authority != access.authority:
                text = _replaced(text, access.authority, renewed.authority)
            _write(path, text)
            return access.with_credentials(renewed)
    except OSError as error:
        raise AccessFileError(f"cannot renew {path}: {error.strerror}") from error


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """The right to renew a file. Commands take the same lock."""
    lock = os.open(f"{path}.lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _TURN
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Unavailable(f"another program is renewing {path}") from None
                time.sleep(_RETRY)
            except OSError:
                break  # a file system without locks: at worst two renew it, and the last is kept
        yield
    finally:
        os.close(lock)


def _replaced(text: str, old: str, new: str) -> str:
    """The text of a file with another PEM, in whichever form of TOML's strings it stands there."""
    for written in (str, lambda pem: pem.replace("\n", "\\n")):
        if written(old) in text:
            return text.replace(written(old), written(new))
    raise AccessFileError("the access file is written in a form that cannot be renewed here; a command of `speedup` renews it")


def _write(path: Path, text: str) -> None:
    """Writes the file as a whole or not at all; only its owner can read it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        draft.unlink()
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "w", newline="") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
