"""Baton for Python programs: say where jobs begin and end, read what was observed, run batches of
copies and kernels.

    import baton

    camera = baton.Task("camera", period_ms=33)
    while True:
        frame = wait_for_frame()
        with camera.job():
            detect(frame)
    print(camera.report())

`baton.job()` is about the process as a whole: the daemon sees these jobs, `baton status` and `baton
run --stats` report them. A `baton.Task` keeps statistics of its own; a process may have several.
Nothing here changes which program runs when: priority, period and plan come from `baton run`.

The module needs libbaton.so.1 and nothing else. Batches (`baton.Batcher`) take numpy arrays and
pyopencl objects; they are imported only when used. BATON_LIBRARY names another libbaton.
"""
from ._batch import Batch, Batcher, Call, Stream, Times, predict
from ._jobs import Report, Task, job, job_begin, job_end, report
from ._library import BatonError

__all__ = ["Batch", "Batcher", "BatonError", "Call", "Report", "Stream", "Task", "Times", "job", "job_begin",
           "job_end",
           "predict", "report"]
