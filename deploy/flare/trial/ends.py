"""Faults that have an end of their own."""

import json

from .faults import child, lead, site, worker
from .scene import SECONDS, SECRET, SITES, Scene

# How long `submit` waits at least for a site to come.
RETURN = 90


def gone(scene: Scene, name: str) -> None:
    """A site leaves, as its owner has it leave."""
    (scene.here.kit(name) / "shutdown.fl").touch()
    scene.here.until(lambda: not scene.here.processes.of(f"/{name}/"), 60, f"{name} has gone")


def away_stop(scene: Scene) -> str:
    """A site that never comes: the run ends, and says whom it waited for and how long."""
    gone(scene, "west")
    run = scene.begin()
    run.ends(status=3)
    scene.back("west")
    run.says("silo 3 (west)", f"west did not come within {RETURN} seconds")
    return "status 3, with the site and the seconds"


def away_drop(scene: Scene) -> str:
    """A site that never comes, in a job that goes on without: the model of the others."""
    gone(scene, "west")
    run = scene.begin(absent="drop")
    run.ends()
    scene.back("west")
    run.is_model(scene.embedded(SITES[:3]))
    run.transcript()
    run.says("went on without silo 3 (west)")
    return "the model of the others to the bit, and the site is named"


def stop(scene: Scene) -> str:
    """A site that goes for good in the middle: the run ends, and `--resume` goes on with it."""
    run = scene.begin()
    run.disturb(lambda scene: scene.kill_all_of("north"), "mid-round")
    run.ends(status=3)
    # FLARE ends the job where it notices first; else nobody replied.
    run.says("north", f"did not come within {RETURN} seconds")
    scene.back("north")
    again = scene.resume(run)
    again.ends()
    again.is_model(scene.undisturbed)
    again.transcript()
    return "status 3, with the site and the seconds; resumed, the same model"


def drop(scene: Scene) -> str:
    """A site that goes for good in the middle, in a job that goes on without."""
    run = scene.begin(absent="drop")
    run.disturb(lambda scene: scene.kill_all_of("north"), "mid-round")
    run.ends()
    scene.back("north")
    run.transcript()
    run.says("went on without silo 0 (north)", f"no reply within {SECONDS} seconds")
    if not (run.out / "model.safetensors").is_file():
        raise SystemExit("no model came back")
    return "a model of the others, and the site and the seconds are named"


def two(scene: Scene) -> str:
    """Two jobs on the same stores, side by side: one waits for the other's books."""
    books = scene.with_books("books-of-two")
    first = scene.begin(SECRET)
    first.under_way()
    second = scene.begin({**SECRET, "seed": 4})
    for run in (first, second):
        run.ends()
        # What both asked for alike was paid for by one of them, and the book knows.
        run.transcript("--ledger", books)
    paid(scene, runs=2)
    verified(scene, books)
    scene.without_books()
    return "both to their ends, each paid for once"


def books(scene: Scene) -> str:
    """Secret noise, which is paid for: whatever is killed, every reply is paid for once."""
    books = scene.with_books("books")
    run = scene.begin(SECRET)
    for fault, moment in (
        (child, "mid-round"),
        (worker, "between rounds"),
        (lead, "mid-round"),
        (site, "between rounds"),
    ):
        run.disturb(fault, moment)
    run.ends()
    found = run.transcript("--ledger", books)
    if found["private_replies"] != found["events"] or not found["events"]:
        raise SystemExit(f"not every reply is paid for once: {found}")
    spent = paid(scene, runs=1)
    verified(scene, books)
    # What is left is not enough for more.
    more = scene.begin({**SECRET, "epsilon": 2.1})
    more.ends(status=4)
    more.says("ledger::budget", "(north)")
    if paid(scene, runs=1) != spent:
        raise SystemExit("a run that was refused was paid for")
    scene.without_books()
    return f"{found['events']} private replies, each paid for once; more was refused with status 4"


def paid(scene: Scene, runs: int) -> list[float]:
    """What sites have spent: no more than they were asked for, and no run is open."""
    all_spent = []
    for name in SITES:
        command = [scene.here.steffle, "silo", "check", scene.silo(name), "--json"]
        book = json.loads(scene.here.run(command))["ledger"]
        spent = book["epsilon_spent"]
        if not 0 < spent <= runs * SECRET["epsilon"] or book["open_runs"]:
            raise SystemExit(f"{name}: {book}")
        all_spent.append(spent)
    return all_spent


def verified(scene: Scene, books) -> None:
    scene.here.run([scene.here.steffle, "ledger", "verify", books])


ENDS = {
    one.__name__.replace("_", "-"): one for one in (away_stop, away_drop, stop, drop, two, books)
}
