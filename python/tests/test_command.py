"""The command that the package installs is the program."""

import json
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path

from commands import STEFFLE, steffle, steffle_json

from steffle import __version__


def test_it_is_the_program_and_fast_to_start():
    assert steffle("--version").stdout.strip() == f"steffle {__version__}"
    module = [sys.executable, "-m", "steffle", "--version"]
    said = subprocess.run(module, capture_output=True, text=True, check=True).stdout
    assert said.strip() == f"steffle {__version__}"
    # Neither scikit-learn nor pandas is waited for.
    program = "import sys, steffle._command; print('sklearn' in sys.modules, 'pandas' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["False", "False"]


def test_statuses_and_errors_are_those_of_the_manual(tmp_path):
    wrong = steffle("predict", "nowhere", "x.csv", "--json", "--output", "y.csv", cwd=tmp_path)
    assert wrong.returncode == 3
    assert json.loads(wrong.stdout)["error"]["code"] == "steffle::run::not_found"
    assert steffle("dance").returncode == 2


def test_parties_in_processes_of_their_own_are_the_same_command(tmp_path):
    steffle_json("data", "partition", "adult", "--split", "--out", "parts", cwd=tmp_path)
    job = ["train", "--data", "parts/job.toml", "--rounds", "2"]
    here = steffle_json(*job, "--out", "here", cwd=tmp_path)
    apart = steffle_json(*job, "--out", "apart", "--processes", cwd=tmp_path)
    assert here["test"] == apart["test"]
    assert STEFFLE.is_file()


def test_a_site_of_a_consortium_is_one_install():
    """The relay is a module beside the package, and the extra pins the engine that it stands on."""
    assert 'nvflare==2.9.0;extra=="flare"' in [
        one.replace("'", '"').replace(" ", "") for one in metadata.requires("steffle") or []
    ]
    relay = util.find_spec("steffle_relay")
    assert relay is not None and "class Site" in Path(relay.origin).read_text()
