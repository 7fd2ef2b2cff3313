#!/usr/bin/env python3
"""Weights in and out of build/train: what --export writes, read here without any library but json and struct, and
what --init makes of good and bad files, alone and under mpirun.

    weights_test.py TRAIN [unittest options]      TRAIN: path of the program
"""
import json
import struct
import unittest

from train_test import TrainTest, run

TINY = "--layers 2 --width 16 --heads 2 --seq 8 --batch 4".split()
MLP = "--model mlp --mlp-sizes 16,32,4 --optimizer sgd --data synthetic:512".split()
PREFIX = "transformer."


def replaced(options, name, value):
    at = options.index(name)
    return [*options[: at + 1], value, *options[at + 2 :]]


def read(path):
    """name → (dtype, shape, bytes) of a safetensors file, and its metadata; fails unless the file is whole."""
    content = path.read_bytes()
    length = struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8 : 8 + length])
    metadata, data = header.pop("__metadata__", {}), content[8 + length :]
    tensors, end = {}, 0
    for name, entry in header.items():  # in the order in which they lie
        assert entry["data_offsets"][0] == end, name
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["dtype"], entry["shape"], data[begin:end])
    assert end == len(data)
    return tensors, metadata


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def floats(tensor):
    return struct.unpack(f"<{len(tensor[2]) // 4}f", tensor[2])


def transposed(tensor):
    dtype, (rows, columns), _ = tensor
    values = floats(tensor)
    turned = [values[row * columns + column] for column in range(columns) for row in range(rows)]
    return dtype, [columns, rows], struct.pack(f"<{len(turned)}f", *turned)


def llmc_checkpoint(path, tensors, config, version, padded):
    """The same weights as llm.c would store them: its header, then kind by kind over all layers."""
    def values(name):
        tensor = tensors[PREFIX + name]
        if len(tensor[1]) == 2 and name.startswith("h."):
            tensor = transposed(tensor)
        values = tensor[2]
        if name == "wte.weight":
            values += bytes(4 * config["n_embd"] * (padded - config["vocab_size"]))
        return values if version == 3 else b"".join(values[i + 2 : i + 4] for i in range(0, len(values), 4))

    keys = ["n_positions", "vocab_size", "n_layer", "n_head", "n_embd"]
    header = [20240326, version, *(config[key] for key in keys), padded]
    kinds = ["ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"]
    names = ["wte.weight", "wpe.weight"]
    names += [f"h.{i}.{kind}.{part}" for kind in kinds for part in ("weight", "bias") for i in range(config["n_layer"])]
    names += ["ln_f.weight", "ln_f.bias"]
    path.write_bytes(struct.pack("<256i", *header, *[0] * (256 - len(header))) + b"".join(map(values, names)))
    return path


class Weights(TrainTest):
    def export(self, name, *options, ranks=0):
        """Weights written without training: their path."""
        result = run(*options, "--steps", 0, "--export", self.folder / name, ranks=ranks)
        self.assertEqual(result.code, 0, result.err + result.out)
        self.assertIn(f"Weights: {self.folder / name}", result.out)
        self.assertNotIn("step ", result.out)
        return self.folder / name

    def test_a_folder_as_gpt2_has_it(self):
        folder = self.export("gpt", *TINY)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["config.json", "model.safetensors"])
        config = json.loads((folder / "config.json").read_text())
        expected = dict(model_type="gpt2", n_layer=2, n_embd=16, n_head=2, n_positions=8, vocab_size=256,
                        activation_function="gelu_new", layer_norm_epsilon=1e-5, tie_word_embeddings=True)
        self.assertEqual({key: config[key] for key in expected}, expected)
        tensors, metadata = read(folder / "model.safetensors")
        self.assertEqual(metadata, {"format": "pt"})
        shapes = {"wte.weight": [256, 16], "wpe.weight": [8, 16], "ln_f.weight": [16], "ln_f.bias": [16]}
        for i in range(2):
            for name, size in [("ln_1", 16), ("ln_2", 16)]:
                shapes[f"h.{i}.{name}.weight"] = shapes[f"h.{i}.{name}.bias"] = [size]
            for name, size in [("attn.c_attn", [16, 48]), ("attn.c_proj", [16, 16]), ("mlp.c_fc", [16, 64]), ("mlp.c_proj", [64, 16])]:
                shapes[f"h.{i}.{name}.weight"], shapes[f"h.{i}.{name}.bias"] = size, size[1:]
        self.assertEqual({name: shape for name, (_, shape, _) in tensors.items()}, {PREFIX + n: s for n, s in shapes.items()})
        for name, tensor in tensors.items():
            self.assertEqual(tensor[0], "F32")
            values = floats(tensor)
            if ".ln_" in name or name.endswith("bias"):
                self.assertEqual(set(values), {1.0} if name.endswith("weight") else {0.0}, name)
            else:  # as initialised: normal, 0.02 or 0.02 / sqrt(2 layers)
                scale = (sum(v * v for v in values) / len(values)) ** 0.5
                self.assertAlmostEqual(scale, 0.01 if "c_proj" in name else 0.02, delta=0.004, msg=name)

    def test_in_and_out_again_are_the_same_bytes(self):
        for options in [TINY, [*TINY, "--vocab", 1100], MLP]:  # 1100 tokens are padded to 1152 in memory
            first = self.export("first.safetensors", *options, "--seed", 5)
            for ranks in (0, 2):
                again = self.export("again.safetensors", *options, "--init", first, ranks=ranks)
                self.assertEqual(first.read_bytes(), again.read_bytes())
        self.assertEqual(read(self.export("v.safetensors", *TINY, "--vocab", 1100))[0][PREFIX + "wte.weight"][1], [1100, 16])

    def test_training_goes_on_where_it_was(self):
        model = [*TINY, "--optimizer", "sgd"]
        common = [*model, "--lr", 0.1]
        start = self.export("start", *common)
        drawn, _ = self.train(*common, "--steps", 5, ranks=2)
        for ranks in (0, 2):
            read_in, folder = self.train(*common, "--steps", 5, "--init", start, "--export", self.folder / "end", ranks=ranks)
            self.assertIn(f"weights  {start}/model.safetensors (safetensors, 28 tensors, F32)", read_in.out)
            if ranks == 2:
                self.assertEqual(self.hash_of(drawn), self.hash_of(read_in))
        # A step that changes nothing shows the loss of what was exported: the one before is larger.
        losses = [self.steps(self.train(*model, "--init", weights, "--lr", 0, "--steps", 1, "--no-ddp")[1])[0]["loss"]
                  for weights in (start, self.folder / "end")]
        self.assertLess(losses[1], losses[0])

    def test_llmc_checkpoints(self):
        folder = self.export("gpt", *TINY, "--seed", 3)
        tensors, _ = read(folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text())
        exact = llmc_checkpoint(self.folder / "fp32.bin", tensors, config, 3, padded=384)
        for ranks in (0, 2):
            self.assertEqual(read(self.export("out.safetensors", *TINY, "--init", exact, ranks=ranks))[0], tensors)
        short = llmc_checkpoint(self.folder / "bf16.bin", tensors, config, 5, padded=256)
        for name, tensor in read(self.export("out.safetensors", *TINY, "--init", short))[0].items():
            for value, expected in zip(floats(tensor), floats(tensors[name])):
                self.assertLessEqual(abs(value - expected), abs(expected) / 128, name)  # cut to 8 bits

    def refuse(self, pattern, *options):
        for ranks in (0, 2):
            result = run(*options, "--log-dir", self.log_dir(), ranks=ranks)
            self.assertEqual(result.code, 2, result.err + result.out)
            self.assertEqual(len(result.complaints), 1, result.err)
            self.assertRegex(result.complaints[0], pattern)

    def test_what_does_not_fit_is_refused_by_all_ranks_and_said_once(self):
        folder = self.export("gpt", *TINY)
        file, mlp = folder / "model.safetensors", self.export("mlp.safetensors", *MLP)
        self.refuse("layers 2, sequence 8.*layers 4, sequence 128.*--layers 2 --seq 8",
                    *"--width 16 --heads 2".split(), "--init", file)
        self.refuse("heads 2.*heads 4.*--heads 2", *replaced(TINY, "--heads", "4"), "--init", folder)
        self.refuse("16,32,4.*16,8,4.*--mlp-sizes 16,32,4", *replaced(MLP, "--mlp-sizes", "16,8,4"), "--init", mlp)
        self.refuse("lacks wte.weight", *TINY, "--init", mlp)
        content = file.read_bytes()
        for pattern, damaged in [("truncated", content[:-1]), ("truncated", content[:100]), ("truncated", b""),
                                 ("not JSON", content.replace(b"{", b"(", 1)), ("unknown type", content.replace(b"F32", b"F99", 1))]:
            bad = self.folder / "bad.safetensors"
            bad.write_bytes(damaged)
            self.refuse(f"{bad}: .*{pattern}", *TINY, "--init", bad)
        tensors, _ = read(file)
        tensors[PREFIX + "h.0.ln_1.extra"] = tensors.pop(PREFIX + "h.0.ln_1.bias")
        self.refuse("lacks h.0.ln_1.bias; holds h.0.ln_1.extra", *TINY, "--init", write(self.folder / "names.safetensors", tensors))

    def test_where_it_cannot_be_written(self):
        self.refuse("--export /proc/nowhere: cannot be written", *TINY, "--export", "/proc/nowhere")
        (self.folder / "file").write_text("")
        self.refuse("cannot be written", *TINY, "--steps", 0, "--export", self.folder / "file")

    def test_a_dry_run_checks_but_writes_nothing(self):
        start = self.export("start", *TINY)
        result = run(*TINY, "--dry-run", "--init", start, "--export", self.folder / "out")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("weights  ", result.out)
        self.assertFalse((self.folder / "out").exists())
        self.refuse("--layers 2", *replaced(TINY, "--layers", "3"), "--dry-run", "--init", start)


if __name__ == "__main__":
    unittest.main()
