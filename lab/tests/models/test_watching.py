"""What a watcher prints where there is no terminal."""

from baserate_lab.models import watching
from baserate_lab.models.watching import Moment, progress_bar


def test_a_line_with_loss_accuracy_and_time_left(capsys, monkeypatch):
    clock = iter([0.0, 100.0, 110.0, 200.0])
    monkeypatch.setattr(watching, "monotonic", lambda: next(clock))
    with progress_bar("digits") as watch:
        watch(Moment(3, 4, 1, 2, loss=0.5, accuracy=0.9))  # goes on after two epochs
        watch(Moment(3, 4, 2, 2, loss=0.4, accuracy=0.9))  # too soon for another line
        watch(Moment(4, 4, 2, 2, loss=0.25))
    first, last = capsys.readouterr().err.split("\n")[:2]
    assert first == "digits: epoch 3/4, loss 0.5000, accuracy 90.00 %, 100 s, 300 s left"
    assert last == "digits: epoch 4/4, loss 0.2500, 200 s, 0 s left"
