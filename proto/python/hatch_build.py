"""Compiles the messages of the API, before a wheel or an sdist is made. An sdist has them, and not the .proto files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MessagesHook(BuildHookInterface):
    """Puts the messages where the package has them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles every file of the API."""
        from grpc_tools import protoc
        from importlib.resources import files

        python = Path(self.root)
        folder = python.parent / "proto"
        api = sorted(str(path.relative_to(folder)) for path in (folder / "speedup" / "v1").glob("*.proto"))
        if not api:
            if not any((python / "src/speedup/v1").glob("*_pb2.py")):
                raise FileNotFoundError(f"there are no messages here, and no .proto files in {folder}")
            return
        out = python / "src"
        for earlier in (out / "speedup" / "v1").glob("*_pb2.*"):
            earlier.unlink()
        well_known = files("grpc_tools") / "_proto"
        arguments = [f"-I{folder}", f"-I{well_known}", f"--python_out={out}", f"--pyi_out={out}", *api]
        if protoc.main(["protoc", *arguments]) != 0:
            raise RuntimeError(f"the .proto files in {folder} are not compiled")
