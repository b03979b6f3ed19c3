"""`deploy/flare/test kill NAME`: faults done for real, mid-round and between rounds.

Whatever is killed, cut or stopped, the model that comes back is that of the run that nobody
disturbed, no book has paid twice, and every request in the journal has one reply.
"""

import json
import signal
import subprocess
import time
from pathlib import Path

from . import data
from .consortium import Consortium
from .processes import send

SITES = ["north", "south", "east", "west"]
SECONDS = 24
BUDGET = ["--epsilon", "2", "--delta", "1e-6"]
TRAIN = {"method": "steffle", "rounds": 8, "seed": 3, "epsilon": 0.5}


class Trial:
    """A consortium, and the model of the run that nobody disturbs."""

    def __init__(self, here: Consortium):
        self.here = here
        self.parts = data.partition(here.steffle, here.place / "parts", "--silos", "4", "--split")
        self.books = here.place / "books"
        self.books.mkdir()
        self.runs = 0
        self.undisturbed = here.place / "undisturbed"
        flags = [word for key, value in TRAIN.items() for word in (f"--{key}", value)]
        job = self.parts / "job.toml"
        here.run([here.steffle, "train", "--data", job, "--out", self.undisturbed, *flags])

    def begin(self, **job) -> tuple[subprocess.Popen, Path]:
        """Submits a run of its own, with books of its own."""
        self.runs += 1
        for number, site in enumerate(SITES, 1):
            book = self.books / f"{site}-{self.runs}.ledger"
            self.here.run([self.here.steffle, "ledger", "init", book, *BUDGET])
            data.silo(self.here.kit(site), self.parts, "both", number, book)
        name = f"run{self.runs}"
        path = data.job(self.parts, name, SITES, SECONDS, TRAIN, **job)
        out = self.here.place / name
        return self.here.submit(path, out), out

    def node(self, site: str) -> int:
        return self.here.processes.wait("node --stdio", f"/{site}/")[0]

    def server(self) -> int:
        return self.here.processes.wait("server --stdio")[0]

    def under_way(self) -> None:
        """Waits until rounds are being answered."""

        def answered() -> bool:
            journals = self.here.kit("server").glob(f"steffle/run{self.runs}-*/journal")
            return any(journal.stat().st_size > 60_000 for journal in journals)

        self.here.until(answered, 120, "rounds are answered")

    def whole(self, run: subprocess.Popen, out: Path) -> str:
        """Waits for the end and looks at everything."""
        said, errors = run.communicate(timeout=900)
        if run.returncode:
            raise SystemExit(f"status {run.returncode}\n{said}{errors}")
        if data.theta(out) != data.theta(self.undisturbed):
            raise SystemExit("another model than that of the undisturbed run")
        for site in SITES:
            book = self.books / f"{site}-{self.runs}.ledger"
            self.here.run([self.here.steffle, "ledger", "verify", book])
        journal = next(self.here.kit("server").glob(f"steffle/run{self.runs}-*/journal"))
        self.here.run([self.here.steffle, "audit", "transcript", journal])
        return f"{len(json.loads(said)['jobs'])} job(s)"


def child(trial: Trial) -> None:
    send(trial.node("north"), signal.SIGKILL)


def worker(trial: Trial) -> None:
    for pid in trial.here.processes.of("worker_process", "/north "):
        send(pid, signal.SIGKILL)


def parent(trial: Trial) -> None:
    """Its shell starts it again."""
    for pid in trial.here.processes.of("client_train", "/north "):
        send(pid, signal.SIGKILL)


def site(trial: Trial) -> None:
    """All of it, and it comes back."""
    for pid in trial.here.processes.of("/north/") + trial.here.processes.of("/north "):
        send(pid, signal.SIGKILL)
    time.sleep(3)
    trial.here.start("north")


def runner(trial: Trial) -> None:
    for pid in trial.here.processes.of("runner_process", "/server "):
        send(pid, signal.SIGKILL)


def lead(trial: Trial) -> None:
    send(trial.server(), signal.SIGKILL)


def server(trial: Trial) -> None:
    """FLARE's own process: its shell starts it again, and it lists the job as running for ever."""
    for pid in trial.here.processes.of("server_train", "/server "):
        send(pid, signal.SIGKILL)


def host(trial: Trial) -> None:
    """Everything at the server, and it comes back."""
    for pid in trial.here.processes.of("/server/") + trial.here.processes.of("/server "):
        send(pid, signal.SIGKILL)
    time.sleep(3)
    trial.here.start("server")


def stopped(trial: Trial) -> None:
    """A site's process that does nothing for longer than anybody waits."""
    send(trial.node("north"), signal.SIGSTOP)


def cut(trial: Trial) -> None:
    """All connections, twice."""
    for _ in range(2):
        port = str(trial.here.port)
        subprocess.run(["ss", "-K", "sport", "=", port], stdout=subprocess.DEVNULL, check=True)
        time.sleep(2)


def away(trial: Trial) -> str:
    """A site that never comes: the run ends, and says whom it waited for and how long."""
    (trial.here.kit("west") / "shutdown.fl").touch()
    trial.here.until(lambda: not trial.here.processes.of("/west/"), 60, "west has gone")
    time.sleep(30)
    run, _ = trial.begin()
    said, errors = run.communicate(timeout=600)
    trial.here.start("west")
    trial.here.until(lambda: "west" in trial.here.present(), 120, "west is back")
    if run.returncode != 3 or f"west did not come within {SECONDS} seconds" not in errors:
        raise SystemExit(f"status {run.returncode}\n{said}{errors}")
    return "status 3, with the site and the seconds"


def dropped(trial: Trial) -> str:
    """A site that goes for good, in a job that goes on without."""
    run, out = trial.begin(absent="drop")
    trial.under_way()
    for pid in trial.here.processes.of("/north/") + trial.here.processes.of("/north "):
        send(pid, signal.SIGKILL)
    said, errors = run.communicate(timeout=900)
    trial.here.start("north")
    trial.here.until(lambda: "north" in trial.here.present(), 120, "north is back")
    if run.returncode or not (out / "model.safetensors").is_file():
        raise SystemExit(f"status {run.returncode}\n{said}{errors}")
    return "a model of the others"


def two(trial: Trial) -> str:
    """Two jobs on the same stores, side by side: one waits for the other's books."""
    first, out = trial.begin()
    job = data.job(trial.parts, "second", SITES, 120, {**TRAIN, "seed": 4})
    second = trial.here.submit(job, trial.here.place / f"second{trial.runs}")
    trial.whole(first, out)
    said, errors = second.communicate(timeout=900)
    if second.returncode:
        raise SystemExit(f"the second: status {second.returncode}\n{said}{errors}")
    return "both to their ends"


FAULTS = {
    one.__name__: one
    for one in (child, worker, parent, site, runner, lead, server, host, stopped, cut)
}
# Those that have an end of their own.
ENDS = {one.__name__: one for one in (away, dropped, two)}
MOMENTS = ("mid-round", "between rounds")


def disturb(trial: Trial, name: str, moment: str) -> None:
    """Holds the run where it is wanted, does it, and lets go."""
    began = time.monotonic()
    run, out = trial.begin()
    trial.under_way()
    held = trial.node("south") if moment == "mid-round" else trial.server()
    send(held, signal.SIGSTOP)
    time.sleep(1)
    FAULTS[name](trial)
    send(held, signal.SIGCONT)
    how = trial.whole(run, out)
    print(f"{name}, {moment}: the same model, {how}, {time.monotonic() - began:.1f} s", flush=True)


def kill(names: list[str]) -> None:
    known = [*FAULTS, *ENDS]
    if names == ["list"]:
        print("\n".join(known))
        return
    chosen = known if names == ["all"] else names
    if unknown := [name for name in chosen if name not in known]:
        raise SystemExit(f"no fault {unknown}; there are {', '.join(known)}")
    with Consortium("kill", SITES) as here:
        trial = Trial(here)
        for name in chosen:
            if name in ENDS:
                began = time.monotonic()
                how = ENDS[name](trial)
                print(f"{name}: {how}, {time.monotonic() - began:.1f} s", flush=True)
                continue
            for moment in MOMENTS:
                disturb(trial, name, moment)
    print("nothing was left running")
