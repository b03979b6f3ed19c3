"""The ``steffle`` command that the package installs."""

import json
import subprocess
import sysconfig
from pathlib import Path

STEFFLE = Path(sysconfig.get_path("scripts")) / "steffle"


def steffle(*words, cwd=None, **more):
    command = [STEFFLE, *map(str, words)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False, **more
    )


def steffle_json(*words, cwd=None):
    ran = steffle(*words, "--json", cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
