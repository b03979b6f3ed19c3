"""Processes of a consortium, found by a word in their environment."""

import os
import signal
import subprocess
import time
from pathlib import Path


class Processes:
    """All processes that were started with `MARK=mark`, and their children."""

    MARK = "STEFFLE_TRIAL"

    def __init__(self, mark: str):
        self.mark = f"{self.MARK}={mark}".encode()

    def all(self) -> dict[int, str]:
        """Command lines by id."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            if self.mark in environment and words:
                found[int(entry.name)] = words.decode(errors="replace")
        return found

    def of(self, *words: str) -> list[int]:
        """Those whose command lines have all these words."""
        return [pid for pid, line in self.all().items() if all(word in line for word in words)]

    def wait(self, *words: str, seconds: float = 60) -> list[int]:
        until = time.monotonic() + seconds
        while not (found := self.of(*words)):
            if time.monotonic() > until:
                raise SystemExit(f"no process {words} within {seconds} seconds")
            time.sleep(0.05)
        return found

    def wait_for_none(self, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while self.all() and time.monotonic() < until:
            time.sleep(0.5)

    def end(self) -> list[str]:
        """Ends all that are left, by their ids, and what they start meanwhile; returns what they were."""
        left = {}
        for _ in range(100):
            if not (now := self.all()):
                break
            left |= now
            for pid in now:
                send(pid, signal.SIGKILL)
            time.sleep(0.1)
        return list(left.values())

    def listening(self) -> list[str]:
        """Addresses on which they listen."""
        lines = subprocess.run(
            ["ss", "-ltnpH"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.splitlines()
        own = [f"pid={pid}," for pid in self.all()]
        return [line.split()[3] for line in lines if any(word in line for word in own)]


def send(pid: int, what: signal.Signals) -> None:
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        pass
