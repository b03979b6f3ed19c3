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
    ids = ["record_id"]
    for file in sorted(place.glob("records-*.csv")):
        ids += [row.split(",", 1)[0] for row in file.read_text().splitlines()[1:]]
    (place / "people.csv").write_text("\n".join(ids) + "\n")
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
    **more,
) -> Path:
    """A job for sites, with the settings of its training and `more` of its own; where it names their
    own files, one that can be trained on this machine."""
    own = [f', silo = "{sites[site]}"' if isinstance(sites, dict) else "" for site in sites]
    members = ", ".join(f'{{name = "{site}"{more}}}' for site, more in zip(sites, own))
    own_settings = {"version": 1, "test": "test.csv", "reply_seconds": seconds, "absent": absent}
    path = parts / f"{name}.toml"
    path.write_text(
        f"{lines({**own_settings, **more})}sites = [{members}]\n"
        f"{recipe(parts)}\n[train]\n{lines(train)}"
    )
    return path


def silo(
    kit: Path, parts: Path, role: str, number: int, ledger: Path | None = None, **more
) -> None:
    """The site's own file, with `more` settings of its own."""
    settings = {"version": 1, "name": kit.name, "role": role, **more}
    if role != "attributes":
        settings["data"] = f"{parts}/records-{number}.csv"
    if role != "records":
        settings["attributes"] = f"{parts}/attributes-{number}.csv"
    if role == "attributes":
        settings["people"] = f"{parts}/people.csv"
    if ledger and role != "records":
        settings["ledger"] = str(ledger)
    policy = {"simulations": not ledger}
    (kit / "local" / "silo.toml").write_text(
        f"{lines(settings)}{recipe(parts)}\n[policy]\n{lines(policy)}"
    )


def lead(kit: Path, parts: Path) -> None:
    """The file of the server's owner: the test rows that jobs name."""
    test = {"path": f"{parts}/test.csv", "sensitive": ["sex"], "groups": True}
    (kit / "local" / "lead.toml").write_text(
        f"{lines({'version': 1})}\n[tests.\"test.csv\"]\n{lines(test)}"
    )


def lines(settings: dict) -> str:
    return "".join(f"{key} = {value(of)}\n" for key, of in settings.items())


def value(of) -> str:
    """As TOML has it: but for tables, as JSON does."""
    if not isinstance(of, dict):
        return json.dumps(of)
    return "{" + ", ".join(f"{json.dumps(key)} = {value(own)}" for key, own in of.items()) + "}"


def theta(run: Path) -> bytes:
    """The parameters of a saved model, as they are."""
    model = (run / "model.safetensors").read_bytes()
    return model[8 + int.from_bytes(model[:8], "little") :]
