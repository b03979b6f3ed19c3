"""`deploy/flare/test bench`: what a leg costs beside a bare relay, and a whole run."""

import json
import time
from pathlib import Path

from . import data, folder
from .consortium import HERE, Consortium

TIMES, REPEATS = 200, 3
PARAMETERS = (100, 10_000)
ALLOWED = 1.2


def bench() -> None:
    whole_run()
    slow = []
    for sites in (3, 10):
        names = [f"site-{number}" for number in range(1, sites + 1)]
        with Consortium(f"bench{sites}", names, program=HERE / "trial" / "echo.py") as here:
            for parameters in PARAMETERS:
                bare, ours = compare(here, 8 * parameters)
                print(
                    f"{sites} sites, {parameters} parameters: bare {1000 * bare:.1f} ms, "
                    f"ours {1000 * ours:.1f} ms, {ours / bare:.2f}",
                    flush=True,
                )
                if ours > ALLOWED * bare:
                    slow.append((sites, parameters))
    if slow:
        raise SystemExit(f"more than {ALLOWED} times a bare relay: {slow}")


def compare(here: Consortium, size: int) -> tuple[float, float]:
    """The median time of an exchange, bare and ours, the best of some turns of each."""
    best = {"trial.bare": [], "steffle_relay": []}
    for _ in range(REPEATS):
        for module, found in best.items():
            found.append(exchange(here, module, size))
    return min(best["trial.bare"]), min(best["steffle_relay"])


def exchange(here: Consortium, module: str, size: int) -> float:
    """The median of a job of many exchanges."""
    lead = {"run": "echo", "job": f"{len(here.sites)} {size} {TIMES}"}
    echo = folder.write(here.place / "echo", here.sites, module, lead)
    job = here.flare("job", "submit", "-j", echo)["data"]["job_id"]
    here.flare("job", "wait", "--interval", "1", "--timeout", "300", job, seconds=330)
    here.flare("job", "download", "-o", here.place / "fetched", job)
    left = here.place / "fetched" / job / "workspace" / "steffle" / "result.json"
    return float(json.loads(left.read_text())["said"][-1])


def whole_run() -> None:
    """The default job on Adult over three sites, from `submit` to the model in hand."""
    sites = ["north", "south", "east"]
    with Consortium("bench", sites) as here:
        parts = data.partition(here.steffle, here.place / "parts", "--silos", "3", "--split")
        for number, site in enumerate(sites, 1):
            data.silo(here.kit(site), parts, "both", number)
        for turn in range(REPEATS):
            job: Path = data.job(parts, "default", sites, 60, {"seed": turn})
            began = time.monotonic()
            run = here.submit(job, here.place / f"run{turn}")
            said, errors = run.communicate(timeout=600)
            if run.returncode:
                raise SystemExit(f"{said}{errors}")
            print(f"Adult, three sites: {time.monotonic() - began:.1f} s to the model", flush=True)
