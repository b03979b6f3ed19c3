"""`deploy/flare/test relay`: whom the relay lets send what, and where runs lie, without FLARE."""

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

HERE = Path(__file__).resolve().parents[1]
ROSTER = ["north", "south"]


class Collab:
    """As much of FLARE's interface as the relay's checks ask for."""

    def __init__(self):
        self.caller, self.roster = "server", ROSTER
        self.workspace = SimpleNamespace(get_root_dir=lambda: "/kit")
        self.publish = self.main = self.final = lambda function: function

    def get_app_prop(self, name):
        return {"roster": self.roster, "seconds": 60}[name]


def loaded(collab: Collab) -> ModuleType:
    """The relay, with a stub in the place of FLARE."""
    stubs = {
        "nvflare": {},
        "nvflare.apis": {},
        "nvflare.apis.fl_constant": {"FLContextKey": SimpleNamespace(JOB_META="meta")},
        "nvflare.apis.job_def": {
            "JobMetaKey": SimpleNamespace(SUBMITTER_NAME=SimpleNamespace(value="submitter_name"))
        },
        "nvflare.collab": {"collab": collab, "CollabCallError": RuntimeError},
    }
    before = {name: sys.modules.get(name) for name in [*stubs, "steffle_relay"]}
    for name, contents in stubs.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(contents)
    sys.path.insert(0, str(HERE))
    try:
        sys.modules.pop("steffle_relay", None)
        return importlib.import_module("steffle_relay")
    finally:
        sys.path.remove(str(HERE))
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module:
                sys.modules[name] = module


class Recorded:
    """A node that remembers the frames that it got, and answers with nothing."""

    def __init__(self):
        self.frames = []

    def write(self, *pieces, until=None):
        self.frames.append(b"".join(pieces))

    def read(self, until=None):
        return memoryview(bytes(8 + 4))


def refused(call, *arguments) -> bool:
    try:
        call(*arguments)
    except RuntimeError:
        return True
    return False


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"the relay: {what}")


def senders(collab: Collab, module: ModuleType) -> None:
    site, number = module.Site(), lambda sender: sender.to_bytes(4, "little")
    site.child = node = Recorded()
    site.ask(b"request")
    expect(node.frames == [number(0) + b"request"], "the server's request has another sender")
    for caller in ROSTER:
        collab.caller = caller
        expect(refused(site.ask, b"request"), f"{caller} asks")
        site.take(b"letter")
        expect(
            node.frames[-1] == number(ROSTER.index(caller) + 1) + b"letter",
            f"a letter of {caller} has another sender",
        )
    expect(len(node.frames) == 3, "a request of a site reached the node")
    for caller, roster in [
        ("server", ROSTER),
        ("server", ["server", "north"]),
        ("stranger", ROSTER),
        ("", ROSTER),
        ("north", ["north", "north"]),
    ]:
        collab.caller, collab.roster = caller, roster
        expect(refused(site.take, b"letter"), f"a letter of {caller!r} is taken, of {roster}")
    expect(len(node.frames) == 3, "a letter that was refused reached the node")


def places(module: ModuleType) -> None:
    def place(submitter, run):
        return module.Lead._place({"submitter_name": submitter}, run)

    own = place("lead@lead.org", "job-1")
    expect(own == Path("/kit/steffle/lead@lead.org/job-1"), f"a run lies at {own}")
    expect(place("lead@lead.org", "job-1") == own, "a run is not found again")
    expect(place("other@lead.org", "job-1") != own, "two submitters have one run")
    for run in ["..", ".", "", ".hidden", "a/b", "/etc", "../x", "a\n", "a\0", "x" * 101, None, 7]:
        expect(refused(place, "lead@lead.org", run), f"run {run!r} has a folder")
    for name in ["..", "", None, "../lead", "a@..", "@", "a@", "a/b", "lead@lead.org/x"]:
        expect(refused(place, name, "job-1"), f"submitter {name!r} has a folder")
    expect(refused(module.Lead._place, None, "job-1"), "a job of nobody has a folder")


def relay() -> None:
    collab = Collab()
    module = loaded(collab)
    senders(collab, module)
    places(module)
    print("the relay: requests of the server, letters of the roster, runs by submitter")
