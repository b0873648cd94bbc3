"""Reports: what an experiment has shown, typed where programs need it most; the whole JSON is at hand."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, Callable, Literal, Mapping, Optional

Json = Mapping[str, Any]
"""An object of JSON, as the reference of reports describes it."""

Verdict = Literal["faster", "slower", "same", "undecided", "not_enough_data"]
"""What is said of a candidate."""


@dataclass(frozen=True)
class Interval:
    """A two-sided interval."""

    lower: float
    """Its lower end."""
    upper: float
    """Its upper end."""
    confidence: float
    """The level that it achieves."""
    method: str
    """The full name of its method."""


@dataclass(frozen=True)
class Caveat:
    """What must be known of a result."""

    code: str
    """A name that stays the same between releases."""
    sentence: str
    """What it means, with a next step."""
    concerns: tuple[str, ...]
    """The benchmarks that it concerns; none if it is about everything."""


@dataclass(frozen=True)
class Comparison:
    """A candidate against the baseline, on one benchmark."""

    benchmark: str
    """The benchmark."""
    candidate: str
    """The candidate."""
    verdict: Verdict
    """What the interval says."""
    adjusted_verdict: Verdict
    """The verdict after Holm, in one family with the other benchmarks and their total."""
    speedup: Optional[float]
    """The baseline's time over the candidate's: above 1 the candidate is faster. None without data."""
    interval: Optional[Interval]
    """Of the speedup."""
    baseline_runs: int
    """Measured runs of the baseline."""
    candidate_runs: int
    """Measured runs of the candidate."""
    reason: str
    """Why there is not enough data; empty where there is."""
    json: Json
    """All that is known of it."""


@dataclass(frozen=True)
class Suite:
    """A candidate over all benchmarks."""

    candidate: str
    """The candidate."""
    verdict: Verdict
    """What is said of all benchmarks together."""
    adjusted_verdict: Verdict
    """The verdict after Holm, in one family with the benchmarks."""
    sentence: str
    """The verdict, how much, and how sure."""
    speedup: Optional[float]
    """The speedup that the verdict is about. None without data."""
    interval: Optional[Interval]
    """Of the speedup."""
    counts: Mapping[str, int]
    """How many benchmarks have which verdict."""
    json: Json
    """All that is known of it."""


@dataclass(frozen=True)
class Independence:
    """What the evidence says of the independence of the runs."""

    kind: str
    """`provided`, or in which way it was not."""
    sentence: str
    """All of it in a sentence."""
    runs: int
    """Measured runs."""
    hosts: int
    """The hosts that executed them."""


class Report:
    """What an experiment has shown. In a notebook it shows itself."""

    def __init__(self, json: Json, form: Callable[[str], str]) -> None:
        self.json = json
        """The whole report."""
        self._form = form
        self._forms: dict[str, str] = {}

    @property
    def experiment(self) -> str:
        """The id of the experiment."""
        return str(self.json["head"]["experiment"])

    @property
    def name(self) -> str:
        """What people call the experiment."""
        return str(self.json["head"]["name"])

    @property
    def state(self) -> str:
        """`complete`, `partial` while runs are outstanding or if some were cancelled, or `empty`."""
        return str(self.json["head"]["state"])

    @property
    def baseline(self) -> str:
        """The version that the others are compared with."""
        return str(self.json["head"]["baseline"])

    @property
    def confidence(self) -> float:
        """The confidence level."""
        return float(self.json["head"]["confidence"])

    @property
    def suites(self) -> list[Suite]:
        """Each candidate over all benchmarks."""
        return [suite(one) for one in self.json["suites"]]

    @property
    def comparisons(self) -> list[Comparison]:
        """Each candidate on each benchmark, in the order of the plan."""
        benchmarks = self.json["benchmarks"]
        return [comparison(one["name"], compared) for one in benchmarks for compared in one["comparisons"]]

    @property
    def independence(self) -> Independence:
        """Whether the runs were independent."""
        said = self.json["independence"]
        return Independence(said["kind"], said["sentence"], said["runs"], said["hosts"])

    @property
    def caveats(self) -> list[Caveat]:
        """What the reader must know."""
        return caveats(self.json["warnings"])

    def comparison(self, benchmark: str, candidate: Optional[str] = None) -> Comparison:
        """The comparison of a benchmark; of the first candidate, if none is named."""
        for one in self.comparisons:
            if one.benchmark == benchmark and candidate in (None, one.candidate):
                return one
        raise KeyError(f"the report compares no benchmark {benchmark!r} with candidate {candidate!r}")

    def html(self) -> str:
        """The report as a page: one file, without a script, which loads nothing."""
        return self._as("HTML")

    def markdown(self) -> str:
        """The report as Markdown."""
        return self._as("MARKDOWN")

    def _as(self, form: str) -> str:
        if form not in self._forms:
            self._forms[form] = self._form(form)
        return self._forms[form]

    def _repr_html_(self) -> str:
        # A page of its own, so that its style and the notebook's do not meet. It may do nothing.
        page = html.escape(self.html())
        return f'<iframe sandbox="" style="width: 100%; height: 40em; border: 0" srcdoc="{page}"></iframe>'

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def __str__(self) -> str:
        lines = [one.sentence for one in self.suites] + [self.independence.sentence]
        return "\n".join(lines + [f"caveat {one.code}: {one.sentence}" for one in self.caveats])

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{one.candidate} {one.verdict}" for one in self.suites)
        return f"<Report of {self.name}, {self.state}: {verdicts}>"


class Answer:
    """What a method says of samples that were brought."""

    def __init__(self, json: Json) -> None:
        self.json = json
        """The whole answer, as of `speedup compare --output json`."""

    @property
    def method(self) -> str:
        """The method's full name."""
        return str(self.json["method"]["name"])

    @property
    def suites(self) -> list[Suite]:
        """Each candidate over all benchmarks, of the method `ratio`."""
        return [suite(one["suite"]) for one in self._findings()]

    @property
    def comparisons(self) -> list[Comparison]:
        """Each candidate on each benchmark, of the method `ratio`."""
        findings = self._findings()
        return [comparison(one["benchmark"], one) for found in findings for one in found["benchmarks"]]

    @property
    def caveats(self) -> list[Caveat]:
        """What must be known."""
        return caveats(self.json["caveats"])

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{one.candidate} {one.verdict}" for one in self.suites)
        return f"<Answer by {self.method}{': ' if verdicts else ''}{verdicts}>"

    def _findings(self) -> list[Any]:
        findings = self.json["findings"]
        return list(findings["of"]) if findings["kind"] == "ratio" else []


def comparison(benchmark: str, json: Json) -> Comparison:
    """The comparison in an object of a report or an answer."""
    first = json.get("first") or {}
    return Comparison(
        benchmark=benchmark,
        candidate=json["candidate"],
        verdict=json["verdict"],
        adjusted_verdict=_adjusted(json),
        speedup=first.get("speedup"),
        interval=_interval(first.get("interval")),
        baseline_runs=json["baseline_n"],
        candidate_runs=json["candidate_n"],
        reason=(json.get("reason") or {}).get("sentence", ""),
        json=json,
    )


def suite(json: Json) -> Suite:
    """The suite in an object of a report or an answer."""
    return Suite(
        candidate=json["candidate"],
        verdict=json["verdict"],
        adjusted_verdict=_adjusted(json),
        sentence=json["sentence"],
        speedup=json.get("speedup"),
        interval=_interval(json.get("interval")),
        counts=json["benchmarks"],
        json=json,
    )


def caveats(json: list[Json]) -> list[Caveat]:
    """The caveats in a list of a report or an answer."""
    return [Caveat(one["code"], one["sentence"], tuple(one.get("concerns", ()))) for one in json]


def _adjusted(json: Json) -> Verdict:
    """The verdict after Holm's adjustment where the plain one is conclusive, else the plain one."""
    plain: Verdict = json["verdict"]
    holm: list[Verdict] = [one["verdict"] for one in json.get("adjusted", ()) if one["adjustment"] == "holm"]
    return holm[0] if holm and plain in ("faster", "slower", "same") else plain


def _interval(json: Optional[Json]) -> Optional[Interval]:
    if json is None or json["kind"] != "bounded":
        return None
    return Interval(json["lower"], json["upper"], json["confidence"], json["method"])
