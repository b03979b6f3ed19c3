"""Metrics are Fairlearn's to the last digit, and have intervals."""

import fairlearn.metrics as theirs
import numpy as np
import pytest

from steffle import metrics

PAIRS = [
    (metrics.demographic_parity_difference, theirs.demographic_parity_difference),
    (metrics.equalized_odds_difference, theirs.equalized_odds_difference),
    (metrics.equal_opportunity_difference, theirs.equal_opportunity_difference),
]


@pytest.mark.parametrize("ours,fairlearns", PAIRS)
@pytest.mark.parametrize("groups", [2, 3, 5])
def test_values_are_fairlearns(ours, fairlearns, groups):
    random = np.random.default_rng(groups)
    truth, decided = random.integers(0, 2, 4000), random.integers(0, 2, 4000)
    group = random.integers(0, groups, 4000)
    found = ours(truth, decided, sensitive_features=group)
    assert found == pytest.approx(fairlearns(truth, decided, sensitive_features=group), abs=1e-12)


def test_metric_frame_takes_them_and_intervals_cover():
    random = np.random.default_rng(0)
    truth, decided = random.integers(0, 2, 2000), random.integers(0, 2, 2000)
    group = random.choice(["a", "b"], 2000)
    told = metrics.report(truth, decided, sensitive_features=group, resamples=200)
    low, high = told["intervals"]["demographic_parity"]
    assert 0.0 <= low <= told["demographic_parity"] <= high <= 1.0
    frame = theirs.MetricFrame(
        metrics={"error": lambda y, p: float(np.mean(y != p))},
        y_true=truth,
        y_pred=decided,
        sensitive_features=group,
    )
    ours = {own["name"]: own["error"] for own in told["groups"]}
    assert ours == pytest.approx(frame.by_group["error"].to_dict())


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="every row needs"):
        metrics.report([0, 1], [0, 1, 1], sensitive_features=["a", "b"])
    with pytest.raises(ValueError, match="favourable"):
        metrics.report([0, 1], [0, 1], sensitive_features=["a", "b"], favourable=2)
