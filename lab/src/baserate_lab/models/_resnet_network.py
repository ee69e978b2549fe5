"""The network behind `ResNet18`: four stages of two residual blocks, for small images (He et al. 2016)."""

from baserate_lab.models._torch import nn, torch


class ResidualBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )  # the shortcut must change shape too

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the block to a batch."""
        inner = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


class Network(nn.Module):
    """Network from images of shape (n, channels, height, width), in the units of the training data, to logits.

    The first convolution is 3 x 3 and there is no pooling before the stages, so that 32 x 32 images keep their
    resolution.
    """

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self, channels: int, classes: int, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, channels, 1, 1))
        self.register_buffer("std", torch.ones(1, channels, 1, 1))
        self.stem = nn.Sequential(nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width))
        blocks: list[nn.Module] = []
        inputs = width
        for stage in range(4):
            outputs = width * 2**stage
            blocks += [ResidualBlock(inputs, outputs, 1 if stage == 0 else 2), ResidualBlock(outputs, outputs, 1)]
            inputs = outputs
        self.stages = nn.Sequential(*blocks)
        self.head = nn.Linear(inputs, classes)

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """Input of the last layer, (n, 8 * width)."""
        x = torch.relu(self.stem((x - self.mean) / self.std))
        pooled: torch.Tensor = self.stages(x).mean(dim=(2, 3))
        return pooled

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of a batch of images."""
        logits: torch.Tensor = self.head(self.features(x))
        return logits


def start(channels: int, classes: int, width: int, seed: int) -> Network:
    """A network with random weights; leaves torch's global generator unchanged."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network(channels, classes, width)
        for module in network.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return network


def restore(weights: dict[str, torch.Tensor], width: int) -> Network:
    """A network with the given weights, for prediction."""
    classes, channels = len(weights["head.bias"]), weights["mean"].shape[1]
    with torch.device("meta"):  # no random weights, as they are replaced at once
        network = Network(channels, classes, width)
    network.load_state_dict(weights, assign=True)
    return channels_last(network).eval()


def channels_last(network: Network) -> Network:
    """The network in the channels-last memory layout, which is fastest on a CPU."""
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # missing from torch's types
    return network
