"""The Python package of proto/python, installed from its wheel, against real coordinators with an agent over mutual TLS.

    package.py SPEEDUP FOLDER
"""

import csv
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import uuid
import warnings
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

import nbformat
import pyarrow.parquet
from nbclient import NotebookClient

import speedup
from client import PATIENCE, PLAN, ROOT, Coordinator

# Where Debian has the library that gives a program another wall clock.
LIBRARIES = [f"/usr/lib/{cpu}-linux-gnu/faketime/libfaketime.so.1" for cpu in ("x86_64", "aarch64")]
PACKAGE = ROOT / "proto" / "python"
# A plan whose runs end when a file is there.
HELD = PLAN.replace('command = ["true"]', "shell = \"until [ -e '{gate}' ]; do sleep 0.1; done\"")


def described():
    """The wheel has the version of the workspace, and every public name says what it is."""
    with (ROOT / "Cargo.toml").open("rb") as file:
        assert speedup.__version__ == tomllib.load(file)["workspace"]["package"]["version"]
    silent, names = [], 0
    for name in speedup.__all__:
        public = getattr(speedup, name)
        if not inspect.isclass(public):
            continue
        members = [(name, public)] + [(f"{name}.{key}", member) for key, member in vars(public).items() if key[0] != "_"]
        for path, member in members:
            if inspect.isclass(member) or inspect.isfunction(member) or isinstance(member, property):
                names += 1
                # Python writes one of its own for a dataclass.
                text = member.__doc__ or ""
                silent += [path] if not text or text.startswith(f"{name}(") else []
    assert not silent, silent
    return names


def snippets(page):
    """The Python of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


def typed(folder):
    """mypy takes the installed package, and what the pages tell people to write, at its strictest."""
    programs = [folder / "of_readme.py", folder / "of_guide.py"]
    for program, page in zip(programs, ("proto/python/README.md", "docs/python.md")):
        program.write_text("\n".join(snippets(page)))
    command = [sys.executable, "-m", "mypy", "--config-file", str(PACKAGE / "pyproject.toml")]
    for checked in (["-p", "speedup"], *([str(program)] for program in programs)):
        done = subprocess.run([*command, *checked], cwd=folder, capture_output=True, text=True, timeout=PATIENCE * 5)
        assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def environment(**variables):
    """Variables of this process, for a while; None removes one."""
    before = {name: os.environ.get(name) for name in variables}
    apply = lambda given: [os.environ.pop(name, None) if text is None else os.environ.update({name: text}) for name, text in given.items()]
    apply(variables)
    try:
        yield
    finally:
        apply(before)


def raises(kind, call, *words):
    """The exception that a call has to raise, with these words in its text."""
    try:
        call()
    except kind as raised:
        assert all(word in str(raised) for word in words), str(raised)
        return raised
    raise AssertionError(f"no {kind.__name__}")


def until(condition, what):
    """Waits for a condition."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def connected(client):
    """Waits until the agent has joined."""
    until(lambda: any(host.connected for host in client.hosts()), "the agent joins")


def found(coordinator, folder):
    """The access file, wherever the command would look for it too."""
    address = f"https://{coordinator.address}"
    state = folder / "elsewhere/speedup"
    (state / "access").mkdir(parents=True)
    default = folder / "state/speedup/access.toml"
    for path in (state / "access/lab.toml", state / "alone.toml"):
        path.write_text(default.read_text())
        path.chmod(0o600)
    with environment(XDG_STATE_HOME=str(folder / "elsewhere"), SPEEDUP_COORDINATOR=None):
        none = raises(speedup.AccessFileError, speedup.connect, "there is no", "access.toml")
        assert "speedup access enrol" in none.hint
        for way in ({"coordinator": "lab"}, {"coordinator": address}, {"access_file": state / "alone.toml"}):
            speedup.connect(**way).close()
        with environment(SPEEDUP_COORDINATOR="lab"):
            speedup.connect().close()
    with environment(XDG_STATE_HOME=None, HOME=str(folder / "home")):
        (folder / "home/.local").mkdir(parents=True)
        (folder / "home/.local/state").symlink_to(folder / "state")
        speedup.connect().close()
        speedup.connect(coordinator.address).close()


def refused_access(coordinator, folder):
    """What is wrong with an access file is said; nothing is sent to a server that is another."""
    default = folder / "state/speedup/access.toml"
    wrong = folder / "wrong.toml"
    text = default.read_text()
    attempt = lambda: speedup.connect(access_file=wrong)

    def written(content, mode=0o600):
        wrong.write_text(content)
        wrong.chmod(mode)

    written(text, 0o644)
    raises(speedup.AccessFileError, attempt, "may be read or changed by others", "644", "chmod 600")
    written("address = ")
    raises(speedup.AccessFileError, attempt, "cannot read the access file", "hint: ")
    written("process = 1")
    raises(speedup.AccessFileError, attempt, "does not say its address")
    written('address = "https://login1:7077"')
    raises(speedup.AccessFileError, attempt, "there are no credentials", "access enrol")
    written('address = "http://192.0.2.1:7077"')
    raises(speedup.AccessFileError, attempt, "without TLS", "ssh tunnel")
    raises(speedup.AccessFileError, lambda: speedup.connect("ftp://login1"), "is not an address")
    written(text + " " * (64 << 10))
    raises(speedup.AccessFileError, attempt, "larger than")
    # A port of this machine on which nobody listens.
    written(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", text))
    raises(speedup.Unavailable, attempt, "cannot reach the coordinator", "hint: ")
    other = folder / "other"
    other.mkdir()
    another = Coordinator(coordinator.speedup, other, agent=False)
    try:
        theirs = (other / "state/speedup/access.toml").read_text()
        written(theirs.replace(another.address, coordinator.address))
        raises(speedup.Untrusted, attempt, "is not that of the access file", "hint: ")
    finally:
        another.end()


def viewed(coordinator, folder):
    """Who was let in as a viewer reads, and may not submit."""
    run = lambda *words: subprocess.run(
        [coordinator.speedup, *words], env=coordinator.environment, check=True, timeout=PATIENCE, capture_output=True, text=True
    ).stdout
    (folder / "token").write_text(run("token", "create", "--role", "viewer", "--name", "reader"))
    (folder / "token").chmod(0o600)
    file = str(folder / "viewer.toml")
    run("access", "enrol", "--url", f"https://{coordinator.address}", "--token-file", str(folder / "token"), "--access-file", file)
    with speedup.connect(access_file=file) as viewer:
        list(viewer.experiments())
        raises(speedup.AccessDenied, lambda: viewer.submit(PLAN))


def refused_plans(client, folder):
    """All that is wrong with a plan is told at once, by field, with a hint."""
    wrong = PLAN.replace('["true"]', '"true"').replace("runs = 5", 'runs = "5"')
    for call in (client.submit, client.check):
        refused = raises(speedup.Refused, lambda: call(wrong), "toml.benchmarks.true.command", "hint: ")
        assert [one.field for one in refused.refusals] == ["toml.benchmarks.true.command", "toml.repetitions.runs"]
        assert all("line " in one.reason and one.hint and "hint" not in one.reason for one in refused.refusals)
    path = folder / "wrong-plan.toml"
    path.write_text(wrong)
    assert len(raises(speedup.Refused, lambda: client.submit(path)).refusals) == 2
    as_dict = raises(speedup.Refused, lambda: client.check({"experiment": {"name": 7}}))
    assert "json.experiment.name" in [one.field for one in as_dict.refusals]
    raises(speedup.SpeedupError, lambda: client.submit("no-such-plan.toml"), "cannot read the plan", "several lines")
    too_many = PLAN.replace('policy = "any"', 'policy = "distinct"')
    raises(speedup.NotPossible, lambda: client.submit(too_many), "host")
    raises(speedup.Refused, lambda: client.experiment("last"), "UUID")
    raises(speedup.NotFound, lambda: client.experiment(str(uuid.uuid4())))


def carried_out(coordinator, client, folder):
    """Plans in each form; a repetition is the same experiment; progress is shown; the report says what its JSON says."""
    path = folder / "good-plan.toml"
    path.write_text(PLAN)
    key = uuid.uuid4()
    seeded = {**tomllib.loads(PLAN), "experiment": {"name": "as-dict", "seed": 7}}
    first = client.submit(seeded, request_id=key)
    assert first.seed == 7 and client.submit(seeded, request_id=str(key)).id == first.id
    raises(speedup.AlreadyExists, lambda: client.submit(PLAN, request_id=key))
    others = [client.submit(path), client.submit(str(path)), client.submit(PLAN)]
    assert client.check(PLAN).runs == 10
    for progress in (True, False):
        shown = io.StringIO()
        with redirect_stderr(shown):
            status = others[progress].wait(progress=progress)
        assert status.phase == "finished" and status.tally.measured == status.tally.runs == 10, status
        assert ("10/10" in shown.getvalue()) == progress, shown.getvalue()
    seen = []
    first.wait(progress=seen.append)
    assert seen[-1].is_finished and seen[-1].finished_at >= seen[-1].submitted
    others[2].wait()
    last = [coordinator.speedup, "report", "last", "--format", "json"]
    done = subprocess.run(last, env=coordinator.environment, capture_output=True, text=True, timeout=PATIENCE)
    assert json.loads(done.stdout)["head"]["experiment"] == others[2].id, done.stderr
    listed = [status.experiment for status in client.experiments()]
    assert listed[: len(others) + 1] == [one.id for one in reversed([first, *others])], listed
    return first


def lines_without_tqdm(coordinator, experiment):
    """Without tqdm, progress is plain lines; without pandas, an exception says what to install."""
    script = f"""import sys
sys.modules.update({{"tqdm": None, "tqdm.auto": None, "pandas": None}})
import speedup
experiment = speedup.connect().experiment("{experiment.id}")
experiment.wait()
try:
    experiment.observations().to_pandas()
except speedup.MissingPackage as missing:
    print(missing)
"""
    done = subprocess.run([sys.executable, "-c", script], env=coordinator.environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "as-dict: finished, 10 of 10 runs settled\n", done.stderr
    assert "pandas is not installed\nhint: " in done.stdout, done.stdout


def reported(experiment):
    """The typed report, the whole JSON, and the forms that notebooks show."""
    report = experiment.report()
    assert (report.experiment, report.name, report.baseline, report.state) == (experiment.id, "as-dict", "before", "complete")
    compared = report.comparison("true")
    of_json = report.json["benchmarks"][0]["comparisons"][0]
    assert compared.candidate == "after" and compared.verdict == of_json["verdict"]
    assert compared.speedup == of_json["first"]["speedup"]
    assert compared.baseline_runs == compared.candidate_runs == 5
    if compared.interval is None:
        # On a busy machine five runs may vary so much that a ratio of means has no bounds.
        assert of_json["first"]["interval"]["kind"] != "bounded", of_json
    else:
        assert compared.interval.lower <= compared.speedup <= compared.interval.upper
        assert compared.interval.confidence >= 0.9
    assert report.suites[0].sentence == report.json["suites"][0]["sentence"]
    assert report.suites[0].counts[compared.verdict] == 1 and report.independence.kind == "not_provided"
    assert [one.code for one in report.caveats] == [one["code"] for one in report.json["warnings"]]
    assert report.suites[0].sentence in str(report) and "as-dict" in repr(report)
    raises(KeyError, lambda: report.comparison("true", "nobody"))
    page = report.html()
    assert page.startswith("<!DOCTYPE html>") and "<script" not in page and experiment.id in page
    assert "srcdoc=" in report._repr_html_() and "<body" not in report._repr_html_()
    assert report.markdown().startswith("# ") and report._repr_markdown_() == report.markdown()
    assert experiment.report(confidence=0.8).confidence == 0.8
    assert "figures" not in report.json and experiment.report(figures=True).json["figures"]


def observed(coordinator, experiment, folder):
    """The observations are those of the command's exports, in each library."""
    export = lambda form: subprocess.run(
        [coordinator.speedup, "export", experiment.id, "--format", form, "-o", folder / f"exported.{form}"],
        env=coordinator.environment, check=True, timeout=PATIENCE, capture_output=True,
    )
    export("parquet")
    export("csv")
    theirs = pyarrow.parquet.read_table(folder / "exported.parquet")
    observations = experiment.observations()
    table = observations.to_arrow()
    assert table.column_names == theirs.column_names, set(table.column_names) ^ set(theirs.column_names)
    assert table.to_pylist() == theirs.to_pylist()
    frame, polars = observations.to_pandas(), observations.to_polars()
    rows = list(csv.DictReader((folder / "exported.csv").open()))
    walls = [int(row["wall_ns"]) for row in rows]
    assert frame["wall_ns"].tolist() == polars["wall_ns"].to_list() == walls and len(walls) == 10
    assert frame["counts"].all() and str(frame["wall_ns"].dtype) == "Int64" and frame["failure"].isna().all()
    assert (frame["wall_ns"] - frame["wall_ns"].max()).max() == 0
    chunks = list(experiment.export())
    assert sum(len(chunk.attempts.attempts) for chunk in chunks) == 10


def changed(client):
    """Pausing, resuming, appending runs, cancelling; a timeout leaves the experiment alone."""
    with tempfile.TemporaryDirectory() as here:
        gate = Path(here, "gate")
        experiment = client.submit(HELD.replace("{gate}", str(gate)))
        raises(TimeoutError, lambda: experiment.wait(timeout=0.2, progress=False), "it goes on")
        assert experiment.pause().phase == "paused"
        assert experiment.status().reason
        assert experiment.extend(2).tally.runs == 14
        assert experiment.resume().phase in ("running", "waiting_for_hosts")
        assert experiment.cancel().phase in ("cancelling", "cancelled")
        gate.touch()
        assert experiment.wait(progress=False).phase == "cancelled"
        raises(speedup.NotPossible, lambda: experiment.extend(1))


def outlasts(coordinator, client):
    """Who waits, and who exports, outlasts a coordinator that ends and is started again."""
    with tempfile.TemporaryDirectory() as here:
        gate = Path(here, "gate")
        experiment = client.submit(HELD.replace("{gate}", str(gate)))
        seen, ended = [], []
        waiting = threading.Thread(target=lambda: ended.append(experiment.wait(progress=seen.append)), daemon=True)
        waiting.start()
        until(lambda: any(status.tally.running for status in seen), "the first run begins")
        exported = experiment.export()
        first = next(exported)
        coordinator.stop()
        raises(speedup.Unavailable, experiment.status, "cannot reach the coordinator", "hint: ")
        raises(speedup.Unavailable, lambda: experiment.wait(patience=0, progress=False))
        again = uuid.uuid4()
        late = []
        submitting = threading.Thread(target=lambda: late.append(client.submit(PLAN, request_id=again, wait_for_hosts=True)), daemon=True)
        submitting.start()
        coordinator.start()
        submitting.join(PATIENCE)
        assert client.submit(PLAN, request_id=again, wait_for_hosts=True).id == late[0].id
        gate.touch()
        waiting.join(PATIENCE)
        assert ended and ended[0].tally.measured == 10 and len(seen) > 1, (ended, seen)
        rest = list(exported)
        assert first.HasField("head") and not any(chunk.HasField("head") for chunk in rest), rest
        assert list(experiment.export())[0].head.experiment.name == "stranger"
        late[0].wait(progress=False)


def analysed(coordinator, client, folder):
    """Samples are compared as the command compares them, and advice is given."""
    before, after = [10.0, 10.2, 9.9, 10.1, 10.3, 9.8, 10.0, 10.1], [9.0, 9.1, 8.9, 9.2, 9.0, 8.8, 9.1, 9.0]
    files = []
    for name, values in (("before", before), ("after", after)):
        files.append(folder / f"{name}.txt")
        files[-1].write_text("".join(f"{value}\n" for value in values))
    command = [coordinator.speedup, "compare", *files, "--output", "json"]
    done = subprocess.run(command, env=coordinator.environment, capture_output=True, text=True, timeout=PATIENCE)
    theirs = json.loads(done.stdout)["findings"]["of"][0]["suite"]
    answer = client.compare({"before": before, "after": after})
    ours = answer.suites[0]
    assert ours.verdict == "faster" and ours.json["interval"] == theirs["interval"], (ours, theirs)
    assert answer.comparisons[0].speedup > 1.1 and answer.comparisons[0].interval.lower > 1
    assert "faster" in repr(answer) and answer.method.startswith("ratio")
    levels = {"before": {"a": [before[:4], before[4:]]}, "after": {"a": [after[:4], after[4:]]}}
    effect = client.compare(levels, method={"kind": "effect", "threshold": 0.01})
    assert effect.json["method"]["options"]["threshold"] == 0.01 and effect.json["samples"][0]["runs"] == 2
    assert client.compare({"before": before, "after": after}, method="speedup-test").json["findings"]["kind"] == "speedup_test"
    raises(speedup.Refused, lambda: client.compare({"before": before}, method="nothing"), "method")
    required = client.required_benchmarks(0.4, 0.05, population=1000)
    assert 0 < required["wilson"] <= 1000, required
    assert client.required_repetitions(before, relative_half_width=0.001)["required"]
    assert client.required_repetitions(before, after, speedup=1.02, power=0.9)["required"]
    # Values differ within runs, and the two runs more.
    pilot = [10.0, 10.1, 10.2, 10.1, 11.0, 11.1, 11.2, 11.1]
    assert client.required_levels(pilot, [4, 2], [3.0], budget=100)["repetitions"]
    raises(speedup.Refused, lambda: client.required_repetitions([1.0], speedup=1.1))
    raises(ValueError, lambda: client.required_repetitions(before))


def without_tls(command, folder):
    """A coordinator without certificates, on this machine, by its address and by its access file."""
    plain = folder / "plain"
    plain.mkdir()
    coordinator = Coordinator(command, plain, "--insecure")
    try:
        with speedup.connect(f"http://{coordinator.address}") as client:
            connected(client)
            experiment = client.submit(PLAN)
            assert experiment.wait(progress=False).submitted_by
        with environment(XDG_STATE_HOME=str(plain / "state")), speedup.connect() as client:
            assert [host.served for host in client.hosts()] == [10]
            assert experiment.id in [status.experiment for status in client.experiments()]
    finally:
        coordinator.end()


@contextmanager
def days_ago(days):
    """Programs that are started meanwhile have a wall clock that is so many days behind."""
    library = next(path for path in LIBRARIES if Path(path).exists())
    clock = {"LD_PRELOAD": library, "FAKETIME": f"-{days}d", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
    with environment(**clock):
        yield


def ran(coordinator, *arguments):
    """What a command of the coordinator's user prints."""
    command = [coordinator.speedup, *arguments]
    return subprocess.run(command, env=coordinator.environment, capture_output=True, text=True, check=True).stdout


def renewed(command, folder):
    """An access file is renewed when it is time to, and after its certificate has expired; one that cannot be written is not."""
    folder.mkdir()
    for days, is_renewed in ((59, False), (61, True), (91, True), (491, False)):
        place = folder / str(days)
        place.mkdir()
        file = place / "alice.toml"
        with days_ago(days):
            coordinator = Coordinator(command, place, agent=False)
            token = ran(coordinator, "token", "create", "--role", "viewer", "--name", "alice")
            (place / "token").write_text(token)
            url = f"https://{coordinator.address}"
            ran(coordinator, "access", "enrol", "--url", url, "--token-file", str(place / "token"), "--access-file", str(file))
        coordinator.stop()
        coordinator.environment = {**os.environ, "XDG_STATE_HOME": str(place / "state")}
        coordinator.start()
        try:
            before = file.read_text()
            file.chmod(0o400)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                attempt = lambda: speedup.connect(access_file=file).close()
                attempt() if days < 90 else raises(speedup.AccessDenied, attempt, "expired")
            assert file.read_text() == before and len(said) == (days > 60), [str(one.message) for one in said]
            file.chmod(0o600)
            if days > 490:
                with warnings.catch_warnings(record=True):
                    raises(speedup.AccessDenied, attempt, "expired")
                continue
            attempt()
            now = tomllib.loads(file.read_text())
            assert (now["certificate"] != tomllib.loads(before)["certificate"]) == is_renewed, days
            assert now["key"] == tomllib.loads(before)["key"]
            assert "alice" in ran(coordinator, "access", "whoami", "--access-file", str(file))
        finally:
            coordinator.stop()


def notebook(coordinator, folder):
    """The notebook of the examples, cell by cell, by a kernel of its own."""
    book = nbformat.read(ROOT / "examples/python/experiment.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), "outputs are not committed"
    with environment(XDG_STATE_HOME=coordinator.environment["XDG_STATE_HOME"], IPYTHONDIR=str(folder / "ipython")):
        NotebookClient(book, timeout=PATIENCE * 5, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    shown = [output.get("data", {}) for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("srcdoc=" in data.get("text/html", "") for data in shown), "the report"
    assert any("wall_ns" in data.get("text/html", "") for data in shown), "the frame"
    assert any("image/png" in data for data in shown), "the plot"
    return len(shown)


def pages(coordinator, folder):
    """The programs of the README and of the guide, word for word."""
    (folder / "plan.toml").write_text(PLAN)
    programs = [snippets("proto/python/README.md"), snippets("docs/python.md")]
    for program in programs:
        command = [sys.executable, "-c", "\n".join(program)]
        done = subprocess.run(command, cwd=folder, env=coordinator.environment, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
    return sum(map(len, programs))


def main():
    command, folder = sys.argv[1], Path(sys.argv[2])
    print(f"the package is typed, and {described()} public names say what they are")
    typed(folder)
    coordinator = Coordinator(command, folder)
    try:
        found(coordinator, folder)
        refused_access(coordinator, folder)
        os.environ["XDG_STATE_HOME"] = coordinator.environment["XDG_STATE_HOME"]
        with speedup.connect() as client:
            connected(client)
            viewed(coordinator, folder)
            refused_plans(client, folder)
            experiment = carried_out(coordinator, client, folder)
            lines_without_tqdm(coordinator, experiment)
            reported(experiment)
            observed(coordinator, experiment, folder)
            changed(client)
            outlasts(coordinator, client)
            analysed(coordinator, client, folder)
        without_tls(command, folder)
        print("it submits, waits, reports, observes and compares, also where the coordinator is away for a while")
        renewed(command, folder / "renewed")
        print("it renews certificates in time, and expired ones")
        print(f"{pages(coordinator, folder)} programs of its pages end well")
        print(f"the notebook shows {notebook(coordinator, folder)} results, the report, a frame and a plot among them")
    finally:
        coordinator.end()


if __name__ == "__main__":
    main()
