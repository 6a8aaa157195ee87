#!/usr/bin/env python3
"""Speaks fact-worker's side of the protocol; a candidate's cubin is text that says how it behaves.

passed MEDIAN, incorrect, hang, crash, garbage, grow (until it is killed), unplug (the GPU is gone from
then on), crowded MEDIAN (out of memory at first), or fluke MEDIAN (wrong when measured sustained); a
fault the tuner asks for goes first, and code that says nothing passes. What passes is timed alone.
FAKE_OPEN: "error", "wrong-text", "die" or "rests" (lets others use the GPU).
"""
import json
import os
import signal
import sys
import time


def timing(median, runs=20):
    return {"median_us": median, "low_us": median - 0.5, "high_us": median + 0.5, "runs": runs}


def check(passed, why=""):
    error = {"largest": 0.001, "rms": 0.0001}
    return {"distribution": "normal", "seed": 1, "eager": error, "kernel": error,
            "passed": passed, "why": why}


def reply(outcome, why="", median=0.0, sustained=0.0, runs=20):
    none = timing(0.0, 0)
    return {"outcome": outcome, "why": why, "checks": [check(outcome == "passed", why)],
            "single": timing(median, runs) if median else none,
            "baseline_single": timing(100.0, runs) if median else none,
            "sustained": timing(sustained, runs) if sustained else none,
            "baseline_sustained": timing(110.0, runs) if sustained else none}


def turn(kind):
    print(json.dumps({"turn": kind}), flush=True)
    assert json.loads(sys.stdin.readline()) == {}


def candidate(request):
    with open(request["record"]) as file:
        json.load(file)
    with open(request["cubin"]) as file:
        told = file.read().split("behave:")
    words = told[1].split("\n")[0].split() if len(told) > 1 else ["passed", "90"]
    behaviour = request["fault"] or words[0]
    sustained = request["sustained_ms"] > 0
    median = float(words[1]) if len(words) > 1 else 0.0
    if behaviour == "hang":
        time.sleep(3600)
    if behaviour == "crash":
        print("CUDA error: an illegal memory access", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if behaviour == "grow":
        held = []
        while True:
            held.append(bytearray(b"x") * (16 << 20))
            time.sleep(0.002)
    if behaviour == "unplug":
        open(unplugged, "w").close()
        print("CUDA error: unspecified launch failure", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
    if behaviour == "crowded" and not os.path.exists(crowded):
        open(crowded, "w").close()
        return reply("crashed", "CUDA out of memory. Tried to allocate 2.00 GiB")
    if behaviour == "garbage":
        return "no JSON at all"
    if behaviour in ("incorrect", "wrong"):
        return reply("incorrect", "NaN in output 0")
    if behaviour == "fluke" and sustained:
        return reply("incorrect", "wrong when hot")
    turn("exclusive")
    turn("shared")
    return reply("passed", median=median, sustained=median + 3 if sustained else 0.0)


log = os.environ["FAKE_LOG"]
unplugged, crowded = log + ".unplugged", log + ".crowded"
for line in sys.stdin:
    message = json.loads(line)
    with open(log, "a") as file:
        file.write(next(iter(message)) + "\n")
    if "close" in message:
        answer = {}
    elif "open" in message:
        how = os.environ.get("FAKE_OPEN", "")
        if how == "die":
            sys.exit(3)
        if how == "rests" and message["open"]["device"] != "cpu":
            turn("shared")
        error = "no such operator" if how == "error" else ""
        if os.path.exists(unplugged):
            error = "CUDA error: no CUDA-capable device is detected"
        answer = {"error": error,
                  "text_checks": [check(how != "wrong-text", "off by 2")]
                  if message["open"]["check_text"] else [],
                  "note": "shrunk"}
    else:
        answer = candidate(message["candidate"])
    print(answer if isinstance(answer, str) else json.dumps(answer), flush=True)
