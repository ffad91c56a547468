#!/usr/bin/env python3
"""Converts a Llama model from GGUF into a Hugging Face folder with bf16 weights.

    tools/convert_gguf.py MODEL.gguf --to FOLDER [--digests FILE]

Writes model.safetensors (bfloat16, rounded to nearest even from the dequantised float32),
config.json, tokenizer.json and, where the file has a chat template, tokenizer_config.json. Needs
numpy and gguf (0.19.0) from PyPI. Only what batchvar has been tested with is accepted:
architecture `llama` and a byte-level BPE whose pre-tokenizer is one of PRE_TOKENIZERS. GGUF keeps
the rows of Q and K permuted for a rotary embedding of adjacent pairs; that is undone here.

--digests names a JSON file {tensor: {"sha256_bf16_le": hex}}; the exit code is 1 if one differs.
"""

import argparse
import hashlib
import json
import pathlib
import struct
import sys

import gguf
import numpy

LAYER_NAMES = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OTHER_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
              "use_regex": True}
# tokenizer.ggml.pre -> the pre-tokenizer of tokenizer.json.
PRE_TOKENIZERS = {
    "smollm": {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True}, BYTE_LEVEL]},
}
CONTROL, USER_DEFINED = 3, 4  # tokenizer.ggml.token_type


class Unsupported(Exception):
    """The file is a GGUF, but not one that can be converted; the text says what is missing."""


def field(reader, key):
    found = reader.get_field(key)
    if found is None:
        raise Unsupported(f"has no {key}")
    return found.contents()


def optional(reader, key):
    found = reader.get_field(key)
    return None if found is None else found.contents()


def hugging_face_name(name):
    stem = name.removesuffix(".weight")
    if stem in OTHER_NAMES:
        return OTHER_NAMES[stem] + ".weight"
    parts = stem.split(".")
    if len(parts) == 3 and parts[0] == "blk" and parts[2] in LAYER_NAMES:
        return f"model.layers.{parts[1]}.{LAYER_NAMES[parts[2]]}.weight"
    raise Unsupported(f"has a tensor {name} that a Llama model does not have")


def bf16_bytes(values):
    """float32 -> little-endian bfloat16, to nearest, ties to even."""
    bits = numpy.ascontiguousarray(values, dtype=numpy.float32).view(numpy.uint32)
    if not numpy.isfinite(values).all():
        raise Unsupported("has weights that are not finite")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return rounded.astype("<u2").tobytes()


def unpermuted(weight, heads):
    """Undoes w.reshape(heads, 2, d / 2, in).swapaxes(1, 2): halves again instead of pairs."""
    rows, width = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, width)
    return pairs.swapaxes(1, 2).reshape(rows, width)


def model_config(reader):
    if field(reader, "general.architecture") != "llama":
        raise Unsupported(f"is of architecture {field(reader, 'general.architecture')}, not llama")
    get = lambda key: field(reader, "llama." + key)
    heads, hidden = get("attention.head_count"), get("embedding_length")
    eps = numpy.float32(get("attention.layer_norm_rms_epsilon"))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": get("feed_forward_length"),
        "num_hidden_layers": get("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": get("attention.head_count_kv"),
        "head_dim": get("rope.dimension_count"),
        "vocab_size": get("vocab_size"),
        "max_position_embeddings": get("context_length"),
        "rope_theta": float(get("rope.freq_base")),
        "rms_norm_eps": float(str(eps)),  # the file holds a float32
        "tie_word_embeddings": not any(t.name == "output.weight" for t in reader.tensors),
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": optional(reader, "tokenizer.ggml.bos_token_id"),
        "eos_token_id": optional(reader, "tokenizer.ggml.eos_token_id"),
        "torch_dtype": "bfloat16",
    }


def tokenizer_files(reader):
    """tokenizer.json and tokenizer_config.json (None without a chat template), as objects."""
    if field(reader, "tokenizer.ggml.model") != "gpt2":
        raise Unsupported("has a tokenizer that is not a byte-level BPE")
    pre = field(reader, "tokenizer.ggml.pre")
    if pre not in PRE_TOKENIZERS:
        raise Unsupported(f"has the pre-tokenizer {pre}; known: {', '.join(PRE_TOKENIZERS)}")
    tokens = field(reader, "tokenizer.ggml.tokens")
    kinds = field(reader, "tokenizer.ggml.token_type")
    added = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": kind == CONTROL}
             for i, (token, kind) in enumerate(zip(tokens, kinds))
             if kind in (CONTROL, USER_DEFINED)]
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": None, "pre_tokenizer": PRE_TOKENIZERS[pre], "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {token: i for i, token in enumerate(tokens)},
                  "merges": field(reader, "tokenizer.ggml.merges")},
    }
    template = optional(reader, "tokenizer.chat_template")
    if template is None:
        return tokenizer, None
    ends = {name: tokens[optional(reader, f"tokenizer.ggml.{name}_id")]
            for name in ("bos_token", "eos_token")
            if optional(reader, f"tokenizer.ggml.{name}_id") is not None}
    return tokenizer, {"add_bos_token": bool(optional(reader, "tokenizer.ggml.add_bos_token")),
                       "chat_template": template} | ends


def tensors(reader, config):
    """(Hugging Face name, shape, bf16 bytes) of every tensor, in the file's order."""
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        values = values.reshape([int(n) for n in reversed(tensor.shape)])
        kind = tensor.name.split(".")[-2]
        if kind in heads:
            values = unpermuted(values, heads[kind])
        yield hugging_face_name(tensor.name), list(values.shape), bf16_bytes(values)


def write_safetensors(path, named):
    """8 bytes of header length, the header in JSON, then the tensors one after another."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, data in named:
        end = offset + len(data)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in named:
            out.write(data)


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def convert(source, folder):
    """Writes the folder; {tensor name: SHA-256 of its bf16 bytes}. Unsupported if it cannot."""
    reader = gguf.GGUFReader(source)
    config = model_config(reader)
    tokenizer, tokenizer_config = tokenizer_files(reader)
    named = list(tensors(reader, config))
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config)
    write_json(folder / "tokenizer.json", tokenizer)
    if tokenizer_config is not None:
        write_json(folder / "tokenizer_config.json", tokenizer_config)
    write_safetensors(folder / "model.safetensors", named)
    return {name: hashlib.sha256(data).hexdigest() for name, _, data in named}


def compare_digests(digests, reference_path):
    """Prints how many tensors agree with the reference; True if all do and none is missing."""
    reference = json.loads(pathlib.Path(reference_path).read_text())
    differing = [name for name in reference
                 if digests.get(name) != reference[name]["sha256_bf16_le"]]
    agree = len(reference) - len(differing)
    print(f"{agree} of {len(reference)} tensors have the reference's digest")
    for name in differing[:5]:
        print(f"  differs: {name}")
    extra = sorted(set(digests) - set(reference))
    if extra:
        print(f"  not in the reference: {', '.join(extra[:5])}")
    return not differing and not extra


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gguf", type=pathlib.Path)
    parser.add_argument("--to", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--digests", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    try:
        digests = convert(arguments.gguf, arguments.to)
    except (Unsupported, OSError, ValueError) as error:
        sys.exit(f"convert_gguf: {arguments.gguf}: {error}")
    print(f"{arguments.to}: {len(digests)} tensors")
    if arguments.digests and not compare_digests(digests, arguments.digests):
        sys.exit(1)


if __name__ == "__main__":
    main()
