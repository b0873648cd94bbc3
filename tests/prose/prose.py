"""Checks the English of the pages: proselint's rules, and the phrasings of phrases.toml. tests/prose/run calls it.

Code is not prose: fenced and indented blocks, code spans, and targets of links become blanks, so that places stay right.
Generated pages print help texts in fenced blocks; their sentences are prose all the same, so blocks of `text` below
docs/reference are kept."""

import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = ["*.md", "docs/**/*.md", "deploy/**/*.md", "examples/**/*.md"]


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def prose(page):
    text = page.read_text()
    is_help = page.is_relative_to(ROOT / "docs/reference")
    fence = r"^( *)```(?!text)[^\n]*\n.*?^\1```" if is_help else r"^( *)```.*?^\1```"
    indented = [] if is_help else [r"(?<=\n\n)(?:    [^\n]*\n)+"]
    for code in [fence, *indented, r"`[^`\n]+`", r"(?<=\])\([^)\n]*\)", r"https?://\S+"]:
        text = re.sub(code, blank, text, flags=re.M | re.S)
    return text


def rules():
    return tomllib.loads((HERE / "phrases.toml").read_text())


def phrases():
    """Ours: what is wrong, as an expression, and what to say. Each shows a sample that it has to find, so that none is dead."""
    for entry in rules()["phrase"]:
        find = re.compile(entry["find"], re.I)
        if not find.search(entry["wrong"]):
            sys.exit(f"tests/prose/phrases.toml: {entry['find']} does not find its own sample: {entry['wrong']}")
        yield find, entry["say"], tuple(entry.get("except", ()))


def ours(pages):
    for find, say, spared in phrases():
        for name, text in pages.items():
            if not name.startswith(spared):
                for match in find.finditer(text):
                    words = " ".join(match[0].split())
                    yield name, text.count("\n", 0, match.start()) + 1, f"“{words}”: say “{say}”"


def proselint(pages):
    """What proselint finds, but for the kinds of findings that phrases.toml ignores."""
    ignored = tuple(rules()["proselint"]["ignored"])
    with tempfile.TemporaryDirectory() as folder:
        for name, text in pages.items():
            copy = pathlib.Path(folder, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
        command = [pathlib.Path(sys.executable).with_name("proselint"), "check", "."]
        answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        findings = list(re.finditer(r"^(.+?):(\d+):\d+: (\S+?): (.*)", answer.stdout, re.M))
        if answer.returncode != bool(findings):
            sys.exit(f"proselint ended with {answer.returncode}: {answer.stdout}{answer.stderr}")
        for found in findings:
            if found[3].startswith(ignored):
                continue
            name = str(pathlib.Path(found[1]).resolve().relative_to(pathlib.Path(folder).resolve()))
            yield name, int(found[2]), f"{found[4]} ({found[3]})"


def main():
    pages = {str(page.relative_to(ROOT)): prose(page) for glob in PAGES for page in sorted(ROOT.glob(glob))}
    found = sorted({*ours(pages), *proselint(pages)})
    for name, line, words in found:
        print(f"{name}:{line}: {words}")
    print(f"{len(pages)} pages, {len(found)} findings", file=sys.stderr)
    sys.exit(bool(found))


main()
