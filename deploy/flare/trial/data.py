"""The people of the trial, handed out as organisations would hold them."""

import json
from pathlib import Path

from . import environment

CANARY = "Zanzibar7319"


def partition(steffle: Path, place: Path, *how, rows: int | None = None) -> Path:
    """Cuts Adult; every hundredth person of an attributes file has a class that nobody declared."""
    environment.run([steffle, "data", "partition", "adult", "--out", place, *how])
    for file in place.glob("records-*.csv") if rows else ():
        file.write_text("".join(file.read_text().splitlines(keepends=True)[: rows + 1]))
    for file in place.glob("attributes-*.csv"):
        head, *rows = file.read_text().splitlines()
        changed = [
            f"{row.rsplit(',', 1)[0]},{CANARY}" if at % 100 == 7 else row
            for at, row in enumerate(rows)
        ]
        file.write_text("\n".join([head, *changed]) + "\n")
    return place


def recipe(parts: Path) -> str:
    """The section of the job that says what columns mean."""
    text = (parts / "job.toml").read_text()
    return text[text.index("[recipe]") :]


def job(
    parts: Path,
    name: str,
    sites: list[str] | dict[str, Path],
    seconds: int,
    train: dict,
    absent: str = "stop",
) -> Path:
    """A job for sites, with the settings of its training; where it names their own files, one that can
    be trained on this machine."""
    own = [f', silo = "{sites[site]}"' if isinstance(sites, dict) else "" for site in sites]
    members = ", ".join(f'{{name = "{site}"{more}}}' for site, more in zip(sites, own))
    settings = "\n".join(f"{key} = {json.dumps(value)}" for key, value in train.items())
    path = parts / f"{name}.toml"
    path.write_text(
        f'version = 1\ntest = "test.csv"\nreply_seconds = {seconds}\nabsent = "{absent}"\nsites = [{members}]\n'
        f"{recipe(parts)}\n[train]\n{settings}\n"
    )
    return path


def silo(kit: Path, parts: Path, role: str, number: int, ledger: Path | None = None) -> None:
    """The site's own file."""
    lines = ["version = 1", f'name = "{kit.name}"', f'role = "{role}"']
    if role != "attributes":
        lines.append(f'data = "{parts}/records-{number}.csv"')
    if role != "records":
        lines.append(f'attributes = "{parts}/attributes-{number}.csv"')
    if ledger and role != "records":
        lines.append(f'ledger = "{ledger}"')
    simulations = "false" if ledger else "true"
    lines += [recipe(parts), "[policy]", f"simulations = {simulations}"]
    (kit / "local" / "silo.toml").write_text("\n".join(lines) + "\n")


def theta(run: Path) -> bytes:
    """The parameters of a saved model, as they are."""
    model = (run / "model.safetensors").read_bytes()
    return model[8 + int.from_bytes(model[:8], "little") :]
