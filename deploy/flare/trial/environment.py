"""What the tests need: FLARE in an environment of its own, and the program."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FLARE = "nvflare==2.9.0"


def ask(command, errors: int, seconds: float, **options) -> subprocess.CompletedProcess:
    """A command, however it ends."""
    return subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        timeout=seconds,
        check=False,
        **options,
    )


def run(command, seconds: float = 900, **options) -> str:
    """A command that must succeed; what it says is shown when it does not."""
    ran = ask(command, subprocess.STDOUT, seconds, **options)
    if ran.returncode:
        raise SystemExit(
            f"{' '.join(map(str, command))}\nended with {ran.returncode}:\n{ran.stdout}"
        )
    return ran.stdout


def flare() -> Path:
    """The folder of FLARE's programs, installed once under `target`."""
    place = TARGET / "flare"
    done = place / f"{FLARE}.installed"
    if not done.exists():
        run([sys.executable, "-m", "venv", place])
        run([place / "bin" / "python", "-m", "pip", "install", "--quiet", FLARE])
        done.touch()
    return place / "bin"


def steffle() -> Path:
    """The program: `STEFFLE`, or what cargo builds."""
    if "STEFFLE" in os.environ:
        return Path(os.environ["STEFFLE"]).resolve()
    run(["cargo", "build", "--quiet", "--locked", "-p", "steffle-cli"], cwd=ROOT)
    return TARGET / "debug" / "steffle"
