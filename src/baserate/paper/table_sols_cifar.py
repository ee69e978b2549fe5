"""Learning from labels along the stream: CIFAR-10."""

from baserate.paper import sols

ARTEFACT = sols.artefact(
    "table-sols-cifar",
    "cifar10",
    "CIFAR-10",
    "Table 3",
    most_seeds=3,
    note=f"{sols.NOTE} The network is the same MLP on pixels as for MNIST, not a ResNet18: its error is far higher.",
)
