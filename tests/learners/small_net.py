"""A network that is trained in batches."""

from sklearn.neural_network import MLPClassifier


def small_net():
    """A network whose batches are larger than the pool."""
    return MLPClassifier(
        (5,),
        solver="sgd",
        learning_rate_init=0.1,
        nesterovs_momentum=False,
        alpha=0.02,
        batch_size=200,
        max_iter=1,
        random_state=0,
    )
