"""What this user started: an index that the command keeps, by which `last` and the first digits of an id mean the same everywhere."""

from __future__ import annotations

import json
import os
import time
from typing import Mapping

from . import access
from .error import SpeedupError


def note(experiment: str, name: str, place: Mapping[str, str]) -> None:
    """Notes an experiment that was started now, and where. Where nothing can be kept, nothing is."""
    line = json.dumps({"experiment": experiment, "name": name, "at": time.time_ns(), "coordinator": place}) + "\n"
    try:
        path = access.state_directory() / "started.jsonl"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A submission that is repeated is the experiment that is noted already.
        if path.exists() and f'"{experiment}"' in path.read_text(errors="replace"):
            return
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # One write, so that lines of several programs do not mix. The command bounds the file.
            os.write(file, line.encode())
        finally:
            os.close(file)
    except (OSError, SpeedupError):
        pass
