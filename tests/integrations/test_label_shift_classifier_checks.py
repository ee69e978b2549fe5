"""scikit-learn's own checks of estimators: all pass, none is skipped, and none is expected to fail.

They run in a process of their own, because the check of the array API is skipped unless SCIPY_ARRAY_API is set before
scipy is imported, and here others have imported it.
"""

import json
import os
import subprocess
import sys

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

INSTANCES = {
    "logistic": "LabelShiftClassifier(LogisticRegression())",
    "pipeline": "LabelShiftClassifier(make_pipeline(StandardScaler(), LogisticRegression()))",
    "bayes": "LabelShiftClassifier(GaussianNB(), cv=3, gate=False, calibrator=None)",
}
SCRIPT = """
import json, sys, warnings
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from baserate import LabelShiftClassifier

warnings.simplefilter("ignore")  # of holdouts of ten samples there is much to warn of
found = {}
for name, made in json.loads(sys.argv[1]).items():
    results = check_estimator(eval(made), on_fail=None, on_skip=None)
    found[name] = [(r["check_name"], r["status"], repr(r["exception"])) for r in results]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def results():
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", SCRIPT, json.dumps(INSTANCES)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", INSTANCES)
def test_every_check_passes_and_none_is_skipped(name, results):
    assert [result for result in results[name] if result[1] != "passed"] == []
    names = {result[0] for result in results[name]}
    assert len(names) > 40
    assert {"check_classifiers_train", "check_estimators_partial_fit_n_features"} <= names
    assert "check_array_api_input" in names or parse_version(sklearn.__version__) < parse_version("1.9")
