"""Writes track.json: evidence of tracks, alarms, sets of points, sizes and noise floors, computed in another way than the library does.

    python3 track.py > track.json        (needs numpy)

Evidence is here the explicit sum over all points at which a change may have begun of the products of gains since then, each gain from two densities of the
logistic law; against an unknown level it is the least, over the same intervals of levels, of the most that there was after any point. Places and sizes are sums over finer and wider grids.
"""

import json
import sys

import numpy as np

SIZES = (0.25, 0.5, 1.0, 2.0)
STAKE = 0.9
NORMAL_MEDIAN = 0.9538725524104438


def density(x):
    """Of the logistic law with standard deviation 1."""
    y = np.abs(x) * np.pi / np.sqrt(3)
    return np.exp(-y) / (1 + np.exp(-y)) ** 2


def gains(deviations, spread, size):
    """For each deviation, what a bet on `size` multiplies its money with."""
    if spread == 0:
        p = np.where(deviations == 0, 0.0, np.sign(deviations) * np.inf)
    else:
        p = deviations / spread
    p = np.clip(p, -60, 60)  # Beyond, the ratio of densities is at its limit.
    with_change, mirrored = density(p - size), density(p + size)
    return 1 + STAKE * (2 * with_change / (with_change + mirrored) - 1)


def spreads(points):
    """For each point, the spread that is known before it."""
    known, answer, flat = [], [], []
    for point in points:
        past = np.abs(np.diff(flat))[-256:]
        answer.append(float(np.median(past)) / NORMAL_MEDIAN if len(past) >= 8 else 0.0)
        flat.extend(point)
    return answer


def evidence_against(points, spread, lower, upper):
    """After each point, against levels from `lower` to `upper`, arrays of the same length: a row per point."""
    total = np.zeros((len(points), len(lower)))
    for size in SIZES:
        for sign, ends in ((1, upper), (-1, lower)):
            logs = np.array(
                [
                    np.log(gains(sign * (np.array(point)[None, :] - ends[:, None]), of, size)).sum(axis=1)
                    for point, of in zip(points, spread)
                ]
            )
            for number in range(1, len(points) + 1):
                since = np.cumsum(logs[number - 1 :: -1], axis=0)
                total[number - 1] += np.exp(since).sum(axis=0)
    return total / (2 * len(SIZES))


def evidence(points, spread, unknown, margin):
    if not unknown:
        return evidence_against(points, spread, np.array([-margin]), np.array([margin]))[-1, 0]
    # The intervals are those that were chosen when the points were last a power of two.
    power = 1 << (len(points).bit_length() - 1)
    chosen = np.concatenate(points[:power])
    widths = np.concatenate([4 / np.sqrt(len(chosen)) * np.linspace(-1, 1, 17), 6 * np.linspace(-1, 1, 49)])
    quarters = margin * np.linspace(-4, 4, 33) if margin > 0 else []
    ends = np.sort(np.median(chosen) + np.concatenate([spread[power - 1] * widths, quarters]))
    lowers, uppers = np.array([-np.inf, *ends]), np.array([*ends, np.inf])
    # Of each interval the most that there was after any point.
    return evidence_against(points, spread, lowers - margin, uppers + margin).max(axis=0).min()


def log_likelihood(point, levels, scale):
    return -2 * np.log1p(((np.array(point)[:, None] - np.atleast_1d(levels)[None, :]) / scale) ** 2 / 3).sum(axis=0)


def place(points, unknown, scale):
    """The probability that each point is the first one changed, and the quantiles of the size, over one wide grid for both levels."""
    flat = np.concatenate(points)
    levels = np.linspace(np.percentile(flat, 3) - 3 * scale, np.percentile(flat, 97) + 3 * scale, 601)
    table = np.array([log_likelihood(point, levels, scale) for point in points])
    before = np.vstack([np.zeros(len(levels)), np.cumsum(table, axis=0)])
    total = before[-1]
    first = 1 if unknown else 0
    nodes = levels if unknown else np.array([0.0])
    zero = np.concatenate([[0], np.cumsum([log_likelihood(point, 0.0, scale)[0] for point in points])])
    logs, sizes, weights = [], [], []
    for at in range(first, len(points)):
        old = before[at] if unknown else np.array([zero[at]])
        new = total - before[at]
        logs.append(np.logaddexp.reduce(old) - np.log(len(old)) + np.logaddexp.reduce(new) - np.log(len(new)))
        joint = np.exp(old[:, None] - old.max() + new[None, :] - new.max())
        joint /= joint.sum()
        keep = joint > 1e-9
        sizes.append((levels[None, :] - nodes[:, None])[keep])
        weights.append(joint[keep])
    probabilities = np.exp(np.array(logs) - max(logs))
    probabilities /= probabilities.sum()
    all_sizes = np.concatenate(sizes)
    all_weights = np.concatenate([w * p for w, p in zip(weights, probabilities)])
    order = np.argsort(all_sizes)
    cumulative = np.cumsum(all_weights[order]) / all_weights.sum()
    quantiles = [float(np.exp(all_sizes[order][np.searchsorted(cumulative, part)])) for part in (0.5, 0.025, 0.975)]
    return [0.0] * first + [float(p) for p in probabilities], quantiles


def track(rng, number):
    unknown, blocks = number % 2 == 1, (1, 2, 5, 8)[number % 4]
    margin = 0.002 if number % 3 == 2 else 0.0
    length, first = 24 + 4 * (number % 5), 14
    step = (0.0, 0.02, -0.015, 0.03)[number // 2 % 4]
    start = 0.01 if unknown else 0.0
    points = []
    for at in range(length):
        noise = 0.01 * rng.standard_normal(blocks) + np.log(2) * (rng.random(blocks) < 0.02) - np.log(2) * (rng.random(blocks) < 0.02)
        points.append([float(x) for x in start + noise + (step if at >= first else 0.0)])
    spread = spreads(points)
    log_margin = float(np.log1p(margin))
    sums = [float(evidence(points[: at + 1], spread[: at + 1], unknown, log_margin)) for at in range(length)]
    case = {"unknown": unknown, "margin": margin, "threshold": 365.0, "points": points}
    alarm = next((at for at, sum_of in enumerate(sums) if sum_of >= 365.0), None)
    case["evidence"] = sums if alarm is None else sums[: alarm + 1]
    case["alarm"] = alarm
    if alarm is not None and margin == 0.0:
        probabilities, quantiles = place(points[: alarm + 1], unknown, 0.75 * spread[alarm])
        case["probabilities"], case["size"] = probabilities, quantiles
    return case


def binomial_cdf(count, n, p):
    from math import lgamma

    if count < 0:
        return 0.0
    logs = [lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * np.log(p) + (n - k) * np.log1p(-p) for k in range(count + 1)]
    return float(np.sum(np.exp(logs)))


def ends(sizes, probability, beyond):
    """The ranks of the shortest interval that misses the quantile with at most `beyond` on either side."""
    n, ordered = len(sizes), np.sort(sizes)
    lower = max((r for r in range(1, n + 1) if binomial_cdf(r - 1, n, probability) <= beyond), default=0)
    upper = min((r for r in range(1, n + 1) if 1 - binomial_cdf(r - 1, n, probability) <= beyond), default=n + 1)
    return (float(ordered[lower - 1]) if lower else 0.0, float(ordered[upper - 1]) if upper <= n else np.inf)


def floor(rng, number):
    n, power = (30, 80, 200, 365)[number % 4], (0.8, 0.9)[number % 2]
    controls = 0.004 * rng.standard_normal(n)
    sizes = np.abs(controls)
    case = {"controls": [float(c) for c in controls], "power": power}
    for name, parts in (("usual", [0.95]), ("smallest", [0.95, 2 * power - 1])):
        pairs = [ends(sizes, part, 0.025 / len(parts)) for part in parts]
        sums = [sum(float(np.quantile(sizes, part)) for part in parts), sum(a for a, _ in pairs), sum(b for _, b in pairs)]
        case[name] = ["Inf" if np.isinf(value) else float(np.exp(value)) for value in sums]
    return case


def main():
    rng = np.random.default_rng(58)
    cases = [{"id": f"tr-{number:03}", **track(rng, number)} for number in range(24)]
    cases += [{"id": f"nf-{number:03}", **floor(rng, number)} for number in range(8)]
    meta = {
        "what": "evidence of tracks as explicit sums of products of gains, places and sizes of changes over fine grids, noise floors by binomial sums",
        "from": f"track.py beside this file, numpy {np.__version__}",
        "kind": "public",
    }
    json.dump({"meta": meta, "cases": cases}, sys.stdout, separators=(",", ":"))


main()
