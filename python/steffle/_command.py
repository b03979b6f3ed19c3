"""The ``steffle`` command, which the package installs too."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from steffle import _steffle


def main() -> int:
    """What was typed, as the Rust program does it; returns the exit status."""
    script = Path(sysconfig.get_path("scripts")) / "steffle"
    # The script can be started again, for parties in processes of their own; a module cannot.
    called = sys.argv[0] if not sys.argv[0].endswith(".py") or not script.is_file() else str(script)
    return _steffle.command([called, *sys.argv[1:]])


def words(settings: dict[str, Any]) -> list[str]:
    """Keyword arguments as flags; None is nothing, a list is separated by commas.

    >>> words({"noise_multiplier": 2.0, "lam": [1, 2], "rate": None, "pool": True})
    ['--noise-multiplier=2.0', '--lambda=1,2', '--pool']
    """
    said = []
    for key, value in settings.items():
        flag = "--" + ("lambda" if key == "lam" else key.replace("_", "-"))
        if value is None or value is False:
            continue
        if value is True:
            said.append(flag)
        elif isinstance(value, (list, tuple)):
            said.append(f"{flag}={','.join(_word(one) for one in value)}")
        else:
            said.append(f"{flag}={_word(value)}")
    return said


def _word(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    return repr(value) if isinstance(value, float) else str(value)


def answer(command: list[str], settings: dict[str, Any]) -> dict[str, Any]:
    """What a command that only computes says."""
    told: dict[str, Any] = json.loads(_steffle.answer([*command, *words(settings)]))
    return told


def run(
    command: list[str], each: Callable[[dict[str, Any]], None] = lambda line: None
) -> list[dict[str, Any]]:
    """The objects that a command prints, each handed out as it comes.

    It is a process of its own: Ctrl-C ends it at once, and other threads run meanwhile.
    """
    program = [sys.executable, "-m", "steffle", *command, "--json"]
    lines = []
    with tempfile.TemporaryFile("w+") as stderr:
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=stderr, text=True) as it:
            try:
                for line in _objects(it):
                    each(line)
                    lines.append(line)
            except BaseException:
                it.kill()
                raise
        stderr.seek(0)
        said = stderr.read()
    if it.returncode == 0:
        return lines
    error = lines[-1].get("error") if lines else None
    known = isinstance(error, dict) and "code" in error and list(lines[-1]) == ["error"]
    raise _failure(error if known and error else {"code": "steffle::bug", "message": said.strip()})


def _objects(it: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert it.stdout is not None
    for line in it.stdout:
        yield json.loads(line)


def _failure(error: dict[str, Any]) -> _steffle.SteffleError:
    help_ = error.get("help")
    failure = _steffle.SteffleError(error["message"] + (f" ({help_})" if help_ else ""))
    failure.code, failure.help = error["code"], help_
    return failure
