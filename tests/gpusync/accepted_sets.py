"""Random task sets for test_accepted: as the task-set file has them, and as their programs play them."""
import json

CHUNK = 16384   # bytes of a copy, where state migrates
MARGIN_US = 60  # of every segment in the plan: launch, frames, looks at the clock
STRETCH = 1  # of every kernel: the front gives it to the driver in pieces
PAUSES = False  # do more urgent programs delay the pieces of one that holds an engine?


def on_the_real_clock():
    """There these take time. A hold counts from begin to end (docs/gpusync.md, "What a budget counts"), and
    all programs share a core."""
    global MARGIN_US, STRETCH, PAUSES
    MARGIN_US, STRETCH, PAUSES = 1000, 1.4, True


def pause_of(task, tasks):
    """How long the others compute in one job each, in microseconds: each may be more urgent."""
    return sum(us for other in tasks if other is not task for kind, us in other["job"] if kind == "c") \
        if PAUSES else 0


def segments_of(rng, scale):
    """[(kind, us)] of one job: CPU, then perhaps a critical section, perhaps CPU at the end."""
    us = lambda share: max(100, int(scale * share * rng.uniform(0.3, 1)) // 100 * 100)
    job = [("c", us(0.3))]
    if rng.random() < 0.85:
        copies = rng.random() < 0.8
        if copies:
            job.append(("i", us(0.1)))
        job.append(("k", us(0.5)))
        if rng.random() < 0.4:
            job += [("c", us(0.1)), ("k", us(0.3))]
        if copies and rng.random() < 0.6:
            job.append(("o", us(0.1)))
        if rng.random() < 0.4:
            job.append(("c", us(0.2)))
    return job


NAMES = {"c": "cpu_ms", "i": "copy_in_ms", "o": "copy_out_ms", "k": "kernel_ms"}


def planned_segment(kind, us, chunks, pause_us=0):
    """As the task set has it. Where state migrates, a copy is so many chunks, and the overhead set
    says what one costs."""
    if kind != "c":
        us += pause_us
    if chunks and kind in "io":
        return {NAMES[kind]: chunks * (us + MARGIN_US) / 1000, "bytes": chunks * CHUNK}
    return {NAMES[kind]: (us * (STRETCH if kind == "k" else 1) + MARGIN_US) / 1000}


def make_set(rng, migration, cpus=2):
    platform = {"cpus": cpus, "cpu_cluster": min(cpus, rng.choice([1, 2])), "gpus": 2,
                "gpu_cluster": rng.choice([1, 2]),
                "copy_engines": rng.choice([1, 2]),
                "tokens_per_gpu": rng.choice([1, 1, 2, 3, "inf"])}
    tasks, chunk_us = [], {}
    if migration != "none":
        platform.update(gpu_cluster=2, migration=migration, chunk_in=CHUNK, chunk_out=CHUNK,
                        overheads="overheads.yaml")
        chunk_us = {"i": rng.randint(1, 6) * 100, "o": rng.randint(1, 6) * 100, "p": rng.randint(1, 6) * 100}
    for i in range(rng.randint(2, 5)):
        period = rng.randint(10, 60) if migration == "none" else rng.randint(20, 100)
        if migration == "none" and cpus > 1 and rng.random() < 0.4:
            period *= 8  # then a wrong order costs more than bounds allow
        job = segments_of(rng, period * 1000 * rng.uniform(0.1, 0.5))
        chunks = {}
        for at, (kind, us) in enumerate(job):
            if chunk_us and kind in "io":
                chunks[at] = rng.randint(1, max(chunks.values(), default=3))  # out: what this job brought in
                job[at] = (kind, chunk_us[kind])
        state = rng.choice([1, 2, 3]) * CHUNK if chunk_us and any(kind == "k"
            for kind, _ in job) and rng.random() < 0.8 else 0
        tasks.append({"name": "t%d" % i, "period_ms": period, "job": job, "chunks": chunks, "state": state})
    for task in tasks:
        task["segments"] = [planned_segment(kind, us, task["chunks"].get(at), pause_of(task, tasks))
                            for at, (kind, us) in enumerate(task["job"])]
    return platform, tasks, chunk_us


def vary(rng, tasks, lock):
    """What the programs do that no plan says, and no bound rests on. Some announce a longer period than
    the plan's. Some compute before they call baton_job_begin_at(), as part of the job; under the CK-OMLP
    they must not, since batond does not know their release yet, and the analysis lets it suspend them."""
    if rng.random() < 0.7:
        for task in tasks:
            task["announced_ms"] = task["period_ms"] * rng.choice([1, 1.5, 10])
    if lock == "r2dglp" and rng.random() < 0.7:
        for task in tasks:
            task["early_us"] = rng.choice([0, rng.randint(0, task["job"][0][1]), task["job"][0][1]])


def long_beside_short(cpus):
    """A set in which one wrong rank is seen. A short job computes before it is known, and its program
    announces a longer period; a long job is under way on every CPU."""
    platform = {"cpus": cpus, "cpu_cluster": 1, "gpus": 2, "gpu_cluster": 1, "copy_engines": 1,
                "tokens_per_gpu": 1}
    lengths = [(20, 1000)] + [(100, 40000)] * 2
    tasks = [{"name": "t%d" % i, "period_ms": period, "job": [("c", us)], "chunks": {}, "state": 0,
              "segments": [planned_segment("c", us, 0)]} for i, (period, us) in enumerate(lengths)]
    tasks[0].update(announced_ms=200, early_us=1000)
    return platform, tasks, {}


def write_set(run, platform, tasks, chunk_us):
    with open(run.path("overheads.yaml"), "w") as out:
        pause_us = max(pause_of(task, tasks) for task in tasks)
        json.dump({"copies": [{"direction": {"i": "in", "o": "out", "p": "p2p"}[kind], "bytes": CHUNK,
                               "us": us + MARGIN_US + pause_us}
                              for kind, us in chunk_us.items()]}, out)
    with open(run.path("set.yaml"), "w") as out:
        json.dump({"platform": platform,
                   "tasks": [{k: t[k] for k in ("name", "period_ms", "segments", "state")} for t in tasks]},
                   out)


def cuda_script(task):
    """The lengths of the CPU device's operations."""
    names = {"i": "in", "o": "out"}
    return ",".join(["block:1000"] + ["%s:%d" % (names[kind], us * 1000) for kind, us in task["job"]
                                      if kind in names])


def program_of(task, chunk_us):
    """Segments as the program takes them, and the fake driver's script."""
    kinds = [kind for kind, _ in task["job"]]
    last = max((i for i, kind in enumerate(kinds) if kind != "c"), default=-1)
    words, script = ["s%d" % task["state"]] if task["state"] else [], ["group_ns empty 1000",
        "group_ns scale 100000"]
    if task.get("buffers"):
        words.append("b%d" % task["buffers"])
    if task.get("early_us"):
        words.append("e%d" % task["early_us"])
    for kind, us in chunk_us.items():
        script.append("duration %s %d" % ({"i": "WriteBuffer", "o": "ReadBuffer", "p": "CopyBuffer"}[kind],
                                          us))
    for i, (kind, us) in enumerate(task["job"]):
        if kind == "k":
            words.append("k%d" % (us // 100 if task["state"] else us))
        elif kind == "c":
            words.append("c%d" % (us - (task.get("early_us", 0) if i == 0 else 0)))
        else:
            words.append("%s%d" % (kind, task["chunks"].get(i, 0) * CHUNK))
        if kind in "io" and not chunk_us:
            script.append("duration %s %d" % ("WriteBuffer" if kind == "i" else "ReadBuffer", us))
        if i == last and last + 1 < len(kinds):
            words.append("g")
    return ",".join(words), "; ".join(script)


def policy_of(platform, rng):
    """On one CPU a cluster, priority points are deadlines: EDF is fair lateness."""
    equal = platform["cpu_cluster"] == 1 and "overheads" not in platform
    return rng.choice(["fair-lateness", "edf"]) if equal else "fair-lateness"
