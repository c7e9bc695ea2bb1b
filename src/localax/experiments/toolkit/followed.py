"""The rule for a closed form that training is said to follow."""

from ...outcome import Rule

FOLLOWED = Rule(
    "the mean of the runs is within {sure:g} standard errors of the closed form at every record",
    lambda n, t: n.deviation < t.sure,
    thresholds={"sure": 5.0},
    holds={"deviation": 2.5},
    fails={"deviation": 40.0},
)
