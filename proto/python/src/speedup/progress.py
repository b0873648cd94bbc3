"""What is shown while an experiment is carried out: a bar if tqdm is installed, plain lines otherwise."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any, Callable, Optional

from .status import Phase, Status

# Lines are printed for so many parts of the runs.
_STEPS = 10


class Progress:
    """Shows each status that it is given, on standard error."""

    def __init__(self) -> None:
        self._bar: Optional[Bar] = None
        self._phase: Optional[Phase] = None
        self._step = -1

    def __call__(self, status: Status) -> None:
        """Shows a status."""
        make = _tqdm()
        if make is None:
            self._line(status)
            return
        if self._bar is None:
            self._bar = make(desc=status.name, unit="run", total=status.tally.runs, initial=status.tally.settled)
        bar = self._bar
        # A rule may have added runs.
        bar.total, bar.n = status.tally.runs, status.tally.settled
        if status.phase != self._phase:
            bar.set_postfix_str("" if status.phase == "running" else _words(status), refresh=False)
            self._phase = status.phase
        bar.refresh()

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            self._bar.close()

    def _line(self, status: Status) -> None:
        step = status.tally.settled * _STEPS // max(status.tally.runs, 1)
        if (status.phase, step) != (self._phase, self._step):
            print(status, file=sys.stderr, flush=True)
            self._phase, self._step = status.phase, step


# tqdm has no types of its own.
Bar = Any


def _tqdm() -> Optional[Callable[..., Bar]]:
    try:
        with warnings.catch_warnings():
            # Without ipywidgets, its bar in a notebook is of text, which is fine.
            warnings.simplefilter("ignore")
            make: Callable[..., Bar] = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return None
    return make


def _words(status: Status) -> str:
    return str(status).partition(": ")[2].partition(",")[0]
