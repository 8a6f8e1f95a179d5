/**
 * What is measured of a memory and of kernels, by name and unit.
 *
 * @internal
 */
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import type { Described } from "./Series.ts"

const bytes = (name: string, description: string): Described => ({
  name: `gpu_pool_${name}_bytes`,
  unit: "bytes",
  description: `${description}, in bytes.`
})

const blocks = (name: string, description: string): Described => ({
  name: `gpu_pool_${name}_blocks`,
  unit: "{block}",
  description
})

const total = (name: string, unit: string, description: string): Described => ({
  name: `gpu_pool_${name}_total`,
  unit: `{${unit}}`,
  description
})

type Counters = "hits" | "borrows" | "misses" | "driverAllocations" | "driverFrees" | "releaseFailures"

/** The counters of a pool that go up and down. */
export const gauges: { readonly [counter in Exclude<keyof PoolStats, Counters>]: Described } = {
  managedBytes: bytes("managed", "Capacity of the held and active blocks"),
  heldBytes: bytes("held", "Capacity of the blocks that are kept for reuse"),
  fragmentedBytes: bytes("fragmented", "What is held beside leases in slabs of an arena"),
  activeBytes: bytes("active", "What the active leases asked for"),
  pendingBytes: bytes("pending", "Driver allocations under way"),
  reservedBytes: bytes("reserved", "What reservations keep free and do not use now"),
  peakManagedBytes: bytes("peak_managed", "The most that was managed at one time"),
  peakActiveBytes: bytes("peak_active", "The most that active leases asked for at one time"),
  managedBlocks: blocks("managed", "Blocks that the driver has not got back."),
  heldBlocks: blocks("held", "Blocks that are kept for reuse."),
  activeBlocks: blocks("active", "Blocks that are leased."),
  peakManagedBlocks: blocks("peak_managed", "The most blocks that were managed at one time."),
  peakActiveBlocks: blocks("peak_active", "The most blocks that were active at one time."),
  waiters: { name: "gpu_pool_waiters", unit: "{request}", description: "Requests that wait." }
}

/** The counters of a pool that only grow. */
export const counters: { readonly [counter in Counters]: Described } = {
  hits: total("hits", "lease", "Leases that a held block served."),
  borrows: total("borrows", "lease", "Hits that a block of another bin served, mostly of a larger one."),
  misses: total("misses", "lease", "Leases that needed the driver."),
  driverAllocations: total("driver_allocations", "block", "Blocks that the driver made."),
  driverFrees: total("driver_frees", "block", "Blocks that went back to the driver."),
  releaseFailures: total("release_failures", "error", "Driver errors while a block was released or freed.")
}

export const limit = bytes("limit", "The most that may be managed")

export const evictions = total("evictions", "block", "Held blocks that were freed for a request.")

export const refusals = total("refusals", "call", "Allocations that the driver refused.")

export const outOfMemory = total("out_of_memory", "request", "Requests that failed with OutOfMemory.")

export const limitExceeded = total("limit_exceeded", "request", "Requests that failed, larger than a limit.")

export const waitTime: Described = {
  name: "gpu_pool_wait_duration_seconds",
  unit: "seconds",
  description: "How long requests waited in the wait queue, in seconds."
}

export const missTime: Described = {
  name: "gpu_pool_miss_duration_seconds",
  unit: "seconds",
  description: "How long the driver took to answer an allocation, in seconds."
}

export const kernelTime: Described = {
  name: "gpu_kernel_duration_seconds",
  unit: "seconds",
  description: "How long the device ran a kernel's dispatches, in seconds."
}

export const kernelQueuedTime: Described = {
  name: "gpu_kernel_queued_seconds",
  unit: "seconds",
  description: "How long a kernel's dispatches were with the driver before it gave them to the device, in seconds."
}

export const kernelSubmittedTime: Described = {
  name: "gpu_kernel_submitted_seconds",
  unit: "seconds",
  description: "How long a kernel's dispatches were with the device before they began to run, in seconds."
}
