"""Learning from labels along the stream: MNIST."""

from baserate.paper import sols

ARTEFACT = sols.artefact("table-sols-mnist", "mnist", "MNIST", "Table 5 (appendix)", most_seeds=3)
