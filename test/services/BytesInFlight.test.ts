import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Kernels from "../../packages/testing/src/commands/Kernels.ts"
import { expectNoFailure, interruptedAt } from "../../packages/testing/src/pool/Interruption.ts"
import type { DeviceStatus } from "../../src/domain/device/DeviceStatus.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import { Host } from "../../src/host.ts"
import type * as Device from "../../src/services/backend/Device.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as KernelCache from "../../src/services/device/KernelCache.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as Backpressure from "../../src/services/queue/Backpressure.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { tagOf } from "../support/hostPool.ts"
import { withDrivers } from "../support/withDrivers.ts"

const MiB = 1024 * 1024
const bound = 64 * MiB

/** A device that keeps and counts the data of writes, until the test says that they are used. */
class HoldingDevice {
  /** Bytes of each write, in queue order. */
  readonly writes: Array<number> = []
  peak = 0
  status: DeviceStatus | undefined
  #ended = 0
  readonly #waiters = new Set<{ readonly position: number; readonly done: () => void }>()

  get underWay(): number {
    return this.writes.length - this.#ended
  }

  get pending(): number {
    return this.writes.slice(this.#ended).reduce((sum, bytes) => sum + bytes, 0)
  }

  write(bytes: number): Exit.Exit<void> {
    this.writes.push(bytes)
    this.peak = Math.max(this.peak, this.pending)
    return Exit.void
  }

  /** Marks the data of so many writes as used. */
  use(writes: number): void {
    this.#ended = Math.min(this.writes.length, this.#ended + writes)
    for (const waiter of this.#waiters) {
      if (waiter.position > this.#ended) continue
      this.#waiters.delete(waiter)
      waiter.done()
    }
  }

  lose(): void {
    this.status!.lose("unplugged")
    for (const { done } of this.#waiters) done()
  }

  readonly driver = {
    writeUnsafe: (_: unknown, __: number, data: Uint8Array) => this.write(data.byteLength),
    writeRectUnsafe: (_: unknown, __: unknown, ___: unknown, rows: Uint8Array) => this.write(rows.byteLength),
    positionUnsafe: () => this.writes.length,
    endedUnsafe: () => this.#ended,
    awaitEnded: (position: number) =>
      Effect.callback<void, GpuError>((resume) => {
        const waiter = { position, done: () => resume(this.status?.error ?? Exit.void) }
        if (this.status?.error !== undefined || position <= this.#ended) return waiter.done()
        this.#waiters.add(waiter)
        return Effect.sync(() => {
          this.#waiters.delete(waiter)
        })
      })
  }

  readonly #command = () => this.write(0)

  /** Commands without data, counted as writes of no bytes. */
  readonly commands = {
    copyUnsafe: this.#command,
    copyRectUnsafe: this.#command,
    fillUnsafe: this.#command,
    dispatchUnsafe: this.#command
  }
}

type Services = BufferPool.BufferPool | Device.Services | Scope.Scope

const onDevice = <A, E>(test: (device: HoldingDevice) => Effect.Effect<A, E, Services>, holdsCommands = false) => {
  const holding = new HoldingDevice()
  const layer = Layer.effectContext(Effect.gen(function*() {
    const host = yield* Layer.build(Host.layer())
    holding.status = Context.get(host, DeviceContext).status
    return withDrivers(host, {
      queue: () => holdsCommands ? { ...holding.driver, ...holding.commands } : holding.driver,
      images: () => ({ writeUnsafe: (_, __, data) => holding.write(data.byteLength) })
    })
  }))
  return Effect.scoped(test(holding)).pipe(Effect.provide(BufferPool.layer()), Effect.provide(layer))
}

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** Lets the fibers that can go on do so. */
const settled = Effect.gen(function*() {
  for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
})

const data = new Uint8Array(100 * MiB)

const write = (lease: PooledBuffer.PooledBuffer, bytes: number) => CommandQueue.write(lease, data.subarray(0, bytes))

describe("copies for writes under way", () => {
  it.effect("are bounded, however many write, and all are made in the end, in order", () =>
    onDevice((device) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(2 * MiB)
        const sizes = Array.from({ length: 300 }, (_, at) => MiB + 4 * at)
        const fibers = yield* Effect.forEach(sizes, (bytes) => start(write(lease, bytes)))
        assert.isAbove(device.pending, bound - 2 * MiB)
        while (device.writes.length < sizes.length || device.pending > 0) {
          device.use(7)
          yield* settled
          assert.isAtMost(device.pending, bound)
        }
        yield* Fiber.joinAll(fibers)
        assert.isAtMost(device.peak, bound)
        deepStrictEqual(device.writes, sizes)
      })
    ))

  it.effect("of rectangles and images count as well", () =>
    onDevice((device) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(32 * MiB)
        const image = yield* Images.make(
          { kind: "2d", width: 2048, height: 2048, depth: 1, layers: 1 },
          { order: "rgba", type: "unorm8" }
        )
        yield* Images.write(image, data.subarray(0, 16 * MiB))
        yield* CommandQueue.writeRect(lease, data, { region: [1024, 32 * 1024] })
        const waiting = [
          yield* start(Images.write(image, data.subarray(0, 16 * MiB), { rowPitch: 8192 })),
          yield* start(write(lease, MiB)),
          yield* start(Images.write(image, data.subarray(0, 16 * MiB))),
          yield* start(CommandQueue.writeRect(lease, data, { region: [1024, 1024] }))
        ]
        strictEqual(device.pending, bound)
        device.use(10)
        yield* settled
        yield* Fiber.joinAll(waiting)
        deepStrictEqual(device.writes.map((bytes) => bytes / MiB), [16, 32, 16, 1, 16, 1])
        assert.isAtMost(device.peak, bound)
      })
    ))

  it.effect("larger than the bound go alone, after those before and before those after", () =>
    onDevice((device) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(data.length)
        yield* write(lease, MiB)
        const large = yield* start(write(lease, data.length))
        const small = yield* start(write(lease, MiB))
        yield* settled
        deepStrictEqual(device.writes, [MiB])
        device.use(1)
        yield* settled
        deepStrictEqual(device.writes, [MiB, data.length])
        device.use(1)
        yield* Fiber.joinAll([large, small])
        deepStrictEqual(device.writes, [MiB, data.length, MiB])
      })
    ))

  it.effect("hold up no other work", () =>
    onDevice((device) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(bound)
        yield* write(lease, bound)
        const waiting = yield* start(write(lease, MiB))
        yield* CommandQueue.fill(lease, 5)
        strictEqual((yield* CommandQueue.read(lease, Uint32Array, { length: 1 }))[0], 5)
        deepStrictEqual(device.writes, [bound])
        device.use(1)
        yield* Fiber.join(waiting)
      })
    ))

  it.effect("are not made for a lease that ends while its write waits, and the next in the wait queue goes on", () =>
    onDevice((device) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(bound)
        const short = yield* BufferPool.allocate(bound)
        yield* write(lease, bound)
        const late = yield* start(tagOf(write(short, MiB)))
        const next = yield* start(write(lease, MiB))
        yield* Lease.release(short)
        device.use(1)
        strictEqual(yield* Fiber.join(late), "Released")
        yield* Fiber.join(next)
        deepStrictEqual(device.writes, [bound, MiB])
      })
    ))

  it.live("leave the wait queue free wherever a waiting write is interrupted", () =>
    onDevice((device) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(bound)
        for (let step = 0; step < 40; step++) {
          yield* write(lease, bound)
          const first = yield* start(write(lease, MiB))
          expectNoFailure(`interrupted at step ${step}`, yield* interruptedAt(write(lease, MiB), step))
          const last = yield* start(write(lease, MiB))
          device.use(1)
          yield* Fiber.joinAll([first, last])
          device.use(10)
        }
      })
    ))

  it.effect("wait for a lost device no longer", () =>
    onDevice((device) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(bound)
        yield* write(lease, bound)
        const waiting = yield* Effect.forEach([1, 2], () => start(tagOf(write(lease, MiB))))
        device.lose()
        deepStrictEqual(yield* Fiber.joinAll(waiting), ["DeviceLost", "DeviceLost"])
      })
    ))

  it.live("leave the failures of recorded work to the next finish", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(bound)
      const { faults } = yield* Host.Host
      faults.failCommands()
      yield* CommandQueue.fill(lease, 1)
      yield* write(lease, bound).pipe(Effect.repeat({ times: 3 }))
      strictEqual(yield* tagOf(CommandQueue.finish), "DriverError")
    }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Host.layer())))
})

/** One command of each kind on a lease of 64 bytes or more. */
const commandsOn = (x: PooledBuffer.PooledBuffer, y: PooledBuffer.PooledBuffer) => [
  CommandQueue.fill(x, 1),
  CommandQueue.copy(x, y),
  CommandQueue.write(x, data.subarray(0, 64)),
  CommandQueue.copyRect(x, y, { region: [8, 2], source: { rowPitch: 16 } }),
  CommandQueue.writeRect(x, data.subarray(0, 64), { region: [8, 2], buffer: { rowPitch: 16 } }),
  CommandQueue.dispatch(Kernels.addTo, { x, y, a: 1 }, 16)
]

const onHolding = <A, E>(test: (device: HoldingDevice) => Effect.Effect<A, E, Services>) => onDevice(test, true)

describe("commands under way", () => {
  it.effect("have no bound unless the program sets one", () =>
    onHolding((device) =>
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        yield* Effect.replicateEffect(CommandQueue.fill(x, 1), 1000)
        strictEqual(device.writes.length, 1000)
      })
    ))

  it.effect("of every kind wait in the wait queue for the bound, and are recorded in order", () =>
    onHolding((device) =>
      Effect.gen(function*() {
        const [x, y] = yield* BufferPool.allocateAll([64, 64])
        const all = commandsOn(x, y)
        yield* Effect.all(all) // compiled and loaded
        device.use(10)
        yield* Backpressure.set({ maxCommands: 4 })
        yield* Effect.replicateEffect(CommandQueue.fill(x, 1), 4)
        const before = device.writes.length
        const waiting = yield* Effect.forEach(all, start)
        yield* settled
        strictEqual(device.writes.length, before)
        device.use(1)
        yield* settled
        strictEqual(device.writes.length, before)
        device.use(1)
        yield* settled
        strictEqual(device.writes.length, before + 2)
        while (device.writes.length < before + all.length) {
          device.use(1)
          yield* settled
          assert.isAtMost(device.underWay, 4)
        }
        yield* Fiber.joinAll(waiting)
        deepStrictEqual(device.writes.slice(before), [0, 0, 64, 0, 16, 0])
      })
    ))

  it.effect("may be dispatches whose kernels are compiled while they wait", () =>
    onHolding((device) =>
      Effect.gen(function*() {
        const y = yield* BufferPool.allocate(64)
        yield* Backpressure.set({ maxCommands: 1 })
        yield* CommandQueue.fill(y, 1)
        const kernels = [1, 2, 3].map((value) => Kernels.constant(value))
        const dispatches = yield* Effect.forEach(kernels, (kernel) => start(CommandQueue.dispatch(kernel, { y }, 16)))
        yield* KernelCache.clear
        for (let turn = 0; turn < 4; turn++) {
          yield* settled
          device.use(1)
        }
        yield* Fiber.joinAll(dispatches)
        strictEqual(device.writes.length, 4)
      })
    ))

  it.effect("may be one at a time, and bytes what the program says", () =>
    onHolding((device) =>
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        yield* Backpressure.set({ maxCommands: 1, maxBytes: 16 })
        const fibers = yield* Effect.forEach([8, 64, 4], (bytes) => start(write(x, bytes)))
        for (const length of [1, 2, 3]) {
          yield* settled
          strictEqual(device.writes.length, length)
          device.use(1)
        }
        yield* Fiber.joinAll(fibers)
        yield* Backpressure.set({ maxBytes: 16 })
        const more = yield* Effect.forEach([8, 8, 4], (bytes) => start(write(x, bytes)))
        yield* settled
        deepStrictEqual(device.writes, [8, 64, 4, 8, 8])
        device.use(1)
        yield* Fiber.joinAll(more)
        yield* Backpressure.set({})
        yield* Effect.replicateEffect(CommandQueue.fill(x, 1), 100)
      })
    ))

  it.effect("are checked once more after a wait, and wait for a lost device no longer", () =>
    onHolding((device) =>
      Effect.gen(function*() {
        const [x, y] = yield* BufferPool.allocateAll([64, 64])
        yield* Backpressure.set({ maxCommands: 1 })
        yield* CommandQueue.fill(x, 1)
        const late = yield* start(tagOf(CommandQueue.copy(y, x)))
        const next = yield* start(CommandQueue.fill(x, 2))
        yield* Lease.release(y)
        device.use(1)
        strictEqual(yield* Fiber.join(late), "Released")
        yield* Fiber.join(next)
        const waiting = yield* Effect.forEach([1, 2], () => start(tagOf(CommandQueue.fill(x, 3))))
        device.lose()
        deepStrictEqual(yield* Fiber.joinAll(waiting), ["DeviceLost", "DeviceLost"])
      })
    ))

  it.live("leave the wait queue free wherever a waiting command is interrupted", () =>
    onHolding((device) =>
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        yield* Backpressure.set({ maxCommands: 1 })
        for (let step = 0; step < 40; step++) {
          yield* CommandQueue.fill(x, 1)
          const first = yield* start(CommandQueue.fill(x, 2))
          expectNoFailure(`interrupted at step ${step}`, yield* interruptedAt(CommandQueue.fill(x, 3), step))
          const last = yield* start(CommandQueue.fill(x, 4))
          while (first.pollUnsafe() === undefined || last.pollUnsafe() === undefined) {
            device.use(1)
            yield* settled
          }
          device.use(10)
        }
      })
    ))

  it.effect("have limits that make sense", () =>
    onHolding(() =>
      Effect.gen(function*() {
        for (
          const limits of [{ maxCommands: 0 }, { maxCommands: 1.5 }, { maxBytes: -1 }, { maxBytes: "x" }, { most: 1 }]
        ) {
          strictEqual(yield* tagOf(Backpressure.set(limits as Backpressure.Backpressures)), "InvalidRequest")
        }
      })
    ))
})
