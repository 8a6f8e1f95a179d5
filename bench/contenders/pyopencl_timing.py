"""PyOpenCL's MemoryPool and allocators, timed as the contenders beside this file time ours.

Takes one JSON argument, {"what": "hit" | "svm" | "immediate" | "deferred" | "array", "size": bytes}, and prints the marked line
that ChildProgram.ts reads: nanoseconds per allocate and release, or per addition of two arrays, one number per round.
"""

import json
import sys
import time

MARKER = "effect-gpu-pool:bench "
ROUNDS = {"hit": (5, 15, 20000), "svm": (5, 15, 20000), "immediate": (5, 15, 1000), "deferred": (5, 15, 1000), "array": (5, 15, 500)}


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


def timed_additions(x, queue, calls):
    start = time.thread_time()
    for _ in range(calls):
        x + x
    queue.flush()
    elapsed = time.thread_time() - start
    queue.finish()
    return elapsed * 1e9 / calls


def tiny_array(context, queue, size):
    import numpy
    import pyopencl.array
    from pyopencl.tools import ImmediateAllocator, MemoryPool

    pool = MemoryPool(ImmediateAllocator(queue))
    return pyopencl.array.zeros(queue, size // 4, numpy.float32, allocator=pool)


def shared_memory(context, queue):
    try:
        from pyopencl.tools import SVMAllocator, SVMPool
    except ImportError as error:
        missing(f"PyOpenCL: {error}")
    return SVMPool(SVMAllocator(context, queue=queue))


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
    warm_up, measured, calls = ROUNDS[request["what"]]
    if request["what"] == "array":
        x = tiny_array(context, queue, request["size"])
        rounds = [timed_additions(x, queue, calls) for _ in range(warm_up + measured)]
        answer({"_tag": "Measured", "figures": rounds[warm_up:]})
        return
    allocate = {
        "hit": lambda: MemoryPool(ImmediateAllocator(queue)).allocate,
        "svm": lambda: shared_memory(context, queue),
        "immediate": lambda: ImmediateAllocator(queue),
        "deferred": lambda: DeferredAllocator(context),
    }[request["what"]]()
    rounds = [timed_round(allocate, request["size"], queue, calls) for _ in range(warm_up + measured)]
    answer({"_tag": "Measured", "figures": rounds[warm_up:]})


main()
