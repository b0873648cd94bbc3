"""The steps of a workflow, as a runner does them: checkouts of a pull request's base and head, then each `run` by bash.

    steps.py WORKFLOW SPEEDUP FOLDER      with action-validator in FOLDER/node and PyYAML installed
"""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

MANIFEST = '[package]\nname = "program"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n'
PROGRAM = """fn main() {{
    assert_eq!(std::env::args().nth(1).as_deref(), Some("input"));
    std::thread::sleep(std::time::Duration::from_millis({milliseconds}));
}}
"""
BASE = "${{ github.event.pull_request.base.sha }}"


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} instead of {wanted!r}")


def validate(workflow, folder):
    """The schema takes the file, and would not take another."""
    validator = folder / "node/node_modules/.bin/action-validator"
    subprocess.run([validator, workflow], check=True)
    broken = folder / "broken.yml"
    broken.write_text(workflow.read_text().replace("runs-on:", "runs-upon:"))
    expect("a broken workflow", subprocess.run([validator, broken], capture_output=True).returncode, 1)
    print("the workflow is one")


def repository(folder, before, after):
    """A repository whose last commit is the pull request's head and the one before its base."""
    repo = folder / "repository"
    (repo / "src").mkdir(parents=True)
    git = lambda *words: subprocess.run(["git", "-C", repo, *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    git("init", "--quiet")
    git("config", "user.name", "test")
    git("config", "user.email", "test@localhost")
    (repo / "Cargo.toml").write_text(MANIFEST)
    for milliseconds in [before, after]:
        (repo / "src/main.rs").write_text(PROGRAM.format(milliseconds=milliseconds))
        git("add", ".")
        git("commit", "--quiet", "--message", f"{milliseconds} ms")
    return repo, {BASE: git("rev-parse", "HEAD~1").strip(), None: git("rev-parse", "HEAD").strip()}


def checkout(step, repo, commits, workspace):
    expect("an action", step["uses"].partition("@")[0], "actions/checkout")
    path = workspace / step["with"]["path"]
    subprocess.run(["git", "clone", "--quiet", repo, path], check=True)
    subprocess.run(["git", "-C", path, "checkout", "--quiet", commits[step["with"].get("ref")]], check=True)


def job(workflow, speedup, folder, before, after):
    """The exit code of the step that failed, or 0, what it printed, and the job's summary."""
    (steps,) = [job["steps"] for job in yaml.safe_load(workflow.read_text())["jobs"].values()]
    repo, commits = repository(folder, before, after)
    workspace, summary = folder / "workspace", folder / "summary.md"
    paths, temporary = folder / "paths", folder / "temporary"
    for made in [workspace, temporary]:
        made.mkdir()
    for made in [summary, paths]:
        made.touch()
    variables = {
        "${{ vars.SPEEDUP_URL }}": speedup.as_uri(),
        "${{ vars.SPEEDUP_SHA256 }}": hashlib.sha256(speedup.read_bytes()).hexdigest(),
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO_TARGET", "XDG_", "SPEEDUP_"))}
    # The compiler's own folders stay where they are, whatever the home is.
    home = Path(os.environ["HOME"])
    inherited.setdefault("CARGO_HOME", str(home / ".cargo"))
    inherited.setdefault("RUSTUP_HOME", str(home / ".rustup"))
    environment = {
        **inherited,
        "HOME": str(folder),
        "GITHUB_PATH": str(paths),
        "GITHUB_STEP_SUMMARY": str(summary),
        "RUNNER_TEMP": str(temporary),
    }
    for step in steps:
        if "uses" in step:
            checkout(step, repo, commits, workspace)
            continue
        script = folder / "step.sh"
        script.write_text(step["run"])
        own = {name: variables[value] for name, value in step.get("env", {}).items()}
        path = ":".join([*reversed(paths.read_text().split()), os.environ["PATH"]])
        # As GitHub runs a step that names no shell.
        command = ["bash", "-e", script]
        done = subprocess.run(
            command,
            cwd=workspace,
            env={**environment, **own, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        sys.stderr.write(done.stdout)
        if done.returncode != 0:
            return done.returncode, done.stdout, summary.read_text()
    return 0, done.stdout, summary.read_text()


# A workflow command: kind, title and message.
COMMAND = re.compile(r"^::(error|warning) title=([^:,]*)::(.*)$", re.M)


def main(workflow, speedup, folder):
    validate(workflow, folder)
    for name, before, after, code, verdict in [
        ("slower", 5, 40, 1, "is slower than"),
        ("faster", 40, 5, 0, "is faster than"),
    ]:
        (folder / name).mkdir()
        found, printed, summary = job(workflow, speedup, folder / name, before, after)
        expect(f"the exit code where the program got {name}", found, code)
        if not summary.startswith("# ") or verdict not in summary:
            sys.exit(f"the summary does not say {verdict!r}:\n{summary}")
        annotations = [(kind, title) for kind, title, _ in COMMAND.findall(printed)]
        expect("the annotations", annotations, [("error", "Slower by more than 2\u00a0%25")] * code)
        print(f"a program that got {name}: exit code {code}, and annotations and summary say so")


if __name__ == "__main__":
    main(*(Path(argument).resolve() for argument in sys.argv[1:]))
