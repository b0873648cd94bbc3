"""Observations: one row per attempt, with every column of an export, for the library of your choice."""

from __future__ import annotations

import importlib
import io
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .error import MissingPackage

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Observations:
    """The observations of an experiment, as an Arrow stream. Rows that `counts` are the sample."""

    def __init__(self, stream: bytes) -> None:
        self.stream = stream
        """The stream, in Arrow's IPC format."""

    def to_arrow(self) -> pyarrow.Table:
        """A table of pyarrow; descriptions and units are metadata of its fields."""
        ipc = _package("pyarrow.ipc", "arrow")
        with ipc.open_stream(self.stream) as reader:
            table: pyarrow.Table = reader.read_all()
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """A frame of pandas. Whole numbers and truth values that are not known are NA, and stay whole numbers where they are."""
        frames, arrow = _package("pandas", "pandas"), _package("pyarrow", "pandas")
        nullable: dict[Any, Any] = {getattr(arrow, name)(): getattr(frames, kind)() for name, kind in _NULLABLE}
        frame: pandas.DataFrame = self.to_arrow().to_pandas(types_mapper=nullable.get)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """A frame of Polars."""
        frame: polars.DataFrame = _package("polars", "polars").read_ipc_stream(io.BytesIO(self.stream))
        return frame

    def __repr__(self) -> str:
        return f"<Observations, {len(self.stream)} bytes of Arrow: to_pandas, to_polars, to_arrow>"


# Types of Arrow, and those of pandas that know of missing values.
_NULLABLE = [
    ("int64", "Int64Dtype"),
    ("uint64", "UInt64Dtype"),
    ("int32", "Int32Dtype"),
    ("uint32", "UInt32Dtype"),
    ("bool_", "BooleanDtype"),
]


def _package(name: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackage(
            f"{name} is not installed", f"install the wheel with its extra [{extra}], or the package itself"
        ) from error
