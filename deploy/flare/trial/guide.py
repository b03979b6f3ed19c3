"""`deploy/flare/test guide`: README.md, done word for word by one lead and two sites.

The package is installed from a fresh clone into a fresh environment, kits are those of `nvflare
provision`, noise is secret and paid for. What a reader has to put in place of the guide's own names
is listed in `Reader`; a command that the guide does not have any more is an error.
"""

import json
import os
import re
import shutil
import socket
import time
import uuid
from pathlib import Path

from . import environment
from .poc import only_loopback
from .processes import Processes

SITES = ["north", "south"]
# Building the package from nothing takes minutes, and many of them where others build too.
PATIENCE = 3600


def guide() -> None:
    place = environment.TARGET / "flare" / "guide"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    environment.run(["git", "clone", "--quiet", environment.ROOT, place / "steffle"])
    reader = Reader(place)
    try:
        reader.installs()
        reader.makes_kits()
        for number, site in enumerate(SITES, 1):
            reader.joins(site, number)
        reader.trains()
        reader.stops()
    finally:
        left = reader.processes.end()
    if left:
        raise SystemExit(f"left running: {left}")
    print("nothing was left running")


class Reader:
    """Who does what the guide says, all parties in one."""

    def __init__(self, place: Path):
        self.place, self.kits = place, place / "workspace" / "consortium" / "prod_00"
        self.text = (place / "steffle" / "deploy" / "flare" / "README.md").read_text()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        here = {
            "/path/to/steffle": place / "steffle",
            "/path/to/deploy": place / "steffle" / "deploy",
            "fl.lead.org": "localhost",
            "8002": port,
            "/data/": f"{place}/data/",
        }
        for theirs, ours in here.items():
            if theirs not in self.text:
                raise SystemExit(f"the guide does not say {theirs} any more")
            self.text = self.text.replace(theirs, str(ours))
        mark = uuid.uuid4().hex
        self.processes = Processes(mark)
        away = {"STEFFLE", "PYTHONPATH", "VIRTUAL_ENV"}
        kept = {name: value for name, value in os.environ.items() if name not in away}
        path = f"{place / 'venv' / 'bin'}:{os.environ['PATH']}"
        self.environment = {**kept, Processes.MARK: mark, "PATH": path}

    def installs(self) -> None:
        began = time.monotonic()
        self.does("python3 -m venv venv", seconds=PATIENCE)
        print(f"installed from a fresh clone, {time.monotonic() - began:.0f} s", flush=True)

    def makes_kits(self) -> None:
        (self.place / "project.yml").write_text(self.file("yaml", "api_version"))
        self.does("nvflare provision")
        self.does("steffle data partition")
        self.does("python3", "admit.py", instead={"north": "server --loopback"}, at=self.kits)
        lead = self.kits / "server" / "local" / "lead.toml"
        lead.write_text(self.file("toml", "[tests.people]"))
        self.starts("server")

    def joins(self, site: str, number: int) -> None:
        """What a site does; the guide is about the first of them."""
        own = {"north": site, "silo-1": f"silo-{number}"}
        self.does("python3", "admit.py", instead=own, at=self.kits)
        silo = replaced(self.file("toml", "role ="), own)
        (self.kits / site / "local" / "silo.toml").write_text(silo)
        self.does("steffle ledger init", instead=own, at=self.kits / site / "local")
        self.does("steffle silo check", instead=own, at=self.kits)
        self.starts(site)

    def starts(self, name: str) -> None:
        """A kit, which goes on in the background and keeps the terminal that it was started in."""
        kept = {"/start.sh": f"/start.sh >> {self.place}/console.txt 2>&1", "north": name}
        self.does("north/startup/start.sh", instead=kept, at=self.kits)

    def trains(self) -> None:
        (self.kits / "job.toml").write_text(self.file("toml", "sites ="))
        began = time.monotonic()
        self.does("steffle submit job.toml --kit lead@lead.org --out", at=self.kits)
        for name in ("model.safetensors", "MODEL_CARD.md"):
            if not (self.kits / "runs" / "consortium" / name).is_file():
                raise SystemExit(f"no {name} came back")
        for site in SITES:
            check = ["steffle", "silo", "check", self.kits / site / "local" / "silo.toml", "--json"]
            book = json.loads(self.run(check))["ledger"]
            if not 0 < book["epsilon_spent"] <= 0.5 or book["open_runs"]:
                raise SystemExit(f"{site}: {book}")
        only_loopback(self)
        seconds = time.monotonic() - began
        print(f"submitted and trained, and every site's book has paid for it, {seconds:.1f} s")

    def stops(self) -> None:
        for name in ["server", *SITES]:
            self.does("touch north/shutdown.fl", instead={"north": name}, at=self.kits)
        self.processes.wait_for_none()

    def does(self, *words: str, instead=None, at: Path | None = None, seconds: int = 900) -> None:
        """Runs the guide's command that begins with the first word and has the others."""
        kinds = (r"^    (\S.*)$", r"# (steffle .*)$", r"`([^`\n]+)`")
        lines = [x for kind in kinds for x in re.findall(kind, self.text, re.MULTILINE)]
        first, *more = words
        fitting = [x for x in lines if x.startswith(first) and all(word in x for word in more)]
        if not fitting:
            raise SystemExit(f"the guide has no command {words} any more")
        command = replaced(fitting[0], instead or {})
        print(f"$ {command}", flush=True)
        self.run(["bash", "-c", command], at, seconds)

    def run(self, command, at: Path | None = None, seconds: int = 900) -> str:
        where = {"env": self.environment, "cwd": at or self.place}
        return environment.run(command, seconds, **where)

    def file(self, language: str, word: str) -> str:
        """The guide's file in this language that has this word."""
        for found in re.findall(rf"```{language}\n(.*?)```", self.text, re.DOTALL):
            if word in found:
                return found
        raise SystemExit(f"the guide has no {language} with {word!r} any more")


def replaced(text: str, instead: dict[str, str]) -> str:
    for old, new in instead.items():
        text = text.replace(old, new)
    return text
