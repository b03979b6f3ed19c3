"""Where faults are done: a consortium, runs that are held where they are wanted, and what is looked at
when they have ended."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from . import data
from .consortium import Consortium
from .processes import send

SITES = ["north", "south", "east", "west"]
SECONDS = 24
# Long enough to be disturbed twice.
TRAIN = {"method": "steffle", "rounds": 120, "seed": 3, "epsilon": 0.5}
# Who asks for noise that nobody can repeat pays for it.
SECRET = {"method": "steffle", "rounds": 60, "epsilon": 1.0, "delta": 1e-6, "noise": "secure"}
BUDGET = ["--silos", str(len(SITES)), "--epsilon", "2.1", "--delta", "1e-6"]
# What describing and joining leave in a journal is less.
SOME = 60_000


class Scene:
    """A consortium, and the model of the run that nobody disturbs."""

    def __init__(self, here: Consortium):
        self.here = here
        cut = ("--silos", str(len(SITES)), "--split")
        self.parts = data.partition(here.steffle, here.place / "parts", *cut, rows=2000)
        data.lead(here.kit("server"), self.parts)
        self.runs = 0
        self.without_books()
        self.undisturbed = self.embedded(SITES)

    def embedded(self, sites: list[str]) -> bytes:
        """The model of these sites, in one process that nobody disturbs."""
        name = f"embedded{len(sites)}"
        members = {site: self.silo(site) for site in sites}
        job, out = data.job(self.parts, name, members, SECONDS, TRAIN), self.here.place / name
        self.here.run([self.here.steffle, "train", "--data", job, "--out", out])
        return data.theta(out)

    def silo(self, site: str) -> Path:
        return self.here.kit(site) / "local" / "silo.toml"

    def without_books(self) -> None:
        """For simulated noise, which comes again: models are compared to the bit."""
        for number, site in enumerate(SITES, 1):
            data.silo(self.here.kit(site), self.parts, "both", number)

    def with_books(self, name: str) -> Path:
        """A new book for every site: what they send is private, and paid for."""
        books = self.here.place / name
        for number, site in enumerate(SITES, 1):
            book = books / f"silo-{number - 1:03}.ledger"
            data.silo(self.here.kit(site), self.parts, "both", number, book)
        columns = ["--silo", self.silo(SITES[0])]
        self.here.run([self.here.steffle, "ledger", "init", books, *BUDGET, *columns])
        return books

    def begin(self, train: dict = TRAIN, **job) -> "Run":
        self.runs += 1
        name = f"run{self.runs}"
        path = data.job(self.parts, name, SITES, SECONDS, train, **job)
        return Run(self, name, self.here.submit(path, self.here.place / name, "--attempts", "9"))

    def resume(self, run: "Run") -> "Run":
        """Another `submit`, which goes on with a run that ended too early."""
        place = run.journal().parent
        job, out = self.parts / f"{run.name}.toml", self.here.place / f"{run.name}-resumed"
        again = Run(self, run.name, self.here.submit(job, out, "--resume", place.name))
        again.out = out
        return again

    def node(self, site: str) -> int:
        return self.here.processes.wait("node --stdio", f"/{site}/")[0]

    def server(self) -> int:
        return self.here.processes.wait("server --stdio")[0]

    def kill(self, *words: str) -> None:
        """Kills all processes whose command lines have these words; there must be some."""
        for pid in self.here.processes.wait(*words):
            send(pid, signal.SIGKILL)

    def kill_all_of(self, name: str) -> None:
        """Everything of a site, or of the server."""
        for pid in self.here.processes.of(f"/{name}/") + self.here.processes.of(f"/{name} "):
            send(pid, signal.SIGKILL)

    def restart(self, name: str) -> None:
        """Everything of a site, or of the server, is killed, and comes back a little later."""
        self.kill_all_of(name)
        time.sleep(3)
        self.here.start(name)

    def back(self, name: str) -> None:
        """Starts a site that was killed, and waits for it."""
        since = time.time()
        self.here.start(name)
        self.here.until(lambda: name in self.here.present(since), 180, f"{name} is back")


class Run:
    """A run that was submitted."""

    def __init__(self, scene: Scene, name: str, process: subprocess.Popen):
        self.scene, self.name, self.process = scene, name, process
        self.out, self.seen = scene.here.place / name, 0

    def journal(self) -> Path | None:
        return self.scene.here.journal(self.name)

    def written(self) -> int:
        journal = self.journal()
        return journal.stat().st_size if journal else 0

    def under_way(self) -> None:
        """Waits until rounds are answered that were not when this was asked last."""

        def answered() -> bool:
            if self.process.poll() is not None:
                raise SystemExit(f"it ended too early: {self.process.communicate()}")
            return self.written() > self.seen + SOME

        self.scene.here.until(answered, 600, "rounds are answered", every=0.05)

    def disturb(self, fault: Callable[[Scene], None], moment: str) -> None:
        """Holds the run where it is wanted, does it, and lets go."""
        self.under_way()
        scene = self.scene
        held = scene.node("south") if moment == "mid-round" else scene.server()
        send(held, signal.SIGSTOP)
        time.sleep(1)
        self.seen = self.written()
        fault(scene)
        send(held, signal.SIGCONT)

    def ends(self, status: int = 0) -> dict:
        """What it says at its end, which must be this."""
        said, errors = self.process.communicate(timeout=900)
        if self.process.returncode != status:
            wrong = f"status {self.process.returncode}, not {status}"
            raise SystemExit(f"{self.name}: {wrong}\n{said}{errors}")
        self.said = said + errors
        return json.loads(said)

    def says(self, *words: str) -> None:
        if missing := [word for word in words if word not in self.said]:
            raise SystemExit(f"{self.name}: does not say {missing}:\n{self.said}")

    def is_model(self, expected: bytes) -> None:
        if data.theta(self.out) != expected:
            raise SystemExit(f"{self.name}: another model than that of the undisturbed run")

    def transcript(self, *more) -> dict:
        return self.scene.here.transcript(self.name, *more)
