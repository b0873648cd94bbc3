"""A client that knows nothing of ours: the API's description compiled by Google's protoc, and a coordinator asked by reflection
alone, in both versions of that service.

    client.py SPEEDUP FOLDER
"""

import json
import subprocess
import sys
from pathlib import Path

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_tools import protoc

PROTO = Path(__file__).resolve().parents[2] / "proto" / "proto"


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


def services(channel, version):
    """The names that one version of the reflection service lists, but its own; both versions have the same messages."""
    call = channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    answer = next(iter(call(iter([request]), timeout=10)))
    names = {service.name for service in answer.list_services_response.service}
    return {name for name in names if not name.startswith("grpc.reflection.")}


def asks(speedup, folder):
    """A list of experiments, asked for with the description that the coordinator gives of itself."""
    started = subprocess.Popen(
        [speedup, "coordinator", "start", "--insecure", "--bind", "127.0.0.1:0", "--web", "off", "--format", "json"]
        + ["--data", folder / "coordinator", "--access-file", folder / "access.toml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        url = json.loads(started.stdout.readline())["url"]
        with grpc.insecure_channel(url.removeprefix("http://")) as channel:
            listed = services(channel, "v1")
            assert "speedup.v1.Experiments" in listed, listed
            assert services(channel, "v1alpha") == listed
            pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
            method = pool.FindServiceByName("speedup.v1.Experiments").methods_by_name["List"]
            request, answer = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
            call = channel.unary_unary(
                "/speedup.v1.Experiments/List",
                request_serializer=request.SerializeToString,
                response_deserializer=answer.FromString,
            )
            assert len(call(request(limit=10), timeout=10).experiments) == 0
            return len(listed)
    finally:
        started.terminate()
        started.wait(timeout=30)


def main():
    speedup, folder = sys.argv[1], Path(sys.argv[2])
    print(f"{compiles(folder)} files of the API are compiled by protoc; reflection v1 and v1alpha list {asks(speedup, folder)} services")


if __name__ == "__main__":
    main()
