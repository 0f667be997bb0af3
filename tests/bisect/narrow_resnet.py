"""ResNet-18 with an eighth of its width: it has the same calls on small tensors. resnet18_narrow.json is its capture:

PYTHONPATH=tests/bisect scripts/capture_torch.py --module narrow_resnet:resnet18_narrow --output tests/bisect/resnet18_narrow.json
"""
import torch
from torch import nn
from torchvision.models.resnet import BasicBlock, ResNet

NARROWER = 8


class NarrowResNet(ResNet):
    def __init__(self):
        super().__init__(BasicBlock, [2, 2, 2, 2], num_classes=10)
        width = 64 // NARROWER
        self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.fc = nn.Linear(512 // NARROWER, 10)

    def _make_layer(self, block, planes, *args, **more):
        if planes == 64:
            self.inplanes = 64 // NARROWER
        return super()._make_layer(block, planes // NARROWER, *args, **more)


def resnet18_narrow():
    labels = torch.randint(10, (2,))
    return NarrowResNet(), torch.randn(2, 3, 64, 64), lambda output: nn.functional.cross_entropy(output, labels)
