"""torch
=====

A torch network: baserate needs only its softmax.
"""

import numpy as np
import torch
from torch import nn

import baserate
from baserate.datasets import digits
from baserate.shifts import Square, sample_stream


def train(X, y, epochs=30):
    """Train a small net for 8 x 8 images in the usual way."""
    net = nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(X[rows]), y[rows]).backward()
            optimizer.step()
    return net.eval()


def main(seed=0):
    """Train on 150 digits, then predict a drifting stream: mostly threes and eights for a while, then all digits."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    data = digits.load()
    net = train(torch.tensor(data.source_X[:150], dtype=torch.float32), torch.tensor(data.source_y[:150]))

    @torch.no_grad()
    def predict_proba(X):
        return torch.softmax(net(torch.tensor(X, dtype=torch.float32)), dim=1).numpy()  # float32 is enough

    adapter = baserate.RegressAndReweight().fit(predict_proba(data.source_X[150:]), data.source_y[150:])
    crowd = np.full(10, 0.01)
    crowd[[3, 8]] = 0.46
    stream = sample_stream(predict_proba(data.target_X), data.target_y, Square(second=crowd), n_rounds=600, rng=seed)
    wrong, n = np.zeros(2), 0
    for batch in stream:
        step = adapter.step(batch.proba)
        wrong += [(proba.argmax(axis=1) != batch.y).sum() for proba in (batch.proba, step.proba)]
        n += len(batch.y)
    print(adapter.calibrator_.reason_)
    print(f"wrong: {wrong[0] / n:.1%} of the net's own answers, {wrong[1] / n:.1%} of the adapted ones")


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/reaction.svg"
