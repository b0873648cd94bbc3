"""Reports for continuous integration as others parse them: OpenMetrics by Prometheus' client, JUnit by junitparser, Bencher Metric
Format and github-action-benchmark's values by the rules of their documentation.

    services.py FOLDER      with report.{json,junit,openmetrics,bmf,github-benchmark} of one experiment in it
"""

import json
import sys
from pathlib import Path

from junitparser import Failure, JUnitXml, Skipped
from prometheus_client.openmetrics.parser import text_string_to_metric_families


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} instead of {wanted!r}")


def cells(report):
    """The measured cells, with the candidate's comparison."""
    for benchmark in report["benchmarks"]:
        for at, cell in enumerate(benchmark["cells"]):
            if cell["wall_ns"]:
                yield benchmark, cell, benchmark["comparisons"][at - 1] if at else None


def check_openmetrics(text, report):
    families = {family.name: family for family in text_string_to_metric_families(text)}
    expect("the unit of times", families["speedup_wall_time_seconds"].unit, "seconds")
    found = {
        (sample.labels["benchmark"], sample.labels["version"]): sample.value
        for sample in families["speedup_wall_time_seconds"].samples
        if sample.labels["statistic"] == "median"
    }
    wanted = {(one["name"], cell["version"]): cell["wall_ns"]["median"] / 1e9 for one, cell, _ in cells(report)}
    expect("the medians", found, wanted)
    (info,) = families["speedup_experiment"].samples
    expect("the experiment", info.labels["id"], report["head"]["experiment"])
    states = [sample.labels for sample in families["speedup_verdict"].samples if sample.value == 1]
    found = {(of["benchmark"], of["candidate"]): of["speedup_verdict"] for of in states}
    words = {
        (one["name"], compared["candidate"]): compared["verdict"].replace("_", " ")
        for one in report["benchmarks"]
        for compared in one["comparisons"]
    }
    expect("the verdicts", found, words)


def check_junit(text, report):
    # With lxml beside it, the parser takes bytes only where the text declares its encoding.
    suites = JUnitXml.fromstring(text.encode())
    tests = [test for suite in suites for test in suite]
    expect("the number of tests", suites.tests, len(tests))
    failures = sum(isinstance(result, Failure) for test in tests for result in test.result)
    expect("the failures", suites.failures, failures)
    decided = {test.name: not any(isinstance(result, Skipped) for result in test.result) for test in tests}
    names = {benchmark["name"] for benchmark in report["benchmarks"]}
    expect("a test for each benchmark", names - set(decided), set())


def check_bmf(found, report):
    for benchmark, cell, compared in cells(report):
        measures = found.pop(f"{benchmark['name']} ({cell['version']})")
        for name, metric in measures.items():
            numbers = [metric[key] for key in ("lower_value", "value", "upper_value") if key in metric]
            expect(f"the order of {name}", numbers, sorted(numbers))
            expect(f"the keys of {name}", set(metric) - {"value", "lower_value", "upper_value"}, set())
        expect("the latency", measures["latency"]["value"], cell["wall_ns"]["mean"])
        expect("an interval", "lower_value" in measures["latency"], cell["n"] > 1)
        if compared and compared.get("first"):
            expect("the speedup", measures["speedup"]["value"], compared["first"]["speedup"])
    expect("other benchmarks", found, {})


def check_github_benchmark(found, report):
    for value in found:
        expect("the keys", {"name", "unit", "value"} <= set(value) <= {"name", "unit", "value", "range", "extra"}, True)
        expect("the types", [type(value[key]) for key in ("name", "unit")], [str, str])
    times = {value["name"]: value["value"] for value in found if value["unit"] == "ns" and value["extra"].startswith("mean")}
    wanted = {f"{one['name']} ({cell['version']})": cell["wall_ns"]["mean"] for one, cell, _ in cells(report)}
    expect("the means", times, wanted)


def main(folder):
    read = lambda form: (folder / f"report.{form}").read_text()
    report = json.loads(read("json"))
    check_openmetrics(read("openmetrics"), report)
    check_junit(read("junit"), report)
    check_bmf(json.loads(read("bmf")), report)
    check_github_benchmark(json.loads(read("github-benchmark")), report)
    print("reports are read by the parsers of Prometheus and JUnit, and by the rules of Bencher and github-action-benchmark")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:]))
