import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import { create } from "webgpu"
import type { GpuError } from "../../src/domain/GpuError.ts"
import { Host } from "../../src/host.ts"
import { OpenCl } from "../../src/opencl.ts"
import type * as Device from "../../src/services/backend/Device.ts"
import * as BufferPools from "../../src/services/backend/several/BufferPools.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as FaultyAllocator from "../../src/services/buffers/allocators/FaultyAllocator.ts"
import * as StatisticsAllocator from "../../src/services/buffers/allocators/StatisticsAllocator.ts"
import * as TrackingAllocator from "../../src/services/buffers/allocators/TrackingAllocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import { WebGpu } from "../../src/webgpu.ts"

export const backends = ["host", "slow-host", "webgpu", "webgpu-null", "opencl", "oclgrind"] as const

export type Backend = typeof backends[number]

export const isBackend = (name: string): name is Backend => backends.some((backend) => backend === name)

const mebi = 2 ** 20

const hostOptions = { capacityBytes: 256 * mebi, maxBufferSize: 128 * mebi }

let nullGpu: GPU | undefined

const devices: { readonly [B in Backend]: () => Layer.Layer<Device.Services, GpuError> } = {
  host: () => Host.layer(hostOptions),
  "slow-host": () => Host.layer({ ...hostOptions, latency: Duration.millis(1), lateFree: true, granularity: 4 }),
  webgpu: () => WebGpu.layer(),
  "webgpu-null": () => WebGpu.layerFrom(nullGpu ??= create(["backend=null"])),
  opencl: () => OpenCl.layer(),
  // a process of its own, whose only platform it is
  oclgrind: () => OpenCl.layer()
}

/** A device with all services that a program under test may need. */
export const layerOf = (backend: Backend) => {
  const allocators = FaultyAllocator.layer().pipe(
    Layer.provideMerge(TrackingAllocator.layer),
    Layer.provideMerge(StatisticsAllocator.layer),
    Layer.provideMerge(Allocator.layerImmediate)
  )
  const pools = Layer.mergeAll(
    BufferPool.layerNoDeps({ maxBytes: 64 * mebi, onExhausted: "wait" }),
    ImagePool.layer({ maxBytes: 64 * mebi }),
    StagingPool.layer({ maxBytes: 64 * mebi }),
    BufferPools.layer(() => Host.layer(hostOptions), { pool: { maxBytes: 64 * mebi }, idleTimeToLive: 0 })
  )
  return Layer.fresh(pools.pipe(Layer.provideMerge(allocators), Layer.provideMerge(devices[backend]())))
}

/** Another device, whose leases are foreign to the one under test. */
export const foreign = Layer.fresh(
  Layer.mergeAll(BufferPool.layer(), ImagePool.layer()).pipe(Layer.provideMerge(Host.layer(hostOptions)))
)
