#!/usr/bin/env python3
"""Makes golden/*.json: what PyTorch gets in 20 training steps from weights and batches that parity_test.cpp makes too.

    python3 tests/parity/make_golden.py        (any PyTorch; Debian's python3-torch 1.13 made the committed files)

No weights or data are stored. Both sides compute them from a hash of integers, with sums and products that are exact
in fp32 (or rounded once), so they agree to the last bit; see synthetic.h, which says the same in C++. Each file also
holds how far PyTorch's own fp32 losses lie from its fp64 losses: what rounding alone does.
"""
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS = 20
GOLDEN = pathlib.Path(__file__).parent / "golden"


def mix(key, index):
    """A well mixed 32-bit hash of (key, index); index may be an array. (Finalizer "lowbias32" of C. Wellons.)"""
    x = (np.asarray(index, np.uint64) * 0x9E3779B9 + key * 0x85EBCA6B) & 0xFFFFFFFF
    x ^= x >> np.uint64(16)
    x = (x * 0x7FEB352D) & 0xFFFFFFFF
    x ^= x >> np.uint64(15)
    x = (x * 0x846CA68B) & 0xFFFFFFFF
    return x ^ (x >> np.uint64(16))


def unit(key, index):
    """In [0, 1), a multiple of 2^-24: exact in fp32."""
    return (mix(key, index) >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)


def fill_parameters(model):
    """Parameter k, in definition order: (unit(k, i) - 1/2) / 8, plus 1 for the gains of norms."""
    for key, (name, p) in enumerate(model.named_parameters()):
        values = (unit(key, np.arange(p.numel())) - np.float32(0.5)) * np.float32(0.125)
        if "ln_" in name and name.endswith("weight"):
            values = values + np.float32(1)
        with torch.no_grad():
            p.copy_(torch.from_numpy(values).view_as(p))


# --- the MLP: noisy prototypes of ten classes ------------------------------------------------------------------

MLP_SIZES, MLP_BATCH = [784, 1024, 1024, 10], 64


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(MLP_SIZES, MLP_SIZES[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


def mlp_batch(step):
    n = np.arange(step * MLP_BATCH, (step + 1) * MLP_BATCH, dtype=np.uint64)
    labels = (mix(1000, n) % np.uint64(10)).astype(np.int64)
    pixel = np.arange(MLP_SIZES[0], dtype=np.uint64)
    prototype = unit(1001, labels[:, None].astype(np.uint64) * MLP_SIZES[0] + pixel)
    noise = unit(1002, n[:, None] * MLP_SIZES[0] + pixel)
    return torch.from_numpy((prototype + noise) * np.float32(0.5)), torch.from_numpy(labels)


def train_mlp(dtype):
    model = Mlp()
    fill_parameters(model)
    model.to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step in range(STEPS):
        x, labels = mlp_batch(step)
        loss = F.cross_entropy(model(x.to(dtype)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return dict(losses=losses, parameter_norms=norms(model))


# --- gpt-nano: bytes from a noisy linear congruence ------------------------------------------------------------

LAYERS, WIDTH, HEADS, VOCABULARY, T, GPT_BATCH = 4, 256, 4, 256, 128, 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        split = lambda t: t.view(*t.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)
        q, k, v = map(split, self.c_attn(x).split(WIDTH, 2))
        scores = q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        y = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(x.shape))


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH), Feed()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(T, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


def gpt_batch(step):
    row = np.arange(step * GPT_BATCH, (step + 1) * GPT_BATCH, dtype=np.uint64)
    tokens = [mix(2000, row) & np.uint64(255)]
    for t in range(T):
        tokens.append((tokens[-1] * np.uint64(5) + (mix(2001, row * T + t) & np.uint64(3))) & np.uint64(255))
    tokens = torch.from_numpy(np.stack(tokens, 1).astype(np.int64))
    return tokens[:, :-1], tokens[:, 1:]


def train_gpt(dtype):
    model = Gpt()
    fill_parameters(model)
    model.to(dtype)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [dict(params=matrices, weight_decay=0.1), dict(params=others, weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    losses, grad_norms = [], []
    for step in range(STEPS):
        ids, targets = gpt_batch(step)
        loss = F.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        grad_norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
        optimizer.step()
        losses.append(loss.item())
    return dict(losses=losses, grad_norms=grad_norms, parameter_norms=norms(model))


# ---------------------------------------------------------------------------------------------------------------


def norms(model):
    return {name: p.detach().double().norm().item() for name, p in model.named_parameters()}


def main():
    torch.manual_seed(0)
    for name, train in (("mlp", train_mlp), ("gpt_nano", train_gpt)):
        golden, exact = train(torch.float32), train(torch.float64)
        rounding = max(abs(a - b) / b for a, b in zip(golden["losses"], exact["losses"]))
        golden.update(made_by=f"PyTorch {torch.__version__}", fp32_from_fp64=rounding)
        (GOLDEN / f"{name}.json").write_text(json.dumps(golden, indent=1) + "\n")
        print(f"{name}: loss {golden['losses'][0]:.4f} -> {golden['losses'][-1]:.4f}, fp32 from fp64 {rounding:.1e}")


if __name__ == "__main__":
    main()
