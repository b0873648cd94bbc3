"""Observations as others read them: Parquet and Arrow by pyarrow, pandas, DuckDB and Polars, beside the CSV of the same experiment;
Go benchmark text by the rules of its format; hyperfine's JSON by its own script's fields.

    readers.py FOLDER [BENCHSTAT]      with observations.{csv,parquet,arrow,arrows,go,json} of one experiment in it

benchstat itself is asked where its program is given: it is in no package, and `go install` has to reach its module.
"""

import csv
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.ipc
import pyarrow.parquet


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} instead of {wanted!r}")


def rows_of_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# As parquet-mr's VersionParser has it.
CREATED_BY = re.compile(r"(.*?)\s+version\s*(?:([^(]*?)\s*(?:\(\s*build\s*([^)]*?)\s*\))?)?")


def check_arrow(folder):
    """The file and the stream are the table of Parquet, and so is what readers of files make of it."""
    table = pyarrow.parquet.read_table(folder / "observations.parquet")
    with pyarrow.ipc.open_file(folder / "observations.arrow") as file:
        found = file.read_all()
    with pyarrow.ipc.open_stream(folder / "observations.arrows") as stream:
        expect("the stream", stream.read_all().equals(found, check_metadata=True), True)
    expect("Arrow's columns", found.schema.equals(table.schema), True)
    expect("Arrow's units", found.schema.field("wall_ns").metadata, table.schema.field("wall_ns").metadata)
    expect("Arrow's rows", found.to_pylist(), table.to_pylist())
    expect("pandas' Feather", len(pandas.read_feather(folder / "observations.arrow")), table.num_rows)
    frame = polars.read_ipc(folder / "observations.arrow")
    expect("polars' Arrow", frame.equals(polars.read_parquet(folder / "observations.parquet")), True)
    expect("polars' stream", polars.read_ipc_stream(folder / "observations.arrows").equals(frame), True)


def check_differences(path, rows):
    """A difference of two times below zero is below zero."""
    counted = [row for row in rows if row["counts"] == "true"]
    wanted = min(int(row["user_ns"]) - int(row["wall_ns"]) for row in counted)
    if wanted >= 0:
        sys.exit("no run has less user time than wall time, so this test says nothing")
    found = duckdb.sql(f"select min(user_ns - wall_ns) from '{path}' where counts").fetchall()[0][0]
    expect("duckdb's difference", found, wanted)
    frame = polars.read_parquet(path).filter(polars.col("counts"))
    expect("polars' difference", frame.select((polars.col("user_ns") - polars.col("wall_ns")).min()).item(), wanted)


def check_pyarrow(path, rows):
    table = pyarrow.parquet.read_table(path)
    schema = table.schema
    expect("rows", table.num_rows, len(rows))
    only_here = lambda name: name.endswith("_kept") or name == "environment"
    expect("columns", [name for name in schema.names if not only_here(name)], list(rows[0]))
    expect("a count", schema.field("wall_ns").type, pyarrow.int64())
    expect("its unit", schema.field("wall_ns").metadata[b"unit"], b"ns")
    for field in schema:
        if not (field.metadata or {}).get(b"description"):
            sys.exit(f"the field {field.name} has no description")
    expect("a signed number", schema.field("timer_bias_ns").type, pyarrow.int64())
    expect("a truth", schema.field("counts").type, pyarrow.bool_())
    expect("a text", schema.field("host").type, pyarrow.string())
    expect("a moment", schema.field("granted").type, pyarrow.timestamp("ns", tz="UTC"))
    expect("an own metric", schema.field("output.copy_time").type.value_type, pyarrow.float64())
    for name in schema.names:
        if name not in rows[0]:
            continue
        for value, row in zip(table.column(name), rows):
            expect(name, as_csv(value, row, name), row[name])
    created_by = pyarrow.parquet.read_metadata(path).created_by
    if not CREATED_BY.fullmatch(created_by):
        sys.exit(f"readers cannot parse who created the file: {created_by!r}")
    facts = pyarrow.parquet.read_metadata(path).metadata
    expect("the experiment", facts[b"speedup.experiment"].decode(), rows[0]["experiment"])


def as_csv(value, row, name):
    """A value of pyarrow as the text that CSV has of it."""
    if not value.is_valid:
        return ""
    if pyarrow.types.is_timestamp(value.type):
        return row[name] if str(value.value) == row[name + "_ns"] else f"{value.value} ns"
    if pyarrow.types.is_boolean(value.type):
        return str(value.as_py()).lower()
    if pyarrow.types.is_list(value.type):
        wanted = [float(one) for one in row[name].split(";") if one]
        return row[name] if value.as_py() == wanted else str(value.as_py())
    return str(value.as_py())


def check_sums(path, rows):
    """The sum of all times that count, by each reader."""
    wanted = sum(int(row["wall_ns"]) for row in rows if row["counts"] == "true")
    frame = pandas.read_parquet(path)
    expect("pandas", int(frame[frame["counts"]]["wall_ns"].sum()), wanted)
    expect("pandas' moment", str(frame["granted"].dtype), "datetime64[ns, UTC]")
    frame = polars.read_parquet(path)
    expect("polars", frame.filter(polars.col("counts"))["wall_ns"].sum(), wanted)
    expect("polars' own metric", frame.schema["output.copy_time"], polars.List(polars.Float64))
    found = duckdb.sql(f"select sum(wall_ns), count(*) from '{path}' where counts").fetchall()[0]
    expect("duckdb", (int(found[0]), found[1]), (wanted, sum(row["counts"] == "true" for row in rows)))


# Proposal 14313: a result is `Benchmark`, a name, an iteration count, and pairs of a value and a unit.
RESULT = re.compile(r"^Benchmark(\S*)\s+(\d+)((?:\s+\S+ \S+)+)$")
CONFIGURATION = re.compile(r"^([a-z][^\sA-Z:]*):(?: (.*))?$")


def check_go(path, rows):
    found = {}
    version = None
    for line in path.read_text().splitlines():
        if line == "PASS":
            continue
        if configured := CONFIGURATION.match(line):
            version = configured[2]
            continue
        result = RESULT.match(line) or sys.exit(f"no line of Go benchmark text: {line!r}")
        fields = result[3].split()
        for value, unit in zip(fields[::2], fields[1::2]):
            if unit == "sec/op":
                found.setdefault((result[1], version), []).append(float(value))
    expect("Go's times", found, times(rows))


def check_benchstat(program, path, rows):
    """The medians of its table: a column a version, a line a benchmark, and its name alone before each part."""
    command = [program, "-format", "csv", "-col", "version", "-filter", ".unit:sec/op", path]
    printed = subprocess.run(command, check=True, capture_output=True, text=True)
    expect("benchstat's warnings", printed.stderr, "")
    lines = list(csv.reader(printed.stdout.splitlines()))
    at = next(number for number, line in enumerate(lines) if "sec/op" in line)
    versions = {column: name for column, name in enumerate(lines[at - 1]) if name}
    found = {}
    for line in lines[at + 1 :]:
        if line and line[0] not in ("", "geomean"):
            found.update({(line[0], version): float(line[column]) for column, version in versions.items()})
    medians = {of: statistics.median(values) for of, values in times(rows).items()}
    expect("benchstat's cells", sorted(found), sorted(medians))
    for of, median in medians.items():
        if abs(found[of] - median) > 1e-9 * median:
            sys.exit(f"benchstat's median of {of}: {found[of]} instead of {median}")
    print(f"benchstat: {len(found)} medians are the same")


def check_hyperfine(path, rows):
    document = json.loads(path.read_text())
    expect("hyperfine's schema", (document["schema_version"], document["primary_metric"]), (2, "time_wall_clock"))
    found = {}
    for result in document["results"]:
        of = (result["command"], result["parameters"]["version"]["value"])
        found[of] = [one["time_wall_clock"]["value"] for one in result["measurements"]]
        expect("hyperfine's count", result["summary"]["time_wall_clock"]["count"], len(found[of]))
    expect("hyperfine's times", found, times(rows))


def times(rows):
    """The sample in seconds, by benchmark and version, in the order of the plan."""
    found = {}
    for row in sorted((row for row in rows if row["counts"] == "true"), key=lambda row: int(row["run"])):
        found.setdefault((row["benchmark"], row["version"]), []).append(int(row["wall_ns"]) / 1e9)
    return found


def main(folder, benchstat=None):
    rows = rows_of_csv(folder / "observations.csv")
    check_pyarrow(folder / "observations.parquet", rows)
    check_sums(folder / "observations.parquet", rows)
    check_differences(folder / "observations.parquet", rows)
    check_arrow(folder)
    check_go(folder / "observations.go", rows)
    if benchstat:
        check_benchstat(benchstat, folder / "observations.go", rows)
    check_hyperfine(folder / "observations.json", rows)
    print(f"{len(rows)} rows of {len(rows[0])} columns are the same to all readers")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:]))
