"""`deploy/flare/test letters`: what sites hand to each other passes the server's machine unread."""

import random
import subprocess
import time
from pathlib import Path

from . import data
from .consortium import HERE, Consortium
from .poc import CASES, SECONDS, SITES, hand_out

RUN = {"method": "steffle", "rounds": 5, "seed": 7}
# Who holds attributes, and so keeps what was handed over.
HOLDER = "east"


def letters() -> None:
    """With the relay as it is, and, to see that one would be found, with one that does not encrypt."""
    if found := pieces("letters", True):
        raise SystemExit(f"pieces of letters in the server's memory: {found}")
    print("no piece of a letter was in the memory of the server's processes")
    if not (found := pieces("letters-open", False)):
        raise SystemExit("letters in the clear were not found either: this test tells nothing")
    print(f"without encryption, {found} of them were")


def pieces(name: str, encrypts: bool) -> int:
    """How many pieces of letters were found in the server while a run went on. The same run before it
    had the same letters, and says what to look for."""
    here = Consortium(name, SITES)
    if not encrypts:
        relay = here.place / "relay" / "steffle_relay.py"
        relay.parent.mkdir()
        ours = (HERE / "steffle_relay.py").read_text()
        relay.write_text(ours.replace("secure=True", "secure=False"))
        here.environment["PYTHONPATH"] = str(relay.parent)
    with here:
        parts = hand_out(here, "apart", CASES["apart"])
        ended(start(here, parts, "first"))
        wanted, most = samples(here), 0
        run = start(here, parts, "second")
        while run.poll() is None:
            servers = here.processes.of(str(here.kit("server")))
            most = max(most, sum(count(process, wanted) for process in servers))
            time.sleep(0.05)
        ended(run)
    return most


def start(here: Consortium, parts: Path, name: str) -> subprocess.Popen:
    return here.submit(data.job(parts, name, SITES, SECONDS, RUN), here.place / name)


def ended(run: subprocess.Popen) -> None:
    said, errors = run.communicate(timeout=600)
    if run.returncode:
        raise SystemExit(f"status {run.returncode}\n{said}{errors}")


def samples(here: Consortium) -> list[bytes]:
    """Pieces of what the holder was sent, long and varied enough to be nothing else."""
    records = (here.kit(HOLDER) / "local" / "sent").glob("*.record")
    kept = max(records, key=lambda record: record.stat().st_size).read_bytes()
    places, found = random.Random(1), []
    while len(found) < 20:
        at = places.randrange(len(kept) // 4, 3 * len(kept) // 4)
        piece = kept[at : at + 24]
        if len(set(piece)) > 14:
            found.append(piece)
    return found


def count(process: int, wanted: list[bytes]) -> int:
    """How many of them are in the memory of a process, which root may read."""
    found = set()
    try:
        areas = Path(f"/proc/{process}/maps").read_text().splitlines()
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            for area in areas:
                span, rights = area.split()[:2]
                if not rights.startswith("rw"):
                    continue
                first, last = (int(address, 16) for address in span.split("-"))
                try:
                    memory.seek(first)
                    held = memory.read(last - first)
                except (OSError, ValueError):
                    continue
                found |= {piece for piece in wanted if piece in held}
    except PermissionError as error:
        raise SystemExit(f"{error}: run this as root, it looks into the server's memory") from None
    except OSError:
        # It has ended.
        pass
    return len(found)
