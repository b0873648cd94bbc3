"""Client of Speedup's coordinator: submit experiments, wait for them, and read reports and observations.

    import speedup

    client = speedup.connect()
    experiment = client.submit("plan.toml")
    experiment.wait()
    print(experiment.report())
"""

from importlib.metadata import version as _version

from .client import Client, connect
from .error import (
    AccessDenied,
    AccessFileError,
    AlreadyExists,
    AnotherRelease,
    Changed,
    MissingPackage,
    NotFound,
    NotPossible,
    Refusal,
    Refused,
    SpeedupError,
    TooLarge,
    Unavailable,
    Untrusted,
)
from .experiment import Experiment
from .host import Host
from .observations import Observations
from .report import Answer, Caveat, Comparison, Independence, Interval, Report, Suite, Verdict
from .status import Phase, Status, Tally

__version__ = _version("speedup")

__all__ = [
    "AccessDenied",
    "AccessFileError",
    "AlreadyExists",
    "AnotherRelease",
    "Answer",
    "Caveat",
    "Changed",
    "Client",
    "Comparison",
    "Experiment",
    "Host",
    "Independence",
    "Interval",
    "MissingPackage",
    "NotFound",
    "NotPossible",
    "Observations",
    "Phase",
    "Refusal",
    "Refused",
    "Report",
    "SpeedupError",
    "Status",
    "Suite",
    "Tally",
    "TooLarge",
    "Unavailable",
    "Untrusted",
    "Verdict",
    "connect",
]
