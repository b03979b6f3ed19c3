"""`deploy/flare/test kill NAME`: faults done for real, on FLARE.

Whatever is killed, cut or stopped in the middle of a round, and once more between two when the run
has gone on, the model that comes back is that of the run that nobody disturbed, and every request in
the journal has one reply. Some faults have an end of their own, which is looked at instead.
"""

import time

from .consortium import Consortium
from .ends import ENDS
from .faults import FAULTS
from .scene import SITES, Scene


def disturbed(scene: Scene, name: str) -> str:
    run = scene.begin()
    for moment in ("mid-round", "between rounds"):
        run.disturb(FAULTS[name], moment)
    said = run.ends()
    run.is_model(scene.undisturbed)
    run.transcript()
    return f"mid-round and between rounds, the same model, {len(said['jobs'])} job(s)"


def kill(names: list[str]) -> None:
    known = [*FAULTS, *ENDS]
    if names == ["list"]:
        print("\n".join(known))
        return
    chosen = known if names == ["all"] else names
    if unknown := [name for name in chosen if name not in known]:
        raise SystemExit(f"no fault {unknown}; there are {', '.join(known)}")
    with Consortium("kill", SITES) as here:
        scene = Scene(here)
        for name in chosen:
            began = time.monotonic()
            how = ENDS[name](scene) if name in ENDS else disturbed(scene, name)
            print(f"{name}: {how}, {time.monotonic() - began:.1f} s", flush=True)
    print("nothing was left running")
