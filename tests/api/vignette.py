"""The vignette of examples/r, executed by knitr on exports of an experiment: its medians are the report's. Parquet where R has a reader.

    vignette.py SPEEDUP FOLDER
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300
PLAN = """[experiment]
name = "vignette"
seed = 3
[versions.utf8]
baseline = true
env = { LC_ALL = "C.UTF-8" }
[versions.c]
env = { LC_ALL = "C" }
[setup]
shell = "seq 50000 | sort -R --random-source=/dev/zero > numbers.txt"
[benchmarks.sort]
command = ["sort", "{input}/numbers.txt"]
[benchmarks.sort-dictionary]
command = ["sort", "--dictionary-order", "{input}/numbers.txt"]
[repetitions]
runs = 8
[independence]
policy = "any"
"""
KNIT = """
document <- new.env()
knitr::opts_chunk$set(error = FALSE)
knitr::knit(commandArgs(TRUE)[1], output = "vignette.md", envir = document, quiet = TRUE)
write.csv(document$medians, "medians.csv", row.names = FALSE)
write.csv(data.frame(p = document$p_values, benchmark = names(document$p_values)), "p_values.csv", row.names = FALSE)
"""


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def has(package):
    return run("Rscript", "-e", f'cat(requireNamespace("{package}", quietly = TRUE))') == "TRUE"


def main():
    speedup, folder = sys.argv[1], Path(sys.argv[2], "vignette")
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN)
    (folder / "knit.R").write_text(KNIT)
    data = ["--data", str(folder / "data")]
    run(speedup, "run", str(folder / "plan.toml"), *data)
    report = json.loads(run(speedup, "report", "last", *data, "--format", "json"))
    medians = {(one["name"], cell["version"]): cell["wall_ns"]["median"] for one in report["benchmarks"] for cell in one["cells"]}
    forms = ["csv"] + ["parquet"] * any(map(has, ["arrow", "nanoparquet"]))
    for form in forms:
        export = folder / f"observations.{form}"
        run(speedup, "export", "last", *data, "--format", form, "-o", str(export))
        environment = {**os.environ, "SPEEDUP_EXPORT": str(export)}
        run("Rscript", "knit.R", str(ROOT / "examples/r/observations.Rmd"), cwd=folder, env=environment)
        rows = list(csv.DictReader((folder / "medians.csv").open()))
        theirs = {(row["benchmark"], row["version"]): float(row["wall_ms"]) * 1e6 for row in rows}
        assert theirs.keys() == medians.keys(), (theirs, medians)
        assert all(abs(theirs[cell] - median) < 1 for cell, median in medians.items()), (theirs, medians)
        assert len(list(csv.DictReader((folder / "p_values.csv").open()))) == 2
        assert list((folder / "figure").glob("order-*.png")), "the plot"
    print(f"the vignette for R has the report's medians, from {' and '.join(forms)}")


if __name__ == "__main__":
    main()
