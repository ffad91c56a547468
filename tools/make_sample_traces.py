#!/usr/bin/env python3
"""Writes the invented sample traces in traces/. Run from anywhere; equal runs give equal files.

Every number is drawn here from a fixed seed; nothing is taken from a real trace. Only the samples
named below are written, other files in traces/ are left alone.
"""

import json
import math
import pathlib
import random

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "traces"
SMALL_ROWS = 16


def write(name, lines, end="\n", last_end=True):
    text = end.join(lines) + (end if last_end else "")
    (FOLDER / name).write_bytes(text.encode())


def length(rng, median, spread, low, high):
    """Log-normal: lengths of prompts and answers have long tails."""
    normal = math.sqrt(-2 * math.log(1 - rng.random())) * math.cos(2 * math.pi * rng.random())
    return max(low, min(high, round(median * math.exp(spread * normal))))


def small_rows(seed):
    """(time in microseconds, prompt, output) of a few requests, a good second apart."""
    rng = random.Random(seed)
    time_us = 0
    for _ in range(SMALL_ROWS):
        yield time_us, length(rng, 600, 0.9, 8, 4000), length(rng, 90, 0.8, 1, 400)
        time_us += 1 + int(-math.log(1 - rng.random()) * 1_200_000)


def azure():
    lines = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    for time_us, prompt, output in small_rows(1):
        time_us += 55_250_000  # crosses a minute
        minute, rest = divmod(time_us, 60_000_000)
        second, fraction = divmod(rest, 1_000_000)
        lines.append(f"2026-02-28 23:{58 + minute:02}:{second:02}.{fraction:06}0,{prompt},{output}")
    write("azure_sample.csv", lines, end="\r\n", last_end=False)


def burstgpt():
    lines = ["Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"]
    for i, (time_us, prompt, output) in enumerate(small_rows(2)):
        if i == 6:  # a failed request
            prompt = output = 0
        lines.append(f"{41 + time_us // 1_000_000},{'GPT-4' if i % 5 == 0 else 'ChatGPT'},"
                     f"{prompt},{output},{prompt + output},Conversation log")
    write("burstgpt_sample.csv", lines)


def burstgpt3():
    lines = ["Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,"
             "Total tokens,Log Type"]
    for i, (time_us, prompt, output) in enumerate(small_rows(3)):
        session = f"00000000-0000-4000-8000-{i % 4:012}" if i % 3 else ""
        kind = "Conversation log" if session else "API log"
        lines.append(f"{5_000_000 + time_us // 1_000_000}.0,{session},{1 + output // 40},ChatGPT,"
                     f"{prompt},{output},{prompt + output},{kind}")
    write("burstgpt3_sample.csv", lines)


def blocks(prompt, size, shared, fresh):
    """ids for a prompt: the shared ones first, then new ones from the iterator."""
    count = -(-prompt // size)
    ids = shared[:count]
    return ids + [next(fresh) for _ in range(count - len(ids))]


def mooncake():
    fresh = iter(range(2, 1 << 30))
    lines = []
    for i, (time_us, prompt, output) in enumerate(small_rows(4)):
        shared = [0, 1] if i % 3 else []
        prompt += 512 * len(shared)
        ids = blocks(prompt, 512, shared, fresh)
        lines.append(json.dumps({"timestamp": time_us // 1000, "input_length": prompt,
                                 "output_length": output, "hash_ids": ids}))
    write("mooncake_sample.jsonl", lines)


def bailian():
    fresh = iter(range(1 << 40, 1 << 41))
    lines = []
    history = {}  # chat -> its ids
    for i, (time_us, prompt, output) in enumerate(small_rows(5)):
        chat, parent = 700 + i, 700 + i - 3 if i % 4 == 3 else -1
        prompt = 20 + prompt // 8 + (16 * len(history[parent]) if parent >= 0 else 0)
        # The last block of a turn may be partial, so the next turn cannot share it.
        history[chat] = blocks(prompt, 16, history.get(parent, [])[:-1], fresh)
        lines.append(json.dumps({
            "chat_id": chat, "parent_chat_id": parent, "timestamp": round(time_us / 1e6, 3),
            "input_length": prompt, "output_length": output, "type": "text",
            "turn": 1 if parent < 0 else 2, "hash_ids": history[chat]}))
    write("bailian_sample.jsonl", lines)


def vidur():
    lines = ["arrived_at,num_prefill_tokens,num_decode_tokens"]
    lines += [f"{t / 1e6!r},{prompt},{output}" for t, prompt, output in small_rows(6)]
    write("vidur_sample.csv", lines)


def llmservingsim():
    write("llmservingsim_sample.jsonl",
          [json.dumps({"input_toks": prompt, "output_toks": output, "arrival_time_ns": 1000 * t})
           for t, prompt, output in small_rows(7)])
    lines = []
    for i, (t, prompt, output) in enumerate(small_rows(8)):
        lines.append(f'{{"request_id": "sample-{i}", "input_toks": {prompt}, '
                     f'"output_toks": {output}, "arrival_time": {1_800_000_000 + t // 1_000_000}'
                     f'.{t % 1_000_000:06}, "queued_ts": {100 + t / 1e6:.6f}}}')
    write("vllm_log_sample.jsonl", lines)


def sample():
    """About 400 requests in about 120 s: calm and bursts in turn, chats and shared system texts."""
    rng = random.Random(20)
    systems = {1: 512, 2: 1024, 3: 200}  # segment -> tokens of a system text
    chats = []  # open conversations: (session, prefix so far)
    next_segment = 100
    time_ns = 0
    lines = []
    while True:
        in_burst = time_ns // 1_000_000_000 % 20 >= 15  # the last 5 s of every 20
        time_ns += int(-math.log(1 - rng.random()) / (8.0 if in_burst else 1.85) * 1e9)
        if time_ns >= 120_000_000_000:
            break
        row = {"request_id": f"s{len(lines):03}", "arrival_ns": time_ns}
        prefix = []
        new_tokens = length(rng, 220, 0.9, 4, 2400)
        output = length(rng, 90, 0.8, 1, 400)
        session = None
        kind = rng.random()
        if kind < 0.35 and chats:  # the next turn of a chat: all that was said, then new text
            session, prefix = chats.pop(int(rng.random() * len(chats)))
        elif kind < 0.75:  # a new chat or question under a system text
            segment = 1 + int(rng.random() ** 2 * 3)
            prefix = [[segment, systems[segment]]]
            if rng.random() < 0.5:
                session = f"chat-{len(lines):03}"
        known = sum(tokens for _, tokens in prefix)
        prompt = min(4000, known + new_tokens)
        if prompt <= known:  # the chat is full
            prefix, session, known, prompt = [], None, 0, new_tokens
        if session:
            prefix = prefix + [[next_segment, prompt - known]]
            chats.append((session, prefix + [[next_segment + 1, output]]))
            next_segment += 2
        row["prompt_tokens"] = prompt
        row["output_tokens"] = output
        if prefix:
            row["prefix"] = prefix
        if session:
            row["session"] = session
        lines.append(json.dumps(row))
    write("sample.jsonl", lines)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for make in (azure, burstgpt, burstgpt3, mooncake, bailian, vidur, llmservingsim, sample):
        make()
