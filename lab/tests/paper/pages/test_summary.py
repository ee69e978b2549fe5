"""How many numbers agree, what is left out, and why."""

from baserate_lab.paper.pages.run import Reproduction, ShownArtefact
from baserate_lab.paper.pages.summary import summarise, why

from .made_up import artefact, big_run, record


def test_counts(run):
    found = summarise(run)
    assert found.total == (2, 5, 1)
    assert found.datasets == {"mnist mlp": (2, 4, 1), "cifar10 mlp": (0, 1, 0)}
    assert {name: [r.method for r in records] for name, records in found.differing.items()} == {
        "mnist mlp": ["ATLAS", "UOGD"],  # the farthest off first
        "cifar10 mlp": ["FTH"],
    }
    assert found.gains == {"mnist mlp": (1, 3, 1)}  # apart from the total
    assert found.stand_ins == {"crop": ("eurosat", 2)}
    assert (found.not_run, found.unprinted, found.of_the_machine) == (1, 1, 1)
    assert found.seeds == (1, 3)


def test_two_models_of_a_data_set_are_counted_and_explained_apart():
    records = [
        record("FTH", 9.0, 5.0),
        record("FTH", 5.0, 5.0, model="forest"),
        record("ROGD", 9.0, 5.0, model="forest"),
    ]
    run = Reproduction(
        "", 0.0, [ShownArtefact(artefact(), records, [])], {"mnist forest": "Why.", "mnist": "Of neither."}
    )
    found = summarise(run)
    assert found.datasets == {"mnist mlp": (0, 1, 0), "mnist forest": (1, 2, 0)}
    assert why(run, found) == {"mnist mlp": "No reason is known.", "mnist forest": "Why."}


def test_every_number_is_counted_once():
    run = big_run()
    found = summarise(run)
    n_stand_ins = sum(n for _, n in found.stand_ins.values())
    n_counted = found.total.compared + n_stand_ins + found.not_run + found.unprinted + found.of_the_machine
    n_empty = sum(r.ours_mean is None and r.paper_mean is None for part in run.artefacts for r in part.records)
    assert n_counted + n_empty == sum(len(part.records) for part in run.artefacts)


def test_sentences(run):
    found = summarise(run)
    assert found.sentence.startswith("2 of 5 numbers (40 %) agree with the paper's; of 1 our runs vary too much")
    assert found.gains_sentence == (
        "Of gains over the base model (its error minus a method's), 1 of 3 (33 %) agree; of 1 our runs vary too much "
        "to tell."
    )
    assert found.left_out == (
        "What is printed in several tables is counted in each. Not counted: 2 on stand-ins (Crop for EuroSAT); 1 of "
        "the paper that were not run; 1 times or sizes; 1 of ours that the paper does not print."
    )
    assert found.claims_sentence == "Of the checks below, 1 hold, 1 do not hold, 1 undecided."
    assert found.seeds_sentence == "1 to 3"


def test_what_a_quick_run_leaves_out_is_named():
    left = [record("UOGD", None, 5.0), record("UOGD", None, None, shift="ber")]
    left.append(record("ATLAS", None, model="forest"))
    run = Reproduction("", 0.0, [ShownArtefact(artefact(), [record()], [], left_out=left)], {})
    found = summarise(run)
    assert found.omitted == {"mnist mlp": ["UOGD"], "mnist forest": ["ATLAS"]}
    assert found.left_out.endswith("not here: UOGD on MNIST (mlp); ATLAS on MNIST (forest).")
    assert found.total.compared == 1


def test_nearly_all_is_not_all():
    records = [record(f"m{i}", 5.0, 5.0) for i in range(999)] + [record("x", 9.0, 5.0)]
    assert "(99 %)" in summarise(Reproduction("", 0.0, [ShownArtefact(artefact(), records, [])], {})).sentence


def test_nothing_to_compare():
    found = summarise(Reproduction("", 0.0, [], {}))
    assert found.sentence.startswith("No number")
    assert (found.left_out, found.claims_sentence) == ("What is printed in several tables is counted in each.", "")
    assert found.gains_sentence == ""
