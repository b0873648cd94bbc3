"""Files that other tools write, read by `speedup compare`: as many values as the tool measured, with the same mean.

    tools.py SPEEDUP FOLDER      with hyperfine, g++, libbenchmark and the packages of requirements.txt installed
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyperf

PROGRAM = """
#include <benchmark/benchmark.h>
#include <vector>
static void sum(benchmark::State& state) {
    std::vector<int> numbers(state.range(0), 1);
    for (auto _ : state) {
        long total = 0;
        for (int number : numbers) benchmark::DoNotOptimize(total += number);
    }
}
BENCHMARK(sum)->Arg(1000)->Arg(2000);
BENCHMARK_MAIN();
"""

REBENCH = """
benchmark_suites:
  small:
    gauge_adapter: Time
    command: "-c 'sleep %(benchmark)s'"
    invocations: 5
    benchmarks: ["0.05", "0.09"]
executors:
  dash: {path: /bin, executable: dash}
  bash: {path: /bin, executable: bash}
experiments:
  all: {executions: [{dash: {suites: [small]}}, {bash: {suites: [small]}}]}
"""


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} instead of {wanted!r}")


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def read(speedup, *files, options=()):
    """What the comparison says of the samples: benchmark and version, number of values, mean."""
    answer = json.loads(run(speedup, "compare", "--method", "effect", "--output", "json", *options, *files))
    return {(one["benchmark"], one["version"]): (one["values"], one["mean"]) for one in answer["samples"]}


def same(what, found, wanted):
    expect(f"{what}, samples", sorted(found), sorted(wanted))
    for name, values in wanted.items():
        mean = sum(values) / len(values)
        expect(f"{what}, number of values of {name}", found[name][0], len(values))
        if abs(found[name][1] - mean) > 1e-9 * abs(mean):
            sys.exit(f"{what}, mean of {name}: {found[name][1]} instead of {mean}")
    print(f"{what}: {len(wanted)} samples read")


def hyperfine(speedup, folder):
    path = folder / "hyperfine.json"
    commands = ["true", "echo word"]
    run("hyperfine", "-N", "--runs", "10", "--warmup", "1", "--export-json", path, *commands, stderr=subprocess.DEVNULL)
    wanted = {result["command"]: result["times"] for result in json.loads(path.read_text())["results"]}
    expect("hyperfine's commands", list(wanted), commands)
    same("hyperfine", {version: of for (_, version), of in read(speedup, path).items()}, wanted)


def pyperf_files(speedup, folder):
    paths, wanted = [], {}
    for version, statement in [("before", "sum(range(900))"), ("after", "sum(range(300))")]:
        path = folder / f"{version}.json"
        run(sys.executable, "-m", "pyperf", "timeit", "--fast", "--quiet", "--name", "sum", "-o", path, statement)
        (benchmark,) = pyperf.BenchmarkSuite.load(str(path)).get_benchmarks()
        paths.append(path)
        wanted[version] = list(benchmark.get_values())
    found = read(speedup, *paths)
    expect("pyperf's benchmark", {name for name, _ in found}, {"sum"})
    by_file = {Path(version).stem: of for (_, version), of in found.items()}
    same("pyperf", by_file, wanted)


def google_benchmark(speedup, folder):
    source, program = folder / "sum.cc", folder / "sum"
    source.write_text(PROGRAM)
    run("g++", "-O1", "-o", program, source, "-lbenchmark", "-lpthread")
    paths, wanted = [], {}
    for version in ["before", "after"]:
        path = folder / f"google-{version}.json"
        options = ["--benchmark_repetitions=5", "--benchmark_min_time=0.01", "--benchmark_out_format=json"]
        run(program, *options, f"--benchmark_out={path}", stderr=subprocess.DEVNULL)
        for one in json.loads(path.read_text())["benchmarks"]:
            if one["run_type"] == "iteration":
                expect("its unit", one["time_unit"], "ns")
                wanted.setdefault((one["run_name"], path.stem), []).append(one["real_time"] / 1e9)
        paths.append(path)
    found = {(name, Path(version).stem): of for (name, version), of in read(speedup, *paths).items()}
    same("Google Benchmark", found, wanted)


def rebench(speedup, folder):
    configuration, data = folder / "rebench.conf", folder / "rebench.data"
    configuration.write_text(REBENCH)
    tool = shutil.which("rebench", path=str(Path(sys.executable).parent))
    run(tool, "-D", "-df", data, configuration, cwd=folder, stderr=subprocess.STDOUT)
    lines = [line for line in data.read_text().splitlines() if line and not line.startswith("#")]
    names = lines[0].split("\t")
    wanted = {}
    for line in lines[1:]:
        row = dict(zip(names, line.split("\t")))
        if row["criterion"] == "total":
            scale = {"ms": 1e-3, "s": 1.0}[row["unit"]]
            wanted.setdefault((row["benchmark"], row["executor"]), []).append(float(row["value"]) * scale)
    # What else distinguishes a benchmark stands behind its name: cores, suite.
    found = {(name.split(",")[0], version): of for (name, version), of in read(speedup, data).items()}
    same("ReBench", found, wanted)


def main(speedup, folder):
    hyperfine(speedup, folder)
    pyperf_files(speedup, folder)
    google_benchmark(speedup, folder)
    rebench(speedup, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
