"""Files that other tools write, read by `speedup compare`: as many values as the tool measured, with the same mean.

    tools.py SPEEDUP FOLDER HYPERFINE2      with hyperfine 1, cargo, git, go, g++, libbenchmark, catch2, fio and the packages of requirements.txt
                                            installed, and the program of hyperfine 2
"""

import csv
import json
import os
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

GO = """
package sums

import "testing"

var sink int

func BenchmarkSum(b *testing.B) {
	for _, length := range []struct{ name string; of int }{{"short", 1000}, {"long", 2000}} {
		b.Run(length.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				for one := 0; one < length.of; one++ {
					sink += one
				}
			}
		})
	}
}
"""

CRITERION_MANIFEST = """
[package]
name = "sums"
version = "0.0.0"
edition = "2024"

[lib]
path = "lib.rs"
bench = false

[dev-dependencies]
criterion = { version = "=0.8.2", default-features = false, features = ["csv_output"] }

[[bench]]
name = "sums"
path = "sums.rs"
harness = false

[profile.bench]
opt-level = 0

[workspace]
"""

CRITERION = """
use std::{hint::black_box, time::Duration};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

fn sums(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sum");
    group.sample_size(40).warm_up_time(Duration::from_millis(20)).measurement_time(Duration::from_millis(100));
    for length in [100_u64, 200] {
        group.bench_with_input(BenchmarkId::new("range", length), &length, |bencher, length| {
            bencher.iter(|| (0..*length).fold(0, |sum, one| black_box(sum + one)))
        });
    }
}

criterion_group!(benches, sums);
criterion_main!(benches);
"""

PYTEST = """
import pytest

@pytest.mark.parametrize("length", [100, 200])
def test_sum(benchmark, length):
    benchmark.pedantic(sum, args=(range(length),), rounds=6, iterations=3)
"""

ASV = """
class Sums:
    params, param_names = [100, 200], ["length"]
    number, repeat, warmup_time = 10, 6, 0.01
    def time_sum(self, length):
        sum(range(length))
"""

ASV_CONFIGURATION = {
    "version": 1, "project": "sums", "repo": ".", "branches": ["HEAD"],
    "environment_type": "existing", "benchmark_dir": "benchmarks", "results_dir": "results",
}

CATCH2 = """
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
static int sum(int length) { int total = 0; for (int one = 0; one < length; one++) total += one; return total; }
TEST_CASE("sums") { BENCHMARK("sum") { return sum(100); }; }
"""

LIBTEST = """
#![feature(test)]
extern crate test;

#[bench]
fn sum(bencher: &mut test::Bencher) {
    bencher.iter(|| (0..100_u64).fold(0, |sum, one| test::black_box(sum + one)))
}
"""

FIO = """
[write]
filename=fio.data
size=1m
rw=write
ioengine=sync
"""

REFRAME = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Sums(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs = ["*"], ["*"]
    executable, executable_opts = "echo", ["rate: 12.5"]

    @sanity_function
    def has_rate(self):
        return sn.assert_found("rate", self.stdout)

    @performance_function("MB/s")
    def rate(self):
        return sn.extractsingle(r"rate: ([0-9.]+)", self.stdout, 1, float)
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


def read(speedup, *files, options=(), method="effect"):
    """What the comparison says of the samples: benchmark and version, number of values, mean."""
    answer = json.loads(run(speedup, "compare", "--method", method, "--format", "json", *options, *files))
    return {(one["benchmark"], one["version"]): (one["values"], one["mean"]) for one in answer["samples"]}


def refused(speedup, file, *words):
    """What the comparison says of a file that it does not take."""
    answer = subprocess.run([speedup, "compare", file, file], capture_output=True, text=True)
    expect(f"exit code of {file.name}", answer.returncode, 2)
    for word in words:
        if word not in answer.stderr:
            sys.exit(f"{file.name}: {word!r} is not said: {answer.stderr}")


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


def hyperfine_2(speedup, folder, program):
    path, commands = folder / "hyperfine-2.json", ["true", "echo word"]
    run(program, "-N", "--runs", "10", "--warmup", "1", "--export-json", path, *commands, stderr=subprocess.DEVNULL)
    document = json.loads(path.read_text())
    expect("hyperfine's schema", document["schema_version"], 2)
    wanted = {}
    for result in document["results"]:
        expect("its unit", result["measurements"][0]["time_wall_clock"]["unit"], "second")
        wanted[result["command"]] = [one["time_wall_clock"]["value"] for one in result["measurements"]]
    expect("hyperfine's commands", list(wanted), commands)
    same("hyperfine 2", {version: of for (_, version), of in read(speedup, path).items()}, wanted)


def go(speedup, folder):
    source = folder / "sums_test.go"
    source.write_text(GO)
    paths, wanted = [], {}
    for version in ["before", "after"]:
        path = folder / f"{version}.txt"
        environment = {**os.environ, "GO111MODULE": "off", "GOCACHE": str(folder / "go-cache")}
        command = ["go", "test", "-bench", ".", "-benchtime", "200x", "-count", "5"]
        path.write_text(run(*command, source, env=environment))
        for line in path.read_text().splitlines():
            fields = line.split()
            if line.startswith("Benchmark") and len(fields) > 3:
                expect("Go's unit", fields[3], "ns/op")
                name = fields[0].removeprefix("Benchmark")
                wanted.setdefault((name, version), []).append(float(fields[2]) / 1e9)
        paths.append(path)
    found = read(speedup, *paths, options=["--metric", "wall"])
    same("Go", {(name.split(",")[0], Path(version).stem): of for (name, version), of in found.items()}, wanted)
    events = folder / "events.json"
    events.write_text(run(*command, "-json", source, env=environment))
    printed = "".join(one.get("Output", "") for one in map(json.loads, events.read_text().splitlines()))
    wanted = {}
    for line in printed.splitlines():
        fields = line.split()
        if line.startswith("Benchmark") and len(fields) > 3:
            wanted.setdefault(fields[0].removeprefix("Benchmark"), []).append(float(fields[2]) / 1e9)
    found = read(speedup, events, paths[0], options=["--metric", "wall"])
    same("go test -json", {name.split(",")[0]: of for (name, version), of in found.items() if "events" in version}, wanted)


def criterion(speedup, folder):
    project = folder / "sums"
    project.mkdir()
    for name, text in {"Cargo.toml": CRITERION_MANIFEST, "lib.rs": "", "sums.rs": CRITERION}.items():
        (project / name).write_text(text)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(project / "target")}
    wanted, of_raw, raw, printed = {}, {}, [], folder / "criterion.txt"
    for version in ["before", "after"]:
        build = ["cargo", "bench", "--quiet", "--", "--save-baseline", version]
        printed.write_text(run(*build, cwd=project, env=environment, stderr=subprocess.DEVNULL))
        on_console = {name: mean for (name, _), (_, mean) in read(speedup, printed, method="diagnostics").items()}
        for length in ["100", "200"]:
            sample = project / f"target/criterion/sum/range/{length}/{version}/sample.json"
            values = json.loads(sample.read_text())
            estimates = json.loads(sample.with_name("estimates.json").read_text())
            slope = estimates["slope"]["point_estimate"] / 1e9
            groups = of_equal_weight(values["iters"], [time / 1e9 for time in values["times"]])
            mean = sum(groups) / len(groups)
            if abs(mean / slope - 1) > 0.1:
                sys.exit(f"criterion: the mean of the values is {mean}, its slope {slope}")
            # It prints five digits.
            if abs(on_console[f"sum/range/{length}"] / slope - 1) > 1e-4:
                sys.exit(f"criterion prints {on_console}, and its slope is {slope}")
            wanted[(f"sum/range/{length}", version)] = groups
    for length in ["100", "200"]:
        of_benchmark = project / f"target/criterion/sum/range/{length}"
        samples = [of_benchmark / version / "sample.json" for version in ["before", "after"]]
        found = {(name, Path(version).parent.name): of for (name, version), of in read(speedup, *samples).items()}
        same("criterion, sample.json", found, {key: of for key, of in wanted.items() if key[0] == f"sum/range/{length}"})
        for version in ["before", "after"]:
            raw.append(of_benchmark / version / "raw.csv")
            with raw[-1].open(newline="") as file:
                rows = list(csv.DictReader(file))
            expect("its unit", {row["unit"] for row in rows}, {"ns"})
            iterations = [float(row["iteration_count"]) for row in rows]
            totals = [float(row["sample_measured_value"]) / 1e9 for row in rows]
            of_raw[(f"sum/range/{length}", version)] = of_equal_weight(iterations, totals)
        found = {(name, Path(version).parent.name): of for (name, version), of in read(speedup, *raw[-2:]).items()}
        same("criterion, raw.csv", found, {key: of for key, of in of_raw.items() if key[0] == f"sum/range/{length}"})


    found = {key: of for key, of in read(speedup, project / "target/criterion").items()}
    same("criterion, its directory", found, wanted)


def libtest(speedup, folder):
    source, program, printed = folder / "libtest.rs", folder / "libtest", folder / "libtest.txt"
    source.write_text(LIBTEST)
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    run("rustc", "--test", "-O", "-o", program, source, env=environment)
    printed.write_text("".join(run(program, "--bench") for _ in range(3)))
    medians = [line.split("bench:")[1].split("ns/iter")[0] for line in printed.read_text().splitlines() if "bench:" in line]
    wanted = {"sum": [float(median.strip().replace(",", "")) / 1e9 for median in medians]}
    found = read(speedup, printed, method="diagnostics")
    same("libtest", {name: of for (name, _), of in found.items()}, wanted)


def fio(speedup, folder):
    job, path = folder / "write.fio", folder / "fio.json"
    job.write_text(FIO)
    run("fio", "--output-format=json", f"--output={path}", job, cwd=folder)
    wanted = json.loads(path.read_text())["jobs"][0]["write"]["lat_ns"]["mean"] / 1e9
    answer = run(speedup, "compare", "--method", "diagnostics", "--format", "json", path, "--metric", "latency")
    (sample,) = json.loads(answer)["samples"]
    same("fio", {"latency": (sample["values"], sample["mean"])}, {"latency": [wanted]})


def reframe(speedup, folder):
    source = folder / "reframe_sums.py"
    source.write_text(REFRAME)
    tool = Path(sys.executable).with_name("reframe")
    for _ in range(2):
        run(tool, "--prefix", folder / "reframe", "-c", source, "-r", cwd=folder, stderr=subprocess.STDOUT)
    (log,) = (folder / "reframe/perflogs").rglob("*.log")
    answer = json.loads(run(speedup, "compare", "--method", "diagnostics", "--format", "json", log))
    expect("ReFrame's unit and direction", (answer["metric"], answer["unit"], answer["better"]), ("rate", "MB/s", "higher"))
    (sample,) = answer["samples"]
    same("ReFrame", {"Sums": (sample["values"], sample["mean"])}, {"Sums": [12.5, 12.5]})


def of_equal_weight(iterations, totals):
    """The slopes of groups of batches: quarters by size, the second and third of them backwards."""
    batches = sorted(zip(iterations, totals), key=lambda batch: -batch[0])
    groups = len(batches) // (4 if len(batches) >= 24 else 2)
    members = [[] for _ in range(groups)]
    for at, batch in enumerate(batches):
        row, place = divmod(at, groups)
        members[groups - 1 - place if row in (1, 2) else place].append(batch)
    slope = lambda group: sum(i * t for i, t in group) / sum(i * i for i, _ in group)
    return [slope(group) for group in members]


def pytest_benchmark(speedup, folder):
    source = folder / "test_sums.py"
    source.write_text(PYTEST)
    paths, wanted = [], {}
    for version in ["before", "after"]:
        path = folder / f"pytest-{version}.json"
        run(sys.executable, "-m", "pytest", "--quiet", f"--benchmark-json={path}", "--rootdir", folder, source, cwd=folder)
        for one in json.loads(path.read_text())["benchmarks"]:
            wanted[(one["fullname"], path.stem)] = one["stats"]["data"]
        paths.append(path)
    found = read(speedup, *paths)
    same("pytest-benchmark", {(name, Path(version).stem): of for (name, version), of in found.items()}, wanted)
    run(sys.executable, "-m", "pytest", "--quiet", "--benchmark-save=summary", "--rootdir", folder, source, cwd=folder)
    (saved,) = folder.glob(".benchmarks/*/*summary*.json")
    refused(speedup, saved, "pytest-benchmark JSON", "summaries only", "--benchmark-save-data")


def asv(speedup, folder):
    project = folder / "asv"
    (project / "benchmarks").mkdir(parents=True)
    (project / "benchmarks/__init__.py").write_text("")
    (project / "benchmarks/sums.py").write_text(ASV)
    (project / "asv.conf.json").write_text(json.dumps(ASV_CONFIGURATION))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in [["init", "-q"], ["add", "-A"], ["commit", "-qm", "sums"]]:
        run(*git, *command, cwd=project)
    commit = run("git", "rev-parse", "HEAD", cwd=project).strip()
    tool = Path(sys.executable).with_name("asv")
    run(tool, "machine", "--yes", cwd=project, stderr=subprocess.STDOUT)
    paths, wanted = [], {}
    for version, options in [("before", ["--record-samples"]), ("after", ["--record-samples"]), ("summary", [])]:
        shutil.rmtree(project / "results", ignore_errors=True)
        run(tool, "machine", "--yes", cwd=project, stderr=subprocess.STDOUT)
        command = [tool, "run", f"--python={sys.executable}", "--set-commit-hash", commit, *options]
        run(*command, cwd=project, stderr=subprocess.STDOUT)
        (result,) = (project / "results").glob(f"*/{commit[:8]}*.json")
        path = folder / f"asv-{version}.json"
        shutil.copy(result, path)
        if version == "summary":
            refused(speedup, path, "an asv result", "summaries only", "--record-samples")
            continue
        document = json.loads(path.read_text())
        samples = document["result_columns"].index("samples")
        for length, values in zip([100, 200], document["results"]["sums.Sums.time_sum"][samples]):
            wanted[(f"sums.Sums.time_sum, param1 {length}", path.stem)] = values
        paths.append(path)
    found = read(speedup, *paths)
    same("asv", {(name, Path(version).stem): of for (name, version), of in found.items()}, wanted)


def catch2(speedup, folder):
    source, program = folder / "catch.cc", folder / "catch"
    source.write_text(CATCH2)
    run("g++", "-O0", "-o", program, source)
    for form in ["console", "xml"]:
        path = folder / f"catch2.{form}"
        path.write_text(run(program, "--benchmark-samples", "10", "-r", form))
        refused(speedup, path, "Catch2 output", "summaries only")
    print("Catch2: refused, since it writes no values")


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
    table, console = folder / "google.csv", folder / "google.txt"
    options = ["--benchmark_repetitions=5", "--benchmark_min_time=0.01", "--benchmark_out_format=csv"]
    console.write_text(run(program, *options, f"--benchmark_out={table}", stderr=subprocess.STDOUT))
    rows = list(csv.DictReader(line for line in table.read_text().splitlines() if line.count(",") > 4))
    wanted = {}
    for row in rows:
        if not row["name"].endswith(("_mean", "_median", "_stddev", "_cv")):
            wanted.setdefault(row["name"], []).append(float(row["real_time"]) / 1e9)
    found = read(speedup, table, console, options=["--metric", "wall"])
    same("Google Benchmark, CSV", {name: of for (name, version), of in found.items() if "csv" in version}, wanted)
    for name, values in wanted.items():
        count, mean = found[(name, str(console))]
        expect(f"values of {name} on the console", count, len(values))
        # It shows three digits.
        if abs(mean / (sum(values) / len(values)) - 1) > 0.02:
            sys.exit(f"Google Benchmark, console, mean of {name}: {mean}")


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


def main(speedup, folder, newer_hyperfine):
    hyperfine(speedup, folder)
    hyperfine_2(speedup, folder, newer_hyperfine)
    go(speedup, folder)
    criterion(speedup, folder)
    pyperf_files(speedup, folder)
    pytest_benchmark(speedup, folder)
    asv(speedup, folder)
    catch2(speedup, folder)
    google_benchmark(speedup, folder)
    rebench(speedup, folder)
    libtest(speedup, folder)
    fio(speedup, folder)
    reframe(speedup, folder)


if __name__ == "__main__":
    main(*(Path(argument).resolve() for argument in sys.argv[1:]))
