"""PyOpenCL's product of square matrices by a plain kernel whose workgroups of 16 by 16 items share tiles in local memory.

Takes one JSON argument, {"size": rows, "rounds": count}, and prints the marked line that ChildProgram.ts reads: milliseconds of each
round, until the device is done.
"""

import json
import sys
import time

MARKER = "effect-gpu-pool:bench "
WARM_UP = 2

SOURCE = """
#define T 16
__kernel void product(__global const float *a, __global const float *b, __global float *c, const uint n) {
  __local float ta[T][T], tb[T][T];
  const uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (uint k = 0; k < n; k += T) {
    ta[y][x] = a[row * n + k + x];
    tb[y][x] = b[(k + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint t = 0; t < T; t++) sum += ta[y][t] * tb[t][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
"""


def answer(value):
    print(MARKER + json.dumps(value), flush=True)
    sys.exit(0)


def main():
    request = json.loads(sys.argv[1])
    try:
        import numpy
        import pyopencl as cl
        import pyopencl.array
    except ImportError as error:
        answer({"_tag": "Missing", "why": f"PyOpenCL: {error}"})
    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    if not devices:
        answer({"_tag": "Missing", "why": "PyOpenCL: no OpenCL platform has a device"})
    context = cl.Context(devices[:1])
    queue = cl.CommandQueue(context)
    size = request["size"]
    numbers = (numpy.arange(size * size) % 7 - 3).astype(numpy.float32).reshape(size, size)
    a, b = cl.array.to_device(queue, numbers), cl.array.to_device(queue, numbers)
    c = cl.array.empty(queue, (size, size), numpy.float32)
    kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "product")
    rounds = []
    for _ in range(WARM_UP + request["rounds"]):
        start = time.perf_counter()
        kernel(queue, (size, size), (16, 16), a.data, b.data, c.data, numpy.uint32(size))
        queue.finish()
        rounds.append((time.perf_counter() - start) * 1e3)
    answer({"_tag": "Measured", "figures": rounds[WARM_UP:]})


main()
