"""PyOpenCL's MemoryPool behind a pipe, as the reference of a differential test.

Speaks JSON, one line per request and one per answer, in order; the first line is said unasked and names what runs.

{"operations": [...]} runs a sequence on a new pool, and answers the counters after each operation and the address of the
cl_mem behind each allocation (as text, because it may need 64 bits).
{"leadingBits": n, "sizes": [...]} answers the block size that a pool with n bits makes of each size, without allocating.
"""

import json
import sys

import pyopencl as cl
from pyopencl.tools import ImmediateAllocator, MemoryPool


def first_device():
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            return device
    raise RuntimeError("no OpenCL platform has a device")


def counters(pool):
    return {
        "heldBlocks": pool.held_blocks,
        "activeBlocks": pool.active_blocks,
        "managedBytes": pool.managed_bytes,
        "activeBytes": pool.active_bytes,
    }


class Sequence:
    """A pool of its own, and what is live of it, oldest first."""

    def __init__(self, allocator):
        self.pool = MemoryPool(allocator)
        self.live = []
        self.addresses = []

    def run(self, operation):
        # looked up by name, so that an unknown operation is an error
        getattr(self, operation["op"])(operation)
        return counters(self.pool)

    def allocate(self, operation):
        buffer = self.pool.allocate(operation["size"])
        self.live.append(buffer)
        self.addresses.append(str(buffer.int_ptr))

    def release(self, operation):
        self.take(operation).release()

    def close(self, operation):
        # the destructor gives the block back: nothing else refers to the buffer
        self.take(operation)

    def freeHeld(self, _operation):
        self.pool.free_held()

    def stopHolding(self, _operation):
        self.pool.stop_holding()

    def take(self, operation):
        return self.live.pop(operation["nth"])


def run_sequence(allocator, operations):
    sequence = Sequence(allocator)
    return {"counters": [sequence.run(operation) for operation in operations], "addresses": sequence.addresses}


def block_sizes(allocator, leading_bits, sizes):
    pool = MemoryPool(allocator, leading_bits_in_bin_id=leading_bits)
    return [pool.alloc_size(pool.bin_number(size)) for size in sizes]


def answer(allocator, request):
    if "operations" in request:
        return run_sequence(allocator, request["operations"])
    return block_sizes(allocator, request["leadingBits"], request["sizes"])


def say(value):
    print(json.dumps(value), flush=True)


def main():
    device = first_device()
    allocator = ImmediateAllocator(cl.CommandQueue(cl.Context([device])))
    say({"version": cl.VERSION_TEXT, "device": device.name})
    for line in sys.stdin:
        say(answer(allocator, json.loads(line)))


main()
