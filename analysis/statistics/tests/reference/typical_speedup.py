"""Writes typical_speedup.json: means of log speedups that differ, computed in another way than the library does.

    python3 typical_speedup.py > typical_speedup.json        (needs numpy and scipy)

The confidence distribution of tau^2 is taken by probabilities of the chi-squared law, its tau^2 by Brent's method, and the mixture
on a grid of 3,000 points that is dense where tau^2 is large; the library integrates the density and takes Newton's steps.
"""

import json
import sys

import numpy as np
import scipy
from scipy.optimize import brentq
from scipy.stats import chi2, norm

LEVELS = [0.95, 0.99, 0.8]


def sums(y, v, tau2):
    weights = 1 / (v + tau2)
    mean = np.average(y, weights=weights)
    return weights, mean, (weights * (y - mean) ** 2).sum()


def scatter(y, v, q):
    """The tau^2 with Q(tau^2) = q, or 0."""
    if sums(y, v, 0.0)[2] <= q:
        return 0.0
    upper = v.max()
    while sums(y, v, upper)[2] > q:
        upper *= 4
    logarithm = brentq(lambda x: np.log(sums(y, v, np.exp(x))[2] / q), np.log(v.min()) - 40, np.log(upper), xtol=1e-14, rtol=1e-15)
    return float(np.exp(logarithm))


def quantile(probabilities, means, errors, p):
    start, reach = np.median(means), 100 * errors.max() + np.ptp(means)
    return float(brentq(lambda x: (probabilities * norm.cdf((x - means) / errors)).sum() - p, start - reach, start + reach, xtol=1e-14))


def typical(y, v, df, level):
    k = len(y)
    weights, _, q = sums(y, v, 0.0)
    tau2 = scatter(y, v, k - 1)
    usual = (k - 1) / (weights.sum() - (weights**2).sum() / weights.sum())
    # u = P[Q <= q] in (0, P[Q <= Q(0)]), by u = s^3.
    nodes, node_weights = np.polynomial.legendre.leggauss(3000)
    s = (nodes + 1) / 2
    probabilities = node_weights / 2 * 3 * s**2
    rows = []
    for u in s**3 * chi2.cdf(q, k - 1):
        one = scatter(y, v, chi2.ppf(u, k - 1))
        w, mean, _ = sums(y, v, one)
        share, estimated = w / w.sum(), v * w
        rows.append((one, mean, (1 + 4 * (estimated**2 * share * (1 - share) / df).sum()) / w.sum()))
    tau2s, means, squared = np.array(rows).T
    beyond = (1 - level) / 2
    ends = lambda variance: [quantile(probabilities, means, np.sqrt(variance), p) for p in (beyond, 1 - beyond)]
    return {
        "tau2": tau2,
        "I2": tau2 / (tau2 + usual),
        "mean": float(sums(y, v, tau2)[1]),
        "interval": ends(squared),
        "prediction": ends(squared + tau2s),
    }


def main():
    random = np.random.default_rng(20261130)
    cases = []
    for k in (3, 4, 5, 10, 30, 65):
        for tau in (0.0, 0.3, 1.0, 5.0):
            for unequal in (0.0, 0.7):
                v = (0.02 * np.exp(unequal * random.standard_normal(k))) ** 2
                y = 0.05 + 0.02 * tau * random.standard_normal(k) + np.sqrt(v) * random.standard_normal(k)
                df, level = float(random.choice([3, 7, 17])), LEVELS[len(cases) % 3]
                y, v = (np.array([float(f"{value:.12g}") for value in values]) for values in (y, v))
                given = {"log_ratio": y.tolist(), "variance": v.tolist(), "df": df, "conf_level": level}
                cases.append({"id": f"ts-{len(cases):03}", **given, **typical(y, v, df, level)})
    what = "means of log speedups by the confidence distribution of tau^2 > 0, prediction of a further one, Paule and Mandel's tau^2, I^2"
    source = f"typical_speedup.py beside this file, numpy {np.__version__}, scipy {scipy.__version__}"
    json.dump({"meta": {"what": what, "from": source, "kind": "public"}, "cases": cases}, sys.stdout, separators=(",", ":"))


main()
