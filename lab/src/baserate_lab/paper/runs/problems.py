"""Data sets and base models of the paper's tables."""

from typing import Literal, NamedTuple

from baserate_lab.paper.runs.own import OWN, read

_SMALL_SHARE, _SMALL_PER_CLASS = 0.02, 10  # as in the published runs, but at least ten samples a class


class PaperProblem(NamedTuple):
    """A data set and the base model on it.

    Attributes
    ----------
    dataset, model : str
        A pair of `baserate_lab.models.RECIPES`.
    printed : str
        The paper's name of the data set whose numbers are compared with ours.
    full : int
        Size of the whole holdout: all labelled samples that the model was not trained on.
    small : int
        Size of the small holdout: 2 % of the whole as in the published runs, or more if that is too little.
    lipschitz : float or None
        Bound on the gradient of ROGD's loss, as set in the published run for that data set. None: ROGD finds one.
    uogd_lipschitz : float
        The same for UOGD and ATLAS, which decides their step sizes. The published script uses 1 if it has no stored
        value; this reproduces the numbers on the synthetic data and the order of the methods on MNIST. The script's
        rule (the longest of 1,000 gradients at random weights and inputs) gives about 60 on Fashion-MNIST, which
        reproduces the numbers there. On MNIST the rule gives about 18, which makes UOGD and ATLAS as good as FTH under
        Mon; in the paper they are worse. It is not known which value was run, so the printed numbers decide.
    calibrator : "temperature" or "vector"
        Calibrator of the outputs before re-weighting.
    cheap : bool
        True: train a base model for each seed.
    networks : int
        Base models that seeds take turns at if training is not cheap.
    most_seeds : int
        Most seeds to run, because the cells of this problem take long.
    differs : str
        Known differences from the published run; empty if there are none.
    """

    dataset: str
    model: str
    printed: str
    full: int
    small: int
    lipschitz: float | None
    uogd_lipschitz: float = 1.0
    calibrator: Literal["temperature", "vector"] = "temperature"
    cheap: bool = True
    networks: int = 1
    most_seeds: int = 1000
    differs: str = ""

    def network(self, seed: int) -> int:
        """Seed of the base model that a seed has."""
        return seed if self.cheap else seed % self.networks

    @property
    def stand_in(self) -> str | None:
        """The paper's data set that this one stands in for, if any."""
        return None if self.dataset == self.printed else self.printed

    @property
    def title(self) -> str:
        """Title for a heading."""
        return f"{self.dataset} {self.model}"


SYNTHETIC = PaperProblem("synthetic", "linear", "synthetic", 12_000, 240, 4.1103)
MNIST = PaperProblem(
    "mnist",
    "mlp",
    "mnist",
    12_000,
    240,
    0.696,
    differs="Each seed trains its own network, the 784-20-10 that was run (the text says 784-100-100-20-10); the "
    "published figures are of one network. The steps of UOGD and ATLAS are those of the constant that the published "
    "script falls back to (1). With the one of its rule (about 18 here) the two are level with FTH under Mon (ahead by "
    "0.1 over seeds 0 to 9, behind by 0.1 to 0.3 over seeds 10 to 19), where the paper has them behind. How wrong UOGD "
    "is varies much between networks: under Mon it is last, as printed, with 5.5 % over seeds 0 to 9, with 7.1 % over "
    "seeds 10 to 19.",
)
FOREST = PaperProblem(
    "mnist",
    "forest",
    "mnist",
    12_000,
    240,
    0.642,
    calibrator="vector",
    differs="Which stream the published forest saw is not said. Vector scaling: with the temperature scaling of the "
    "text adapting makes such a forest worse by a point. With vector scaling FLH-FTL gains three and a half points "
    "over the forest as it is, nearly all of it by calibrating; the paper prints five.",
)
CIFAR10 = PaperProblem(
    "cifar10",
    "resnet18-plain",
    "cifar10",
    10_000,
    200,
    0.674,
    cheap=False,
    most_seeds=10,
    differs="A narrower ResNet18 (width 32 instead of 64), without augmentation as published, but at a tenth of the "
    "rate after 6 epochs, and stopped after 8, when it erred on 18.4 % of the holdout; the published one errs "
    "on 16 % after 70 epochs at a constant rate. One network for up to ten seeds, which draw streams and holdouts.",
)
CIFAR10_NARROW = CIFAR10._replace(
    model="resnet18-narrow",
    most_seeds=5,
    differs="A narrower ResNet18 (width 32 instead of 64), trained with augmentation for 16 epochs with one cycle; it "
    "is wrong on 10 % of an even mix, the published one on 16 %. One network for all seeds.",
)
CIFAR10_SMALL = CIFAR10._replace(
    model="resnet18-small",
    most_seeds=5,
    differs="A ResNet18 a quarter as wide, trained for 8 epochs, so that it can be trained on every split.",
)
EUROSAT = PaperProblem(
    "crop",
    "mlp",
    "eurosat",
    3_360,
    240,
    1.956,
    most_seeds=3,
    differs="EuroSAT cannot be had here: the UCR Crop series (24 kinds of land cover) stand in for it, with an MLP.",
)
FASHION = PaperProblem(
    "fashion",
    "mlp",
    "fashion",
    12_000,
    240,
    0.679,
    60.0,
    differs="Each seed trains its own network; how many of the first class it mistakes, on which all these streams "
    "turn, varies by a factor of three between seeds. The published figures are of one network. The steps of UOGD and "
    "ATLAS follow the published rule.",
)
ARXIV = PaperProblem(
    "arxiv-random",
    "minilm",
    "arxiv",
    2_422,
    230,
    0.726,
    cheap=False,
    most_seeds=3,
    differs="About 1 % of the papers, and a linear head on a frozen MiniLM instead of a trained DistilBERT.",
)
ARXIV_TITLES = PaperProblem(
    "arxiv_titles",
    "minilm-tuned",
    "arxiv",
    8_000,
    240,
    0.726,
    cheap=False,
    most_seeds=5,
    differs="Titles in other categories, and all-MiniLM-L6-v2 instead of DistilBERT. One network for all seeds.",
)
SHL = PaperProblem(
    "hapt",
    "linear",
    "shl",
    951,
    120,
    1.664,
    cheap=False,
    differs="SHL cannot be had here: HAPT (six activities, 15 persons one after the other) stands in for it.",
)

TABLE = (SYNTHETIC, MNIST, CIFAR10, EUROSAT, FASHION, ARXIV)
"""The columns of the paper's tables, in their order."""

CIFAR10_ONLINE = CIFAR10._replace(
    model="resnet18-plain last layer",
    differs="Of the network that was trained before, the last layer alone learns along the stream; the published run "
    "trained all of a ResNet18.",
)
ALL = (*TABLE, ARXIV_TITLES, FOREST, CIFAR10_NARROW, CIFAR10_SMALL, CIFAR10_ONLINE, SHL)

EUROSAT_REAL = PaperProblem(
    "eurosat",
    "resnet18",
    "eurosat",
    3_400,
    100,
    1.956,
    cheap=False,
    differs="One network for all seeds; the split into source and target is our own.",
)
ARXIV_REAL = PaperProblem(
    "arxiv-random",
    "distilbert",
    "arxiv",
    39_600,
    792,
    0.726,
    cheap=False,
    differs="The sample of papers and its split are our own, and the encoder is frozen: a linear head on DistilBERT.",
)
SHL_REAL = PaperProblem(
    "shl", "linear", "shl", 6_000, 120, 1.664, cheap=False, differs="Means of one second; the split is our own."
)
CINIC10 = PaperProblem(
    "cinic10",
    "resnet18",
    "cinic10",
    18_000,
    360,
    0.674,
    cheap=False,
    differs="The paper prints no number of it. It takes CIFAR-10's place, with CIFAR-10's constants.",
)
MNIST_OF_THE_TEXT = MNIST._replace(
    model="mlp-text",
    differs="The network of the text, 784-100-100-20-10; the printed numbers are of 784-20-10. Each seed trains its "
    "own.",
)

REAL: dict[str, tuple[PaperProblem, PaperProblem]] = {
    "eurosat": (EUROSAT, EUROSAT_REAL),
    "arxiv": (ARXIV, ARXIV_REAL),
    "shl": (SHL, SHL_REAL),
    "cinic10": (CIFAR10, CINIC10),
    "mnist-text": (MNIST, MNIST_OF_THE_TEXT),
}
"""By the name on the command line: a problem of the tables, and what takes its place if its data are at hand."""

ALSO = {CIFAR10: (CIFAR10_NARROW,)}
"""Further networks of a problem's data, whose cells move with it."""

WITHOUT_STAND_IN = ("cinic10",)
"""Names of `REAL` whose problem of the tables is of other data, and no stand-in for them."""


def find(dataset: str, model: str) -> PaperProblem | None:
    """The problem of a data set and a model, if there is one."""
    if dataset == OWN:
        return of_own_outputs(model)
    real = [problem for _, problem in REAL.values()]
    return next((problem for problem in (*ALL, *real) if (problem.dataset, problem.model) == (dataset, model)), None)


def of_own_outputs(name: str) -> PaperProblem:
    """The problem of a user's outputs: nothing is printed of it, and its small holdout has 2 % of the samples."""
    found = read(name)
    full = len(found.holdout_y)
    small = min(full, max(round(_SMALL_SHARE * full), _SMALL_PER_CLASS * len(found.class_names)))
    return PaperProblem(OWN, name, OWN, full, small, None, cheap=False)
