"""Clients that know nothing of ours: the API's files compiled by Google's protoc, the Python client and the calls of docs/api.md, and
every promise of that page, asked of a coordinator by reflection alone over mutual TLS.

    client.py SPEEDUP FOLDER
"""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

import grpc
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
from google.protobuf import json_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status

ROOT = Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto" / "proto"
PAGE = (ROOT / "docs" / "api.md").read_text()
# How long an answer may take on a busy machine.
PATIENCE = 120
PLAN = """[experiment]
name = "stranger"
[versions.before]
baseline = true
[versions.after]
[benchmarks.true]
command = ["true"]
[repetitions]
runs = 5
[independence]
policy = "any"
"""


def compiles(folder):
    """protoc takes every file, without a warning."""
    out = folder / "compiled"
    out.mkdir()
    files = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    done = subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--python_out={out}", f"--grpc_python_out={out}", *files],
        cwd=PROTO,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert len(list(out.rglob("*_pb2.py"))) == len(files)
    return len(files)


class Coordinator:
    """A coordinator, over TLS unless its options say otherwise, and an agent, with an access file where the page looks for it."""

    def __init__(self, speedup, folder, *options, agent=True):
        self.speedup, self.folder, self.address, self.options = speedup, folder, "127.0.0.1:0", options
        self.environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        self.start()
        starts = ["agent", "start", "--no-selftest", "--share-machine", "--host-id", "here"]
        self.agent = self.begin(*starts) if agent else None

    def begin(self, *arguments, **options):
        log = (self.folder / f"{arguments[0]}.log").open("a")
        return subprocess.Popen([self.speedup, *arguments], env=self.environment, stderr=log, text=True, **options)

    def start(self):
        options = ["--bind", self.address, "--web", "off", "--format", "json", "--data", str(self.folder / "data"), *self.options]
        self.process = self.begin("coordinator", "start", *options, stdout=subprocess.PIPE)
        scheme, _, self.address = json.loads(self.process.stdout.readline())["url"].partition("://")
        with (self.folder / "state/speedup/access.toml").open("rb") as file:
            self.access = tomllib.load(file)
        if scheme == "http":
            self.channel = grpc.insecure_channel(self.address)
            return
        parts = [self.access[part].encode() for part in ("authority", "key", "certificate")]
        self.channel = grpc.secure_channel(self.address, grpc.ssl_channel_credentials(*parts))
        self.pool = DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))

    def stop(self):
        self.channel.close()
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)

    def end(self):
        """Ends the agent too."""
        for process in filter(None, (self.agent, self.process)):
            process.terminate()
            process.wait(timeout=PATIENCE)

    def call(self, name, request=None, **fields):
        """Calls SERVICE/METHOD, known by reflection; fields, or a message as JSON."""
        service, method = name.split("/")
        service = service if "." in service else f"speedup.v1.{service}"
        described = self.pool.FindServiceByName(service).methods_by_name[method]
        message = GetMessageClass(described.input_type)(**fields)
        if request is not None:
            json_format.ParseDict(request, message)
        make = self.channel.unary_stream if described.server_streaming else self.channel.unary_unary
        answer = GetMessageClass(described.output_type)
        ask = make(
            f"/{service}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        return ask(message, timeout=PATIENCE)

    def refused(self, name, **fields):
        """The status of a call that has to fail, and the fields of its BadRequest."""
        try:
            answer = self.call(name, **fields)
            list(answer) if hasattr(answer, "__next__") else None
        except grpc.RpcError as error:
            fields = {}
            for detail in getattr(rpc_status.from_call(error), "details", []):
                bad = error_details_pb2.BadRequest()
                if detail.Unpack(bad):
                    fields = {one.field: one.description for one in bad.field_violations}
            return error.code(), error.details(), fields
        raise AssertionError(f"{name} was not refused: {fields}")


def services(channel, version):
    """The names that one version of the reflection service lists, but its own; both versions have the same messages."""
    call = channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    answer = next(iter(call(iter([request]), timeout=PATIENCE)))
    names = {service.name for service in answer.list_services_response.service}
    return {name for name in names if not name.startswith("grpc.reflection.")}


def standard(coordinator):
    """Reflection in both versions, and health."""
    listed = services(coordinator.channel, "v1")
    assert {"speedup.v1.Experiments", "speedup.v1.Analysis", "speedup.v1.Access"} <= listed, listed
    assert services(coordinator.channel, "v1alpha") == listed
    health = health_pb2_grpc.HealthStub(coordinator.channel)
    for service in ["", "speedup.v1.Experiments", "speedup.v1.Hosts"]:
        answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=PATIENCE)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING, service
    return len(listed)


def page_client(coordinator, folder):
    """The Python client of the page, word for word, and what it adds for a table."""
    client, table = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (folder / "stranger.py").write_text(f"{client}{table}print(table.num_rows, 'rows', file=sys.stderr)\n")
    (folder / "plan.toml").write_text(PLAN)
    command = [sys.executable, str(folder / "stranger.py"), str(folder / "plan.toml")]
    done = subprocess.run(command, env=coordinator.environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-2:] == ["finished 10 runs measured", "10 rows"], done.stderr
    report = json.loads(done.stdout)
    assert report["head"]["name"] == "stranger", report["head"]


def page_calls(coordinator):
    """The calls of grpcurl on the page: method and request as they stand there."""
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    calls = [shlex.split(line)[1:] for line in block.splitlines() if line.startswith("grpcurl ")]
    asked = 0
    for words in calls:
        assert words[0] == "$tls", words
        match words[1:]:
            case ["-d", request, _, method]:
                coordinator.call(method, json.loads(request))
                asked += 1
            case [_, "list"]:
                assert services(coordinator.channel, "v1")
            case [_, "describe", name]:
                assert coordinator.pool.FindServiceByName(name).methods
            case other:
                raise AssertionError(other)
    assert asked >= 5, calls
    return len(calls)


def submits(coordinator):
    """Plans as text, repeatable, with all errors at once."""
    seeded = PLAN.replace("[versions.before]", "seed = 7\n[versions.before]", 1)
    key = str(uuid.uuid4())
    first = coordinator.call("Experiments/Submit", toml=seeded, request_id=key)
    uuid.UUID(first.experiment)
    assert (first.runs, first.seed) == (10, 7), first
    again = coordinator.call("Experiments/Submit", toml=seeded, request_id=key)
    assert again == first, again
    code, words, _ = coordinator.refused("Experiments/Submit", toml=PLAN, request_id=key)
    assert code == grpc.StatusCode.ALREADY_EXISTS, words
    as_json = json.dumps(tomllib.loads(seeded))
    assert coordinator.call("Experiments/Check", json=as_json).runs == 10

    wrong = PLAN.replace('["true"]', '"true"').replace("runs = 5", 'runs = "5"')
    code, words, fields = coordinator.refused("Experiments/Submit", toml=wrong)
    assert code == grpc.StatusCode.INVALID_ARGUMENT, words
    assert set(fields) == {"toml.benchmarks.true.command", "toml.repetitions.runs"}, fields
    assert all("line " in one and "\nhint: " in one for one in fields.values()), fields
    _, _, fields = coordinator.refused("Experiments/Check", json='{"experiment": {"name": 7}}')
    assert "json.experiment.name" in fields, fields
    many = PLAN + "".join(f'[benchmarks.b{n}]\ncommand = "{"x" * 90}"\n' for n in range(1000))
    code, words, fields = coordinator.refused("Experiments/Check", toml=many)
    assert code == grpc.StatusCode.INVALID_ARGUMENT and fields[""].startswith("and 9"), (words, fields)

    code, words, fields = coordinator.refused("Experiments/Get", experiment="last")
    assert code == grpc.StatusCode.INVALID_ARGUMENT and '"last"' in words and "UUID" in words, words
    assert set(fields) == {"experiment"}, fields
    return seeded, key, first


def follows(coordinator, experiment):
    """Statuses until the end, in the well-known types."""
    last = None
    for last in coordinator.call("Experiments/Watch", experiment=experiment):
        pass
    assert last.WhichOneof("phase") == "finished" and last.tally.measured == 10, last
    said = json_format.MessageToDict(last)
    assert said["experiment"] == experiment and said["submitted"].endswith("Z") and said["finishedAt"] > said["submitted"], said


def pages(coordinator):
    """Every experiment once, also where one is added between two pages."""
    whole = [one.experiment for one in coordinator.call("Experiments/List").experiments]
    assert len(whole) >= 2, whole
    first = coordinator.call("Experiments/List", page_size=1)
    added = coordinator.call("Experiments/Submit", toml=PLAN).experiment
    found, token = [one.experiment for one in first.experiments], first.next_page_token
    while token:
        page = coordinator.call("Experiments/List", page_size=1, page_token=token)
        found += [one.experiment for one in page.experiments]
        token = page.next_page_token
    assert found == whole, (found, whole)
    assert coordinator.call("Experiments/List", page_size=1).experiments[0].experiment == added
    code, words, fields = coordinator.refused("Experiments/List", page_token="17")
    assert code == grpc.StatusCode.INVALID_ARGUMENT and set(fields) == {"page_token"}, words
    events = coordinator.call("Events/List", page_size=1)
    older = coordinator.call("Events/List", page_size=1, page_token=events.next_page_token)
    assert older.events[0] != events.events[0]
    return added


def resumes(coordinator, experiment):
    """An export goes on after each of its chunks."""
    chunks = list(coordinator.call("Experiments/Export", experiment=experiment))
    assert [one.WhichOneof("part") for one in chunks] == ["head", "order", "attempts"], chunks
    assert len(chunks[2].attempts.attempts) == 10
    for at, chunk in enumerate(chunks):
        rest = list(coordinator.call("Experiments/Export", experiment=experiment, cursor=chunk.cursor))
        assert rest == chunks[at + 1 :], at
    code, words, _ = coordinator.refused("Experiments/Export", experiment=experiment, cursor="abcd")
    assert code == grpc.StatusCode.INVALID_ARGUMENT and "cursor" in words, words
    return chunks[0].cursor


def tables(coordinator, experiment):
    """The observations in each form, and the report as people read it."""
    found = {}
    for form in range(1, 5):
        chunks = list(coordinator.call("Analysis/Observations", experiment=experiment, form=form))
        assert all(0 < len(chunk.content) <= 1 << 20 for chunk in chunks)
        found[form] = b"".join(chunk.content for chunk in chunks)
    arrow, parquet, csv, lines = found.values()
    arrow = pyarrow.ipc.open_stream(io.BytesIO(arrow)).read_all()
    assert arrow.num_rows == 10 and arrow.schema.metadata[b"speedup.experiment"].decode() == experiment
    assert pyarrow.parquet.read_table(io.BytesIO(parquet)).to_pylist() == arrow.to_pylist()
    assert csv.count(b"\n") == 11 and csv.startswith(b"experiment,name,benchmark,"), csv
    assert [json.loads(line)["wall_ns"] for line in lines.splitlines()] == arrow.column("wall_ns").to_pylist()
    html = coordinator.call("Analysis/Report", experiment=experiment, form=2, figures=True)
    assert html.text.startswith("<!DOCTYPE html>") and not html.json, html.text[:100]
    assert coordinator.call("Analysis/Report", experiment=experiment, form=3).text.startswith("#")
    code, words, _ = coordinator.refused("Analysis/Report", experiment=experiment, form=9)
    assert code == grpc.StatusCode.INVALID_ARGUMENT and "form" in words, words


def outgrows(coordinator):
    """A cursor is refused once runs were added."""
    held = PLAN.replace('policy = "any"', 'policy = "distinct"')
    experiment = coordinator.call("Experiments/Submit", toml=held, wait_for_hosts=True).experiment
    cursor = next(iter(coordinator.call("Experiments/Export", experiment=experiment))).cursor
    coordinator.call("Experiments/Extend", experiment=experiment, runs=1)
    code, words, _ = coordinator.refused("Experiments/Export", experiment=experiment, cursor=cursor)
    assert code == grpc.StatusCode.ABORTED and "not valid any more" in words, words
    coordinator.call("Experiments/Cancel", experiment=experiment)


def main():
    speedup, folder = sys.argv[1], Path(sys.argv[2])
    print(f"{compiles(folder)} files of the API are compiled by protoc")
    coordinator = Coordinator(speedup, folder)
    try:
        print(f"reflection v1 and v1alpha list {standard(coordinator)} services, which are healthy")
        page_client(coordinator, folder)
        print(f"the Python client of docs/api.md has its report, and {page_calls(coordinator)} calls of grpcurl are answered")
        plan, key, submitted = submits(coordinator)
        follows(coordinator, submitted.experiment)
        added = pages(coordinator)
        follows(coordinator, added)
        resumes(coordinator, submitted.experiment)
        tables(coordinator, submitted.experiment)
        outgrows(coordinator)
        coordinator.stop()
        coordinator.start()
        again = coordinator.call("Experiments/Submit", toml=plan, request_id=key)
        assert again.experiment == submitted.experiment, (again, submitted)
        print("plans in text, repetitions, pages and exports keep what the page promises, also after a restart")
    finally:
        coordinator.end()


if __name__ == "__main__":
    main()
