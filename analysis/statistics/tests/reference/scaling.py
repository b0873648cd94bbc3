"""Writes scaling.json: speedups, efficiencies, serial fractions and serial shares, with intervals, computed in another way than the library does.

    python3 scaling.py > scaling.json        (needs numpy and scipy)

Amdahl's law is here a regression on its two terms, whose covariance is corrected by Kenward and Roger's matrices. Johansen's test is the Welch-James test of the contrasts that the law has
to be zero, by traces. Ends of intervals are roots of polynomials. Karp and Flatt's fraction is by their formula, from the speedup.
"""

import json
import sys

import numpy as np
import scipy
from scipy.linalg import null_space
from scipy.stats import f as fisher
from scipy.stats import t as student

RISK = 0.05


def fieller(above, below, covariance, critical):
    """The ends of the set of ratios of two estimates (value, squared error), by the roots of its quadratic; none if it is unbounded."""
    quadratic = [
        below[0] ** 2 - critical**2 * below[1],
        -2 * (above[0] * below[0] - critical**2 * covariance),
        above[0] ** 2 - critical**2 * above[1],
    ]
    if quadratic[0] <= 0:
        return None
    return sorted(float(root) for root in np.roots(quadratic).real)


def mean_ratio(first, times, family):
    """T1/T with its interval."""
    (n, m), risk = (len(first), len(times)), RISK / family
    a, b = (first.mean(), first.var(ddof=1) / n), (times.mean(), times.var(ddof=1) / m)
    e = (a[1], (a[0] / b[0]) ** 2 * b[1])
    df = sum(e) ** 2 / (e[0] ** 2 / (n - 1) + e[1] ** 2 / (m - 1))
    return a[0] / b[0], fieller(a, b, 0.0, student.ppf(1 - risk / 2, df))


def effects(law, hosts, samples):
    found = []
    for k, times in zip(hosts[1:], samples[1:]):
        p = k / hosts[0]
        ratio, ends = mean_ratio(samples[0], times, len(hosts) - 1)
        to_speedup = 1.0 if law == "strong" else p

        def flatt(s):
            return (1 / s - 1 / p) / (1 - 1 / p)

        speedups = [to_speedup * float(x) for x in (ratio, *ends)]
        found.append(
            {
                "speedup": speedups,
                "efficiency": [s / p for s in speedups],
                "serial_fraction": [flatt(speedups[0]), flatt(speedups[2]), flatt(speedups[1])],
            }
        )
    return found


def serial_share(law, hosts, samples):
    p = np.array(hosts) / hosts[0]
    parallel, serial = (1 / p, np.ones(len(p))) if law == "strong" else (np.ones(len(p)), p)
    x = np.stack([parallel, serial], axis=1)
    n = np.array([len(times) for times in samples])
    means, errors = np.array([s.mean() for s in samples]), np.array([s.var(ddof=1) / len(s) for s in samples])
    v = np.diag(errors)
    inverse = np.linalg.inv(v)
    phi = np.linalg.inv(x.T @ inverse @ x)
    beta = phi @ x.T @ inverse @ means
    # Kenward and Roger: phi + 2 phi (sum of var(theta) (Q - P phi P)) phi.
    inner = np.zeros((2, 2))
    for i in range(len(n)):
        derivative = np.zeros_like(v)
        derivative[i, i] = 1.0
        of_inverse = -inverse @ derivative @ inverse
        p_i = x.T @ of_inverse @ x
        q_i = x.T @ of_inverse @ v @ of_inverse @ x
        inner += 2 * errors[i] ** 2 / (n[i] - 1) * (q_i - p_i @ phi @ p_i)
    covariance = phi + 2 * phi @ inner @ phi
    # The share is b/(a + b) with a parallel and b serial seconds.
    to_ratio = np.array([[0.0, 1.0], [1.0, 1.0]])
    above, below = to_ratio @ beta
    both = to_ratio @ covariance @ to_ratio.T
    share = above / below
    # Satterthwaite: 2 V^2 / var(V), the variance of the contrast by its gradient in the errors.
    contrast = np.array([1.0, -share]) @ to_ratio
    gradient = (contrast @ phi @ x.T @ inverse) ** 2
    value = contrast @ phi @ contrast
    df = 2 * value**2 / (gradient**2 @ (2 * errors**2 / (n - 1)))
    ends = fieller((above, both[0, 0]), (below, both[1, 1]), both[0, 1], student.ppf(1 - RISK / 2, df))
    answer = {"share": [float(share), *(ends or [])], "time": float(below)}
    if len(n) > 2:
        c = null_space(x.T).T
        middle = np.linalg.inv(c @ v @ c.T)
        squares, q = float((c @ means) @ middle @ (c @ means)), len(n) - 2
        a = 0.0
        for i in range(len(n)):
            select = np.zeros_like(v)
            select[i, i] = 1.0
            projected = v @ c.T @ middle @ c @ select
            a += 0.5 * (np.trace(projected @ projected) + np.trace(projected) ** 2) / (n[i] - 1)
        scale, df2 = q + 2 * a - 6 * a / (q + 2), q * (q + 2) / (3 * a)
        answer["fit"] = [squares / scale, q, df2, float(fisher.sf(squares / scale, q, df2))]
    return answer


def draw(rng, number):
    law = ("strong", "weak")[number % 2]
    hosts = ([1, 2, 4, 8], [1, 2], [2, 3, 5, 12, 40], [1, 4, 16], [1, 2, 4, 8, 16, 32, 64])[number % 5]
    share = (0.02, 0.3, 0.0, 0.1)[number // 2 % 4]
    unit = (1.0, 3e-6, 7200.0)[number % 3]
    p = np.array(hosts) / hosts[0]
    ideal = 1 / p if law == "strong" else np.ones(len(p))
    means = ideal * (1 + share * (p - 1)) + (0.002 * np.log2(p) if number % 7 == 3 else 0.0)
    return law, hosts, [unit * m * (1 + rng.uniform(0.002, 0.08) * rng.standard_normal(rng.integers(5, 31))) for m in means]


def ratio_of_efficiencies(one, other):
    logs = [np.log(np.array(of["efficiency"])) for of in (one, other)]
    (base, base_low, base_high), (own, low, high) = logs
    between = own - base
    ends = (between - np.hypot(own - low, base_high - base), between + np.hypot(high - own, base - base_low))
    return [float(x) for x in np.exp([between, *ends])]


def main():
    rng = np.random.default_rng(1967)
    cases = []
    for number in range(36):
        law, hosts, samples = draw(rng, number)
        case = {"id": f"sc-{number:03}", "law": law, "hosts": hosts, "times": [s.tolist() for s in samples]}
        case["effects"] = effects(law, hosts, samples)
        case["serial"] = serial_share(law, hosts, samples)
        if number % 4 == 0:
            candidate = [0.8 * s[::-1] ** 1.01 for s in samples]
            case["candidate"] = [s.tolist() for s in candidate]
            pairs = zip(case["effects"], effects(law, hosts, candidate))
            case["efficiency_ratios"] = [ratio_of_efficiencies(*pair) for pair in pairs]
        cases.append(case)
    meta = {
        "what": "speedups, efficiencies, serial fractions and shares of strong and weak scaling, with simultaneous Fieller intervals, Kenward-Roger errors and Johansen's test by matrices",
        "from": f"scaling.py beside this file, numpy {np.__version__}, scipy {scipy.__version__}",
        "kind": "public",
    }
    json.dump({"meta": meta, "cases": cases}, sys.stdout, separators=(",", ":"))


main()
