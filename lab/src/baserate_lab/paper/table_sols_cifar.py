"""Table: learning from labels along the stream, CIFAR-10."""

from baserate_lab.paper import sols
from baserate_lab.paper.runs.learning import LAST_LAYER

ARTEFACT = sols.artefact(
    "table-sols-cifar",
    "cifar10",
    LAST_LAYER,
    "CIFAR-10",
    "Table 3",
    most_seeds=10,
    note="The last layer of a trained network (`resnet18-plain`) goes on from its weights; all other layers stay as "
    "they are. Streams are drawn from the 20,000 images that the network was not trained on.",
)
