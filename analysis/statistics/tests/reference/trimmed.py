"""Writes trimmed.json: ratios of trimmed means of log times with their p-values, computed in another way than the library does.

    python3 trimmed.py > trimmed.json        (needs numpy and scipy)

Yuen's statistic is scipy's where both samples lose a whole number of observations at each end. The permutation law is by itertools, over
all choices or all signs. Fractional trimming is by weights of order statistics.
"""

import itertools
import json
import sys

import numpy as np
import scipy
from scipy.stats import t as student
from scipy.stats import ttest_ind

HYPOTHESES = [0.8, 0.95, 1.0, 1.02, 1.3]


def center(values, cut):
    """The trimmed mean and its squared error, with `cut` observations, not always whole, left out at each end."""
    values, n = np.sort(values), len(values)
    whole, part = int(np.floor(cut + 1e-12)), cut - np.floor(cut + 1e-12)
    weights = np.ones(n)
    weights[:whole] = weights[n - whole :] = 0.0
    weights[whole] = weights[n - 1 - whole] = 1.0 - part
    left = n - 2 * cut

    def spread(replaced):
        limited = np.clip(values, values[replaced], values[n - 1 - replaced])
        return ((limited - limited.mean()) ** 2).sum()

    squares = spread(whole) if part < 1e-12 else (1 - part) * spread(whole) + part * spread(whole + 1)
    return (weights * values).sum() / weights.sum(), squares / (left * (left - 1))


def apart(x, y, share):
    """T and the law of all choices, and the degrees of freedom of the smaller side."""
    fewest = min(len(x), len(y))
    share = np.floor(share * fewest + 1e-9) / fewest
    cuts = share * len(x), share * len(y)

    def statistic(a, b):
        (of_a, error_a), (of_b, error_b) = center(a, cuts[0]), center(b, cuts[1])
        return (of_a - of_b) / np.sqrt(error_a + error_b)

    observed, pooled = statistic(x, y), np.concatenate([x, y])
    if all(abs(cut - round(cut)) < 1e-9 for cut in cuts):
        scipys = ttest_ind(x, y, equal_var=False, trim=share + 1e-12).statistic
        assert abs(scipys - observed) < 1e-9 * max(1, abs(observed)), (scipys, observed)
    law = []
    for chosen in itertools.combinations(range(len(pooled)), len(x)):
        is_first = np.zeros(len(pooled), dtype=bool)
        is_first[list(chosen)] = True
        law.append(statistic(pooled[is_first], pooled[~is_first]))
    return observed, np.array(law), fewest * (1 - 2 * share) - 1


def paired(x, y, share):
    """The same of pairs, by all signs."""
    differences, n = x - y, len(x)
    cut = np.floor(share * n + 1e-9)

    def statistic(values):
        mean, error = center(values, cut)
        return mean / np.sqrt(error)

    signs = itertools.product([1.0, -1.0], repeat=n)
    return statistic(differences), np.array([statistic(differences * np.array(sign)) for sign in signs]), n - 2 * cut - 1


def p_values(observed, law, df):
    """Less, greater and two-sided: of both laws the larger."""
    less = max((law <= observed + 1e-9).mean(), student.cdf(observed, df))
    greater = max((law >= observed - 1e-9).mean(), student.sf(observed, df))
    return [float(less), float(greater), float(min(1.0, 2 * min(less, greater)))]


def main():
    random = np.random.default_rng(20261129)
    laws = {
        "normal": lambda n: 1 + 0.03 * random.standard_normal(n),
        "stalls": lambda n: (1 + 0.02 * random.standard_normal(n)) * np.where(random.random(n) < 0.1, 2.0, 1.0),
        "skewed": lambda n: 1 + 0.2 * random.exponential(size=n),
        "clock": lambda n: np.round(20 * (1 + 0.1 * random.standard_normal(n))) / 20,
    }
    sizes = [(2, 2), (2, 9), (3, 3), (4, 4), (5, 5), (5, 8), (6, 6), (7, 7), (8, 4), (4, 9), (10, 3)]
    cases = []
    for (n, m), name in itertools.product(sizes, laws):
        for share in (0.1, 0.25):
            x, y = laws[name](n), laws[name](m) * random.choice([1.0, 1.1, 0.9])
            if len(set(x)) < 3 or len(set(y)) < 3:
                continue
            x, y = [float(value) for value in x], [float(value) for value in y]
            logs = np.log(x), np.log(y)
            p = [p_values(*apart(logs[0], logs[1] + np.log(ratio), share)) for ratio in HYPOTHESES]
            fewest = min(n, m)
            cut = np.floor(share * fewest + 1e-9) / fewest
            ratio = float(np.exp(center(logs[0], cut * n)[0] - center(logs[1], cut * m)[0]))
            cases.append({"law": name, "share": share, "baseline": x, "candidate": y, "ratio": ratio, "p_values": p})
    for n, name in itertools.product((3, 5, 8, 11, 13), laws):
        for share in (0.1, 0.25):
            hosts = laws["skewed"](n)
            x, y = hosts * laws[name](n), hosts * laws[name](n)
            logs = np.log(x), np.log(y)
            p = [p_values(*paired(logs[0], logs[1] + np.log(ratio), share)) for ratio in HYPOTHESES]
            ratio = float(np.exp(center(logs[0] - logs[1], np.floor(share * n + 1e-9))[0]))
            x, y = [float(value) for value in x], [float(value) for value in y]
            cases.append({"law": name, "pairs": True, "share": share, "baseline": x, "candidate": y, "ratio": ratio, "p_values": p})
    what = "ratios of trimmed means of log times, and their p-values (less, greater, two-sided) of the hypotheses " + str(HYPOTHESES)
    source = f"trimmed.py beside this file, numpy {np.__version__}, scipy {scipy.__version__}"
    meta = {"what": what, "from": source, "kind": "public", "hypotheses": HYPOTHESES}
    numbered = [{"id": f"tr-{number:03}", **case} for number, case in enumerate(cases)]
    json.dump({"meta": meta, "cases": numbered}, sys.stdout, separators=(",", ":"))


main()
