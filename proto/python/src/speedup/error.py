"""What goes wrong, in exceptions: each says what it is, and what can be done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence, Type

import grpc
from google.rpc import error_details_pb2, status_pb2

# What the coordinator puts before what can be done.
_HINT = "hint: "
# Where gRPC puts the details of an error.
_DETAILS = "grpc-status-details-bin"


class SpeedupError(Exception):
    """Anything that goes wrong. `message` says what, `hint` what can be done; it may be empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{_HINT}{self.hint}" if self.hint else self.message


class AccessFileError(SpeedupError):
    """There is no access file, or it cannot be used."""


class Untrusted(SpeedupError):
    """The server is not the one of the access file."""


class Unavailable(SpeedupError):
    """The coordinator cannot be reached, or did not answer in time."""


class AccessDenied(SpeedupError):
    """The coordinator does not accept the certificate, or its role may not do this."""


class NotFound(SpeedupError):
    """There is no such experiment or host."""


class AlreadyExists(SpeedupError):
    """The `request_id` was used for another plan."""


class NotPossible(SpeedupError):
    """Not in this state: the pool is too small for the plan, or the experiment has finished."""


class Changed(SpeedupError):
    """The experiment changed while it was exported: start again."""


class TooLarge(SpeedupError):
    """A request or an answer is beyond its bound."""


class AnotherRelease(SpeedupError):
    """The coordinator does not know this request: it is of another release."""


class MissingPackage(SpeedupError):
    """A package that this needs is not installed."""


@dataclass(frozen=True)
class Refusal:
    """One thing that is wrong with a request."""

    field: str
    """Where: `toml.benchmarks.sort.command`. Empty for what was left out of a long list."""
    reason: str
    """Why, with the line of a plan's text."""
    hint: str
    """What can be done; may be empty."""

    def __str__(self) -> str:
        lines = [f"{self.field}: {self.reason}" if self.field else self.reason]
        return "\n".join(lines + [f"  {_HINT}{self.hint}"] if self.hint else lines)


class Refused(SpeedupError):
    """A plan or a request is wrong. `refusals` lists all that is wrong with a plan, not only the first."""

    def __init__(self, message: str, hint: str = "", refusals: Sequence[Refusal] = ()) -> None:
        super().__init__(message, hint)
        self.refusals = tuple(refusals)

    def __str__(self) -> str:
        return "\n".join(map(str, self.refusals)) or super().__str__()


_BY_CODE: Mapping[grpc.StatusCode, Type[SpeedupError]] = {
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: Unavailable,
    grpc.StatusCode.UNAUTHENTICATED: AccessDenied,
    grpc.StatusCode.PERMISSION_DENIED: AccessDenied,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: NotPossible,
    grpc.StatusCode.ABORTED: Changed,
    grpc.StatusCode.OUT_OF_RANGE: TooLarge,
    grpc.StatusCode.RESOURCE_EXHAUSTED: TooLarge,
    grpc.StatusCode.UNIMPLEMENTED: AnotherRelease,
    grpc.StatusCode.INVALID_ARGUMENT: Refused,
}


def of_call(error: grpc.RpcError, address: str) -> SpeedupError:
    """What a call that failed means."""
    code, words = error.code(), error.details() or ""
    message, hint = _apart(words)
    if code is grpc.StatusCode.UNAVAILABLE:
        if "CERTIFICATE_VERIFY_FAILED" in words or "Peer name" in words:
            return Untrusted(
                f"the server at {address} is not that of the access file: {message}",
                "take the access file of this coordinator; if it does not know the name by which you reach it, "
                "start it with --advertise NAME",
            )
        hint = hint or "check whether it is running, and whether `speedup access whoami` reaches it"
        return Unavailable(f"cannot reach the coordinator at {address}: {message}", hint)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        hint = hint or "install the wheel of the coordinator's release"
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        return Refused(message, hint, _refusals(error))
    return _BY_CODE.get(code, SpeedupError)(message, hint)


def _apart(words: str) -> tuple[str, str]:
    message, _, hint = words.partition(f"\n{_HINT}")
    return message, hint


def _refusals(error: grpc.RpcError) -> list[Refusal]:
    """The fields of the BadRequest in an error's details."""
    refusals = []
    status = status_pb2.Status()
    # The stubs of gRPC take a list of metadata for one of them.
    metadata: Any = error.trailing_metadata()
    for key, value in metadata or ():
        if key == _DETAILS:
            status.ParseFromString(value)
    for detail in status.details:
        wrong = error_details_pb2.BadRequest()
        if detail.Unpack(wrong):
            for one in wrong.field_violations:
                refusals.append(Refusal(one.field, *_apart(one.description)))
    return refusals
