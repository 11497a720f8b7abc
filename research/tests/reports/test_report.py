"""A benchmark refuses variables that would tune its peers, and says in its report which others there were."""

import os
import sys

import pytest

from research.reports import report
from research.reports.child import in_child


@pytest.fixture
def environment(monkeypatch):
    """Environment variables that are as before after the test, without those that the toolkit sets."""
    without = {name: value for name, value in os.environ.items() if name not in report.VARIABLES}
    monkeypatch.setattr(os, "environ", without)
    monkeypatch.setattr(report, "ENVIRONMENT", {})
    monkeypatch.setattr(report, "LOAD_BEFORE", [])
    monkeypatch.setattr(sys, "argv", ["somewhere/bench_demo.py"])
    return without


@pytest.mark.parametrize("name", report.VARIABLES)
def test_a_variable_of_ours_is_refused_by_name(environment, name):
    environment[name] = "1"
    with pytest.raises(SystemExit, match=f"^bench_demo.py: wanted an environment without {name}, got it set: unset"):
        report.refuse_unfair(True)


def test_other_variables_that_tune_stand_in_the_report(environment):
    environment |= {"KMP_AFFINITY": "compact", "EDITOR": "ed"}
    report.refuse_unfair(True)
    variables = report.machine()["environment"]
    assert variables["KMP_AFFINITY"] == "compact" and "EDITOR" not in variables


@pytest.mark.slow
def test_a_peer_begins_without_what_the_toolkit_set_in_its_parent(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # as after `import toolkit`
    assert in_child(os.getenv, "OMP_WAIT_POLICY")[0] is None
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
