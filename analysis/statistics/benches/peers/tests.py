"""Tests by scipy and the hierarchical bootstrap by numpy.

    python3 tests.py rank_sum|kolmogorov_smirnov|shapiro_wilk REPEATS
    python3 tests.py bootstrap DRAWS

Standard input has a sample a line: two for the two-sample tests, one else; that of the bootstrap is 20 x 20 x 30 values, the
lowest level first. Prints milliseconds of processor time and of the wall's (the medians of the repeats), and the p-value or
the upper end.
"""

import statistics
import sys
import time

import numpy as np
from scipy import stats

CHUNK = 100  # Replicates at once: more is slower, since they leave the cache.


def bootstrap(values, draws):
    """The 95 % percentile interval of the mean, drawn anew at every level."""
    cells = values.reshape(30, 20, 20)
    random = np.random.default_rng(1)
    means = np.empty(draws)
    for begin in range(0, draws, CHUNK):
        count = min(CHUNK, draws - begin)
        binary = random.integers(0, 30, (count, 30), dtype=np.int32)
        execution = random.integers(0, 20, (count, 30, 20), dtype=np.int32)
        run = random.integers(0, 20, (count, 30, 20, 20), dtype=np.int32)
        flat = (binary[:, :, None] * 20 + execution)[..., None] * 20 + run
        means[begin : begin + count] = cells.ravel()[flat].mean(axis=(1, 2, 3))
    return np.quantile(means, [0.025, 0.975])[1]


def main():
    what, count = sys.argv[1], int(sys.argv[2])
    samples = [np.array(line.split(), dtype=float) for line in sys.stdin]
    work = {
        "rank_sum": lambda: stats.mannwhitneyu(*samples, alternative="greater").pvalue,
        "kolmogorov_smirnov": lambda: stats.ks_2samp(*samples).pvalue,
        "shapiro_wilk": lambda: stats.shapiro(samples[0]).pvalue,
        "bootstrap": lambda: bootstrap(samples[0], count),
    }[what]
    clocks = time.process_time, time.perf_counter
    times = []
    for _ in range(1 if what == "bootstrap" else count):
        before = [clock() for clock in clocks]
        value = work()
        times.append([1e3 * (clock() - start) for clock, start in zip(clocks, before)])
    processor, wall = map(statistics.median, zip(*times))
    print(f"{processor:.6f} {wall:.6f} {value:.10g}")


main()
