"""An experiment that the coordinator carries out, or has carried out."""

from __future__ import annotations

import getpass
import json
import time
from typing import Callable, Iterator, Optional, Union

from . import status
from .error import Unavailable
from .link import Link, resumed
from .observations import Observations
from .progress import Progress
from .report import Report
from .status import Status
from .v1 import analysis_pb2, experiments_pb2

# How long a coordinator may be away before that is an error, in seconds: it may be restarted or moved meanwhile.
PATIENCE = 600.0


class Experiment:
    """An experiment; `Client.submit` and `Client.experiment` make it."""

    def __init__(self, link: Link, id: str, *, seed: Optional[int] = None, warning: str = "") -> None:
        self.id = id
        """Its id, a UUID."""
        self.seed = seed
        """The seed of its plan, where this program submitted it."""
        self.warning = warning
        """Why its hosts may not carry it out, said when it was submitted; usually empty."""
        self._link = link

    def status(self) -> Status:
        """How it stands."""
        return self._status("Get", experiments_pb2.GetRequest(experiment=self.id))

    def watch(self, *, patience: float = PATIENCE) -> Iterator[Status]:
        """How it stands, now and after every change, until it has finished.

        It goes on when a coordinator that was away is back within `patience` seconds.
        """
        return resumed(lambda: self._watched(None), patience)

    def wait(
        self,
        *,
        progress: Union[bool, Callable[[Status], object]] = True,
        timeout: Optional[float] = None,
        patience: float = PATIENCE,
    ) -> Status:
        """Waits until it has finished or was cancelled, and shows its progress: a bar if tqdm is installed, lines otherwise.

        `progress` may be a function that is given each status. After `timeout` seconds, `TimeoutError` is raised; the experiment goes
        on. A coordinator may be away for up to `patience` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        bar = Progress()
        show = progress if callable(progress) else bar if progress else lambda _: None
        try:
            for now in resumed(lambda: self._watched(deadline), patience):
                show(now)
            return now
        finally:
            bar.close()

    def pause(self) -> Status:
        """Gives out no further run until it is resumed; runs under way go on."""
        return self._status("Pause", experiments_pb2.ChangeRequest(experiment=self.id, by=user()))

    def resume(self) -> Status:
        """Gives out runs again."""
        return self._status("Resume", experiments_pb2.ChangeRequest(experiment=self.id, by=user()))

    def cancel(self) -> Status:
        """Gives out no further run; runs under way end and are kept."""
        return self._status("Cancel", experiments_pb2.ChangeRequest(experiment=self.id, by=user()))

    def extend(self, runs: int) -> Status:
        """Appends so many runs of each benchmark in each version to its plan."""
        return self._status("Extend", experiments_pb2.ExtendRequest(experiment=self.id, runs=runs, by=user()))

    def report(
        self,
        *,
        confidence: Optional[float] = None,
        noise_threshold: Optional[float] = None,
        mixtures: bool = False,
        figures: bool = False,
    ) -> Report:
        """What it has shown so far.

        `confidence` is another level than the plan's; `noise_threshold` is the slowdown that `gates` of the JSON ignore; with `mixtures`, the clusters of the times are described, which takes long; with
        `figures`, the report has what plots are drawn from, and its page the plots.
        """

        def form(name: str) -> str:
            request = analysis_pb2.ReportRequest(
                experiment=self.id,
                confidence=confidence,
                noise_threshold=noise_threshold,
                mixtures=mixtures,
                figures=figures,
                form=f"FORM_{name}",
            )
            answer = self._link.ask("Analysis/Report", request, analysis_pb2.ReportResponse)
            return answer.text or answer.json

        return Report(json.loads(form("JSON")), form)

    def observations(self, *, patience: float = PATIENCE) -> Observations:
        """Every attempt that ended so far, with its evidence: for pandas, Polars and Arrow."""
        request = analysis_pb2.ObservationsRequest(experiment=self.id, form="FORM_ARROW")

        def fetched() -> Iterator[Observations]:
            chunks = self._link.stream("Analysis/Observations", request, analysis_pb2.ObservationsChunk)
            yield Observations(b"".join(chunk.content for chunk in chunks))

        return next(resumed(fetched, patience))

    def export(self, *, patience: float = PATIENCE) -> Iterator[experiments_pb2.ExportChunk]:
        """The plan, and every attempt that ended, as messages of the API.

        When a coordinator that was away is back within `patience` seconds, it goes on where it was. `Changed` is raised if
        the experiment, not finished, has changed before that place.
        """
        cursor = ""

        def rest() -> Iterator[experiments_pb2.ExportChunk]:
            nonlocal cursor
            request = experiments_pb2.ExportRequest(experiment=self.id, cursor=cursor)
            for chunk in self._link.stream("Experiments/Export", request, experiments_pb2.ExportChunk):
                cursor = chunk.cursor
                yield chunk

        return resumed(rest, patience)

    def __repr__(self) -> str:
        return f"<Experiment {self.id}>"

    def _status(self, method: str, request: Request) -> Status:
        return status.of_wire(self._link.ask(f"Experiments/{method}", request, experiments_pb2.ExperimentStatus))

    def _watched(self, deadline: Optional[float]) -> Iterator[Status]:
        """Statuses until the last; a coordinator that ends does not always say so."""
        now: Optional[Status] = None
        left = None if deadline is None else max(deadline - time.monotonic(), 0)
        request = experiments_pb2.GetRequest(experiment=self.id)
        try:
            for told in self._link.stream("Experiments/Watch", request, experiments_pb2.ExperimentStatus, left):
                now = status.of_wire(told)
                yield now
        except Unavailable:
            self._check(deadline)
            raise
        if now is None or not now.is_finished:
            raise Unavailable(f"the coordinator at {self._link.address} ended while it was followed")

    def _check(self, deadline: Optional[float]) -> None:
        if deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError(f"the experiment {self.id} has not finished in time; it goes on")


Request = Union[experiments_pb2.GetRequest, experiments_pb2.ChangeRequest, experiments_pb2.ExtendRequest]


def user() -> str:
    """Who asks, where the coordinator serves without certificates."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
