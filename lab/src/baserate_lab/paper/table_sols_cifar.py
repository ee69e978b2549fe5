"""Table: learning from labels along the stream, CIFAR-10."""

from baserate_lab.paper import sols
from baserate_lab.paper.runs.learning import NETWORK_ON_COMPONENTS

ARTEFACT = sols.artefact(
    "table-sols-cifar",
    "cifar10",
    NETWORK_ON_COMPONENTS,
    "CIFAR-10",
    "Table 3",
    most_seeds=3,
    note="The network is MNIST's, on 100 principal components of the pixels, not a ResNet18 that knows images already: "
    "its error is far higher.",
)
