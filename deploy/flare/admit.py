#!/usr/bin/env python3
"""Prepares FLARE kits for steffle: `admit.py KIT...`, a site's or the server's.

In the kit's `local` folder it allows the relay's classes, allows no code in jobs, no commands in the
site's shell and no upload of logs, and lets a lead read the server's log of jobs of its own. With
`--loopback` a server listens on 127.0.0.1 only, as a trial on one machine should.
"""

import argparse
import json
from pathlib import Path

CLASSES = [
    "nvflare.collab.runtime.controller.CollabController",
    "nvflare.collab.runtime.executor.CollabExecutor",
    "steffle_relay.Lead",
    "steffle_relay.Site",
]
OWN, NOBODY = "n:submitter", "none"
# FLARE's own role of a project administrator may do anything anywhere: here it may not either.
RIGHTS = {
    "submit_job": "any",
    "clone_job": OWN,
    "manage_job": OWN,
    "download_job": OWN,
    "get_job_log": OWN,
    "view": "any",
    "operate": "o:site",
    "shell_commands": NOBODY,
    "byoc": NOBODY,
}


def change(local: Path, name: str, edit) -> None:
    """Writes a setting of the kit, made of what it has or of FLARE's default."""
    path = local / name
    source = path if path.exists() else local / f"{name}.default"
    settings = json.loads(source.read_text())
    edit(settings)
    path.write_text(json.dumps(settings, indent=2) + "\n")


def resources(settings: dict) -> None:
    allowed = settings["class_allow_list"]
    allowed.extend(name for name in CLASSES if name not in allowed)
    settings["allow_log_streaming"] = False


def authorization(settings: dict) -> None:
    settings["permissions"] = {"project_admin": RIGHTS, "lead": RIGHTS, "member": {"view": "any"}}


def admit(kit: Path, loopback: bool) -> None:
    change(kit / "local", "resources.json", resources)
    change(kit / "local", "authorization.json", authorization)
    server = kit / "startup" / "fed_server.json"
    if loopback and server.exists():
        settings = json.loads(server.read_text())
        service = settings["servers"][0]["service"]
        service["target"] = "127.0.0.1:" + service["target"].rsplit(":", 1)[1]
        server.write_text(json.dumps(settings, indent=2) + "\n")


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument(
        "kits", metavar="KIT", type=Path, nargs="+", help="folder with startup and local"
    )
    asked.add_argument(
        "--loopback", action="store_true", help="the server listens on 127.0.0.1 only"
    )
    given = asked.parse_args()
    for kit in given.kits:
        if not (kit / "local").is_dir():
            asked.error(f"{kit}: no folder `local` in it; a kit has one, beside `startup`")
        admit(kit, given.loopback)
        print(f"{kit}: ready")


if __name__ == "__main__":
    main()
