"""Table: learning from labels along the stream, MNIST."""

from baserate_lab.paper import sols
from baserate_lab.paper.runs.learning import NETWORK

ARTEFACT = sols.artefact(
    "table-sols-mnist",
    "mnist",
    NETWORK,
    "MNIST",
    "Table 5 (appendix)",
    most_seeds=10,
    note="The network is the 784-100-100-20-10 of the text.",
)
