#!/usr/bin/env python3
"""build/train against PyTorch: the same weights, the same batches, the same losses.

    gpt2_parity.py make   --size gpt2   PyTorch's losses, from weights that train exports → golden/gpt2.json
    gpt2_parity.py check  --size gpt2   train's losses against the golden file (no PyTorch needed)
    gpt2_parity.py logits --size gpt2   train's weights in transformers, and transformers' weights in train
    gpt2_parity.py all    --size gpt2   the three, one after the other

Prints one table; exit code 1 if a line of it fails. `--size small` is gpt-nano, which a CPU does in seconds.

What is compared, and how close it must be:

    losses   20 steps over a noisy congruence of the whole vocabulary. fp32 (PyTorch eager, TF32 off): each within 1e-4,
             relative; bf16 (PyTorch's autocast): each within 1e-2.
    drift    200 steps on real text, the bytes of examples/data/tandem.txt. Two runs that round differently do not stay
             close step by step; what must not be is that one learns worse. So: the mean over the last quarter of the steps of
             (train − PyTorch) / PyTorch is within 1e-2 in bf16, 2e-3 in fp32. PyTorch's own bf16 against its fp32 stands beside it.
    logits   of one sequence, in fp32 on the CPU: no element further off than 1e-4 of the largest.

Both sides: AdamW 3e-4 (0.9, 0.95, epsilon 1e-8), decay 0.1 on matrices and embeddings alone, gradients clipped to a norm of 1,
no dropout, tanh-GELU, norms with epsilon 1e-5, a head tied to the token table, no warm-up. Weights: train --seed 0, as
--export writes them. Batches: train's own order of the windows of a token file, computed here again (Windows).
"""
import argparse
import array
import hashlib
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

SIZES = {
    "gpt2": dict(model="gpt2", layers=12, width=768, heads=12, vocabulary=50257, sequence=1024, batch=4, steps=20, text_steps=200),
    "small": dict(model="gpt-nano", layers=4, width=256, heads=4, vocabulary=256, sequence=128, batch=4, steps=20, text_steps=40),
}
LR, BETAS, DECAY, CLIP = 3e-4, (0.9, 0.95), 0.1, 1.0
LOSS_TOLERANCE = {"fp32": 1e-4, "bf16": 1e-2}
DRIFT_TOLERANCE = {"fp32": 2e-3, "bf16": 1e-2}
LOGIT_TOLERANCE = 1e-4


# --- batches ---------------------------------------------------------------------------------------------------


def philox(counter, key):
    """Philox4x32-10, as core/base/philox.h has it: the first of four words."""
    c, k0, k1 = list(counter), key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c[0]


def permuted(position, n, seed, epoch):
    """Where class Permutation of dataloader/sampler.h sends a position."""
    bits = ((1 if n <= 2 else (n - 1).bit_length()) + 1) // 2
    block = position
    while True:
        left, right = block >> bits, block & ((1 << bits) - 1)
        for turn in range(8):
            word = philox([right & 0xFFFFFFFF, 0xF0000000 + turn, epoch & 0xFFFFFFFF, epoch >> 32], seed)
            left, right = right, left ^ (word & ((1 << bits) - 1))
        block = left << bits | right
        if block < n:
            return block


class Windows:
    """A file of uint16 tokens and the batches that one rank makes of it with --tail drop and --seed 0."""

    def __init__(self, path, tokens, size):
        self.path, self.tokens = path, array.array("H", list(tokens))
        self.sequence, self.batch = size["sequence"], size["batch"]
        self.count = (len(self.tokens) - 1) // self.sequence
        path.write_bytes(self.tokens.tobytes())
        self.sha256 = hashlib.sha256(path.read_bytes()).hexdigest()

    def rows(self, step):
        """[batch] rows of sequence + 1 tokens: inputs, and each one's successor as its target."""
        per_epoch = self.count // self.batch
        first = step % per_epoch * self.batch
        for position in range(first, first + self.batch):
            start = permuted(position, self.count, 0, step // per_epoch) * self.sequence
            yield self.tokens[start : start + self.sequence + 1]


def congruence(count, vocabulary):
    """Tokens that a model can learn a little of: each is five times the one before, plus 0 to 3."""
    token, hashed = 1, 1
    for _ in range(count):
        yield token
        hashed = (hashed * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        token = (5 * token + (hashed >> 62)) % vocabulary


# --- train -----------------------------------------------------------------------------------------------------


class Tandem:
    def __init__(self, arguments, size, work):
        self.program, self.device, self.size, self.work, self.runs = arguments.train, arguments.device, size, work, 0

    def run(self, *options):
        command = [self.program, "--model", self.size["model"], "--device", self.device, "--batch", self.size["batch"], *options]
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
        return result.stdout

    def weights(self):
        """Freshly drawn weights: the folder that train exports."""
        folder = self.work / "weights"
        if not folder.exists():
            self.run("--seed", 0, "--steps", 0, "--export", folder)
        return folder

    def losses(self, windows, steps, precision, *options, init=None):
        self.runs += 1
        log = self.work / f"run{self.runs}"
        optimizer = ["--lr", LR, "--betas", ",".join(map(str, BETAS)), "--weight-decay", DECAY, "--clip", CLIP]
        self.run("--init", init or self.weights(), "--data", f"tokens-raw:{windows.path}", "--tail", "drop", "--seed", 0,
                 "--steps", steps, "--precision", precision, "--log-dir", log, *(options or optimizer))
        return [json.loads(line)["loss"] for line in (log / "steps.rank0.jsonl").read_text().splitlines()]


# --- PyTorch ---------------------------------------------------------------------------------------------------


def read_safetensors(path):
    """name → tensor, read with nothing but json and struct."""
    import torch

    content = path.read_bytes()
    length = struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", name
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = torch.frombuffer(bytearray(content[begin:end]), dtype=torch.float32)
        tensors[name[len("transformer.") :]] = values.reshape(entry["shape"])
    return tensors


def attention(q, k, v):
    import torch
    import torch.nn.functional as F

    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    future = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device).triu(1)
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
    return scores.masked_fill(future, float("-inf")).softmax(-1) @ v


def forward(p, ids, heads):
    """GPT-2 in plain words; p: parameters under Hugging Face's names, matrices [in, out]."""
    import torch.nn.functional as F

    norm = lambda x, name: F.layer_norm(x, x.shape[-1:], p[name + ".weight"], p[name + ".bias"], 1e-5)
    linear = lambda x, name: F.linear(x, p[name + ".weight"].t(), p[name + ".bias"])
    split = lambda x: x.view(*x.shape[:2], heads, -1).transpose(1, 2)
    x = F.embedding(ids, p["wte.weight"]) + p["wpe.weight"][: ids.shape[1]]
    for i in range(sum(name.endswith("ln_1.weight") for name in p)):
        q, k, v = map(split, linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").chunk(3, dim=2))
        x = x + linear(attention(q, k, v).transpose(1, 2).flatten(2), f"h.{i}.attn.c_proj")
        hidden = F.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
        x = x + linear(hidden, f"h.{i}.mlp.c_proj")
    return F.linear(norm(x, "ln_f"), p["wte.weight"])


def torch_losses(weights, windows, steps, precision, size, device):
    import torch
    import torch.nn.functional as F

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    p = {name: t.to(device).requires_grad_() for name, t in read_safetensors(weights / "model.safetensors").items()}
    groups = [dict(params=[t for t in p.values() if t.dim() > 1], weight_decay=DECAY),
              dict(params=[t for t in p.values() if t.dim() == 1], weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, lr=LR, betas=BETAS, eps=1e-8)
    losses = []
    for step in range(steps):
        rows = torch.tensor([list(row) for row in windows.rows(step)], device=device)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bf16"):
            logits = forward(p, rows[:, :-1], size["heads"])
            loss = F.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(p.values()), CLIP)
        optimizer.step()
        losses.append(loss.item())
    return losses


# --- the three parts -------------------------------------------------------------------------------------------


class Table:
    def __init__(self):
        self.lines, self.failed = [], 0

    def add(self, what, value, tolerance):
        """A line without a tolerance is for the reader."""
        good = tolerance is None or value <= tolerance  # nan is not
        self.failed += not good
        limit = "" if tolerance is None else f"{tolerance:.0e}"
        self.lines.append(f"{what:<62} {value:9.1e}   {limit:>5}   {'' if tolerance is None else 'ok' if good else 'FAILED'}")

    def show(self):
        print(f"{'':<62} {'found':>9}   {'most':>5}")
        print("\n".join(self.lines))


def data(size, work):
    count = size["steps"] * size["batch"] * size["sequence"] + 1
    text = (ROOT / "examples/data/tandem.txt").read_bytes()
    return {"losses": Windows(work / "congruence.bin", congruence(count, size["vocabulary"]), size),
            "text": Windows(work / "text.bin", text, size)}


def file_hash(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def precisions(device):
    return ["fp32", "bf16"] if device == "cuda" else ["fp32"]


def make(tandem, size, device, golden_path, table):
    import torch

    weights, windows = tandem.weights(), data(size, tandem.work)
    golden = dict(made_by=f"PyTorch {torch.__version__} on {torch.cuda.get_device_name() if device == 'cuda' else 'a CPU'}",
                  size=size, optimizer=dict(lr=LR, betas=BETAS, decay=DECAY, clip=CLIP),
                  weights_sha256=file_hash(weights / "model.safetensors"),
                  data_sha256={name: w.sha256 for name, w in windows.items()})
    for name, steps in (("losses", size["steps"]), ("text", size["text_steps"])):
        golden[name] = {precision: torch_losses(weights, windows[name], steps, precision, size, device)
                        for precision in precisions(device)}
    golden_path.parent.mkdir(parents=True, exist_ok=True)
    golden_path.write_text(json.dumps(golden, indent=1) + "\n")
    for name in ("losses", "text"):
        for precision, losses in golden[name].items():
            print(f"PyTorch, {name}, {precision}: {losses[0]:.4f} -> {losses[-1]:.4f}")
    print(f"wrote {golden_path}")


def relative(found, expected):
    assert len(found) == len(expected), f"{len(found)} steps, not {len(expected)}"
    return [(a - b) / b for a, b in zip(found, expected)]


def drift(found, expected):
    late = relative(found, expected)[-max(1, len(found) // 4) :]
    return abs(sum(late) / len(late))


def check(tandem, size, device, golden_path, table):
    golden, windows = json.loads(golden_path.read_text()), data(size, tandem.work)
    assert golden["size"] == size, f"{golden_path} is of another size: make it again"
    for name, w in windows.items():
        if golden["data_sha256"][name] != w.sha256:
            sys.exit(f"{golden_path}: its data '{name}' was another: make it again")
    if golden["weights_sha256"] != file_hash(tandem.weights() / "model.safetensors"):
        print("the weights differ in their last bits from the golden file's: another libm drew them")
    curves = {}
    for precision in golden["losses"]:
        if precision not in precisions(device):
            continue
        expected = golden["losses"][precision]
        found = curves[f"losses {precision}"] = tandem.losses(windows["losses"], size["steps"], precision)
        worst = max(map(abs, relative(found, expected)))
        table.add(f"{size['model']}, {precision}, {len(found)} steps: largest difference of a loss", worst, LOSS_TOLERANCE[precision])
        expected = golden["text"][precision]
        found = curves[f"text {precision}"] = tandem.losses(windows["text"], size["text_steps"], precision)
        table.add(f"{size['model']}, {precision}, text, {len(found)} steps: drift from PyTorch", drift(found, expected),
                  DRIFT_TOLERANCE[precision])
    if "bf16" in golden["text"]:
        table.add("PyTorch's own drift of bf16 from fp32", drift(golden["text"]["bf16"], golden["text"]["fp32"]), None)
    return curves


def compare_logits(tandem, folder, model, rows, program, what, table):
    import torch

    size, tokens, out = tandem.size, tandem.work / "sequence.bin", tandem.work / "logits.bin"
    tokens.write_bytes(struct.pack(f"<{len(rows) - 1}H", *rows[:-1]))
    sizes = [size[name] for name in ("layers", "width", "heads", "vocabulary", "sequence")]
    subprocess.run([str(word) for word in (program, folder, tokens, out, *sizes)], check=True)
    own = torch.frombuffer(bytearray(out.read_bytes()), dtype=torch.float32).reshape(len(rows) - 1, -1)
    with torch.no_grad():
        theirs = model(torch.tensor([list(rows[:-1])])).logits[0]
    table.add(f"{what}: largest difference of a logit", ((own - theirs).abs().max() / theirs.abs().max()).item(), LOGIT_TOLERANCE)


def logits(tandem, size, device, program, table):
    """transformers: our folder as its model, its folder as ours."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    windows = data(size, tandem.work)["losses"]
    rows = list(windows.rows(0))
    model, info = GPT2LMHeadModel.from_pretrained(tandem.weights(), output_loading_info=True)
    faults = [name for key in ("missing_keys", "unexpected_keys", "mismatched_keys") for name in info[key] if "lm_head" not in str(name)]
    table.add(f"tensors that transformers misses or does not know {faults or ''}".rstrip(), len(faults), 0)
    compare_logits(tandem, tandem.weights(), model.eval(), rows[0], program, "exported to transformers", table)

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_layer=size["layers"], n_embd=size["width"], n_head=size["heads"],
                                       vocab_size=size["vocabulary"], n_positions=size["sequence"],
                                       bos_token_id=0, eos_token_id=0)).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # gains of 1 and biases of 0 would show no exchange
            parameter.add_(0.02 * torch.randn_like(parameter))
    folder = tandem.work / "transformers"
    model.save_pretrained(folder)
    compare_logits(tandem, folder, model, rows[0], program, "imported from transformers", table)
    with torch.no_grad():
        ids = torch.tensor([list(row[:-1]) for row in rows])
        targets = torch.tensor([list(row[1:]) for row in rows])
        expected = torch.nn.functional.cross_entropy(model(ids).logits.flatten(0, 1), targets.flatten()).item()
    found = tandem.losses(windows, 1, "fp32", "--lr", 0, init=folder)
    table.add("imported from transformers: train's first loss", abs(relative(found, [expected])[0]), LOSS_TOLERANCE["fp32"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["make", "check", "logits", "all"])
    parser.add_argument("--size", choices=SIZES, default="gpt2")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if os.path.exists("/dev/nvidia0") else "cpu")
    parser.add_argument("--train", default=ROOT / "build/train", help="the program")
    parser.add_argument("--logits-program", default=ROOT / "build/tests/parity/gpt2_logits", help="built with the tests")
    parser.add_argument("--golden", type=pathlib.Path, help="the golden file (default: golden/gpt2.json or golden/gpt2_small.json)")
    parser.add_argument("--curves", type=pathlib.Path, help="where to write train's losses, for a closer look")
    arguments = parser.parse_args()
    size = SIZES[arguments.size]
    golden = arguments.golden or HERE / "golden" / ("gpt2.json" if arguments.size == "gpt2" else "gpt2_small.json")
    table = Table()
    with tempfile.TemporaryDirectory() as work:
        tandem = Tandem(arguments, size, pathlib.Path(work))
        if arguments.part in ("make", "all"):
            make(tandem, size, arguments.device, golden, table)
        if arguments.part in ("check", "all"):
            curves = check(tandem, size, arguments.device, golden, table)
            if arguments.curves:
                arguments.curves.write_text(json.dumps(curves, indent=1) + "\n")
        if arguments.part in ("logits", "all"):
            logits(tandem, size, arguments.device, arguments.logits_program, table)
    if table.lines:
        table.show()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
