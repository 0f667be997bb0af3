"""The shipped models: each gives a module, its inputs and a loss."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Workload:
    """A module with the inputs of one iteration; loss(output) is a 0-dim tensor."""

    def __init__(self, module, inputs, loss, description):
        self.module, self.inputs, self.loss, self.description = module, tuple(inputs), loss, description


def resnet(name, options):
    import torchvision

    batch, image = options.batch or 2, options.image or (64 if name == "resnet18" else 224)
    module = getattr(torchvision.models, name)(weights=None)
    labels = torch.randint(1000, (batch,))
    return Workload(module, [torch.randn(batch, 3, image, image)], lambda output: F.cross_entropy(output, labels),
                    f"torchvision {name}, random weights, batch {batch} x 3 x {image} x {image}")


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Rotary(nn.Module):
    """Cosines and sines of the positions, (seq, dim of a head)."""

    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.register_buffer("frequencies", base ** (-torch.arange(0, dim, 2) / dim))

    def forward(self, seq):
        positions = torch.arange(seq, dtype=self.frequencies.dtype, device=self.frequencies.device)
        angles = positions[:, None] * self.frequencies
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class LlamaAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x, cos, sin, mask):
        batch, seq, dim = x.shape

        def split(y):
            return y.view(batch, seq, self.heads, dim // self.heads).transpose(1, 2)

        query, key = (rotate(split(y), cos, sin) for y in (self.query(x), self.key(x)))
        scores = query @ key.transpose(2, 3) / math.sqrt(dim // self.heads)
        shares = torch.softmax(scores.masked_fill(mask, -math.inf), dim=-1)
        return self.output((shares @ split(self.value(x))).transpose(1, 2).reshape(batch, seq, dim))


class LlamaBlock(nn.Module):
    """RMSNorm, rotary causal attention, RMSNorm, SwiGLU."""

    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.attention_norm, self.ffn_norm = RMSNorm(dim), RMSNorm(dim)
        self.attention = LlamaAttention(dim, heads)
        self.gate, self.up = (nn.Linear(dim, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(self.attention_norm(x), cos, sin, mask)
        y = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, vocabulary, dim, heads, hidden, layers):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.rotary = Rotary(dim // heads)
        self.blocks = nn.ModuleList(LlamaBlock(dim, heads, hidden) for _ in range(layers))
        self.norm = RMSNorm(dim)
        self.head = nn.Linear(dim, vocabulary, bias=False)

    def forward(self, tokens):
        seq = tokens.shape[1]
        x = self.embedding(tokens)
        cos, sin = self.rotary(seq)
        mask = torch.ones(seq, seq, dtype=torch.bool, device=tokens.device).triu(1)
        for block in self.blocks:
            x = block(x, cos, sin, mask)
        return self.head(self.norm(x))


def next_token_loss(labels):
    return lambda output: F.cross_entropy(output.view(-1, output.shape[-1]), labels.view(-1))


def llama(options):
    batch, seq, layers = options.batch or 2, options.seq or 128, options.layers or 4
    vocabulary, dim, heads, hidden = 4096, 512, 8, 1376
    tokens, labels = torch.randint(vocabulary, (2, batch, seq))
    return Workload(Llama(vocabulary, dim, heads, hidden, layers), [tokens], next_token_loss(labels),
                    f"LLaMA-like, {layers} blocks (RMSNorm, rotary causal attention, SwiGLU), dim {dim}, "
                    f"{heads} heads, hidden {hidden}, vocabulary {vocabulary}, random weights, batch {batch} x {seq} "
                    "tokens")


class BertAttention(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(dim, dim) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, bias):
        batch, seq, dim = x.shape

        def split(y):
            return y.view(batch, seq, self.heads, dim // self.heads).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = query @ key.transpose(2, 3) / math.sqrt(dim // self.heads) + bias
        shares = self.dropout(torch.softmax(scores, dim=-1))
        return self.output((shares @ value).transpose(1, 2).reshape(batch, seq, dim))


class BertLayer(nn.Module):
    """Attention and a GELU network, each followed by dropout, a residual and a layer norm."""

    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.attention = BertAttention(dim, heads, dropout)
        self.attention_norm, self.norm = nn.LayerNorm(dim, eps=1e-12), nn.LayerNorm(dim, eps=1e-12)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, bias):
        x = self.attention_norm(x + self.dropout(self.attention(x, bias)))
        return self.norm(x + self.dropout(self.down(F.gelu(self.up(x)))))


class Bert(nn.Module):
    """Encoder with the head that predicts masked words; the head shares the weights of the word embedding."""

    def __init__(self, vocabulary, dim, heads, layers, positions=512, dropout=0.1):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, dim), nn.Embedding(positions, dim)
        self.kinds = nn.Embedding(2, dim)
        self.embedding_norm = nn.LayerNorm(dim, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(BertLayer(dim, heads, dropout) for _ in range(layers))
        self.transform, self.transform_norm = nn.Linear(dim, dim), nn.LayerNorm(dim, eps=1e-12)
        self.head = nn.Linear(dim, vocabulary)
        self.head.weight = self.words.weight
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, tokens, kinds, attended):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.words(tokens) + self.positions(positions) + self.kinds(kinds)
        x = self.dropout(self.embedding_norm(x))
        bias = (1.0 - attended.to(x.dtype))[:, None, None, :] * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return self.head(self.transform_norm(F.gelu(self.transform(x))))


def bert(options):
    batch, seq, layers = options.batch or 2, options.seq or 64, options.layers or 4
    vocabulary, dim, heads = 8192, 768, 12
    tokens, labels = torch.randint(vocabulary, (2, batch, seq))
    inputs = [tokens, torch.randint(2, (batch, seq)), torch.ones(batch, seq, dtype=torch.int64)]
    return Workload(Bert(vocabulary, dim, heads, layers), inputs, next_token_loss(labels),
                    f"BERT-base width (hidden {dim}, {heads} heads, feed-forward {4 * dim}) with {layers} of its 12 "
                    f"layers and a vocabulary of {vocabulary}, dropout 0.1, random weights, batch {batch} x {seq} "
                    "tokens")


class VitBlock(nn.Module):
    """Attention and a hardswish network, each after a group norm of the channels, with dropout and a residual."""

    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.attention = BertAttention(dim, heads, dropout)
        self.attention_norm, self.norm = nn.GroupNorm(8, dim), nn.GroupNorm(8, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x.transpose(1, 2)).transpose(1, 2), 0.0)
        y = self.norm(x.transpose(1, 2)).transpose(1, 2)
        return x + self.dropout(self.down(F.hardswish(self.up(y))))


class Vit(nn.Module):
    """Patches with interpolated positions, blocks, an average pool between two stages; an LSTM cell reads the largest
    elements of the rows of tokens one after the other."""

    def __init__(self, classes, dim, heads, patch, grid, layers, dropout=0.1):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, stride=patch)
        self.positions = nn.Parameter(torch.randn(1, dim, grid, grid) * 0.02)
        self.early, self.late = (nn.ModuleList(VitBlock(dim, heads, dropout) for _ in range(layers)) for _ in range(2))
        self.norm = nn.GroupNorm(8, dim)
        self.cell = nn.LSTMCell(dim, dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, images):
        x = self.patches(images)
        x = x + F.interpolate(self.positions, size=x.shape[2:], mode="bilinear", align_corners=False)
        x = self.run(self.early, x)
        x = self.run(self.late, F.avg_pool2d(x, 2))
        rows = self.norm(x).amax(3)
        hidden = cell = torch.zeros(rows.shape[:2], dtype=rows.dtype, device=rows.device)
        for row in rows.unbind(2):
            hidden, cell = self.cell(row, (hidden, cell))
        return self.head(hidden)

    @staticmethod
    def run(blocks, x):
        batch, dim, height, width = x.shape
        tokens = x.flatten(2).transpose(1, 2)
        for block in blocks:
            tokens = block(tokens)
        return tokens.transpose(1, 2).reshape(batch, dim, height, width)


def vit(options):
    batch, image, layers = options.batch or 2, options.image or 96, options.layers or 2
    classes, dim, heads, patch, grid = 100, 128, 4, 8, 7
    labels = torch.randint(classes, (batch,))
    return Workload(Vit(classes, dim, heads, patch, grid, layers), [torch.randn(batch, 3, image, image)],
                    lambda output: F.cross_entropy(output, labels),
                    f"vision transformer of two stages with {layers} blocks each (group norm, attention, hardswish), "
                    f"width {dim}, {heads} heads, patches of {patch} x {patch}, positions interpolated from {grid} x "
                    f"{grid}, an LSTM cell over the rows, random weights, batch {batch} x 3 x {image} x {image}")


MODELS = {
    "resnet18": lambda options: resnet("resnet18", options),
    "resnet50": lambda options: resnet("resnet50", options),
    "llama": llama,
    "bert": bert,
    "vit": vit,
}
