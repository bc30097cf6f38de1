#!/usr/bin/env python3
"""Checks a Chrome trace as a viewer would have to read it, independently of the code that wrote it.

usage: check_trace.py TRACE.json [--pids PID...] [--kernel NAME] [--needs PHASE...]

Every track and process has a name. The spans of a track are disjoint or nested, as Perfetto
requires. An arrow has one beginning and one end, in this order, each within a span of its track.
The values of a counter stand in the order of time and are never negative. With --pids the processes
are exactly these; with --kernel at least one run names that kernel and its size; with --needs these
phases occur. Prints what is wrong, and exits with 1 if anything is.
"""
import argparse
import collections
import json
import math
import sys

GRAIN = 0.0015  # microseconds: instants are written to the nanosecond


def spans_of(events):
    tracks = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["name"]))
    for spans in tracks.values():
        spans.sort(key=lambda s: (s[0], -s[1]))
    return tracks


def check_shape(events, wrong):
    for e in events:
        if e.get("ph") not in ("M", "X", "i", "s", "f", "C"):
            wrong.append(f"unknown phase: {e}")
        elif not (isinstance(e.get("pid"), int) and e["pid"] > 0 and isinstance(e.get("tid"), int)):
            wrong.append(f"no process or track: {e}")
        elif e["ph"] != "M" and not math.isfinite(e.get("ts", math.nan)):
            wrong.append(f"no instant: {e}")
        elif e["ph"] == "X" and not e.get("dur", -1) >= 0:
            wrong.append(f"a span without a length: {e}")


def check_names(events, wrong):
    processes = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    tracks = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    for e in events:
        if e["pid"] not in processes:
            wrong.append(f"process {e['pid']} has no name")
        if e["ph"] in "Xisf" and (e["pid"], e["tid"]) not in tracks:
            wrong.append(f"track {e['pid']}/{e['tid']} has no name")
    owners = collections.defaultdict(set)
    for pid, tid in tracks:
        owners[tid].add(pid)
    wrong.extend(f"track {tid} belongs to several processes" for tid, pids in owners.items() if len(pids) > 1)


def check_nesting(events, wrong):
    for track, spans in spans_of(events).items():
        open_until = []
        for begin, end, name in spans:
            while open_until and open_until[-1] <= begin + GRAIN:
                open_until.pop()
            if open_until and end > open_until[-1] + GRAIN:
                wrong.append(f"track {track}: {name} at {begin} overlaps the span before it")
            open_until.append(end)


def check_arrows(events, wrong):
    ends = collections.defaultdict(lambda: collections.defaultdict(list))
    tracks = spans_of(events)
    for e in events:
        if e["ph"] in "sf":
            ends[e["cat"], e["id"]][e["ph"]].append(e)
            inside = any(b - GRAIN <= e["ts"] <= t + GRAIN for b, t, _ in tracks[e["pid"], e["tid"]])
            if not inside:
                wrong.append(f"an arrow ends outside of any span: {e}")
    for key, both in ends.items():
        if len(both["s"]) != 1 or len(both["f"]) != 1:
            wrong.append(f"arrow {key} has {len(both['s'])} beginnings and {len(both['f'])} ends")
        elif both["s"][0]["ts"] > both["f"][0]["ts"] + GRAIN:
            wrong.append(f"arrow {key} ends before it begins")


def check_counters(events, wrong):
    latest = {}
    for e in events:
        if e["ph"] != "C":
            continue
        key = e["pid"], e["name"]
        if e["ts"] < latest.get(key, -math.inf):
            wrong.append(f"counter {key} goes back in time at {e['ts']}")
        latest[key] = e["ts"]
        if not all(isinstance(v, int) and v >= 0 for v in e["args"].values()):
            wrong.append(f"counter {key}: {e['args']}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("--pids", nargs="*", type=int)
    parser.add_argument("--kernel")
    parser.add_argument("--needs", nargs="*", default=[])
    words = parser.parse_args()
    with open(words.trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    wrong = []
    check_shape(events, wrong)
    if not wrong:
        for check in (check_names, check_nesting, check_arrows, check_counters):
            check(events, wrong)
    if words.pids is not None and {e["pid"] for e in events} != set(words.pids):
        wrong.append(f"processes {sorted({e['pid'] for e in events})}, expected {sorted(words.pids)}")
    runs = [e["args"] for e in events if e["ph"] == "X" and e["cat"] == "running"]
    if words.kernel and not any(
        a.get("kernel") == words.kernel and a.get("work_items", 0) > 0 and a.get("pieces", 0) > 0
        for a in runs
    ):
        wrong.append(f"no run of kernel {words.kernel} with its size")
    wrong.extend(f"no event of phase {p}" for p in words.needs if not any(e["ph"] == p for e in events))
    for line in wrong[:20]:
        print(line)
    print(f"{len(events)} events, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
