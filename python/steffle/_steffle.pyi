from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Model",
    "SteffleError",
    "__version__",
    "answer",
    "coded",
    "coded_cells",
    "command",
    "dataset",
    "epsilon_of",
    "fit",
    "methods",
    "report",
    "settings_of",
    "write_table",
]

__version__: str

class SteffleError(ValueError):
    code: str
    help: str | None

@final
class Model:
    @staticmethod
    def load(directory: str | PathLike[str]) -> Model: ...
    @staticmethod
    def of_files(files: dict[str, bytes]) -> Model: ...
    def save(self, directory: str | PathLike[str]) -> None: ...
    def files(self) -> dict[str, bytes]: ...
    def predict(self, given: Iterable[tuple[str, Any]]) -> NDArray[np.float64]: ...
    def onnx(self) -> bytes: ...
    @property
    def columns(self) -> tuple[list[str], list[str]]: ...
    @property
    def favourable(self) -> str: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def theta(self) -> NDArray[np.float64]: ...
    @property
    def features(self) -> list[str]: ...
    @property
    def linear(self) -> bool: ...
    @property
    def facts(self) -> str: ...
    @property
    def trips(self) -> int | None: ...

def dataset(name: str) -> tuple[list[tuple[str, Any]], str, list[str]]: ...
def write_table(path: str | PathLike[str], given: Iterable[tuple[str, Any]]) -> None: ...
def coded(
    offsets: NDArray[np.int32] | NDArray[np.int64], bytes: NDArray[np.uint8]
) -> tuple[NDArray[Any], list[str]]: ...
def coded_cells(cells: NDArray[np.object_]) -> tuple[NDArray[Any], list[str]] | None: ...
def command(words: list[str]) -> int: ...
def answer(words: list[str]) -> str: ...
def epsilon_of(
    rounds: list[tuple[float, float, int]], delta: float, replaced: bool, accountant: str | None
) -> str: ...
def methods() -> list[str]: ...
def settings_of(name: str) -> list[str]: ...
def fit(
    given: Iterable[tuple[str, Any]],
    meaning: dict[str, Any],
    name: str,
    settings: dict[str, Any],
    silos: int,
    silo_of: NDArray[np.uint32] | None,
    seed: int,
    progress: Callable[[str, int, int | None], None] | None,
) -> Model: ...
def report(
    labels: NDArray[np.uint16],
    decisions: NDArray[np.uint16],
    groups: NDArray[np.uint16],
    label_names: list[str],
    group_names: list[str],
    favourable: int,
    resamples: int,
    seed: int,
) -> str: ...
