"""`deploy/flare/test bench`: what a leg costs beside a bare relay, and a whole run."""

import json
import time
from pathlib import Path

from . import data, folder
from .consortium import HERE, Consortium, change

TIMES, REPEATS = 200, 3
SITES, PARAMETERS = (3, 10), (100, 10_000)
ALLOWED, WHOLE = 1.2, 30.0


def bench(parts: list[str]) -> None:
    """A whole run, and what legs cost; or one of both."""
    chosen = parts or ["run", "legs"]
    if "run" in chosen:
        whole_run()
    if "legs" in chosen:
        legs()


def legs() -> None:
    """An exchange with all sites through the relay, beside one without it in the same job."""
    slow = []
    for sites in SITES:
        names = [f"site-{number}" for number in range(1, sites + 1)]
        echo = HERE / "trial" / "echo.py"
        with Consortium(f"bench{sites}", names, program=echo, prepared=allow_bare) as here:
            for parameters in PARAMETERS:
                bare, ours = exchange(here, *sizes(parameters))
                print(
                    f"{sites} sites, {parameters} parameters: bare {1000 * bare:.1f} ms, "
                    f"ours {1000 * ours:.1f} ms, {ours / bare:.2f}",
                    flush=True,
                )
                if ours > ALLOWED * bare:
                    slow.append((sites, parameters))
    if slow:
        raise SystemExit(f"more than {ALLOWED} times a bare relay: {slow}")


def allow_bare(kit: Path) -> None:
    """The relay with nothing behind it is only for measuring."""
    classes = ["trial.bare.Lead", "trial.bare.Site"]
    change(
        kit / "local" / "resources.json",
        lambda settings: settings["class_allow_list"].extend(classes),
    )


def sizes(parameters: int) -> tuple[int, int]:
    """Bytes of a request and a reply of a round (docs/SCALE.md)."""
    return 160 + 8 * parameters, 386 + 48 * parameters


def exchange(here: Consortium, out: int, back: int) -> tuple[float, float]:
    """The medians of a job of many exchanges, bare and ours in turn."""
    lead = {"run": "echo", "job": f"{len(here.sites)} {out} {back} {TIMES}"}
    echo = folder.write(here.place / "echo", here.sites, "trial.bare", lead)
    job = here.flare("job", "submit", "-j", echo)["data"]["job_id"]
    here.flare("job", "wait", "--interval", "1", "--timeout", "300", job, seconds=330)
    here.flare("job", "download", "-o", here.place / "fetched", job)
    left = here.place / "fetched" / job / "workspace" / "steffle" / "result.json"
    bare, ours = json.loads(json.loads(left.read_text())["said"][0])
    return bare, ours


def whole_run() -> None:
    """The default job on Adult over three sites, from `submit` to the model in hand."""
    sites = ["north", "south", "east"]
    with Consortium("bench", sites) as here:
        parts = data.partition(here.steffle, here.place / "parts", "--silos", "3", "--split")
        data.lead(here.kit("server"), parts)
        for number, site in enumerate(sites, 1):
            data.silo(here.kit(site), parts, "both", number)
        best = float("inf")
        for turn in range(REPEATS):
            job: Path = data.job(parts, "default", sites, 60, {"seed": turn})
            began = time.monotonic()
            run = here.submit(job, here.place / f"run{turn}")
            said, errors = run.communicate(timeout=600)
            if run.returncode:
                raise SystemExit(f"{said}{errors}")
            seconds = time.monotonic() - began
            best = min(best, seconds)
            print(f"Adult, three sites: {seconds:.1f} s to the model", flush=True)
    if best > WHOLE:
        raise SystemExit(f"the fastest of {REPEATS} took {best:.1f} s; {WHOLE} are allowed")
