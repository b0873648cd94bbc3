"""How an experiment stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, Optional

from google.protobuf.timestamp_pb2 import Timestamp

from .v1 import experiments_pb2 as wire

Phase = Literal["running", "waiting_for_hosts", "paused", "deciding", "cancelling", "cancelled", "finished", "unknown"]
"""Whether runs are given out; `deciding` is while the plan's rule computes whether the runs are enough."""


@dataclass(frozen=True)
class Tally:
    """How many runs are in which state; `lost_attempts` counts attempts."""

    waiting: int
    leased: int
    running: int
    measured: int
    failed: int
    abandoned: int
    cancelled: int
    lost_attempts: int

    @property
    def runs(self) -> int:
        """All runs of the plan."""
        return self.waiting + self.leased + self.running + self.settled

    @property
    def settled(self) -> int:
        """The runs that change no more."""
        return self.measured + self.failed + self.abandoned + self.cancelled


@dataclass(frozen=True)
class Status:
    """How an experiment stands."""

    experiment: str
    """Its id."""
    name: str
    """What people call it."""
    phase: Phase
    """Whether its runs are given out."""
    tally: Tally
    """How its runs stand."""
    submitted: datetime
    """When it was submitted."""
    submitted_by: str
    """Who submitted it."""
    finished_at: Optional[datetime]
    """When it finished."""
    reason: str
    """Why it is paused; else the latest words of the plan's rule, or why it was cancelled. May be empty."""
    hosts_here: int
    """Hosts of the pool that are connected."""
    tags: tuple[str, ...]
    """Words to find it by."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing happens to it any more."""
        return self.phase in ("finished", "cancelled")

    def __str__(self) -> str:
        tally = self.tally
        words = f"{self.name}: {self.phase.replace('_', ' ')}, {tally.settled} of {tally.runs} runs settled"
        return f"{words}: {self.reason}" if self.phase == "paused" and self.reason else words


def of_wire(status: wire.ExperimentStatus) -> Status:
    """The status in a message."""
    tally = {field.name: getattr(status.tally, field.name) for field in wire.Tally.DESCRIPTOR.fields}
    return Status(
        experiment=status.experiment,
        name=status.name,
        phase=_phase(status),
        tally=Tally(**tally),
        submitted=_moment(status.submitted),
        submitted_by=status.submitted_by,
        finished_at=_moment(status.finished_at) if status.HasField("finished_at") else None,
        reason=status.paused.reason or status.words,
        hosts_here=status.hosts_here,
        tags=tuple(status.tags),
    )


def _phase(status: wire.ExperimentStatus) -> Phase:
    if status.running.waiting_for_hosts:
        return "waiting_for_hosts"
    if status.finished.cancelled:
        return "cancelled"
    return status.WhichOneof("phase") or "unknown"


def _moment(moment: Timestamp) -> datetime:
    return moment.ToDatetime(tzinfo=timezone.utc)
