"""What noise costs, how much a target needs, and what an epsilon means: the accountants of SteFFLe.

>>> from steffle import privacy
>>> round(privacy.account(noise_multiplier=5, rounds=25, delta=1e-6)["epsilon"], 3)
4.887
>>> found = privacy.calibrate(epsilon=1, rounds=25, delta=1e-6)
>>> privacy.account(found["noise_multiplier"], rounds=25, delta=1e-6)["epsilon"] <= 1
True
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from steffle import _steffle
from steffle._command import answer

__all__ = [
    "History",
    "account",
    "add",
    "calibrate",
    "compare",
    "explain",
    "import_history",
    "ledger",
    "verify_ledger",
]


def account(
    noise_multiplier: float,
    rounds: int,
    delta: float,
    *,
    mechanism: str = "gaussian",
    rate: float | None = None,
    batch: int | None = None,
    records: int | None = None,
    adjacency: str = "replace",
    contributions: str | None = None,
    accountant: str | None = None,
) -> dict[str, Any]:
    """Noise in, epsilon out: what rounds cost that each add Gaussian noise to a sum.

    ``noise_multiplier`` is the standard deviation over how far the sum moves when one person's
    attribute is replaced. ``mechanism`` is who takes part in a round: everybody (``gaussian``),
    everybody by a secret coin (``poisson``, with ``rate`` or ``batch`` and ``records``) or a secret
    fixed number (``without-replacement``). ``accountant``: ``gdp``, ``pld``, ``rdp``, ``paper`` or
    ``all``.
    """
    return answer(["privacy", "account"], dict(locals()))


def calibrate(
    epsilon: float,
    rounds: int,
    delta: float,
    *,
    mechanism: str = "gaussian",
    rate: float | None = None,
    batch: int | None = None,
    records: int | None = None,
    adjacency: str = "replace",
    contributions: str | None = None,
    accountant: str | None = None,
) -> dict[str, Any]:
    """Epsilon in, noise out: the smallest ``noise_multiplier`` that keeps to it."""
    return answer(["privacy", "calibrate"], dict(locals()))


def compare(
    noise_multiplier: float,
    rounds: int,
    delta: float,
    *,
    mechanism: str = "gaussian",
    rate: float | None = None,
    batch: int | None = None,
    records: int | None = None,
    adjacency: str = "replace",
    contributions: str | None = None,
) -> dict[str, Any]:
    """All accountants side by side, which one to trust, and why they differ.

    >>> told = compare(2.0, 100, 1e-6, mechanism="poisson", rate=0.01)
    >>> told["trust"], len(told["accountants"])
    ('pld', 4)
    """
    return answer(["privacy", "compare"], dict(locals()))


def explain(
    run: str | PathLike[str] | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    svg: str | PathLike[str] | None = None,
) -> dict[str, Any]:
    """What an epsilon, or a run directory, means in words: what is protected, from whom, what is not.

    >>> explain(epsilon=1, delta=1e-6)["how_long"][:9]
    'For good.'
    """
    where = [] if run is None else [fspath(run)]
    settings = {"epsilon": epsilon, "delta": delta, "svg": None if svg is None else fspath(svg)}
    return answer(["privacy", "explain", *where], settings)


def add(*runs: str | PathLike[str], delta: float | None = None) -> dict[str, Any]:
    """What several runs about the same people cost together."""
    return answer(["privacy", "add", *(fspath(run) for run in runs)], {"delta": delta})


def ledger(path: str | PathLike[str]) -> dict[str, Any]:
    """What a budget book, or a folder of books, says: budget, spent, left, runs."""
    return answer(["ledger", "show", fspath(path)], {})


def verify_ledger(
    path: str | PathLike[str], *, run: str | PathLike[str] | None = None
) -> dict[str, Any]:
    """Checks every line and hash of a book, and the receipts of a run against it."""
    return answer(["ledger", "verify", fspath(path)], {"run": None if run is None else fspath(run)})


@dataclass(frozen=True)
class History:
    """Rounds of another program: noise multiplier, sampling rate and number of each kind.

    The noise multiplier is theirs: sigma over the clipping norm of one record's contribution.
    """

    rounds: tuple[tuple[float, float, int], ...]

    def epsilon(
        self, delta: float, *, adjacency: str = "add-remove", accountant: str | None = None
    ) -> dict[str, Any]:
        """Epsilon of all rounds together.

        ``adjacency`` is ``add-remove`` (one record more or less, as these programs mean it) or
        ``replace``: a replaced record moves a sum by up to two clipping norms, which is paid for.
        """
        if adjacency not in ("add-remove", "replace"):
            raise ValueError(f"adjacency={adjacency!r}; allowed are 'add-remove' and 'replace'")
        if accountant not in (None, "gdp", "pld", "rdp"):
            raise ValueError(f"accountant={accountant!r}; allowed are 'gdp', 'pld' and 'rdp'")
        replaced = adjacency == "replace"
        rounds = [(z / 2 if replaced else z, rate, count) for z, rate, count in self.rounds]
        told = json.loads(_steffle.epsilon_of(rounds, delta, replaced, accountant))
        return {**told, "delta": delta, "adjacency": adjacency}

    def __add__(self, other: History) -> History:
        return History(self.rounds + other.rounds)


def import_history(history: Any) -> History:
    """The rounds of an Opacus accountant or of a dp_accounting event.

    Takes an Opacus accountant, its ``state_dict()`` or its ``history`` (a list of noise multiplier,
    sampling rate and steps), and dp_accounting events made of Gaussian noise, Poisson sampling and
    composition. Anything else is refused: what is not understood would not be paid for.

    >>> history = import_history([(1.0, 0.01, 500), (2.0, 0.01, 500)])
    >>> round(history.epsilon(1e-5)["epsilon"], 1)
    1.4
    """
    rounds = tuple(_rounds(history))
    if not rounds:
        raise ValueError("the history has no round with noise")
    return History(rounds)


def _rounds(history: Any) -> list[tuple[float, float, int]]:
    if type(history).__name__.endswith("DpEvent"):
        return _of_event(history, 1.0, 1)
    if isinstance(history, dict):
        history = history["history"]
    history = getattr(history, "history", history)
    return [(float(noise), float(rate), int(steps)) for noise, rate, steps in history]


def _of_event(event: Any, rate: float, count: int) -> list[tuple[float, float, int]]:
    kind = type(event).__name__
    if kind == "NoOpDpEvent":
        return []
    if kind == "GaussianDpEvent":
        return [(float(event.noise_multiplier), rate, count)]
    if kind == "ComposedDpEvent" and rate == 1.0:
        return [one for own in event.events for one in _of_event(own, rate, count)]
    if kind == "SelfComposedDpEvent" and rate == 1.0:
        return _of_event(event.event, rate, count * int(event.count))
    if kind == "PoissonSampledDpEvent" and rate == 1.0:
        return _of_event(event.event, float(event.sampling_probability), count)
    raise ValueError(
        f"{kind} is not accounted for here{' inside of a sampled event' if rate < 1 else ''}; known "
        "are Gaussian events, Poisson sampling of one, and compositions of these"
    )
