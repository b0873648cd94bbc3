"""Samples that a program brings: values by run, benchmark and version."""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, Sequence, Union

from .v1 import analysis_pb2 as wire

Runs = Union[Iterable[float], Iterable[Sequence[float]]]
"""The values of a benchmark in the order of its runs: one of each run, or several of each."""

Samples = Mapping[str, Union[Runs, Mapping[str, Runs]]]
"""By version, the baseline first: the values, or the values by benchmark."""

# What the benchmark is called where the samples do not say it.
_UNNAMED = "benchmark"


def versions(samples: Samples) -> Iterator[wire.SampledVersion]:
    """The messages of samples."""
    for name, sampled in samples.items():
        by_benchmark = sampled if isinstance(sampled, Mapping) else {_UNNAMED: sampled}
        benchmarks = [_benchmark(benchmark, runs) for benchmark, runs in by_benchmark.items()]
        yield wire.SampledVersion(name=name, benchmarks=benchmarks)


def _benchmark(name: str, runs: Runs) -> wire.SampledBenchmark:
    values: list[float] = []
    counts: list[int] = []
    for run in runs:
        of_run = [float(value) for value in run] if isinstance(run, Iterable) else [float(run)]
        values += of_run
        counts.append(len(of_run))
    has_levels = any(count != 1 for count in counts)
    return wire.SampledBenchmark(name=name, values=values, values_of_runs=counts if has_levels else [])
