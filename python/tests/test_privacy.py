"""Accountants of SteFFLe from Python, and histories of other programs."""

import importlib
import sys
import types
from importlib.util import find_spec

import dp_accounting
import pytest
from commands import steffle_json
from dp_accounting.pld import PLDAccountant

import steffle
from steffle import privacy


def test_answers_are_those_of_the_command_line():
    flags = ["--noise-multiplier", "2", "--rounds", "1200", "--delta", "2e-9", "--rate", "0.034"]
    settings = {"mechanism": "poisson", "rate": 0.034}
    told = steffle_json("privacy", "account", "--mechanism", "poisson", *flags)
    assert privacy.account(2, 1200, 2e-9, **settings) == told
    told = steffle_json("privacy", "compare", "--mechanism", "poisson", *flags)
    assert privacy.compare(2, 1200, 2e-9, **settings) == told
    told = steffle_json("privacy", "explain", "--epsilon", "0.5", "--delta", "1e-6")
    assert privacy.explain(epsilon=0.5, delta=1e-6) == told
    found = privacy.calibrate(1.0, 1200, 2e-9, **settings)
    assert privacy.account(found["noise_multiplier"], 1200, 2e-9, **settings)["epsilon"] <= 1.0


def test_refusals_have_codes_and_name_keyword_arguments():
    with pytest.raises(steffle.SteffleError) as refused:
        privacy.account(noise_multiplier=-1, rounds=1, delta=1e-6)
    assert refused.value.code == "steffle::config::noise_multiplier"
    assert "noise_multiplier -1" in str(refused.value) and "--" not in str(refused.value)
    with pytest.raises(steffle.SteffleError) as refused:
        privacy.ledger("nowhere.ledger")
    assert refused.value.code.startswith("steffle::ledger::")


def test_histories_of_opacus_are_accounted_for():
    """An Opacus accountant has ``history`` and ``state_dict``; the values are dp_accounting's."""

    class Accountant:
        history = ((1.1, 0.01, 1000), (0.9, 0.02, 300))

    history = privacy.import_history(Accountant())
    assert history == privacy.import_history({"history": Accountant.history, "mechanism": "rdp"})
    assert history == privacy.import_history(Accountant.history[:1]) + privacy.import_history(
        Accountant.history[1:]
    )
    theirs = PLDAccountant()
    for noise, rate, steps in Accountant.history:
        noisy = dp_accounting.GaussianDpEvent(noise)
        theirs.compose(dp_accounting.PoissonSampledDpEvent(rate, noisy), steps)
    ours = history.epsilon(1e-5)
    assert ours["upper_bound"] and ours["epsilon"] == pytest.approx(theirs.get_epsilon(1e-5), rel=2e-3)
    assert history.epsilon(1e-5, accountant="rdp")["epsilon"] > ours["epsilon"]
    # A replaced record moves a sum by twice the clipping norm.
    assert history.epsilon(1e-5, adjacency="replace")["epsilon"] > 1.5 * ours["epsilon"]


@pytest.fixture
def accountants(monkeypatch):
    """The accountants of Opacus, which compute with numpy: what they import of torch is not asked."""
    opacus, optimizers = types.ModuleType("opacus"), types.ModuleType("opacus.optimizers")
    opacus.__path__ = list(find_spec("opacus").submodule_search_locations)
    optimizers.DPOptimizer = object
    monkeypatch.setitem(sys.modules, "opacus", opacus)
    monkeypatch.setitem(sys.modules, "opacus.optimizers", optimizers)
    yield importlib.import_module("opacus.accountants")
    for name in [name for name in sys.modules if name.startswith("opacus.")]:
        del sys.modules[name]


def test_accountants_of_opacus_agree(accountants):
    """Its numerical one is a little above ours, by the error that it allows itself; its Renyi one more."""
    found = {}
    for name in ["RDPAccountant", "PRVAccountant"]:
        theirs = getattr(accountants, name)()
        for noise, rate, steps in [(1.1, 0.01, 1000), (2.0, 0.02, 50)]:
            for _ in range(steps):
                theirs.step(noise_multiplier=noise, sample_rate=rate)
        ours = privacy.import_history(theirs)
        assert ours == privacy.import_history(theirs.state_dict())
        found[name] = (ours.epsilon(1e-5)["epsilon"], theirs.get_epsilon(delta=1e-5))
    (ours, renyi), (same, numerical) = found.values()
    assert ours == same and ours < numerical < ours + 0.02 and numerical < renyi


def test_events_of_dp_accounting_are_read_or_refused():
    noisy = dp_accounting.GaussianDpEvent(3.0)
    step = dp_accounting.PoissonSampledDpEvent(0.1, noisy)
    whole = dp_accounting.ComposedDpEvent(
        [dp_accounting.SelfComposedDpEvent(step, 40), noisy, dp_accounting.NoOpDpEvent()]
    )
    history = privacy.import_history(whole)
    assert history.rounds == ((3.0, 0.1, 40), (3.0, 1.0, 1))
    theirs = PLDAccountant().compose(whole).get_epsilon(1e-6)
    assert history.epsilon(1e-6)["epsilon"] == pytest.approx(theirs, rel=2e-3)
    with pytest.raises(ValueError, match="LaplaceDpEvent is not accounted for"):
        privacy.import_history(dp_accounting.LaplaceDpEvent(1.0))
    sampled = dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.SelfComposedDpEvent(noisy, 2))
    with pytest.raises(ValueError, match="inside of a sampled event"):
        privacy.import_history(sampled)
    with pytest.raises(ValueError, match="no round"):
        privacy.import_history([])


def test_ledgers_are_read(tmp_path):
    book = tmp_path / "people.ledger"
    columns = ["--sensitive", "sex", "--classes", "f,m", "--record-id", "record_id"]
    steffle_json("ledger", "init", book, "--epsilon", "2", "--delta", "1e-6", *columns)
    assert privacy.verify_ledger(book)["valid"]
    assert privacy.ledger(book) == steffle_json("ledger", "show", book)
