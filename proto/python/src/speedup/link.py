"""The connection to a coordinator: calls, and streams that outlast a coordinator that is away for a while."""

from __future__ import annotations

import random
import time
import warnings
from typing import Callable, Iterator, Optional, Type, TypeVar

import grpc
from google.protobuf.message import Message

from . import error, renewal
from .access import Access
from .v1 import access_pb2

# How long one answer may take, in seconds: a large report takes minutes.
ANSWER_TIME = 600.0
# How long a renewal may take, in seconds.
_RENEWAL_TIME = 30.0
# The largest answers; the coordinator's bound.
_MAX_ANSWER_BYTES = 64 << 20
# How often a link that is in use looks whether its certificate is to be renewed, in seconds: there are weeks for it.
_LOOK = 3_600.0
# Pauses between attempts at a coordinator that is away, in seconds: the first, and the longest.
_PAUSES = (0.2, 5.0)
_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_ANSWER_BYTES),
    ("grpc.max_send_message_length", _MAX_ANSWER_BYTES),
    # A connection whose other end is gone is noticed within two minutes.
    ("grpc.keepalive_time_ms", 90_000),
    ("grpc.keepalive_timeout_ms", 30_000),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # The coordinator is reached as the command reaches it, past proxies of the web.
    ("grpc.enable_http_proxy", 0),
]

A = TypeVar("A", bound=Message)
T = TypeVar("T")


class Link:
    """A connection. It is made when it is first used, and anew when it is lost."""

    def __init__(self, access: Access) -> None:
        self.address = access.address
        self._access = access
        self._channel = _channel(access)
        # When it is looked whether the certificate is to be renewed.
        self._look = time.monotonic()

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def ask(self, method: str, request: Message, answer: Type[A], within: float = ANSWER_TIME) -> A:
        """The answer to a request, to `SERVICE/METHOD`."""
        return next(self._answers(lambda: iter([self._ask(method, request, answer, within)])))

    def stream(self, method: str, request: Message, answer: Type[A], within: Optional[float] = None) -> Iterator[A]:
        """The answers to a request, as they come."""

        def opened() -> Iterator[A]:
            open_call = self._channel.unary_stream(f"/speedup.v1.{method}", _bytes, answer.FromString)
            call = open_call(request, timeout=within)
            try:
                yield from call
            finally:
                call.cancel()

        return self._answers(opened)

    def _answers(self, opened: Callable[[], Iterator[A]]) -> Iterator[A]:
        """The answers to a request, which is made again with a renewed certificate where this one has expired."""
        self._renew_in_time()
        for may_renew in (True, False):
            try:
                yield from opened()
                return
            except grpc.RpcError as refused:
                # Who is not known is refused before anything is answered.
                unknown = refused.code() is grpc.StatusCode.UNAUTHENTICATED
                if not (unknown and may_renew and self._renew()):
                    raise error.of_call(refused, self.address) from None

    def _ask(self, method: str, request: Message, answer: Type[A], within: float) -> A:
        call = self._channel.unary_unary(f"/speedup.v1.{method}", _bytes, answer.FromString)
        return call(request, timeout=within)

    def _renew_in_time(self) -> None:
        """Renews the certificate when the coordinator says that it is time to."""
        if self._access.file is None or not self._access.is_secured or time.monotonic() < self._look:
            return
        self._look = time.monotonic() + _LOOK
        try:
            who = self._ask("Access/WhoAmI", access_pb2.WhoAmIRequest(), access_pb2.CertificateStatus, _RENEWAL_TIME)
        except grpc.RpcError:
            return  # the request itself tells
        if who.due:
            self._renew()

    def _renew(self) -> bool:
        """Renews the certificate, and says whether there is another. Why there is none is a warning: the request may do without."""
        if self._access.file is None or not self._access.is_secured:
            return False
        try:
            renewed = renewal.renew(self._access, self._issued)
        except (grpc.RpcError, error.SpeedupError) as failed:
            if isinstance(failed, grpc.RpcError):
                failed = error.of_call(failed, self.address)
            warnings.warn(f"the certificate in {self._access.file} is not renewed: {failed.message}", stacklevel=2)
            return False
        is_another = renewed.certificate != self._access.certificate
        self._access, self._channel = renewed, _channel(renewed)
        return is_another

    def _issued(self) -> access_pb2.IssuedCertificate:
        # Without a signing request, the certificate is for the key that there is: this needs no cryptography.
        return self._ask("Access/Renew", access_pb2.RenewRequest(), access_pb2.IssuedCertificate, _RENEWAL_TIME)


def _channel(access: Access) -> grpc.Channel:
    target = access.target()
    if not access.is_secured:
        return grpc.insecure_channel(target, _OPTIONS)
    parts = [part.encode() for part in (access.authority, access.key, access.certificate)]
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(*parts), _OPTIONS)


def patiently(attempt: Callable[[], T], patience: float) -> T:
    """What `attempt` returns; it is made again while the coordinator is away, for up to so many seconds."""
    return next(resumed(lambda: iter([attempt()]), patience))


def resumed(opened: Callable[[], Iterator[T]], patience: float) -> Iterator[T]:
    """What a stream gives. It is opened again while the coordinator is away, for up to so many seconds at a time."""
    away_since: Optional[float] = None
    pause = _PAUSES[0]
    while True:
        try:
            for one in opened():
                away_since, pause = None, _PAUSES[0]
                yield one
            return
        except error.Unavailable:
            now = time.monotonic()
            away_since = now if away_since is None else away_since
            left = away_since + patience - now
            if left <= 0:
                raise
            # Those who were cut off together do not come back together.
            time.sleep(min(left, pause * random.uniform(0.5, 1)))
            pause = min(2 * pause, _PAUSES[1])


def _bytes(message: Message) -> bytes:
    return message.SerializeToString()
