"""Plans, in the forms in which people have them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Mapping, Union

from .error import SpeedupError
from .v1 import experiments_pb2 as wire

Plan = Union[str, "os.PathLike[str]", Mapping[str, Any]]
"""A plan: the path of its file, its text (of several lines), or its tables as a dict."""

# The largest plan; the coordinator has a bound of its own.
_MAX_BYTES = 32 << 20


def put(request: Union[wire.SubmitRequest, wire.CheckRequest], plan: Plan) -> None:
    """Puts a plan into the request that has it."""
    if isinstance(plan, Mapping):
        request.json = json.dumps(plan)
    elif isinstance(plan, str) and "\n" in plan:
        request.toml = plan
    else:
        request.toml = _read(Path(plan))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise SpeedupError(f"the plan {path} is larger than {_MAX_BYTES} bytes")
        return content.decode()
    except OSError as error:
        hint = "a text of one line is taken for the path of a plan; the text of a plan has several lines"
        raise SpeedupError(f"cannot read the plan {path}: {error.strerror}", hint) from error
    except UnicodeDecodeError as error:
        raise SpeedupError(f"the plan {path} is not UTF-8: {error.reason} at byte {error.start}") from error
