"""The case study's plan, made with the suite itself and carried out small; the report says of it what docs/case-study.md reads.

    suite.py SPEEDUP FOLDER      with the packages of examples/pyperformance/requirements.txt installed
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

PLAN = Path(__file__).parents[2] / "examples" / "pyperformance" / "plan.py"
SAMPLE, RUNS = 3, 2


def main(speedup: str, folder: Path) -> None:
    made = [sys.executable, PLAN, "--sample", str(SAMPLE), "--runs", str(RUNS)]
    text = subprocess.run(made, check=True, capture_output=True, text=True).stdout
    plan = folder / "pyperformance.toml"
    plan.write_text(text)
    population = tomllib.loads(text)["benchmarks"]
    assert len(population) > 30, sorted(population)
    data = ["--data", str(folder / "suite")]
    subprocess.run([speedup, "run", plan, *data], check=True, capture_output=True)
    told = subprocess.run([speedup, "report", "last", *data, "--format", "json"], check=True, capture_output=True)
    report = json.loads(told.stdout)
    names = {benchmark["name"] for benchmark in report["benchmarks"]}
    assert len(names) == SAMPLE and names <= population.keys(), names
    (suite,) = report["suites"]
    assert suite["candidate"] == "pymalloc" and suite["benchmarks"].keys() >= {"faster", "slower"}, suite
    own = next(metric for metric in report["metrics"] if metric["metric"] == "value")
    # Two values of each process, of every process that was planned.
    counts = [iterations["iterations"] for row in own["rows"] for iterations in row["iterations"]]
    assert counts == [2 * RUNS] * (2 * SAMPLE), counts
    print(f"pyperformance: {SAMPLE} of {len(population)} benchmarks drawn, measured and reported")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
