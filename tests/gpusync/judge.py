"""What a run of an accepted set shows: whether its bounds hold, or that it decides nothing.

Jobs are [[(release, end)] per task] in nanoseconds. A *disturbance* is (from, to, what): the machine was
`late`, its host took time away (`stolen`), or no bound was claimed (`unclaimed`). It may delay every job
that is pending with it, and those behind them. It has no effect beyond the next instant at which no job is
pending. So it hits all jobs of the busy period that it falls into. These do not count, and the time up to
the next busy period is run again.
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
    """The jobs that count, {what: number of jobs that it hit}, and the nanoseconds that count: from the
    beginning of each busy period that no disturbance hit to that of the next one."""
    hit = {what: 0 for what in WHAT}
    calm, calm_ns = [[] for _ in jobs], 0
    periods = busy_periods(jobs)
    for (first, last), (following, _) in zip(periods, periods[1:] + [(periods[-1][1], 0)]):
        kinds = {what for begin, end, what in disturbances if first <= end and begin <= last}
        if not kinds:
            calm_ns += following - first
        for task, counted in zip(jobs, calm):
            inside = [job for job in task if first <= job[0] <= last]
            if not kinds:
                counted += inside
            for what in kinds:
                hit[what] += len(inside)
    return calm, hit, calm_ns


def words_of(hit, n):
    """How many jobs did not count, and why; "" if all did."""
    return "; ".join("%d of %d jobs %s" % (hit[what], n, WHAT[what]) for what in WHAT if hit[what])


class Verdict:
    """bad: what fails the run. void: why it decides nothing at all, "" if it does. explained: is there a
    reason outside of batond for what did not count? worst: the longest response of each task, in ms.
    calm_s: the seconds that count; the rest is run again. few: were most jobs not counted?"""

    def __init__(self):
        self.bad, self.void, self.explained, self.few = [], "", False, False
        self.hit, self.n_counted, self.worst, self.calm_s = {}, 0, [], 0


def judge(jobs, bounds, disturbances, exceeded=0, slow=False):
    """bounds: in ms. exceeded: the jobs that batond counts beyond a claimed bound. slow: batond has said
    that jobs took longer than the plan counts, so that a slow machine explains why none was claimed.

    A counted job beyond its bound fails the run, however many others a disturbance explains. So does a
    claimed bound that batond counts as exceeded on a calm machine. A run decides nothing if batond counts
    such a job and the machine was late or lost time. Neither does a job beyond its bound beside longer
    ones than planned, if batond does not count it: the claims that these jobs ended may be back before the
    next look at batond's status."""
    verdict = Verdict()
    calm, verdict.hit, calm_ns = split(jobs, disturbances)
    verdict.n_counted = sum(map(len, calm))
    verdict.few = verdict.n_counted <= sum(map(len, jobs)) / 2
    verdict.worst = [max((end - release for release, end in task), default=0) / 1e6 for task in calm]
    machine = any(what in ("stolen", "late") for _, _, what in disturbances)
    verdict.explained = machine or slow
    beyond = ["t%d: observed %.3f ms, bound %.3f ms" % (i, response, bound)
              for i, (response, bound) in enumerate(zip(verdict.worst, bounds)) if response > bound]
    if beyond and slow and not exceeded:
        verdict.void = "; ".join(beyond) + ", and jobs took longer than planned"
        return verdict
    verdict.bad = beyond
    if exceeded and not machine:
        verdict.bad.append("batond counted %d jobs beyond a claimed bound" % exceeded)
    if exceeded and not verdict.bad:
        verdict.void = words_of(verdict.hit, sum(map(len, jobs))) or "batond counted jobs beyond a bound"
        return verdict
    verdict.calm_s = calm_ns / 1e9
    return verdict
