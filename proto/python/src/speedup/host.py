"""Hosts of the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Mapping, Optional

from .v1 import hosts_pb2 as wire

Standing = Literal["serving", "draining", "quarantined", "unknown"]
"""Whether a host is given runs."""


@dataclass(frozen=True)
class Host:
    """A host of the pool, as it stands."""

    id: str
    """Its id."""
    name: str
    """What people call it; its id where it has no name."""
    connected: bool
    """Whether its agent is connected."""
    standing: Standing
    """Whether it is given runs."""
    host_class: str
    """The class of hosts with the same fingerprint, in hexadecimal digits."""
    served: int
    """How many runs it has served."""
    experiment: Optional[str]
    """The experiment of which it has a run now."""
    facts: Mapping[str, str]
    """Its stable properties, by name."""


def of_wire(status: wire.HostStatus) -> Host:
    """The host in a message."""
    facts = status.facts
    return Host(
        id=facts.host,
        name=facts.node or facts.hostname or facts.host,
        connected=status.connected,
        standing=status.WhichOneof("standing") or "unknown",
        host_class=getattr(status, "class"),
        served=status.served,
        experiment=status.lease.experiment if status.HasField("lease") else None,
        facts=dict(facts.fingerprint),
    )
