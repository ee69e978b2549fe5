"""A made-up run, to look at and to test with."""

import numpy as np

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.pages.records import Claim, Record
from baserate_lab.paper.pages.run import Reproduction, ShownArtefact, Timeline

METHODS = ("FLH-FTL", "FTH", "Base", "OFC", "Arrows", "Oracle", "FTFWH", "ROGD", "UOGD", "ATLAS")


def artefact(name="table-a", **changes):
    fields = {
        "title": f"Title of {name}",
        "where": "Table 1",
        "kind": "table",
        "metrics": ("error", "mse"),
        "columns": ("dataset", "shift"),
        "cells": lambda n_seeds: [],
    }
    return Artefact(name=name, **fields | changes)


HOLDOUT = artefact("fig-holdout", kind="figure", x="holdout", metrics=("error",))


def record(method="FTH", ours=5.0, paper=5.0, **changes):
    """Ours and the paper's are means, or pairs of mean and standard deviation, or None."""
    (ours_mean, ours_std), (paper_mean, paper_std) = (
        number if isinstance(number, tuple) else (number, None if number is None else 0.0) for number in (ours, paper)
    )
    fields = {
        "artefact": "table-a",
        "dataset": "mnist",
        "model": "mlp",
        "shift": "sin",
        "holdout": 1000,
        "method": method,
        "metric": "error",
        "seeds": 3,
        "stand_in": None,
    }
    numbers = {"ours_mean": ours_mean, "ours_std": ours_std, "paper_mean": paper_mean, "paper_std": paper_std}
    return Record(**fields | numbers | changes)


def big_run(seed=0):
    """Eight data sets, two shifts, ten methods; a figure over holdouts, one over batch sizes, a timeline."""
    rng = np.random.default_rng(seed)
    settings = {
        ("synthetic", "linear"): None,
        ("mnist", "mlp"): None,
        ("fashion", "mlp"): None,
        ("cifar10", "resnet18-narrow"): None,
        ("crop", "forest"): "eurosat",
        ("arxiv-random", "minilm"): "arxiv",
        ("hapt", "linear"): "shl",
        ("cinic10", "resnet18-narrow"): None,
    }
    table = []
    for (dataset, model), stand_in in settings.items():
        for shift in ("sin", "ber"):
            for method in METHODS:
                base = 16 + 3 * rng.standard_normal()
                printed = (float(round(base)), float(round(rng.random(), 1)))
                near = (base + 0.6 * rng.standard_normal(), 0.4 * rng.random())
                same = {"dataset": dataset, "model": model, "shift": shift, "stand_in": stand_in}
                unknown = method == "Arrows"
                ours = None if dataset == "cinic10" else near
                table.append(record(method, ours, None if unknown else printed, **same))
                if method not in ("UOGD", "ATLAS"):
                    mix = round(float(rng.random() / 4), 3)
                    table.append(
                        record(
                            method,
                            None if ours is None else (mix + 0.02 * rng.random(), 0.004),
                            None if unknown else (mix, 0.01),
                            metric="mse",
                            **same,
                        )
                    )
    holdouts = [
        record(
            method,
            (10 + 40 / np.sqrt(n) * (i + 1) + 0.1 * i, 2 / np.sqrt(n)),
            None,
            dataset=dataset,
            shift=shift,
            holdout=n,
            artefact="fig-holdout",
            metric=metric,
        )
        for dataset, shift in (("cifar10", "ber"), ("mnist", "sin"))
        for metric in ("error", "mse")
        for i, method in enumerate(m for m in METHODS if m not in ("Base", "OFC", "Oracle"))
        for n in (50, 100, 500, 1000, 5000)
    ]
    holdouts += [
        record("Base", (13.0, 0.2), None, dataset=d, shift=s, holdout=None, artefact="fig-holdout")
        for d, s in (("cifar10", "ber"), ("mnist", "sin"))
    ]
    batches = [
        record(
            method,
            (10 - np.log(n) + i, 0.3),
            (round(10.2 - float(np.log(n)) + i, 1), 0.1),
            variant=f"batch={n}",
            artefact="fig-batch",
        )
        for i, method in enumerate(("FTH", "FLH-FTL"))
        for n in (1, 10, 50, 100)
    ]
    marginals = rng.dirichlet(np.full(8, 0.3), size=60)
    curves = {
        method: (list(10 + 5 * rng.random(60)), None if method == "UOGD" else list(rng.random(60) / 5))
        for method in ("Base", "FTH", "UOGD", "FLH-FTL")
    }
    classes = ("still", "walk", "run", "bike", "car", "bus", "train", "subway")
    over_time = [record(method, (12.0, 0.1), None, dataset="hapt", shift="real", stand_in="shl") for method in curves]
    claims = [
        Claim("table-a", "FLH-FTL has the lowest error on every data set.", False, "5 of 8 data sets"),
        Claim("table-a", "Every method beats Base under Sin.", True, "by 0.4 points at least"),
        Claim("table-a", "The same on CINIC-10.", None, ""),
    ]
    note = "The networks are narrower than the paper's; `resnet18-narrow` has a fourth of the channels."
    return Reproduction(
        "baserate reproduce all --seeds 3",
        5025.0,
        [
            ShownArtefact(artefact(title="Every unsupervised method on every data set", note=note), table, claims),
            ShownArtefact(
                artefact("fig-holdout", kind="figure", x="holdout", title="Error over the holdout"), holdouts, []
            ),
            ShownArtefact(
                artefact(
                    "fig-batch", kind="figure", x="variant", metrics=("error",), title="Error over the batch size"
                ),
                batches,
                [],
            ),
            ShownArtefact(
                artefact("fig-shl", kind="figure", x="round", metrics=("error",), title="A real stream over time"),
                over_time,
                [],
                Timeline(curves, marginals, classes, 20),
            ),
        ],
        {"cifar10 resnet18-narrow": "A narrower network, trained for fewer epochs: base error 9.8 instead of 16."},
    )
