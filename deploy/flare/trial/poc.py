"""`deploy/flare/test poc`: one consortium of four sites, and all that has to hold of it."""

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import data, folder
from .consortium import Consortium, change
from .relay import relay

SITES = ["north", "south", "east", "west"]
# For a reply, and for a run: others may want the machine too, and only a hang is to end a test.
SECONDS, PATIENCE = 300, 3600
# What FLARE says where a site's owner allows no code in jobs.
REFUSED = "BYOC not permitted"
METHODS = {
    "rounds": {"method": "steffle", "rounds": 5, "seed": 7},
    "one-shot": {"method": "one-shot", "seed": 7},
}
ANSWERS = {"answers": {"method": "randomised-response", "epsilon": 1, "seed": 7}}
# One noise for all sites, which there is under masks alone.
ONCE = {"once": {**METHODS["rounds"], "noise-shares": "once", "noise-shape": "isotropic"}}


@dataclass
class Case:
    """A cut of the people, and the runs that are made of it."""

    cut: list[str]
    # What each site holds, and of which part.
    roles: list[str]
    parts: list[int]
    methods: dict[str, dict] = field(default_factory=lambda: METHODS)
    # More settings of the job, and of a site, with whatever files of its own they name.
    job: dict = field(default_factory=dict)
    silo: Callable[[Consortium, str], dict] = lambda here, site: {}


def masked(here: Consortium, site: str) -> dict:
    """A key of the site's own, and those of all others, which nobody but the sites has seen."""
    peers = {other: fingerprint(here, other) for other in SITES if other != site}
    fingerprint(here, site)
    return {"masks": {"key": "site.key", "require": True}, "peers": peers}


def fingerprint(here: Consortium, site: str) -> str:
    """Of a site's key, which is made when it is first asked for."""
    key = here.kit(site) / "local" / "site.key"
    return json.loads(here.run([here.steffle, "silo", "key", key, "--json"]))["fingerprint"]


CASES = {
    "together": Case(
        ["--silos", "4", "--split"], ["both"] * 4, [1, 2, 3, 4], {**METHODS, **ANSWERS}
    ),
    "apart": Case(
        ["--silos", "2", "--holders", "2"],
        ["records", "records", "attributes", "attributes"],
        [1, 2, 1, 2],
    ),
    # The last one: its sites answer under masks alone from then on.
    "masked": Case(
        ["--silos", "4", "--split"],
        ["both"] * 4,
        [1, 2, 3, 4],
        {
            name: {**settings, "secure-aggregation": True}
            for name, settings in {**METHODS, **ANSWERS, **ONCE}.items()
        },
        silo=masked,
    ),
}


def poc() -> None:
    relay()
    with Consortium("poc", SITES, debug=True, prepared=prepare) as here:
        stranger = start_stranger(here)
        only_loopback(here)
        code = submit_code(here)
        for name, case in CASES.items():
            parts = hand_out(here, name, case)
            for method in case.methods:
                same_bits(here, parts, name, case, method)
        code_was_refused(here, code)
        stranger_was_refused(here, stranger)
        only_loopback(here)
        nobody_saw_the_canary(here)
    print("nothing was left running")


def prepare(kit: Path) -> None:
    if kit.name == "server":
        allow_code(kit)
    else:
        plain_logs(kit)


def hand_out(here: Consortium, name: str, case: Case) -> Path:
    parts = data.partition(here.steffle, here.place / name, *case.cut)
    data.lead(here.kit("server"), parts)
    for site, role, number in zip(SITES, case.roles, case.parts):
        data.silo(here.kit(site), parts, role, number, **case.silo(here, site))
        here.run([here.steffle, "silo", "check", here.kit(site) / "local" / "silo.toml"])
    return parts


def same_bits(here: Consortium, parts: Path, name: str, case: Case, method: str) -> None:
    """The model that comes back is that of the run in one process."""
    settings = case.methods[method]
    embedded, flare = here.place / f"{name}-{method}-here", here.place / f"{name}-{method}"
    # In one process, and without masks wherever there are methods without.
    masks = "secure-aggregation"
    plain = {key: value for key, value in settings.items() if key != masks}
    flags = [word for key, value in plain.items() for word in (f"--{key}", value)]
    flags += [f"--{masks}"] if "noise-shares" in plain else []
    here.run([here.steffle, "train", "--data", parts / "job.toml", "--out", embedded, *flags])
    job = data.job(parts, f"{name}-{method}", SITES, SECONDS, settings, **case.job)
    began = time.monotonic()
    submitted = here.submit(job, flare)
    said, errors = submitted.communicate(timeout=PATIENCE)
    if submitted.returncode:
        raise SystemExit(f"{name}, {method}: status {submitted.returncode}\n{said}{errors}")
    if data.theta(embedded) != data.theta(flare):
        raise SystemExit(f"{name}, {method}: another model than in one process")
    card = flare / "MODEL_CARD.md"
    if not card.is_file():
        raise SystemExit(f"{name}, {method}: no card came back")
    seconds = time.monotonic() - began
    # Under masks, what a site sent is noise to everybody else: no audit reads it.
    journal = "hidden by masks"
    if settings == plain:
        messages = here.transcript(job.stem)["messages"]
        journal = f"{messages} messages in the journal, all as planned"
    print(
        f"{name}, {method}: the same bits as in one process, {seconds:.1f} s; {journal}", flush=True
    )


def only_loopback(here: Consortium) -> None:
    addresses = here.processes.listening()
    outside = [address for address in addresses if not address.startswith("127.0.0.1:")]
    if outside or not addresses:
        raise SystemExit(f"listens on {outside or 'nothing'}")
    print(f"{len(addresses)} sockets listen, all on 127.0.0.1")


def start_stranger(here: Consortium) -> Path:
    """A site whose kit has another root of trust, at the address of this server."""
    port = here.port
    here._prepare("foreign", ["stranger"])
    kit = here.place / "foreign" / "trial" / "prod_00" / "stranger"
    settings = kit / "startup" / "fed_client.json"
    settings.write_text(settings.read_text().replace(str(here.port), str(port)))
    here.port = port
    here.start("stranger", kit)
    return kit


def stranger_was_refused(here: Consortium, kit: Path) -> None:
    log = (kit / "console.txt").read_text()
    if "stranger" in here.present() or "CERTIFICATE" not in log.upper():
        raise SystemExit("a kit of another root of trust was let in, or never tried")
    (kit / "shutdown.fl").touch()
    print("a foreign kit was refused")


def allow_code(kit: Path) -> None:
    """A lead that lets anybody send code: sites are asked to run it, and refuse by themselves."""
    rights = {"submit_job": "any", "view": "any", "byoc": "any"}
    change(
        kit / "local" / "authorization.json",
        lambda settings: settings["permissions"]["lead"].update(rights),
    )


def plain_logs(kit: Path) -> None:
    """All that FLARE writes down at DEBUG, and no line of it lost, by Python's own formatter: FLARE's
    looks for brackets in a line, which takes hours for one that holds the handover of all records."""

    def edit(settings: dict) -> None:
        plain = {"format": "%(asctime)s - %(name)s - %(levelname)s - %(message)s"}
        settings["formatters"] = dict.fromkeys(settings["formatters"], plain)
        for handler in settings["handlers"].values():
            handler.pop("maxBytes", None)

    change(kit / "local" / "log_config.json", edit)


def submit_code(here: Consortium) -> str:
    """Our job with a file of code in it."""
    lead = {"run": "code", "job": ""}
    job = folder.write(here.place / "code", SITES, "steffle_relay", lead, code=True)
    return here.flare("job", "submit", "-j", job)["data"]["job_id"]


def code_was_refused(here: Consortium, job: str) -> None:
    """By every site, in FLARE's own words, when it came to be deployed there."""
    meta = here.flare("job", "meta", job)["data"]
    detail = meta.get("job_deploy_detail") or []
    words = {site: said for site, _, said in (line.partition(": ") for line in detail)}
    ran = not meta["status"].startswith("FINISHED")
    if ran or any(REFUSED not in words.get(site, "") for site in SITES):
        raise SystemExit(f"a job with code was not refused: {meta['status']} {detail}")
    print("a job with code was refused by every site, jobs without were not")


def nobody_saw_the_canary(here: Consortium) -> None:
    """Beside the attributes files themselves, nobody wrote a value of s: no log, at its most
    talkative, no job, no upload, nothing that was fetched."""
    own = {file for name in CASES for file in (here.place / name).glob("attributes-*.csv")}
    found = subprocess.run(
        ["grep", "-rlaF", data.CANARY, here.place], stdout=subprocess.PIPE, text=True, check=False
    ).stdout.splitlines()
    if own != {Path(name) for name in found}:
        raise SystemExit(f"somebody saw it: {[name for name in found if Path(name) not in own]}")
    logs = list(here.place.rglob("log.txt"))
    if not any(" - DEBUG - " in log.read_text(errors="replace") for log in logs):
        raise SystemExit("nobody logged at DEBUG")
    size = sum(file.stat().st_size for file in here.place.rglob("*") if file.is_file())
    print(f"no value of s in {len(logs)} logs at DEBUG or anywhere else in {size >> 20} MiB")
