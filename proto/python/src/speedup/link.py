"""The connection to a coordinator: calls, and streams that outlast a coordinator that is away for a while."""

from __future__ import annotations

import random
import time
from typing import Callable, Iterator, Optional, Type, TypeVar

import grpc
from google.protobuf.message import Message

from . import error
from .access import Access

# How long one answer may take, in seconds: a large report takes minutes.
ANSWER_TIME = 600.0
# The largest answers; the coordinator's bound.
_MAX_ANSWER_BYTES = 64 << 20
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
        target = access.target()
        if access.is_secured:
            parts = [part.encode() for part in (access.authority, access.key, access.certificate)]
            self._channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(*parts), _OPTIONS)
        else:
            self._channel = grpc.insecure_channel(target, _OPTIONS)

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def ask(self, method: str, request: Message, answer: Type[A], within: float = ANSWER_TIME) -> A:
        """The answer to a request, to `SERVICE/METHOD`."""
        call = self._channel.unary_unary(f"/speedup.v1.{method}", _bytes, answer.FromString)
        try:
            return call(request, timeout=within)
        except grpc.RpcError as refused:
            raise error.of_call(refused, self.address) from None

    def stream(self, method: str, request: Message, answer: Type[A], within: Optional[float] = None) -> Iterator[A]:
        """The answers to a request, as they come."""
        open_call = self._channel.unary_stream(f"/speedup.v1.{method}", _bytes, answer.FromString)
        call = open_call(request, timeout=within)
        try:
            yield from call
        except grpc.RpcError as refused:
            raise error.of_call(refused, self.address) from None
        finally:
            call.cancel()


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
