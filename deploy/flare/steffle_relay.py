"""The relay: carries frames between NVIDIA FLARE and a `steffle` process, and reads none of them.

It is installed where FLARE runs (on PYTHONPATH); jobs name its two classes and carry no code. What
goes wrong is said in fixed words, because FLARE sends exceptions to the server.
"""

import json
import logging
import os
import re
import select
import shutil
import struct
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.job_def import JobMetaKey
from nvflare.collab import CollabCallError, collab

TRIES, PAUSE = 3, 0.5
# What FLARE calls the lead's side of a job.
SERVER = "server"
# What may name a folder: no path, nothing hidden, neither `.` nor `..`.
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")


class Child:
    """A `steffle` process behind two pipes; one that has ended or is late is an `OSError`. Frames
    are long: what is written is not joined before, and what was read is cut without a copy."""

    def __init__(self, arguments, errors):
        command, pipe = [os.environ.get("STEFFLE", "steffle"), *arguments], subprocess.PIPE
        ends = {"stdin": pipe, "stdout": pipe, "stderr": errors, "pipesize": 1 << 20}
        self.process = subprocess.Popen(command, **ends)
        self.into, self.out = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.into, False)

    def write(self, *pieces, until=None):
        for piece in (struct.pack("<Q", sum(map(len, pieces))), *pieces):
            rest = memoryview(piece)
            while rest:
                self._wait([], [self.into], until)
                rest = rest[os.write(self.into, rest) :]

    def read(self, until=None):
        return self._bytes(struct.unpack("<Q", self._bytes(8, until))[0], until)

    def end(self):
        self.process.kill()
        self.process.wait()

    def _bytes(self, count, until):
        found = rest = memoryview(bytearray(count))
        while rest:
            self._wait([self.out], [], until)
            if not (read := os.readv(self.out, [rest])):
                raise BrokenPipeError
            rest = rest[read:]
        return found

    @staticmethod
    def _wait(readable, writable, until):
        left = None if until is None else max(0.0, until - time.monotonic())
        if not any(select.select(readable, writable, [], left)):
            raise TimeoutError


class Parts:
    """Bytes taken from the front: counts and blobs."""

    def __init__(self, body):
        self.body, self.at = body, 0

    def count(self, form):
        self.at += struct.calcsize(form)
        return struct.unpack_from(form, self.body, self.at - struct.calcsize(form))[0]

    def blob(self):
        length = self.count("<Q")
        self.at += length
        return self.body[self.at - length : self.at]


class Site:
    """At a site: `steffle node` answers; its letters go encrypted to the sites they are for."""

    def __init__(self):
        self.child, self.turn = None, threading.Lock()

    @collab.publish
    def ask(self, frame: bytes) -> bytes:
        if collab.caller != SERVER:
            raise RuntimeError("only the server asks")
        roster, answer = collab.get_app_prop("roster"), Parts(self._answer(0, frame))
        reply = answer.blob()
        for _ in range(answer.count("<I")):
            to = [roster[answer.count("<I") - 1] for _ in range(answer.count("<Q"))]
            letter = answer.blob()
            for site in collab.get_clients(to):
                site(timeout=collab.get_app_prop("seconds") / TRIES, secure=True).take(letter)
        return reply

    @collab.publish
    def take(self, letter: bytes) -> bool:
        self._answer(self._number(collab.caller), letter)
        return True

    @collab.final
    def close(self):
        child, self.child = self.child, None
        if child:
            child.end()

    @staticmethod
    def _number(caller):
        """The number of a site in the run, by which its node knows who wrote a letter."""
        roster = collab.get_app_prop("roster")
        if caller == SERVER or roster.count(caller) != 1:
            raise RuntimeError("letters come from the sites of the roster")
        return roster.index(caller) + 1

    def _answer(self, sender, frame):
        """One frame in, with the number of its sender before it, and one out. A process that has
        ended is started again and asked again."""
        until = time.monotonic() + collab.get_app_prop("seconds") / TRIES
        with self.turn:
            while time.monotonic() < until:
                try:
                    self.child = self.child or self._start()
                    self.child.write(struct.pack("<I", sender), frame, until=until)
                    return self.child.read(until)
                except OSError:
                    self.close()
                    time.sleep(PAUSE)
        raise RuntimeError("the site's process gives no answer")

    @staticmethod
    def _start():
        local = Path(collab.workspace.get_site_config_dir())
        with open(local / "steffle.log", "ab") as errors:
            return Child(["node", "--stdio", "--silo", local / "silo.toml"], errors)


class Lead:
    """At the lead: `steffle server` asks, and says on its standard error how far it is."""

    @collab.main
    def run(self):
        there = {site.name: site for site in collab.clients}
        sites = [there.get(name) for name in collab.get_app_prop("roster")]
        # Beside the kit: FLARE removes a job's own folder, and the next job goes on from here.
        run = collab.get_app_prop("run")
        place = self._place(collab.fl_ctx.get_prop(FLContextKey.JOB_META), run)
        place.mkdir(parents=True, exist_ok=True)
        job, journal, out = place / f"{run}.toml", place / "journal", place / "out"
        job.write_text(collab.get_app_prop("job"))
        lead = Path(collab.workspace.get_site_config_dir(), "lead.toml")
        files = ["--lead", lead, "--data", job, "--journal", journal, "--out", out, "--force"]
        child = Child(["server", "--stdio", *files], subprocess.PIPE)
        with ThreadPoolExecutor(len(sites) + 1) as threads:
            said = threads.submit(self._listen, child.process.stderr)
            try:
                self._carry(child, sites, threads)
                status = child.process.wait()
            finally:
                child.end()
        if status < 0:
            raise RuntimeError("the server's process was ended")
        return self._result({"status": status, "said": said.result()[-20:]}, out)

    @staticmethod
    def _place(meta, run):
        """The folder of a run: of whoever submitted it, as FLARE's server knows them, and of its name.
        No job reaches the run of another submitter. The next job of the same run finds it."""
        submitter = (meta or {}).get(JobMetaKey.SUBMITTER_NAME.value)
        # People are called lead@lead.org.
        for part in (*str(submitter or "").split("@"), run):
            if not isinstance(part, str) or not NAME.fullmatch(part):
                raise RuntimeError("names of submitters and runs: letters, digits, - _ .")
        return Path(collab.workspace.get_root_dir(), "steffle", submitter, run)

    def _carry(self, child, sites, threads):
        """Requests to sites and replies back, until the process asks no more."""
        with suppress(OSError):
            while True:
                frame = Parts(child.read())
                asked = [(frame.count("<I"), frame.blob()) for _ in range(frame.count("<I"))]
                replies = threads.map(lambda one: self._ask(sites[one[0] - 1], one[1]), asked)
                parts = [(struct.pack("<BQ", lost, len(body)), body) for lost, body in replies]
                child.write(struct.pack("<I", len(parts)), *sum(parts, ()))

    @staticmethod
    def _ask(site, request):
        """A reply, or why there is none. FLARE repeats nothing; this does, for so many seconds."""
        if site is None:
            return 1, b"it was not there when the job began"
        seconds = site.app.get_prop("seconds")
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                return 0, site(timeout=min(left, seconds / TRIES)).ask(request)
            except CollabCallError:
                time.sleep(min(PAUSE, left))
        return 1, f"no reply within {seconds} seconds".encode()

    @staticmethod
    def _listen(errors):
        said = []
        for line in errors:
            said.append(line.decode(errors="replace").rstrip())
            logging.getLogger(__name__).info("steffle: %s", said[-1])
        return said

    @staticmethod
    def _result(result, out):
        """Puts what `steffle submit` fetches into the job's folder."""
        place = Path(collab.workspace.get_run_dir(collab.fl_ctx.get_job_id()), "steffle")
        place.mkdir()
        if out.is_dir():
            shutil.copytree(out, place / "out")
        (place / "result.json").write_text(json.dumps(result))
