/**
 * Leases that are parts of one GPUBuffer, with Dawn's validation: a dispatch may not read one of them and write another, and
 * no copy stays in the GPUBuffer. Programs do not see it.
 */
import * as KernelMetrics from "@effect-gpu-pool/observability/KernelMetrics"
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import {
  BufferPool,
  BufferUsage,
  CommandQueue,
  DeviceContext,
  Kernel,
  KernelArgument,
  Lease,
  Mapping,
  SubRegion
} from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { BufferLike } from "effect-gpu-pool/backend"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fc from "fast-check"
import { runs } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"

const { ScalarArg, VectorArg } = KernelArgument

type Services = WebGpu.Services | BufferPool.BufferPool | Scope.Scope

/** Each test opens a device of its own, and proves that its commands were valid and that closing leaves nothing behind. */
const onArena = <A, E>(test: Effect.Effect<A, E, Services>, slabBytes = 2 ** 20) =>
  Effect.gen(function*() {
    const pool = BufferPool.layer({ strategy: PoolStrategy.arena({ slabBytes }) })
    const program = Effect.tap(test, () => CommandQueue.finish)
    const used = Effect.flatMap(DeviceContext.DeviceContext, (device) => Effect.as(Effect.scoped(program), device))
    const { driverObjects } = yield* Effect.provide(used, pool.pipe(Layer.provideMerge(WebGpu.layer())))
    deepStrictEqual(driverObjects.liveByKind, {})
  })

const liveByKind = DeviceContext.DeviceContext.useSync(({ driverObjects }) => driverObjects.liveByKind)

const numbers = (count: number, first = 0) => Uint32Array.from({ length: count }, (_, index) => first + index)

const upload = Effect.fnUntraced(function*(data: Uint32Array<ArrayBuffer>) {
  const lease = yield* BufferPool.allocate(data.byteLength)
  yield* CommandQueue.write(lease, data)
  return lease
})

const read = (lease: BufferPool.PooledBuffer) => CommandQueue.read(lease, Uint32Array)

/** Each element, and that of its neighbour. */
const shifted = Kernel.make({
  name: "shifted",
  args: [VectorArg("u32", "x", { access: "read" }), VectorArg("u32", "y", { access: "write" })],
  body: { wgsl: "y[i] = x[i] + select(0u, x[i + 1u], i + 1u < arrayLength(&x));" }
})

const weighed = Kernel.make({
  name: "weighed",
  args: [
    VectorArg("u32", "a", { access: "read" }),
    VectorArg("u32", "b", { access: "read" }),
    VectorArg("u32", "c"),
    ScalarArg("u32", "weight")
  ],
  body: { wgsl: "c[i] = c[i] + a[i] * weight + b[i];" }
})

const twoResults = Kernel.make({
  name: "twoResults",
  args: [
    VectorArg("u32", "x", { access: "read", withOffset: true }),
    VectorArg("u32", "up", { access: "write" }),
    VectorArg("u32", "down", { access: "write" })
  ],
  body: { wgsl: "up[i] = x[x_offset + i] + 1u; down[i] = x[x_offset + i] - 1u;" }
})

const index = fc.nat(1000)
const steps = fc.oneof(
  { weight: 2, arbitrary: fc.record({ act: fc.constant("allocate" as const), a: fc.nat(199), b: index, c: index }) },
  fc.record({
    act: fc.constantFrom("release" as const, "write" as const, "fill" as const, "read" as const),
    a: index,
    b: index,
    c: index
  }),
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constantFrom("copy" as const, "rows" as const, "shift" as const, "weigh" as const, "double" as const),
      a: index,
      b: index,
      c: index
    })
  }
)

interface Live {
  readonly lease: BufferPool.PooledBuffer
  /** What it must have. */
  readonly model: Uint32Array<ArrayBuffer>
}

/** Runs a program on leases and on arrays, and compares them whenever it reads, and at its end. */
const asModel = (program: ReadonlyArray<Step>) =>
  Effect.scoped(Effect.gen(function*() {
    const live: Array<Live> = []
    const check = Effect.fnUntraced(function*({ lease, model }: Live) {
      deepStrictEqual(yield* read(lease), model)
    })
    for (const { a, act, b, c } of program) {
      if (act === "allocate" || live.length < 3) {
        const model = numbers(1 + a % 200, b)
        live.push({ lease: yield* upload(model), model })
        continue
      }
      const at = a % live.length
      const x = live[at]!
      const [y, z] = [live[(at + 1 + b % (live.length - 1)) % live.length]!, live[(at + c) % live.length]!]
      const count = 1 + c % Math.min(x.model.length, y.model.length, z.model.length)
      switch (act) {
        case "release": {
          yield* Lease.release(x.lease)
          live.splice(at, 1)
          break
        }
        case "write": {
          const data = numbers(1 + c % x.model.length, b)
          const offset = b % (x.model.length - data.length + 1)
          yield* CommandQueue.write(x.lease, data, { offset: offset * 4 })
          x.model.set(data, offset)
          break
        }
        case "fill": {
          yield* CommandQueue.fill(x.lease, c)
          x.model.fill(c)
          break
        }
        case "read": {
          yield* check(x)
          break
        }
        case "copy": {
          const [from, to] = [b % (x.model.length - count + 1), c % (y.model.length - count + 1)]
          const options = { sourceOffset: from * 4, targetOffset: to * 4, size: count * 4 }
          yield* CommandQueue.copy(x.lease, y.lease, options)
          y.model.set(x.model.subarray(from, from + count), to)
          break
        }
        case "rows": {
          // Two rows, one under the other, of which the target has a gap between.
          const width = Math.min(x.model.length >> 1, y.model.length / 3 | 0)
          if (width === 0) break
          const target = { rowPitch: width * 8 }
          yield* CommandQueue.copyRect(x.lease, y.lease, { region: [width * 4, 2], target })
          y.model.set(x.model.subarray(0, width))
          y.model.set(x.model.subarray(width, width * 2), width * 2)
          break
        }
        case "shift": {
          yield* CommandQueue.dispatch(shifted, { x: x.lease, y: y.lease }, count)
          for (let i = 0; i < count; i++) y.model[i] = x.model[i]! + (x.model[i + 1] ?? 0)
          break
        }
        case "weigh": {
          const b = z === y ? x : z
          const args = { a: x.lease, b: b.lease, c: y.lease, weight: c }
          yield* CommandQueue.dispatch(weighed, args, count)
          for (let i = 0; i < count; i++) y.model[i]! += Math.imul(x.model[i]!, c) + b.model[i]!
          break
        }
        case "double": {
          if (z === x || z === y) break
          yield* CommandQueue.dispatch(
            twoResults,
            { x: { buffer: x.lease, offset: 0 }, up: y.lease, down: z.lease },
            count
          )
          for (let i = 0; i < count; i++) [y.model[i], z.model[i]] = [x.model[i]! + 1, x.model[i]! - 1]
        }
      }
    }
    yield* Effect.forEach(live, check)
    yield* CommandQueue.finish
  }))

type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never

describeWith(["webgpu"], "leases in one GPUBuffer", () => {
  it.live("are read and written by one dispatch, in both directions", () =>
    onArena(Effect.gen(function*() {
      const x = yield* upload(numbers(100, 1))
      const y = yield* upload(numbers(100))
      strictEqual((yield* BufferPool.stats).driverAllocations, 1)
      yield* CommandQueue.dispatch(shifted, { x, y }, 100)
      const once = numbers(100, 1).map((value, index, all) => value + (all[index + 1] ?? 0))
      deepStrictEqual(yield* read(y), once)
      yield* CommandQueue.dispatch(shifted, { x: y, y: x }, 100)
      deepStrictEqual(yield* read(x), once.map((value, index, all) => value + (all[index + 1] ?? 0)))
      deepStrictEqual(yield* read(y), once)
    })))

  it.live("are read in order: each dispatch sees what those before it wrote", () =>
    onArena(Effect.gen(function*() {
      const [x, y] = [yield* upload(numbers(5, 1)), yield* upload(numbers(5))]
      let expected = numbers(5, 1)
      for (let round = 0; round < 50; round++) {
        const [from, to] = round % 2 === 0 ? [x, y] : [y, x]
        yield* CommandQueue.dispatch(shifted, { x: from, y: to }, 5)
        expected = expected.map((value, index, all) => value + (all[index + 1] ?? 0))
      }
      deepStrictEqual(yield* read(x), expected)
    })))

  it.live("are three arguments, two of them one lease, and some with an offset", () =>
    onArena(Effect.gen(function*() {
      const [a, b, c] = [yield* upload(numbers(7)), yield* upload(numbers(7, 10)), yield* upload(numbers(7, 100))]
      yield* CommandQueue.dispatch(weighed, { a, b, c, weight: 3 }, 7)
      yield* CommandQueue.dispatch(weighed, { a: b, b, c, weight: 1 }, 7)
      deepStrictEqual(yield* read(c), numbers(7).map((n) => 100 + n + 3 * n + 3 * (10 + n)))
      yield* CommandQueue.dispatch(twoResults, { x: { buffer: a, offset: 2 }, up: b, down: c }, 4)
      deepStrictEqual(yield* read(b), Uint32Array.of(3, 4, 5, 6, 14, 15, 16))
      deepStrictEqual((yield* read(c)).slice(0, 4), Uint32Array.of(1, 2, 3, 4))
      deepStrictEqual(yield* read(a), numbers(7))
    })))

  it.live("need no copies where a dispatch only writes them, or only reads them", () =>
    onArena(Effect.gen(function*() {
      const apart = yield* upload(numbers(300_000))
      const [up, down, sum] = [yield* upload(numbers(7)), yield* upload(numbers(7)), yield* upload(numbers(300_000))]
      strictEqual((yield* BufferPool.stats).driverAllocations, 3)
      yield* CommandQueue.dispatch(twoResults, { x: apart, up, down }, 7)
      yield* CommandQueue.dispatch(weighed, { a: up, b: down, c: sum, weight: 1 }, 7)
      deepStrictEqual((yield* read(sum)).slice(0, 7), numbers(7).map((n) => n + 2 * n))
      strictEqual((yield* liveByKind).scratch, undefined)
    })))

  it.live("are read and written by a dispatch that is timed", () =>
    Effect.gen(function*() {
      const x = yield* upload(numbers(100))
      const y = yield* upload(numbers(100))
      for (let round = 0; round < 3; round++) yield* CommandQueue.dispatch(shifted, { x, y }, 100)
      deepStrictEqual((yield* read(y)).slice(0, 3), Uint32Array.of(1, 3, 5))
      yield* CommandQueue.finish
    }).pipe(
      Effect.scoped,
      Effect.provide(
        BufferPool.layer({ strategy: PoolStrategy.arena() }).pipe(
          Layer.provideMerge(WebGpu.layer()),
          Layer.provideMerge(KernelMetrics.layer())
        )
      )
    ))

  it.live("end at any byte: what follows a copy of an odd length stays the neighbour's", () =>
    onArena(Effect.gen(function*() {
      const [x, y, z] = [yield* BufferPool.allocate(13), yield* BufferPool.allocate(13), yield* upload(numbers(4, 50))]
      yield* CommandQueue.write(x, Uint8Array.from({ length: 13 }, (_, index) => index))
      yield* CommandQueue.copy(x, y)
      yield* CommandQueue.copy(y, x, { sourceOffset: 8, targetOffset: 8 })
      deepStrictEqual(
        Array.from(yield* CommandQueue.read(y, Uint8Array)),
        Array.from({ length: 13 }, (_, index) => index)
      )
      deepStrictEqual(yield* read(z), numbers(4, 50))
    })))

  it.live("are copied to each other, whole, in part and by rectangles", () =>
    onArena(Effect.gen(function*() {
      const [x, y] = [yield* upload(numbers(1001)), yield* upload(numbers(1001, 5000))]
      yield* CommandQueue.copy(x, y, { sourceOffset: 400, targetOffset: 0, size: 40 })
      deepStrictEqual((yield* read(y)).slice(0, 11), Uint32Array.of(...numbers(10, 100), 5010))
      yield* CommandQueue.copyRect(x, y, {
        region: [12, 3, 2],
        source: { rowPitch: 40, slicePitch: 200 },
        target: { origin: [4, 1, 0], rowPitch: 20, slicePitch: 100 }
      })
      const expected = numbers(1001, 5000)
      expected.set(numbers(10, 100))
      for (const slice of [0, 1]) {
        for (const row of [0, 1, 2]) expected.set(numbers(3, slice * 50 + row * 10), 1 + slice * 25 + (row + 1) * 5)
      }
      deepStrictEqual(yield* read(y), expected)
      yield* CommandQueue.copy(y, x)
      deepStrictEqual(yield* read(x), expected)
    })))

  it.live("are copied to each other where they are larger than the scratch memory of copies", () =>
    onArena(
      Effect.gen(function*() {
        const count = 5 * 2 ** 18 + 3
        const [x, y] = [yield* upload(numbers(count)), yield* upload(new Uint32Array(count))]
        strictEqual((yield* BufferPool.stats).driverAllocations, 1)
        yield* CommandQueue.copy(x, y)
        yield* CommandQueue.fill(x, 0)
        assert.isTrue((yield* read(y)).every((value, index) => value === index))
        const rows = {
          region: [5 * 2 ** 10, 1000] as const,
          source: { rowPitch: 5 * 2 ** 10 },
          target: { rowPitch: 5 * 2 ** 10 }
        }
        yield* CommandQueue.copyRect(y, x, rows)
        assert.isTrue((yield* read(x)).every((value, index) => value === (index < 1250 * 1024 ? index : 0)))
      }),
      2 ** 24
    ))

  it.live("may be copied from for a dispatch although their usage allows the program no copies", () =>
    onArena(Effect.gen(function*() {
      const usage = BufferUsage.storage | BufferUsage.copyDst
      const x = yield* BufferPool.allocate(400, { usage })
      const y = yield* BufferPool.allocate(400)
      strictEqual((yield* BufferPool.stats).driverAllocations, 1)
      yield* CommandQueue.fill(x, 3)
      yield* CommandQueue.dispatch(shifted, { x, y }, 100)
      deepStrictEqual((yield* read(y)).slice(98), Uint32Array.of(6, 3))
      strictEqual((yield* Effect.flip(read(x))).reason._tag, "InvalidRequest")
    })))

  it.live("have sub-regions, which conflict with those of other leases and not with their own", () =>
    onArena(Effect.gen(function*() {
      const [x, y] = [yield* upload(numbers(256)), yield* upload(numbers(256))]
      const half = yield* SubRegion.make(x, { offset: 512 })
      const other = yield* SubRegion.make(y, { offset: 512 })
      yield* CommandQueue.dispatch(shifted, { x: half, y: other }, 127)
      deepStrictEqual((yield* read(y)).slice(126, 130), Uint32Array.of(126, 127, 257, 259))
      strictEqual(
        (yield* Effect.flip(CommandQueue.dispatch(shifted, { x: half, y: x }, 1))).reason._tag,
        "InvalidRequest"
      )
      yield* CommandQueue.copy(other, half)
      deepStrictEqual((yield* read(x)).slice(126, 130), Uint32Array.of(126, 127, 257, 259))
    })))

  it.live("have bindings, and no GPUBuffer of their own", () =>
    onArena(Effect.gen(function*() {
      const gpu = yield* WebGpu.WebGpu
      const [x, y] = [yield* upload(numbers(100)), yield* upload(numbers(10))]
      const [first, second] = [yield* WebGpu.binding(x), yield* WebGpu.binding(y)]
      strictEqual(first.buffer, second.buffer)
      deepStrictEqual([first.offset, first.size, second.offset, second.size], [0, 400, 512, 40])
      const refused = yield* Effect.flip(WebGpu.handle(y))
      strictEqual(refused.reason._tag, "Unsupported")
      assert.include(refused.message, "WebGpu.binding")
      const encoder = gpu.device.createCommandEncoder()
      encoder.clearBuffer(second.buffer, second.offset, second.size)
      yield* CommandQueue.flush
      gpu.queue.submit([encoder.finish()])
      deepStrictEqual(yield* read(y), new Uint32Array(10))
      deepStrictEqual(yield* read(x), numbers(100))
      // A lease of a whole slab has its GPUBuffer alone.
      const large = yield* BufferPool.allocate(2 ** 21)
      strictEqual((yield* WebGpu.handle(large)).size, 2 ** 21)
      strictEqual((yield* WebGpu.binding(large)).offset, 0)
      yield* Lease.release(y)
      strictEqual((yield* Effect.flip(WebGpu.binding(y))).reason._tag, "Released")
    })))

  it.live("do not end with a part that a program destroys itself", () =>
    onArena(Effect.gen(function*() {
      const { destroyBufferUnsafe } = yield* DeviceContext.DeviceContext
      const [x, y] = [yield* upload(numbers(10)), yield* upload(numbers(10))]
      yield* destroyBufferUnsafe(BufferLike.deviceBuffer(x)!)
      yield* CommandQueue.copy(x, y)
      deepStrictEqual(yield* read(y), numbers(10))
    })))

  it.live("are not staging memory, which has blocks of its own that can be mapped", () =>
    onArena(Effect.gen(function*() {
      const down = yield* BufferPool.allocate(64, { usage: BufferUsage.download })
      const up = yield* BufferPool.allocate(64, { usage: BufferUsage.upload })
      strictEqual((yield* BufferPool.stats).driverAllocations, 2)
      strictEqual((yield* BufferPool.stats).managedBytes, 512)
      const x = yield* BufferPool.allocate(64)
      yield* Effect.scoped(
        Effect.map(Mapping.map(up, Uint8Array, { access: "write" }), ({ data }) => data.fill(7))
      )
      yield* CommandQueue.copy(up, x)
      yield* CommandQueue.copy(x, down)
      const mapped = yield* Mapping.map(down, Uint8Array, { access: "read" })
      deepStrictEqual(new Uint8Array(mapped.data), new Uint8Array(64).fill(7))
    })))

  it.live("are not staging memory, whose held blocks a request borrows only within its budget", () =>
    onArena(Effect.gen(function*() {
      yield* Effect.scoped(BufferPool.allocate(1536, { usage: BufferUsage.download }))
      const budget = yield* BufferPool.budget(1100)
      const lease = yield* budget.allocate(800, { usage: BufferUsage.download })
      strictEqual(lease.capacity, 1024)
      const rest = yield* budget.allocate(76, { usage: BufferUsage.download })
      strictEqual(rest.capacity, 76)
    })))

  it.live("give the scratch memory back when nothing uses it, and under memory pressure", () =>
    onArena(Effect.gen(function*() {
      const [x, y] = [yield* upload(numbers(10)), yield* upload(numbers(10))]
      const conflict = CommandQueue.dispatch(shifted, { x, y }, 10)
      yield* Effect.andThen(conflict, CommandQueue.flush)
      deepStrictEqual((yield* liveByKind).scratch, 1)
      for (let flush = 0; flush < 16; flush++) yield* Effect.andThen(CommandQueue.fill(x, flush), CommandQueue.flush)
      deepStrictEqual((yield* liveByKind).scratch ?? 0, 0)
      yield* Effect.andThen(conflict, CommandQueue.flush)
      deepStrictEqual((yield* liveByKind).scratch, 1)
      yield* Effect.andThen(BufferPool.freeHeld, CommandQueue.finish)
      deepStrictEqual(yield* read(y), Uint32Array.from({ length: 10 }, (_, index) => index === 9 ? 15 : 30))
    })))

  it.live("run random programs as a model does", () =>
    onArena(
      Effect.gen(function*() {
        const run = Effect.runPromiseWith(yield* Effect.context<WebGpu.Services | BufferPool.BufferPool>())
        yield* Effect.promise(() =>
          fc.assert(fc.asyncProperty(fc.array(steps, { maxLength: 60 }), (program) => run(asModel(program))), {
            numRuns: runs(3000)
          })
        )
      }),
      4096
    ), 120_000)
})
