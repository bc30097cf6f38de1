#!/usr/bin/env python3
"""A camera that computes on OpenCL every 33 ms, with explicit jobs. Try it alone, then beside a
program that keeps the GPU busy:

    baton run --priority 80 --period 33 -- ./camera.py
"""
import sys
import time

import baton
import numpy
import pyopencl

PERIOD = 0.033
frames = int(sys.argv[1]) if len(sys.argv) > 1 else 300

context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, """
__kernel void blur(__global const float *in, __global float *out, int width)
{
    int i = get_global_id(0);
    float sum = 0;

    for (int k = 0; k < width; k++)
        sum += in[(i + k) % get_global_size(0)];
    out[i] = sum / width;
}""").build()
blur = program.blur
image = numpy.random.default_rng(1).random(1 << 18, dtype=numpy.float32)
result = numpy.empty_like(image)
flags = pyopencl.mem_flags
source = pyopencl.Buffer(context, flags.READ_ONLY, image.nbytes)
target = pyopencl.Buffer(context, flags.WRITE_ONLY, image.nbytes)

release = time.monotonic()
for _ in range(frames):
    with baton.job():
        pyopencl.enqueue_copy(queue, source, image)
        blur(queue, image.shape, None, source, target, numpy.int32(16))
        pyopencl.enqueue_copy(queue, result, target)  # waits
    release += PERIOD
    time.sleep(max(0.0, release - time.monotonic()))
report = baton.report()
print("%d frames, response p50 %.2f p99 %.2f worst %.2f ms, %d missed" %
      (report.jobs, report.response_p50, report.response_p99, report.response_max, report.misses))
