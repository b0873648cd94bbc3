"""A coordinator, as a program sees it."""

from __future__ import annotations

import json
import os
import uuid
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Iterator, Literal, Mapping, Optional, Sequence, Type, Union

from . import access, host, sample, started, status
from .error import SpeedupError
from .experiment import PATIENCE, Experiment, user
from .host import Host
from .link import Link, patiently
from .plan import Plan
from .plan import put as put_plan
from .report import Answer, Json
from .sample import Samples
from .status import Status
from .v1 import analysis_pb2, experiments_pb2, hosts_pb2

# How long the coordinator may take to be reached, in seconds.
_CONNECT_TIME = 30.0

Weighting = Literal["equal", "fraction"]
"""What each benchmark counts in the total: the same, or its share of the baseline's time."""


def connect(
    coordinator: Optional[str] = None, *, access_file: Union[str, "os.PathLike[str]", None] = None
) -> Client:
    """Connects to a coordinator, found as the command `speedup` finds it.

    `coordinator` is a name or an address such as `https://login1:7077`; without it, the variable `SPEEDUP_COORDINATOR` says it,
    or the access file `$XDG_STATE_HOME/speedup/access.toml`. `access_file` names another access file. An address that begins with
    `http://` is without TLS, on this machine only.
    """
    coordinator = coordinator or os.environ.get("SPEEDUP_COORDINATOR") or None
    chosen = Path(access_file).absolute() if access_file is not None else None
    place = {"name": coordinator, "access_file": chosen and str(chosen)}
    client = Client(Link(access.find(coordinator, chosen)), {key: text for key, text in place.items() if text})
    try:
        client._reach()
    except BaseException:
        client.close()
        raise
    return client


class Client:
    """A connection to a coordinator; `connect` makes it."""

    def __init__(self, link: Link, place: Mapping[str, str]) -> None:
        self._link = link
        # What the command needs to find the coordinator again.
        self._place = place

    @property
    def address(self) -> str:
        """Where the coordinator is."""
        return self._link.address

    def submit(
        self,
        plan: Plan,
        *,
        wait_for_hosts: bool = False,
        request_id: Union[str, uuid.UUID, None] = None,
        patience: float = PATIENCE,
    ) -> Experiment:
        """Submits a plan: the path of its file, its text, or its tables as a dict.

        All that is wrong with it is in one exception, `Refused`. With `wait_for_hosts`, a plan is taken that the pool is too small
        for now. The request is repeated while the coordinator is away, for up to `patience` seconds, and makes one experiment
        however often it arrives; `request_id`, a UUID that you keep, makes that hold for calls of this method too.
        """
        request = experiments_pb2.SubmitRequest(
            wait_for_hosts=wait_for_hosts, by=user(), request_id=str(request_id or uuid.uuid4())
        )
        put_plan(request, plan)
        answer = patiently(
            lambda: self._link.ask("Experiments/Submit", request, experiments_pb2.SubmitResponse), patience
        )
        experiment = Experiment(self._link, answer.experiment, seed=answer.seed, warning=answer.warning)
        # It is submitted, whatever becomes of this.
        with suppress(SpeedupError):
            started.note(experiment.id, experiment.status().name, self._place)
        return experiment

    def check(self, plan: Plan) -> experiments_pb2.CheckResponse:
        """What a plan would need: `runs`, `hosts_needed`, and the `hosts_here`. Takes nothing; refuses as `submit` does."""
        request = experiments_pb2.CheckRequest()
        put_plan(request, plan)
        return self._link.ask("Experiments/Check", request, experiments_pb2.CheckResponse)

    def experiment(self, experiment: str) -> Experiment:
        """The experiment of this id, a UUID."""
        found = Experiment(self._link, experiment)
        found.status()
        return found

    def experiments(self) -> Iterator[Status]:
        """All experiments, the newest first. They are fetched by pages, while they are read."""
        token = ""
        while True:
            page = self._link.ask(
                "Experiments/List", experiments_pb2.ListRequest(page_token=token), experiments_pb2.ListResponse
            )
            yield from map(status.of_wire, page.experiments)
            token = page.next_page_token
            if not token:
                return

    def hosts(self) -> Iterator[Host]:
        """All hosts that ever joined, by their ids. They are fetched by pages, while they are read."""
        token = ""
        while True:
            page = self._link.ask("Hosts/List", hosts_pb2.ListHostsRequest(page_token=token), hosts_pb2.ListHostsResponse)
            yield from map(host.of_wire, page.hosts)
            token = page.next_page_token
            if not token:
                return

    def compare(
        self,
        samples: Samples,
        *,
        method: Union[str, Mapping[str, Any]] = "ratio",
        confidence: Optional[float] = None,
        noise_threshold: Optional[float] = None,
        higher_is_better: bool = False,
        weights: Union[Weighting, Sequence[float]] = "equal",
        drawn_from: Optional[int] = None,
        seed: int = 0,
    ) -> Answer:
        """Compares samples as `speedup compare` does: values by version, the baseline first, or by version and benchmark.

        `method` is a word of `speedup compare --method`, or the method with its options, such as
        `{"kind": "ratio", "margin": 0.01}`. `drawn_from` says from how many benchmarks those of the samples were drawn at random,
        0 if nobody knows. `noise_threshold` is the slowdown that `gates` of the answer's JSON ignore, 0.02 for 2 %.
        """
        chosen = {"kind": method.replace("-", "_")} if isinstance(method, str) else dict(method)
        request = analysis_pb2.CompareRequest(
            versions=sample.versions(samples),
            method=json.dumps(chosen),
            confidence=confidence,
            noise_threshold=noise_threshold,
            higher_is_better=higher_is_better,
            weighting=f"WEIGHTING_{weights.upper()}" if isinstance(weights, str) else "WEIGHTING_CUSTOM",
            weights=() if isinstance(weights, str) else weights,
            drawn=drawn_from is not None,
            population=drawn_from or 0,
            seed=seed,
        )
        return Answer(json.loads(self._link.ask("Analysis/Compare", request, analysis_pb2.CompareResponse).json))

    def required_benchmarks(
        self, proportion: float, precision: float, *, population: int = 0, confidence: Optional[float] = None
    ) -> Json:
        """How many benchmarks it takes to know the proportion of faster ones.

        `proportion` is a guess of it, `precision` the half-width of its interval, `population` how many there are to draw from.
        """
        asked = analysis_pb2.AdviseRequest.Benchmarks(
            proportion=proportion, precision=precision, population=population
        )
        return self._advice(analysis_pb2.AdviseRequest(benchmarks=asked, confidence=confidence))

    def required_repetitions(
        self,
        baseline: Sequence[float],
        candidate: Sequence[float] = (),
        *,
        relative_half_width: Optional[float] = None,
        speedup: Optional[float] = None,
        power: Optional[float] = None,
        maximum: Optional[int] = None,
        confidence: Optional[float] = None,
    ) -> Json:
        """How often to run each version, by what a pilot varies.

        Give one goal: `relative_half_width`, half the width of the interval as a share, or `speedup`, one to be found with the
        probability `power`.
        """
        if (relative_half_width is None) == (speedup is None):
            raise ValueError("give one goal: relative_half_width or speedup")
        asked = analysis_pb2.AdviseRequest.Repetitions(
            baseline=baseline, candidate=candidate, power=power, maximum=maximum
        )
        if relative_half_width is not None:
            asked.relative_half_width = relative_half_width
        if speedup is not None:
            asked.speedup = speedup
        return self._advice(analysis_pb2.AdviseRequest(repetitions=asked, confidence=confidence))

    def required_levels(
        self,
        values: Sequence[float],
        counts: Sequence[int],
        costs: Sequence[float],
        *,
        budget: Optional[float] = None,
        confidence: Optional[float] = None,
    ) -> Json:
        """How often to repeat each level: iterations, runs, builds.

        `values` are the pilot's, those of the lowest level beside each other; `counts` says how many members a unit of each level
        has, the lowest first; `costs` what one more unit of each level but the highest costs, in measurements; `budget` what may be
        spent.
        """
        asked = analysis_pb2.AdviseRequest.Levels(values=values, counts=counts, costs=costs, budget=budget)
        return self._advice(analysis_pb2.AdviseRequest(levels=asked, confidence=confidence))

    def close(self) -> None:
        """Ends the connection. Experiments go on."""
        self._link.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        raised: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self.address}>"

    def _advice(self, request: analysis_pb2.AdviseRequest) -> Json:
        advice: Json = json.loads(self._link.ask("Analysis/Advise", request, analysis_pb2.AdviseResponse).json)
        return advice

    def _reach(self) -> None:
        """Tells whether the coordinator is there and lets this one in."""
        request = experiments_pb2.ListRequest(page_size=1)
        self._link.ask("Experiments/List", request, experiments_pb2.ListResponse, _CONNECT_TIME)
