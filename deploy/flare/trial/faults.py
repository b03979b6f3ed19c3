"""What can go wrong while a run is under way, done for real."""

import signal
import subprocess
import time
from threading import Timer

from .processes import send
from .scene import SECONDS, Scene


def child(scene: Scene) -> None:
    """A site's `steffle node`."""
    send(scene.node("north"), signal.SIGKILL)


def worker(scene: Scene) -> None:
    """A site's job process."""
    scene.kill("worker_process", "/north ")


def parent(scene: Scene) -> None:
    """A site's FLARE client; its shell starts it again."""
    scene.kill("client_train", "/north ")


def site(scene: Scene) -> None:
    """All of a site, and it comes back."""
    scene.restart("north")


def runner(scene: Scene) -> None:
    """The job's process at the server."""
    scene.kill("runner_process", "/server ")


def lead(scene: Scene) -> None:
    """`steffle server`."""
    send(scene.server(), signal.SIGKILL)


def server(scene: Scene) -> None:
    """FLARE's own process: its shell starts it again, and it lists the job as running for ever."""
    scene.kill("server_train", "/server ")


def host(scene: Scene) -> None:
    """Everything at the server, and it comes back."""
    scene.restart("server")


def stopped(scene: Scene) -> None:
    """A site's `steffle node` that does nothing any more."""
    send(scene.node("north"), signal.SIGSTOP)


def frozen(scene: Scene) -> None:
    """A site's job with all that belongs to it, for longer than anybody waits for a reply."""
    held = scene.here.processes.wait("worker_process", "/north ") + [scene.node("north")]
    for pid in held:
        send(pid, signal.SIGSTOP)
    # Meanwhile the others go on, and ask for it.
    Timer(SECONDS + 5, lambda: [send(pid, signal.SIGCONT) for pid in held]).start()


def cut(scene: Scene) -> None:
    """All connections to the server, and once more when they have been made again."""
    here = ["sport", "=", str(scene.here.port)]
    for _ in range(2):
        before = scene.here.until(lambda: connections(here), 120, "sites are connected")
        subprocess.run(["ss", "-tK", *here], stdout=subprocess.DEVNULL, check=True)
        if before & connections(here):
            raise SystemExit(
                "`ss -K` closes nothing here: it needs root, and a kernel that lets it"
            )
        time.sleep(2)


def connections(where: list[str]) -> set[str]:
    listed = subprocess.run(
        ["ss", "-tnH", *where], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    return {" ".join(line.split()[3:5]) for line in listed}


FAULTS = {
    one.__name__: one
    for one in (child, worker, parent, site, runner, lead, server, host, stopped, frozen, cut)
}
