"""What a run of an accepted set shows: whether its bounds hold, or that it decides nothing.

Jobs are [[(release, end)] per task] in nanoseconds. A *disturbance* is (from, to, what): the machine was
`late`, its host took time away (`stolen`), or no bound was claimed (`unclaimed`). It may delay every job
that is pending with it, and those behind them. It has no effect beyond the next instant at which no job is
pending. So it hits all jobs of the busy period that it falls into, and these do not count.
"""

WHAT = {"stolen": "were hit by time that the machine's host took away",
        "late": "were pending when the machine was late",
        "unclaimed": "had no claimed bound"}


def busy_periods(jobs):
    busy = []
    for release, end in sorted(job for task in jobs for job in task):
        if busy and release <= busy[-1][1]:
            busy[-1][1] = max(busy[-1][1], end)
        else:
            busy.append([release, end])
    return busy


def split(jobs, disturbances):
    """The jobs that count, and {what: number of jobs that it hit}."""
    hit = {what: 0 for what in WHAT}
    calm = [[] for _ in jobs]
    for first, last in busy_periods(jobs):
        kinds = {what for begin, end, what in disturbances if first <= end and begin <= last}
        for task, counted in zip(jobs, calm):
            inside = [job for job in task if first <= job[0] <= last]
            if not kinds:
                counted += inside
            for what in kinds:
                hit[what] += len(inside)
    return calm, hit


def words_of(hit, n):
    """How many jobs did not count, and why; "" if all did."""
    return "; ".join("%d of %d jobs %s" % (hit[what], n, WHAT[what]) for what in WHAT if hit[what])


class Verdict:
    """bad: what fails the run. repeat: why it decides nothing, "" if it does. explained: is there a
    reason outside of batond for what did not count? worst: the longest response of each task, in ms."""

    def __init__(self):
        self.bad, self.repeat, self.explained = [], "", False
        self.hit, self.n_counted, self.worst = {}, 0, []


def judge(jobs, bounds, disturbances, exceeded=0, slow=False):
    """bounds: in ms. exceeded: the jobs that batond counts beyond a claimed bound. slow: batond has said
    that jobs took longer than the plan counts, so that a slow machine explains why none was claimed.

    A counted job beyond its bound fails the run, however many others a disturbance explains. So does a
    claimed bound that batond counts as exceeded on a calm machine. A run decides nothing if its host
    took time away while some job was pending, or if most jobs, or all of a task, do not count. Neither
    does a job beyond its bound beside longer ones than planned, if batond does not count it: the claims
    that these jobs ended may be back before the next look at batond's status."""
    verdict = Verdict()
    calm, verdict.hit = split(jobs, disturbances)
    n = sum(map(len, jobs))
    verdict.n_counted = sum(map(len, calm))
    verdict.worst = [max((end - release for release, end in task), default=0) / 1e6 for task in calm]
    machine = any(what in ("stolen", "late") for _, _, what in disturbances)
    verdict.explained = machine or slow
    beyond = ["t%d: observed %.3f ms, bound %.3f ms" % (i, response, bound)
              for i, (response, bound) in enumerate(zip(verdict.worst, bounds)) if response > bound]
    if beyond and slow and not exceeded:
        verdict.repeat = "; ".join(beyond) + ", and jobs took longer than planned"
        return verdict
    verdict.bad = beyond
    if exceeded and not machine:
        verdict.bad.append("batond counted %d jobs beyond a claimed bound" % exceeded)
    if verdict.bad:
        return verdict
    if exceeded or verdict.hit["stolen"] or verdict.n_counted <= n / 2 or not all(calm):
        verdict.repeat = words_of(verdict.hit, n) or "no job counts"
    return verdict
