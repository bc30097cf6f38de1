"""What happens beside a run of an accepted set on the real clock: disturbances of the machine, other
real-time programs, and whether batond claims the bounds."""
import glob, os, time


class Disturbed(Exception):
    """A run that decides nothing, because of the machine."""


class Claims:
    """When all bounds were claimed, from looks at batond's status.

    A look happened between two instants. Bounds count as claimed between two successive looks that both
    found them claimed."""

    def __init__(self):
        self.since = 0  # no look has found them claimed since; None: the last one has
        self.seen_at = 0
        self.unclaimed = []

    def look(self, begin_at, end_at, claimed):
        if claimed:
            if self.since is not None:
                self.unclaimed.append((self.since, end_at))
            self.since, self.seen_at = None, begin_at
        elif self.since is None:
            self.since = self.seen_at

    def gaps(self):
        """[(from, to)], the last one without an end."""
        return self.unclaimed + [(self.seen_at if self.since is None else self.since, 1 << 62)]


def may_run_on(thread, core):
    try:
        return core in os.sched_getaffinity(thread)
    except OSError:
        return False  # it has just ended


def foreign_realtime(run):
    """A real-time thread that is neither of this run nor of the kernel and may run on the programs'
    core, as text; "" if there is none. It takes time that the plan counts on, and the threads that look
    for disturbances do not see it, since they are more urgent."""
    ours = {child.pid for child in run.children}
    for stat in glob.glob("/proc/[0-9]*/task/[0-9]*/stat"):
        try:
            name, fields = open(stat).read().split("(", 1)[1].rsplit(")", 1)
        except (OSError, IndexError):
            continue  # it has just ended
        fields = fields.split()  # from the third of proc(5) on
        flags, policy = int(fields[9 - 3]), int(fields[41 - 3])
        if policy in (1, 2, 6) and not flags & 0x200000 and int(stat.split("/")[2]) not in ours \
                and may_run_on(int(stat.split("/")[4]), run.partition.programs):
            return "%s (policy %d, priority %s)" % (name, policy, fields[40 - 3])
    return ""


def wait_for_calm(run):
    """Waits for other real-time programs to end: a minute at most, or a moment in `make test`."""
    for _ in range(30 if getattr(run.options, "untouched", False) else 600):
        time.sleep(0.1)
        if not run.partition or not foreign_realtime(run):
            return


class Watch:
    """What happens beside a run on the real clock: disturbances, and whether bounds are claimed."""

    def __init__(self, run, status, n_tasks, allowed):
        """status: of batond, when it is called. allowed: the cores of the programs."""
        self.run, self.status, self.n_tasks = run, status, n_tasks
        looker = os.path.abspath(os.environ["BATON_BUILD"]) + "/tests/gpusync/disturbances"
        self.child = run.start([looker, *allowed.split(",")], run.env,
                               stdout=open(run.path("disturbances"), "w"))
        self.looked_at = 0  # for foreign threads

    def look(self):
        at = time.monotonic_ns()
        if at - self.looked_at > 5e8:
            self.looked_at = at
            foreign = foreign_realtime(self.run)
            if foreign:
                raise Disturbed("another program is real-time: " + foreign)
        at, claims = time.monotonic_ns(), self.run.claims
        seen = self.status(self.run).get("tasks", [])
        claimed = len(seen) == self.n_tasks and all(task["bound_claimed"] for task in seen)
        claims.look(at, time.monotonic_ns(), claimed)
        if not claimed and seen and seen[0].get("model_rule") == "overrun":
            open(self.run.path("go") + ".enough", "w").close()  # claims do not return while programs run

    def end(self):
        self.child.terminate()
        self.child.wait()
