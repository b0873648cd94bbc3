"""Prints the numbers that gangs.rs compares with: what is said of the ranks, hosts and switches of runs on several hosts.

    python3 reference.py        (needs numpy and scipy)
"""

from itertools import combinations, permutations

import numpy as np
from scipy.stats import binom


def most_often():
    """P[K >= hits] of a binomial K, and the same times the number of members."""
    for hits, trials, members in [(12, 20, 8), (3, 20, 8), (20, 20, 128), (1, 1, 4), (7, 30, 16), (40, 400, 16)]:
        p = float(binom.sf(hits - 1, trials, 1 / members))
        print(f"most often: {hits} of {trials}, {members} members: {p!r}, {min(1.0, members * p)!r}")


# Times of the runs of two cells, and the hosts of each run.
TIMES = [
    [10.1, 10.4, 12.9, 10.2, 12.2, 10.8, 13.1, 10.6],
    [205.0, 231.0, 202.0, 207.0, 229.0, 207.0],
]
HOSTS = [
    [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 5, 0), (4, 5, 1), (5, 0, 2), (0, 2, 4), (1, 3, 5)],
    [(5, 1, 3), (0, 4, 2), (1, 3, 5), (2, 3, 0), (4, 1, 5), (1, 5, 0)],
]


def scores(times):
    """What is below less what is above, as a share of the cell, on a grid; halves away from zero."""
    times = np.array(times)
    raw = 64 * np.array([(times < t).sum() - (times > t).sum() for t in times]) / (len(times) + 1)
    return (np.sign(raw) * np.floor(np.abs(raw) + 0.5)).astype(int)


def member_ranks(times, hosts, left_out=()):
    """Of each host the two-sided p-value of its rank sum, by all subsets of the runs of each cell, and its distance in standard deviations."""
    cells = []
    for cell, served in zip(times, hosts):
        kept = [at for at, run in enumerate(served) if not set(run) & set(left_out)]
        cells.append((scores([cell[at] for at in kept]), [served[at] for at in kept]))
    found = {}
    for host in sorted({host for _, served in cells for run in served for host in run}):
        law, total, mean, variance = {0: 1.0}, 0, 0.0, 0.0
        for of, served in cells:
            own = [at for at, run in enumerate(served) if host in run]
            n, m = len(of), len(own)
            if m in (0, n):
                continue
            total += int(of[own].sum())
            mean += m * of.mean()
            variance += m * (n - m) / n * of.var(ddof=1)
            subsets = [int(of[list(subset)].sum()) for subset in combinations(range(n), m)]
            after = {}
            for sum_before, p in law.items():
                for sum_of in subsets:
                    after[sum_before + sum_of] = after.get(sum_before + sum_of, 0.0) + p / len(subsets)
            law = after
        lower = sum(p for value, p in law.items() if value <= total)
        upper = sum(p for value, p in law.items() if value >= total)
        found[host] = (float((total - mean) / np.sqrt(variance)), min(1.0, 2 * min(lower, upper)))
    return found


def members():
    for left_out in [(), (4,)]:
        for host, (z, p) in member_ranks(TIMES, HOSTS, left_out).items():
            print(f"without {left_out}, host {host}: z {z!r}, p {p!r}")


# Times of the runs of three cells, and over how many switches each was.
SPANS = [
    ([10.1, 10.4, 10.4, 12.2, 10.8, 12.2, 10.6], [1, 2, 1, 3, 2, 3, 1]),
    ([205.0, 231.0, 202.0, 207.0, 229.0, 207.0], [1, 2, 1, 1, 2, 2]),
    ([5.0, 5.5, 5.2, 5.6, 5.1, 5.3, 5.4, 5.0], [2, 4, 2, 4, 2, 2, 4, 4]),
]


def concordance(values, covariates):
    pairs = combinations(range(len(values)), 2)
    return sum(int(np.sign(values[i] - values[j]) * np.sign(covariates[i] - covariates[j])) for i, j in pairs)


def placement():
    """S, its z by the variance over all permutations, and the median slope of logarithms over all pairs, as a factor."""
    s, variance, slopes = 0, 0.0, []
    for values, covariates in SPANS:
        s += concordance(values, covariates)
        n = len(values)
        x = np.sign(np.subtract.outer(values, values))
        y = np.sign(np.subtract.outer(covariates, covariates))
        all_s = [int((x * y[np.ix_(order, order)]).sum()) // 2 for order in permutations(range(n))]
        variance += float(np.var(all_s))
        for i, j in combinations(range(n), 2):
            if covariates[i] != covariates[j]:
                slopes.append(np.log(values[j] / values[i]) / (covariates[j] - covariates[i]))
    print(f"placement: s {s}, z {float((s - np.sign(s)) / np.sqrt(variance))!r}, factor {float(np.exp(np.median(slopes)))!r}")


most_often()
members()
placement()
