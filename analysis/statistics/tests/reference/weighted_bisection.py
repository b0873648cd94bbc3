"""Writes weighted_bisection.json: the posterior of the commit of one step where commits are not equally likely beforehand, computed in another way than the library does.

    python3 weighted_bisection.py > weighted_bisection.json        (needs numpy)

Places, sizes, scales and levels of blocks are all summed over one grid each, wide and fine, and the same for all blocks and histories of a case; each place has its weight.
"""

import json
import sys

import numpy as np

FREEDOM = 3.0


def log_density(deviations, scale):
    """Of Student's noise, but for a constant factor."""
    return -2 * np.log1p((deviations / scale) ** 2 / FREEDOM) - np.log(scale)


def log_likelihood(block, place, size, scale):
    """Of a block whose level may be anything: the sum over a grid of levels."""
    commits, logs = block[:, 0], np.log(block[:, 1])
    centred = logs - np.where(commits >= place, size, 0.0)
    levels = np.linspace(centred.min() - 12 * scale, centred.max() + 12 * scale, 400)
    sums = log_density(centred[:, None] - levels[None, :], scale).sum(axis=0)
    greatest = sums.max()
    return greatest + np.log(np.exp(sums - greatest).sum() * (levels[1] - levels[0]))


def posterior(commits, margin, weights, blocks):
    weights = np.array(weights) / np.sum(weights)
    blocks = [np.array(block) for block in blocks]
    margin = np.log1p(margin)
    beyond, width = np.linspace(-0.6, 0.6, 601, retstep=True)
    beyond = beyond[np.abs(beyond) > margin]
    within = np.linspace(-margin, margin, 21) if margin > 0 else np.array([0.0])
    scales = np.exp(np.linspace(np.log(0.004), np.log(0.5), 36))
    places = range(1, commits)

    def summed(size, scale):
        return np.array([sum(log_likelihood(block, place, size, scale) for block in blocks) for place in places])

    shift = max(summed(0.0, scale).max() for scale in scales)
    step, none = np.zeros(commits - 1), 0.0
    for scale in scales:
        uncut = 1 - 2 / np.pi * np.arctan(margin / scale)
        for size in beyond:
            prior = width / (np.pi * scale * (1 + (size / scale) ** 2) * uncut)
            step += weights * np.exp(summed(size, scale) - shift) * prior
        for size in within:
            none += (weights * np.exp(summed(size, scale) - shift)).sum() / len(within)
    return step / step.sum(), none / (none + step.sum())


def case(rng, number):
    commits, margin = (5, 9)[number % 2], (0.0, 0.02)[number // 2 % 2]
    weights = [float(rng.choice([0.1, 1.0, 1.0, 5.0, 40.0])) for _ in range(commits - 1)]
    step, size = 1 + int(rng.integers(commits - 1)), float(rng.uniform(0.02, 0.12))
    blocks = []
    for _ in range(4):
        level = 0.1 * rng.standard_normal()
        ran = [0, commits - 1, *(int(commit) for commit in rng.integers(1, commits - 1, 2))]
        value = lambda commit: float(np.exp(level + (size if commit >= step else 0.0) + 0.03 * rng.standard_normal()))
        blocks.append([[commit, value(commit)] for commit in ran])
    probabilities, no_step = posterior(commits, margin, weights, blocks)
    known = {"commits": commits, "margin": margin, "weights": weights, "blocks": blocks}
    return {**known, "probabilities": [float(p) for p in probabilities], "no_step": float(no_step)}


def main():
    rng = np.random.default_rng(55)
    cases = [{"id": f"wb-{number:03}", **case(rng, number)} for number in range(8)]
    meta = {
        "what": "posterior of the commit of one step with a weight of each commit, as in step_bisection.json, summed over one grid of places, sizes, scales and levels",
        "from": f"weighted_bisection.py beside this file, numpy {np.__version__}",
        "kind": "public",
    }
    json.dump({"meta": meta, "cases": cases}, sys.stdout, separators=(",", ":"))


main()
