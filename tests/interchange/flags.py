"""hyperfine's flags: each that its help names stands in the table of docs/bench.md, and `speedup bench` has those that it calls the same."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/bench.md"
# What clap's help begins an option with: one letter, a long name, or both, and then a value or the end of the line.
OPTION = re.compile(r"^ {2,8}(?:(-\w)(?:, )?)?(--[\w-]+)?(?=[ =<\[]|$)")
# What only versions between those that are asked have: hyperfine 1.16 to 1.20.
BETWEEN = {"--reference", "--reference-name", "--sort"}


def flags(program, *arguments):
    """The options that a help names."""
    text = subprocess.run([program, *arguments, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = [OPTION.match(line) for line in text.splitlines()]
    return {flag for match in found if match for flag in match.groups() if flag}


def table():
    """The rows of the page: hyperfine's flags, and whether they are the same here."""
    section = PAGE.read_text().split("\n## Flags of hyperfine\n")[1]
    rows = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        names = re.findall(r"`(-[\w-]+)`", cells[0])
        if line.startswith("| `-"):
            rows.update((name, cells[1] == "the same") for name in names)
    return rows


def main(speedup, *hyperfines):
    rows, ours = table(), flags(speedup, "bench")
    theirs = set()
    for hyperfine in hyperfines:
        found = flags(hyperfine)
        if len(found) < 30:
            sys.exit(f"{hyperfine}: only {sorted(found)} were found in its help")
        if missing := sorted(found - rows.keys()):
            sys.exit(f"{hyperfine} has flags that docs/bench.md does not tell of: {' '.join(missing)}")
        theirs |= found
    if unknown := sorted(rows.keys() - theirs - BETWEEN):
        sys.exit(f"docs/bench.md tells of flags that none of {len(hyperfines)} hyperfines has: {' '.join(unknown)}")
    if lacking := sorted(name for name, same in rows.items() if same and name not in ours):
        sys.exit(f"docs/bench.md calls flags the same that speedup bench does not have: {' '.join(lacking)}")
    print(f"hyperfine's flags: {len(theirs)} of {len(hyperfines)} versions stand in docs/bench.md")


if __name__ == "__main__":
    main(*sys.argv[1:])
