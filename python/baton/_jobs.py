"""Jobs of the process, and tasks with statistics of their own (include/baton/job.h, task.h)."""
import contextlib
import ctypes
from typing import NamedTuple

from ._library import check, library


class Report(NamedTuple):
    """What jobs have been like so far; times in milliseconds. None: not known of a task handle."""

    jobs: int
    misses: int
    response_p50: float
    response_p99: float
    response_max: float
    response_mean: float
    jitter_max: float
    tardiness_max: float
    pending_mean: float = None
    compute_mean: float = None
    copy_mean: float = None


class _JobReport(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("jobs", ctypes.c_uint64), ("misses", ctypes.c_uint64)] + [
        (name, ctypes.c_int64) for name in ("response_p50", "response_p99", "response_max", "response_sum",
                                            "pending_sum",
                                            "compute_sum", "copy_sum", "jitter_max", "tardiness_max")]


class _TaskOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("period_ns", ctypes.c_int64),
                ("deadline_ns", ctypes.c_int64), ("warm", ctypes.c_uint64)]


class _TaskReport(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("jobs", ctypes.c_uint64), ("misses", ctypes.c_uint64)] + [
        (name, ctypes.c_int64) for name in ("response_p50", "response_p99", "response_max", "response_sum",
                                            "jitter_max",
                                            "tardiness_max")]


def _ms(nanoseconds):
    return nanoseconds / 1e6


def _report(raw, **more):
    n = max(raw.jobs, 1)
    return Report(raw.jobs, raw.misses, _ms(raw.response_p50), _ms(raw.response_p99), _ms(raw.response_max),
                  _ms(raw.response_sum) / n, _ms(raw.jitter_max), _ms(raw.tardiness_max), **more)


def job_begin(release_ns=None):
    """A job of this process begins; release_ns (time.monotonic_ns()) says when it was released, now
    if it does not."""
    if release_ns is None:
        check(library().baton_job_begin())
    else:
        check(library().baton_job_begin_at(ctypes.c_int64(release_ns)))


def job_end():
    """The job that runs is complete."""
    check(library().baton_job_end())


@contextlib.contextmanager
def job(release_ns=None):
    """`with baton.job(): ...`: a job of this process, also where the body raises."""
    job_begin(release_ns)
    try:
        yield
    finally:
        job_end()


def report():
    """What the jobs of this process have been like so far."""
    raw = _JobReport(size=ctypes.sizeof(_JobReport))
    check(library().baton_job_report(ctypes.byref(raw)))
    n = max(raw.jobs, 1)
    return _report(raw, pending_mean=_ms(raw.pending_sum) / n, compute_mean=_ms(raw.compute_sum) / n,
                   copy_mean=_ms(raw.copy_sum) / n)


class Task:
    """One of several tasks of a process: its own period, deadline and statistics. Close it, or use
    it as a context manager."""

    def __init__(self, name, period_ms=0, deadline_ms=0, warm=0):
        options = _TaskOptions(ctypes.sizeof(_TaskOptions), name.encode(), round(period_ms * 1e6),
                               round(deadline_ms * 1e6),
                               warm)
        self._handle = ctypes.c_void_p()
        self.name = name
        check(library().baton_task_open(ctypes.byref(options), ctypes.byref(self._handle)))

    def begin(self, release_ns=None):
        if release_ns is None:
            check(library().baton_task_begin(self._handle))
        else:
            check(library().baton_task_begin_at(self._handle, ctypes.c_int64(release_ns)))

    def end(self):
        check(library().baton_task_end(self._handle))

    @contextlib.contextmanager
    def job(self, release_ns=None):
        """`with task.job(): ...`"""
        self.begin(release_ns)
        try:
            yield self
        finally:
            self.end()

    def report(self):
        raw = _TaskReport(size=ctypes.sizeof(_TaskReport))
        check(library().baton_task_report(self._handle, ctypes.byref(raw)))
        return _report(raw)

    def close(self):
        if self._handle:
            library().baton_task_close(self._handle)
            self._handle = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def __del__(self):
        # A constructor that failed has no handle, and at the end of the interpreter the library may
        # be gone.
        if getattr(self, "_handle", None):
            self.close()
