"""A job as FLARE takes it, for what `steffle submit` would not send."""

import json
from pathlib import Path

COLLAB = "nvflare.collab.runtime"


def write(folder: Path, sites: list[str], module: str, lead: dict, code: bool = False) -> Path:
    """A job of a relay's two classes; with code, where sites are to refuse it."""
    props = {"roster": sites, "seconds": 60}
    controller = {"server_obj_id": "lead", "props": {**props, **lead}}
    executor = {"client_obj_id": "site", "props": props}
    files = {
        "meta.json": {
            "name": folder.name,
            "min_clients": 1,
            "resource_spec": {},
            "deploy_map": {"lead": ["server"], "site": sites},
        },
        "lead/config/config_fed_server.json": {
            "format_version": 2,
            "workflows": [
                component("controller", f"{COLLAB}.controller.CollabController", controller)
            ],
            "components": [component("lead", f"{module}.Lead", {})],
        },
        "site/config/config_fed_client.json": {
            "format_version": 2,
            "executors": [
                {
                    "tasks": ["*"],
                    "executor": component("site", f"{COLLAB}.executor.CollabExecutor", executor),
                }
            ],
            "components": [component("site", f"{module}.Site", {})],
        },
    }
    if code:
        files |= {"lead/custom/theft.py": None, "site/custom/theft.py": None}
    for name, contents in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(contents))
    return folder


def component(name: str, path: str, arguments: dict) -> dict:
    return {"id": name, "path": path, "args": arguments}
