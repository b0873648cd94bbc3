"""The access file: where the coordinator is, and the certificate and key that let its holder in."""

from __future__ import annotations

import importlib
import os
import re
import stat
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional
from urllib.parse import urlsplit

from .error import AccessFileError

# The coordinator that has no other name.
_DEFAULT = "default"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
# Largest access file: a few certificates and a key.
_MAX_BYTES = 64 << 10
# Most access files that are looked through for an address.
_MAX_FILES = 1_000
_NO_COORDINATOR = (
    "start one with `speedup coordinator start`, enrol with one elsewhere with `speedup access enrol`, or name one with "
    "`connect(NAME or URL)` or SPEEDUP_COORDINATOR"
)


@dataclass(frozen=True)
class Access:
    """Where a coordinator is, and what one is let in with; without TLS that is nothing."""

    address: str
    """Where it is: `https://login1:7077`."""
    authority: str = field(default="", repr=False)
    """The certificate of its authority, PEM."""
    certificate: str = field(default="", repr=False)
    """The certificate of its holder, PEM."""
    key: str = field(default="", repr=False)
    """The key to it, PEM: a secret."""
    other_address: str = field(default="", repr=False)
    """Where others reach it, if this process reaches it at another address than they do."""
    file: Optional[Path] = field(default=None, repr=False)
    """The access file that says this."""

    def with_credentials(self, other: Access) -> Access:
        """The same coordinator with other credentials."""
        return replace(self, authority=other.authority, certificate=other.certificate, key=other.key)

    @property
    def is_secured(self) -> bool:
        """Whether it is reached over TLS."""
        return self.address.startswith("https://")

    def target(self) -> str:
        """Host and port, or why they are none."""
        parts = urlsplit(self.address)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise AccessFileError(
                f'"{self.address}" is not an address such as https://127.0.0.1:7077', "write it as https://login1:7077"
            )
        if not self.is_secured and parts.hostname not in ("localhost", "::1") and not _is_loopback(parts.hostname):
            raise AccessFileError(
                f"{self.address} is without TLS, and not on this machine",
                "write https://, or reach it through an ssh tunnel on this machine",
            )
        if self.is_secured and not self.authority:
            raise AccessFileError(
                f"there are no credentials for {self.address}",
                "take the access file that the coordinator wrote where its user can read it, or enrol with a token: "
                "`speedup access enrol`",
            )
        return parts.netloc


def find(coordinator: Optional[str], chosen: Optional[Path]) -> Access:
    """The coordinator of this name or address, found as the command finds it: by its access file, or the chosen one."""
    if coordinator is None or _NAME.fullmatch(coordinator):
        path = chosen or _path(coordinator or _DEFAULT)
        found = read(path)
        if found is None:
            raise AccessFileError(f"no coordinator is known: there is no {path}", _NO_COORDINATOR)
        return found
    url = coordinator if "://" in coordinator else f"https://{coordinator}"
    if not url.startswith("https://"):
        return Access(url)
    found = read(chosen) if chosen else _for_address(url)
    if found is None:
        return Access(url)
    return replace(found, address=url)


def read(path: Path) -> Optional[Access]:
    """What an access file says, if there is one. Keys that others may read are refused."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise AccessFileError(
                    f"{path} may be read or changed by others: its mode is {mode:03o}",
                    "see who may have read it; if nobody has, `chmod 600` the file, otherwise revoke what it holds",
                )
            content = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AccessFileError(f"cannot read the access file {path}: {error.strerror}") from error
    if len(content) > _MAX_BYTES:
        raise AccessFileError(f"{path} is larger than {_MAX_BYTES} bytes, so it is no access file")
    try:
        return replace(_access(_parse(content)), file=path)
    except (ValueError, KeyError, TypeError) as error:
        hint = "write it anew with `speedup access enrol`, or take the one that the coordinator wrote"
        raise AccessFileError(f"cannot read the access file {path}: {_words(error)}", hint) from error


def _access(said: dict[str, Any]) -> Access:
    address, local = said["address"], said.get("local")
    way = local["address"] if local and local["network"] == _network() else address
    parts = [said[part] for part in ("authority", "certificate", "key")] if "key" in said else ["", "", ""]
    if not all(isinstance(part, str) for part in [address, way, *parts]):
        raise TypeError("a field is no text")
    authority, certificate, key = parts
    return Access(way, authority, certificate, key, other_address=address)


def _words(error: Exception) -> str:
    return f"it does not say its {error.args[0]}" if isinstance(error, KeyError) else str(error)


def _parse(content: bytes) -> dict[str, Any]:
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    parsed: dict[str, Any] = toml.loads(content.decode())
    return parsed


def _network() -> str:
    """The network in which this process lives: machines with one home directory have boots of their own."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/net')}"
    except OSError:
        return ""


def _for_address(url: str) -> Optional[Access]:
    """The access file that is for this address; else that of the default coordinator, which a tunnel may lead to."""
    usual = read(_path(_DEFAULT))
    if usual is not None and url in (usual.address, usual.other_address):
        return usual
    for path in sorted((state_directory() / "access").glob("*.toml"))[:_MAX_FILES]:
        try:
            access = read(path)
        except AccessFileError:
            continue  # the trouble of another coordinator
        if access is not None and url in (access.address, access.other_address):
            return access
    return usual


def _path(name: str) -> Path:
    return state_directory() / ("access.toml" if name == _DEFAULT else f"access/{name}.toml")


def state_directory() -> Path:
    """Where state lies. The XDG specification ignores paths that are not absolute."""
    state, home = os.environ.get("XDG_STATE_HOME", ""), os.environ.get("HOME", "")
    if os.path.isabs(state):
        return Path(state, "speedup")
    if os.path.isabs(home):
        return Path(home, ".local/state/speedup")
    raise AccessFileError(
        "there is no directory for state: neither XDG_STATE_HOME nor HOME is set",
        "set XDG_STATE_HOME, or name the file with `access_file`",
    )


def _is_loopback(host: Optional[str]) -> bool:
    return bool(re.fullmatch(r"127(\.\d{1,3}){3}", host or ""))
