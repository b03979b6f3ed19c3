"""A server and sites on this machine: FLARE as it is shipped, mTLS kits, loopback only."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from . import environment
from .processes import Processes

HERE = Path(__file__).resolve().parent.parent
LEAD = "lead@trial.org"
PROJECT = """api_version: 3
name: trial
description: steffle on one machine
participants:
- {{name: server, type: server, org: trial, fed_learn_port: {port}, default_host: localhost}}
- {{name: admin@trial.org, type: admin, org: trial, role: project_admin}}
- {{name: {lead}, type: admin, org: trial, role: lead}}
{sites}
builders:
- path: nvflare.lighter.impl.workspace.WorkspaceBuilder
  args: {{template_file: [master_template.yml]}}
- path: nvflare.lighter.impl.static_file.StaticFileBuilder
  args: {{config_folder: config}}
- path: nvflare.lighter.impl.cert.CertBuilder
- path: nvflare.lighter.impl.signature.SignatureBuilder
"""


class Consortium:
    """Started by `with`, and stopped: nothing is left running, or the test fails."""

    def __init__(
        self,
        name: str,
        sites: list[str],
        debug: bool = False,
        program: Path | None = None,
        prepared: Callable[[Path], None] = lambda kit: None,
    ):
        """`prepared` changes kits that `admit.py` has made ready."""
        self.bin, self.steffle = environment.flare(), program or environment.steffle()
        self.sites, self.debug, self.prepared = sites, debug, prepared
        self.place = environment.TARGET / "flare" / name
        shutil.rmtree(self.place, ignore_errors=True)
        mark = uuid.uuid4().hex
        self.processes = Processes(mark)
        self.environment = {
            **os.environ,
            Processes.MARK: mark,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "PYTHONPATH": str(HERE),
            "STEFFLE": str(self.steffle),
            "HOME": str(self.place / "home"),
            "NVFLARE_POC_WORKSPACE": str(self.place / "poc"),
        }
        for folder in ("home", "empty"):
            (self.place / folder).mkdir(parents=True)
        self._prepare("poc", sites)
        self.kits = self.place / "poc" / "trial" / "prod_00"

    def _prepare(self, folder: str, sites: list[str]) -> None:
        """Kits for all, as `nvflare poc prepare` makes them."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        lines = "\n".join(f"- {{name: {name}, type: client, org: trial}}" for name in sites)
        project = self.place / f"{folder}.yml"
        project.write_text(PROJECT.format(port=self.port, lead=LEAD, sites=lines))
        moved = {**self.environment, "NVFLARE_POC_WORKSPACE": str(self.place / folder)}
        self.run([self.bin / "nvflare", "poc", "prepare", "--force", "-i", project], env=moved)

    def kit(self, name: str) -> Path:
        return self.kits / name

    def run(self, command, **options) -> str:
        options = {"env": self.environment, "cwd": self.place / "empty", **options}
        return environment.run(command, **options)

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.processes.end()
            raise
        return self

    def _start(self) -> None:
        kits = [self.kit(name) for name in ["server", *self.sites]]
        self.run([sys.executable, HERE / "admit.py", "--loopback", *kits])
        for kit in kits:
            if self.debug:
                self._log_everything(kit / "local")
            self.prepared(kit)
            self.start(kit.name)
        self.until(lambda: set(self.sites) <= self.present(), 300, "all sites are there")

    def __exit__(self, kind, error, trace):
        for name in ["server", *self.sites]:
            (self.kit(name) / "shutdown.fl").touch()
        self.processes.wait_for_none()
        left = self.processes.end()
        if kind is None and left:
            raise SystemExit(f"left running: {left}")

    def start(self, name: str, kit: Path | None = None) -> None:
        """Starts the server or a site as its kit does."""
        kit = kit or self.kit(name)
        for mark in kit.glob("*.fl"):
            mark.unlink()
        with open(kit / "console.txt", "ab") as console:
            subprocess.Popen(
                ["bash", kit / "startup" / "sub_start.sh"],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                env=self.environment,
                cwd=self.place / "empty",
            )

    @staticmethod
    def _log_everything(local: Path) -> None:
        settings = json.loads((local / "log_config.json.default").read_text())
        settings["loggers"]["root"]["level"] = "DEBUG"
        (local / "log_config.json").write_text(json.dumps(settings))

    def flare(self, *words, seconds: float = 60) -> dict:
        """An answer of FLARE's program."""
        command = [self.bin / "nvflare", "--format", "json", *words]
        command += ["--startup-kit", self.kit(LEAD)]
        try:
            where = {"env": self.environment, "cwd": self.place / "empty"}
            ran = environment.ask(command, subprocess.DEVNULL, seconds, **where)
        except subprocess.TimeoutExpired:
            # It hangs where the server is about to come up.
            return {}
        lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}

    def present(self, since: float = 0) -> set[str]:
        """Sites that were heard of since then: FLARE lists those that have gone for ten minutes."""
        status = self.flare("system", "status", seconds=20)
        clients = (status.get("data") or {}).get("clients", [])
        heard = [one for one in clients if one["client_last_conn_time"] >= since]
        return {client["client_name"] for client in heard}

    @staticmethod
    def until(holds, seconds: float, what: str, every: float = 0.2):
        """What `holds` says as soon as it is something."""
        end = time.monotonic() + seconds
        while not (found := holds()):
            if time.monotonic() > end:
                raise SystemExit(f"not within {seconds} seconds: {what}")
            time.sleep(every)
        return found

    def journal(self, run: str) -> Path | None:
        """What the server keeps of a run, which has the name of the job's file."""
        return next(self.kit("server").glob(f"steffle/*/{run}-*/journal"), None)

    def transcript(self, run: str, *more) -> dict:
        """Every request in the journal has one reply; with books, every private one is paid for."""
        command = [self.steffle, "audit", "transcript", self.journal(run), *more, "--json"]
        return json.loads(self.run(command))

    def submit(self, job: Path, out: Path, *more) -> subprocess.Popen:
        """`steffle submit`, in the background."""
        words = ["submit", job, "--kit", self.kit(LEAD), "--out", out, *more, "--json"]
        return subprocess.Popen(
            [str(word) for word in [self.steffle, *words]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.place,
        )


def change(path: Path, edit: Callable[[dict], None]) -> None:
    """Changes a file of settings."""
    settings = json.loads(path.read_text())
    edit(settings)
    path.write_text(json.dumps(settings))
