"""Tracks beside Apache Otava and PELT, on series of one law, at equal false alarms.

    python3 -m venv target/peers && target/peers/bin/pip install -r analysis/studies/peers/requirements.txt
    target/peers/bin/python analysis/studies/peers/track.py target/release/speedup-studies [SERIES]

Speedup's own shares come from `speedup-studies track`; the peers are given series that are drawn here by the same law (SeriesLaw in ../src/track/series_law.rs). Each
peer is tried on three feeds of a point that costs as many runs:
  single  one run of the commit, as when a tool is given one value for each commit
  raw     the median of all runs, of the commit alone: twice as many as of a track, which has as many of the reference
  ratio   the median of the logarithms of commit over reference, as a track has them
A peer's penalty or p-value is chosen so that it raises alarms in as many series without a change as the track does, but for Otava's default.
"""

import csv
import subprocess
import sys

import numpy as np
import ruptures
from otava.analysis import compute_change_points

POINTS, BLOCKS, STEP, VARIATION, MACHINES, MACHINE_POINTS, STALLED = 100, 6, 0.01, 0.01, 0.01, 10, 0.02
FIRST = POINTS // 2
# A change point this near to the step is taken for it.
NEAR = 10
# The largest are for single runs that stall.
PENALTIES = np.concatenate([np.geomspace(0.5, 400, 60), np.geomspace(440, 40000, 40)])
P_VALUES = np.geomspace(1e-12, 0.04, 60)
OTAVA_DEFAULT = 0.001


def draw(rng, kind, step):
    """The feeds of one series."""
    level = np.where(np.arange(POINTS) >= FIRST, step, 0.0)
    machine = np.zeros(POINTS)
    if kind == "machines":
        machine = np.repeat(MACHINES * rng.standard_normal(-(-POINTS // MACHINE_POINTS)), MACHINE_POINTS)[:POINTS]

    def runs(of_point, number):
        noise = np.log(np.maximum(1 + VARIATION * rng.standard_normal((POINTS, number)), 1e-16))
        stalls = np.log(2) * (rng.random((POINTS, number)) <= STALLED) if kind == "stalls" else 0.0
        return (of_point + machine)[:, None] + noise + stalls

    commit, reference = runs(level, 2 * BLOCKS), runs(np.zeros(POINTS), BLOCKS)
    return {
        "single": np.exp(commit[:, 0]),
        "raw": np.exp(np.median(commit, axis=1)),
        "ratio": np.exp(np.median(commit[:, :BLOCKS] - reference, axis=1)),
    }


def otava(values, p_value):
    return [found.index for found in compute_change_points(list(values), max_pvalue=p_value)[0]]


def pelt(values, penalty):
    """With the usual cost of a normal mean; its unit is that of the noise, by the differences of neighbours."""
    noise = np.median(np.abs(np.diff(values))) / 0.9538725524104438
    found = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(values / noise).predict(pen=penalty)
    return found[:-1]


def shares(method, setting, quiet, changed):
    alarms = np.mean([len(method(values, setting)) > 0 for values in quiet])
    found = np.mean([any(abs(at - FIRST) <= NEAR for at in method(values, setting)) for values in changed])
    return alarms, found


def tuned(method, settings, quiet, most):
    """Of settings from the one that finds most, the first with at most the share `most` of series with an alarm, by halving."""
    low, high = 0, len(settings) - 1
    while low < high:
        middle = (low + high) // 2
        if np.mean([len(method(values, settings[middle])) > 0 for values in quiet]) <= most:
            high = middle
        else:
            low = middle + 1
    return settings[low]


def track_rows(studies, series):
    command = [studies, "track", "--section", "quiet,stalls,machines"]
    command += ["--points", str(POINTS), "--blocks", str(BLOCKS), "--step", str(STEP), "--variation", str(VARIATION)]
    command += ["--machines", str(MACHINES), "--machine-points", str(MACHINE_POINTS), "--stalled", str(STALLED)]
    answer = subprocess.run([*command, "--replicates", str(series)], check=True, capture_output=True, text=True).stdout
    return {(row["section"], row["method"]): float(row["share"]) for row in csv.DictReader(answer.splitlines())}


def main():
    studies, series = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    tracks = track_rows(studies, series)
    rng = np.random.default_rng(1)
    print("kind      method                         feed    alarms  step found")
    for kind in ("quiet", "stalls", "machines"):
        kinds = (("track, builds alike", ""), ("the same, level unknown", "unknown_"), ("track, by points", "points_"))
        for name, prefix in kinds:
            alarms, found = tracks[kind, prefix + "any_alarm"], tracks[kind, prefix + "step_found"]
            print(f"{kind:9} {name:30} ratios  {alarms:6.3f}  {found:10.3f}")
        most = tracks[kind, "any_alarm"]
        quiet, changed = ([draw(rng, kind, step) for _ in range(series)] for step in (0.0, STEP))
        for feed in ("single", "raw", "ratio"):
            null, step = ([one[feed] for one in drawn] for drawn in (quiet, changed))
            rows = [
                ("Otava, p < 0.001 (its default)", otava, OTAVA_DEFAULT),
                ("Otava, equal alarms", otava, tuned(otava, P_VALUES[::-1], null, most)),
                ("PELT, equal alarms", pelt, tuned(pelt, PENALTIES, null, most)),
            ]
            for name, method, setting in rows:
                alarms, found = shares(method, setting, null, step)
                print(f"{kind:9} {name:30} {feed:7} {alarms:6.3f}  {found:10.3f}   {setting:.3g}", flush=True)


main()
