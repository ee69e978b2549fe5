"""The problems of the paper: each can be trained, and what is not the paper's says so."""

from baserate_lab.models import RECIPES
from baserate_lab.paper.runs import problems
from baserate_lab.paper.runs.learning import LAST_LAYER
from baserate_lab.paper.runs.problems import ALL, CIFAR10_ONLINE, MNIST, TABLE


def test_every_problem_is_one_that_can_be_trained():
    for problem in ALL:
        # One is trained along the stream only, and stands there for what is said of it.
        assert ((problem.dataset, problem.model) in RECIPES) is (problem != CIFAR10_ONLINE)
        assert problems.find(problem.dataset, problem.model) is problem
        assert 0 < problem.small < problem.full
    assert problems.find("mnist", "linear") is None


def test_what_is_not_the_papers_data_says_so_and_why():
    assert {p.dataset: p.stand_in for p in ALL if p.stand_in} == {
        "crop": "eurosat",
        "arxiv-random": "arxiv",
        "arxiv_titles": "arxiv",
        "hapt": "shl",
    }
    assert [p.printed for p in TABLE] == ["synthetic", "mnist", "cifar10", "eurosat", "fashion", "arxiv"]
    assert all(p.differs for p in ALL if p.stand_in)


def test_what_is_not_the_papers_network_says_so():
    assert (CIFAR10_ONLINE.dataset, CIFAR10_ONLINE.model, CIFAR10_ONLINE.printed) == ("cifar10", LAST_LAYER, "cifar10")
    assert CIFAR10_ONLINE not in TABLE
    assert "the last layer alone" in CIFAR10_ONLINE.differs
    assert "784-20-10 that was run" in MNIST.differs
    assert (MNIST.lipschitz, MNIST.uogd_lipschitz) == (0.696, 1.0)
