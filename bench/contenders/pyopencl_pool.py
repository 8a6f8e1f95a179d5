"""PyOpenCL's MemoryPool and allocators, timed as the contenders beside this file time ours.

Takes one JSON argument, {"what": "hit" | "immediate" | "deferred", "size": bytes}, and prints the marked line that
ChildProgram.ts reads: nanoseconds per allocate and release, one number per round.
"""

import json
import sys
import time

MARKER = "effect-gpu-pool:bench "
ROUNDS = {"hit": (5, 15, 20000), "immediate": (5, 15, 1000), "deferred": (5, 15, 1000)}


def answer(value):
    print(MARKER + json.dumps(value), flush=True)


def missing(why):
    answer({"_tag": "Missing", "why": why})
    sys.exit(0)


def first_device(cl):
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            return device
    return None


def timed_round(allocate, size, queue, calls):
    start = time.perf_counter()
    for _ in range(calls):
        allocate(size).release()
    queue.finish()
    return (time.perf_counter() - start) * 1e9 / calls


def main():
    request = json.loads(sys.argv[1])
    try:
        import pyopencl as cl
        from pyopencl.tools import DeferredAllocator, ImmediateAllocator, MemoryPool
    except ImportError as error:
        missing(f"PyOpenCL: {error}")
    device = first_device(cl)
    if device is None:
        missing("PyOpenCL: no OpenCL platform has a device")
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    allocate = {
        "hit": lambda: MemoryPool(ImmediateAllocator(queue)).allocate,
        "immediate": lambda: ImmediateAllocator(queue),
        "deferred": lambda: DeferredAllocator(context),
    }[request["what"]]()
    warm_up, measured, calls = ROUNDS[request["what"]]
    rounds = [timed_round(allocate, request["size"], queue, calls) for _ in range(warm_up + measured)]
    answer({"_tag": "Measured", "figures": rounds[warm_up:]})


main()
