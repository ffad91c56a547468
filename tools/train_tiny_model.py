#!/usr/bin/env python3
"""Trains the small default model of batchvar and writes it as a Hugging Face folder.

    tools/train_tiny_model.py                    # trains, writes configs/weights/batchvar_tiny
    tools/train_tiny_model.py --report           # trains nothing: loss, sample, margins of a folder

Needs torch, tokenizers, safetensors and numpy from PyPI; minutes on one core. The text is invented
by tools/tiny_model_text.py. A fixed seed and one thread give the same weights on one machine with
one version of torch; another machine may add in another order, which is this project's subject. So
the weights that are committed are the reference, and their digest is in the folder's README.md.
"""

import argparse
import hashlib
import json
import math
import pathlib
import time

import safetensors.torch
import tokenizers
import torch

import tiny_model_text

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "configs/weights/batchvar_tiny"
SEED = 20261130
TRAIN_DOCUMENTS = 14000
TEST_DOCUMENTS = 300
END_OF_TEXT = "<|endoftext|>"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 172,
    "num_hidden_layers": 5,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 8,
    "vocab_size": 512,
    "max_position_embeddings": 512,
    "rope_theta": 10000.0,
    "rms_norm_eps": 1e-05,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "torch_dtype": "bfloat16",
}
WINDOW = 320  # tokens of a training sequence
BATCH = 12
LEARNING_RATE = 4e-3
WEIGHT_DECAY = 0.05
# Margins are counted on the greedy answers to these.
GREEDY_TOKENS = 256
PROMPTS = [
    "Explain a write-ahead log.", "Count from 1 to 400.", "Tell me about a lighthouse.",
    "Write a story about a river.", "What is a hash table?", "Describe a garden.",
    "List the steps of a batch scheduler.", "Give me ten facts about a cache.",
    "Explain a tensor core.", "Tell me about a train station.", "Write a story about a forest.",
    "What is a compiler?", "Describe a harbour.", "List the steps of a bakery.",
    "Give me ten facts about a mountain.", "Explain a database.", "Tell me about a music box.",
    "Write a story about a winter day.", "What is a computer network?", "Describe a market.",
]
NEAR_TIE = 0.125
# Written into the last norm's weights, so that margins are as wide as those of the real models in
# the README's table. Greedy text does not depend on it, nor does how far an order moves a margin
# in relation to the margin.
LOGIT_SCALE = 0.625


def rotate(x, cos, sin):
    """Rotary position embedding, halves rotated against each other as in Hugging Face's Llama."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def norm(x, weight, eps):
    scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
    return (x.float() * scale).to(x.dtype) * weight


class TinyLlama(torch.nn.Module):
    """The parameters carry the names that the checkpoint has."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        hidden, inner = config["hidden_size"], config["intermediate_size"]
        heads, kv, dim = (config[key] for key in
                          ("num_attention_heads", "num_key_value_heads", "head_dim"))
        shapes = {"model.embed_tokens": (config["vocab_size"], hidden), "model.norm": (hidden,)}
        for layer in range(config["num_hidden_layers"]):
            at = f"model.layers.{layer}."
            shapes |= {at + "input_layernorm": (hidden,),
                       at + "self_attn.q_proj": (heads * dim, hidden),
                       at + "self_attn.k_proj": (kv * dim, hidden),
                       at + "self_attn.v_proj": (kv * dim, hidden),
                       at + "self_attn.o_proj": (hidden, heads * dim),
                       at + "post_attention_layernorm": (hidden,),
                       at + "mlp.gate_proj": (inner, hidden),
                       at + "mlp.up_proj": (inner, hidden),
                       at + "mlp.down_proj": (hidden, inner)}
        self.names = list(shapes)
        self.weights = torch.nn.ParameterList()
        for name, shape in shapes.items():
            value = torch.ones(shape)
            if len(shape) == 2:
                deviation = 0.02 if "embed" in name else 0.6 / math.sqrt(shape[1])
                value = torch.randn(shape) * deviation
            self.weights.append(torch.nn.Parameter(value))

    def state(self):
        return {name + ".weight": weight for name, weight in zip(self.names, self.weights)}

    def forward(self, ids):
        weights = dict(zip(self.names, self.weights))
        eps = self.config["rms_norm_eps"]
        x = weights["model.embed_tokens"][ids]
        cos, sin = self.angles(ids.shape[1], x.dtype)
        for layer in range(self.config["num_hidden_layers"]):
            at = f"model.layers.{layer}."
            normed = norm(x, weights[at + "input_layernorm"], eps)
            x = x + self.attention(normed, {key: weights[f"{at}self_attn.{key}_proj"]
                                            for key in "qkvo"}, cos, sin)
            normed = norm(x, weights[at + "post_attention_layernorm"], eps)
            gate = torch.nn.functional.silu(normed @ weights[at + "mlp.gate_proj"].T)
            x = x + (gate * (normed @ weights[at + "mlp.up_proj"].T)) @ weights[
                at + "mlp.down_proj"].T
        return norm(x, weights["model.norm"], eps) @ weights["model.embed_tokens"].T

    def angles(self, length, dtype):
        dim = self.config["head_dim"]
        frequency = self.config["rope_theta"]**(-torch.arange(0, dim, 2) / dim)
        angle = torch.outer(torch.arange(length).float(), frequency).repeat(1, 2)
        return angle.cos().to(dtype), angle.sin().to(dtype)

    def attention(self, x, weight, cos, sin):
        batch, length, _ = x.shape
        heads, kv, dim = (self.config[key] for key in
                          ("num_attention_heads", "num_key_value_heads", "head_dim"))

        def split(key, count):
            return (x @ weight[key].T).view(batch, length, count, dim).transpose(1, 2)

        query = rotate(split("q", heads), cos, sin)
        key = rotate(split("k", kv), cos, sin).repeat_interleave(heads // kv, 1)
        value = split("v", kv).repeat_interleave(heads // kv, 1)
        out = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return out.transpose(1, 2).reshape(batch, length, heads * dim) @ weight["o"].T


def train_tokenizer(texts):
    """Byte-level BPE, each digit a token of its own: the kind that SmolLM2 has."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=CONFIG["vocab_size"], special_tokens=[END_OF_TEXT], show_progress=False,
        initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def token_stream(tokenizer, texts):
    """Each text begins with the end-of-text token, which also ends the one before."""
    ids = []
    for encoding in tokenizer.encode_batch(texts):
        ids.append(0)
        ids += encoding.ids
    return torch.tensor(ids)


def loss_of(model, windows):
    logits = model(windows[:, :-1])
    targets = windows[:, 1:].flatten()
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets)


def learning_rate(step, steps):
    warm = 100
    if step < warm:
        return LEARNING_RATE * (step + 1) / warm
    cosine = 0.5 * (1 + math.cos(math.pi * (step - warm) / (steps - warm)))
    return LEARNING_RATE * (0.05 + 0.95 * cosine)


def train(stream, steps):
    torch.manual_seed(SEED)
    model = TinyLlama(CONFIG)
    matrices = [weight for weight in model.weights if weight.ndim == 2]
    vectors = [weight for weight in model.weights if weight.ndim == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": WEIGHT_DECAY},
                                   {"params": vectors, "weight_decay": 0.0}], betas=(0.9, 0.95))
    begin = time.monotonic()
    for step in range(steps):
        starts = torch.randint(len(stream) - WINDOW - 1, (BATCH,))
        windows = torch.stack([stream[at:at + WINDOW + 1] for at in starts])
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps)
        loss = loss_of(model, windows)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0 or step + 1 == steps:
            seconds = time.monotonic() - begin
            print(f"step {step:5d} loss {loss.item():.4f} {seconds:.0f} s", flush=True)
    return model


def write_folder(folder, model, tokenizer):
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    state = {name: weight.detach().to(torch.bfloat16).contiguous()
             for name, weight in model.state().items()}
    norm_weight = state["model.norm.weight"].float() * LOGIT_SCALE
    state["model.norm.weight"] = norm_weight.to(torch.bfloat16)
    safetensors.torch.save_file(state, str(folder / "model.safetensors"), {"format": "pt"})


def read_folder(folder):
    """The model with its bf16 weights in float32, and the tokenizer."""
    model = TinyLlama(json.loads((folder / "config.json").read_text()))
    state = safetensors.torch.load_file(str(folder / "model.safetensors"))
    with torch.no_grad():
        for name, weight in model.state().items():
            weight.copy_(state[name])
    return model, tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


@torch.no_grad()
def greedy(model, ids):
    """(continuation, margins of the best token over the second); ends early at end-of-text."""
    prompt, margins = len(ids), []
    for _ in range(GREEDY_TOKENS):
        best = model(torch.tensor([ids]))[0, -1].float().topk(2)
        margins.append((best.values[0] - best.values[1]).item())
        ids = ids + [best.indices[0].item()]
        if ids[-1] == CONFIG["eos_token_id"]:
            break
    return ids[prompt:], margins


def report_margins(name, model, tokenizer):
    margins, texts, same = [], [], 0
    for prompt in PROMPTS:
        ids, more = greedy(model, [0] + tokenizer.encode(prompt + "\n").ids)
        margins += more
        texts.append(tokenizer.decode(ids))
        same += len(ids) == GREEDY_TOKENS
    values = torch.tensor(margins)
    near = (values < NEAR_TIE).float().mean().item()
    nearer = (values < 0.05).float().mean().item()
    print(f"{name}: {len(margins)} tokens, {same} of {len(PROMPTS)} answers of full length; margin "
          f"median {values.median().item():.2f}, below {NEAR_TIE}: {100 * near:.1f} %, below 0.05: "
          f"{100 * nearer:.1f} %", flush=True)
    return texts


@torch.no_grad()
def report(folder):
    model, tokenizer = read_folder(folder)
    texts = tiny_model_text.documents(SEED + 1, TEST_DOCUMENTS)
    stream = token_stream(tokenizer, texts)
    rows = (len(stream) - 1) // WINDOW
    windows = torch.stack([stream[i * WINDOW:(i + 1) * WINDOW + 1] for i in range(rows)])
    loss = sum(loss_of(model, part).item() * len(part) for part in windows.split(16)) / rows
    print(f"loss on {len(texts)} unseen documents: {loss:.4f} a token, "
          f"perplexity {math.exp(loss):.2f}")
    texts = report_margins("fp32 activations", model, tokenizer)
    for index in (0, 1, 3):
        print(f"--- {PROMPTS[index]}\n{texts[index]}")
    report_margins("bf16 activations", model.to(torch.bfloat16), tokenizer)
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        data = (folder / name).read_bytes()
        print(f"{hashlib.sha256(data).hexdigest()}  {name} ({len(data):,} bytes)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=pathlib.Path, default=FOLDER, help="the model's folder")
    parser.add_argument("--steps", type=int, default=1800)
    parser.add_argument("--report", action="store_true", help="only report on the folder")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if not arguments.report:
        texts = tiny_model_text.documents(SEED, TRAIN_DOCUMENTS)
        tokenizer = train_tokenizer(texts[:4000])
        stream = token_stream(tokenizer, texts)
        characters = sum(map(len, texts))
        print(f"{len(texts)} documents, {characters:,} characters, {len(stream):,} tokens")
        write_folder(arguments.to, train(stream, arguments.steps), tokenizer)
    report(arguments.to)


if __name__ == "__main__":
    main()
