"""How far work is: in a notebook under its cell, elsewhere on standard error."""

from __future__ import annotations

import sys
import time
from typing import Any

#: Seconds between two lines: a screen is not faster.
_EVERY = 0.1

_WORDS = {
    "preparing": "preparing",
    "unconstrained": "training the unconstrained model",
    "federated": "training the federated model",
    "fair": "training the fair model",
    "sweep": "sweeping",
}


class Progress:
    """Tells stages and steps, if it is wanted; what it has told last stays."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._last = 0.0
        self._line = ""
        self._handle = _notebook() if wanted else None

    def __call__(self, stage: str, done: int, steps: int | None) -> None:
        if not self._wanted:
            return
        of = f" of {steps}" if steps else ""
        line = f"{_WORDS.get(stage, stage)}: step {done}{of}" if done else _WORDS.get(stage, stage)
        now = time.monotonic()
        if line != self._line and now - self._last > _EVERY:
            self._last = now
            self._show(line)

    def end(self) -> None:
        """Says that the work is done."""
        if self._wanted:
            self._show("done")
            if self._handle is None:
                print(file=sys.stderr)

    def _show(self, line: str) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": f"steffle: {line}"}, raw=True)
        else:
            width = max(len(self._line), len(line))
            print(f"\r{line:{width}}", end="", file=sys.stderr, flush=True)
        self._line = line


def _notebook() -> Any:
    """A place under the cell that runs, where there is one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython import display

    return display.display({"text/plain": "steffle: starting"}, raw=True, display_id=True)
