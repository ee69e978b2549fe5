"""The last layer of any model: which library it is of is found out without importing it."""

import subprocess
import sys

import pytest
from sklearn.linear_model import LogisticRegression

from baserate.integrations import last_layer


def test_a_class_is_no_model():
    with pytest.raises(TypeError, match="class LogisticRegression, not an instance"):
        last_layer(LogisticRegression)


def test_torch_is_not_imported_to_find_out():
    script = (
        "import sys, numpy as np\n"
        "from baserate.integrations import last_layer\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "last_layer(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))\n"
        "try:\n    last_layer(object())\nexcept TypeError:\n    pass\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
