"""Learning from labels along the stream: MNIST."""

from baserate.paper import sols

ARTEFACT = sols.artefact(
    "table-sols-mnist",
    "mnist",
    "MNIST",
    "Table 5 (appendix)",
    most_seeds=10,
    note=f"{sols.NOTE} The network is the 784-100-100-20-10 of the text.",
)
