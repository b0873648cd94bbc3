"""Prints a plan that compares Python's own allocator with the C library's, on benchmarks drawn at random from pyperformance.

    python3 -m venv VENV
    VENV/bin/pip install -r examples/pyperformance/requirements.txt
    VENV/bin/python examples/pyperformance/plan.py > pyperformance.toml
    speedup run pyperformance.toml

`--sample N` and `--runs N` make it smaller. docs/case-study.md reads the report of such a plan.
"""

import argparse
import sys
import tomllib
from pathlib import Path

import pyperformance

# Benchmarks of the suite that are not in the population, each with its reason: what a share is a share of has to be said.
LEFT_OUT = {
    "async_tree": "is several benchmarks, and wants an argument",
    "pickle": "is several benchmarks, and wants an argument",
    "deepcopy": "is several benchmarks",
    "logging": "is several benchmarks",
    "scimark": "is several benchmarks",
    "xml_etree": "is several benchmarks",
    "dask": "needs a package that it does not declare",
    "concurrent_imap": "starts processes of its own: as many as the host has CPUs",
    "asyncio_tcp": "takes more than five seconds",
    "mdp": "takes more than five seconds",
    "pprint": "takes more than five seconds",
}

# One process takes two values right after each other, without calibration or warm-up.
FLAGS = ["--worker", "--loops=1", "--warmups=0", "--values=2", "--pipe=1"]

HEAD = """\
[experiment]
name = "pyperformance"
description = "Python's allocator against malloc of the C library, on a sample of pyperformance"
seed = {seed}

[versions.malloc]
baseline = true
env = {{ PYTHONMALLOC = "malloc" }}

[versions.pymalloc]
env = {{ PYTHONMALLOC = "pymalloc" }}

[population]
sample = {sample}

[repetitions]
runs = {runs}

[metrics]
collect = ["wall", "user", "system", "max_rss"]

# What the benchmark measured itself: iterations within one process.
[metrics.output.value]
pointer = "/benchmarks/0/runs/0/values"
unit = "s"

# One machine is enough to try it. For a claim about more than this machine, use a pool and policy "distinct".
[independence]
policy = "any"
"""


def population() -> list[Path]:
    """The benchmarks that need nothing but pyperf, in the order of their names."""
    suite = Path(pyperformance.__file__).parent / "data-files" / "benchmarks"
    found = []
    for project in sorted(suite.glob("bm_*/pyproject.toml")):
        table = tomllib.loads(project.read_text())["project"]
        name = project.parent.name.removeprefix("bm_")
        if table["dependencies"] == ["pyperf"] and name not in LEFT_OUT:
            found.append(project.parent)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=16, help="how many benchmarks are drawn")
    parser.add_argument("--runs", type=int, default=10, help="processes of each version")
    parser.add_argument("--seed", type=int, default=11, help="draws the benchmarks and the order of all runs")
    options = parser.parse_args()
    print(HEAD.format(**vars(options)), end="")
    for benchmark in population():
        command = [sys.executable, str(benchmark / "run_benchmark.py"), *FLAGS]
        words = ", ".join(f'"{word}"' for word in command)
        print(f"\n[benchmarks.{benchmark.name.removeprefix('bm_')}]\ncommand = [{words}]")


if __name__ == "__main__":
    main()
