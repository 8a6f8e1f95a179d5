/** Random programs on shared virtual memory, against plain arrays of bytes. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as fc from "fast-check"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import * as KernelArgument from "../../src/domain/kernel/KernelArgument.ts"
import { OpenCl, Svm } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../src/services/queue/MemoryObjects.ts"
import { describeWith } from "../support/required.ts"
import { onSvm, ownQueue } from "../support/svmDevice.ts"

const add = Kernel.make({
  name: "add",
  args: [KernelArgument.VectorArg("u32", "x"), KernelArgument.ScalarArg("u32", "a")],
  body: { opencl: "x[i] += a * (uint)(i + 1);" }
})

/** A lease and what its bytes must be. */
interface Held {
  readonly lease: PooledBuffer.PooledBuffer
  readonly scope: Scope.Closeable
  readonly bytes: Uint8Array
}

interface World {
  readonly grain: Svm.Grain
  readonly queue: bigint
  readonly held: Array<Held>
}

type Step = (world: World) => Effect.Effect<void, unknown, OpenCl.Services | BufferPool.BufferPool>

/** The n-th lease, counted around. */
const withLease = (n: number, step: (held: Held, world: World) => ReturnType<Step>): Step => (world) =>
  world.held.length === 0 ? Effect.void : step(world.held[n % world.held.length]!, world)

const show = (
  { grain }: World,
  { lease }: Held,
  access: Mapping.MapAccess
): Effect.Effect<Mapping.MappedArray<Uint8Array>, unknown, OpenCl.Services | Scope.Scope> =>
  grain === "fine" ? Svm.view(lease, Uint8Array) : Mapping.map(lease, Uint8Array, { access })

const allocate = (size: number): Step => (world) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const lease = yield* Scope.provide(BufferPool.allocate(size), scope)
    world.held.push({ lease, scope, bytes: new Uint8Array(size) })
  })

const end = (n: number, early: boolean): Step =>
  withLease(n, (held, world) =>
    Effect.gen(function*() {
      world.held.splice(world.held.indexOf(held), 1)
      if (early) yield* Lease.release(held.lease)
      yield* Scope.close(held.scope, Exit.void)
    }))

const store = (n: number, at: number, values: ReadonlyArray<number>): Step =>
  withLease(n, (held, world) =>
    Effect.scoped(Effect.gen(function*() {
      const { data } = yield* show(world, held, "readwrite")
      const from = at % held.bytes.length
      const fitting = values.slice(0, held.bytes.length - from)
      data.set(fitting, from)
      held.bytes.set(fitting, from)
    })))

const load = (n: number): Step =>
  withLease(n, (held, world) =>
    Effect.scoped(Effect.gen(function*() {
      const { data } = yield* show(world, held, "read")
      deepStrictEqual(data.slice(), held.bytes)
    })))

/** A part of so many items of `itemSize` bytes. */
const partOf = (size: number, itemSize: number, at: number, count: number) => {
  const items = Math.floor(size / itemSize)
  const from = items === 0 ? 0 : at % items
  return { from: from * itemSize, to: Math.min(items, from + count) * itemSize }
}

const repeat = (bytes: Uint8Array, from: number, to: number, pattern: Uint8Array) => {
  for (let at = from; at < to; at++) bytes[at] = pattern[(at - from) % pattern.length]!
}

const fill = (n: number, logSize: number, at: number, count: number, seed: number): Step =>
  withLease(n, ({ bytes, lease }) => {
    const pattern = Uint8Array.from({ length: 2 ** logSize }, (_, index) => seed * 31 + index * 7)
    const { from, to } = partOf(bytes.length, Math.max(4, pattern.length), at, count)
    repeat(bytes, from, to, pattern)
    return CommandQueue.fill(lease, pattern, { offset: from, size: to - from })
  })

const copy = (n: number, m: number, at: number, to: number, count: number): Step => (world) =>
  withLease(n, (source) =>
    withLease(m, (target) =>
      Effect.gen(function*() {
        const [from, into] = [partOf(source.bytes.length, 4, at, count), partOf(target.bytes.length, 4, to, count)]
        const size = Math.min(from.to - from.from, into.to - into.from)
        const copied = yield* Effect.exit(
          CommandQueue.copy(source.lease, target.lease, { sourceOffset: from.from, targetOffset: into.from, size })
        )
        strictEqual(Exit.isFailure(copied), source === target)
        if (source !== target) target.bytes.set(source.bytes.slice(from.from, from.from + size), into.from)
      }))(world))(world)

const compute = (n: number, a: number): Step =>
  withLease(n, ({ bytes, lease }) => {
    const words = new Uint32Array(bytes.buffer)
    words.forEach((word, i) => {
      words[i] = word + a * (i + 1)
    })
    return CommandQueue.dispatch(add, { x: lease, a }, words.length)
  })

const write = (n: number, at: number, values: ReadonlyArray<number>): Step =>
  withLease(n, ({ bytes, lease }) => {
    const { from, to } = partOf(bytes.length, 4, at, values.length)
    const words = Uint32Array.from(values).subarray(0, (to - from) / 4)
    bytes.set(new Uint8Array(words.buffer, 0, words.byteLength), from)
    return CommandQueue.write(lease, words, { offset: from })
  })

const move = (n: number, to: "device" | "host"): Step =>
  withLease(n, ({ lease }) => MemoryObjects.migrate([lease], { to }))

/** Fills on the program's own queue, and then unbinds the lease from that queue or ends the lease. */
const elsewhere = (n: number, value: number, then: "unbind" | "end"): Step =>
  withLease(n, (held, world) =>
    Effect.gen(function*() {
      const { api } = yield* OpenCl.OpenCl
      yield* Svm.bindToQueue(held.lease, world.queue)
      const { address, size } = yield* Svm.pointer(held.lease)
      api.clEnqueueSVMMemFill(world.queue, address, Uint32Array.of(value), 4, size, 0, null, null)
      repeat(held.bytes, 0, size, new Uint8Array(Uint32Array.of(value).buffer))
      if (then === "unbind") yield* Svm.unbindFromQueue(held.lease)
      else yield* end(world.held.indexOf(held), value % 2 === 0)(world)
    }))

const small = fc.nat(300)
const bytes = fc.array(fc.nat(255), { minLength: 1, maxLength: 40 })

const named = <Args extends Array<unknown>>(
  name: string,
  step: (...args: Args) => Step,
  ...args: { [I in keyof Args]: fc.Arbitrary<Args[I]> }
): fc.Arbitrary<{ readonly name: string; readonly step: Step }> =>
  fc.tuple<Args>(...args).map((values) => ({ name: `${name}(${JSON.stringify(values)})`, step: step(...values) }))

const steps = fc.array(
  fc.oneof(
    named("allocate", allocate, fc.integer({ min: 1, max: 128 }).map((words) => 4 * words)),
    named("end", end, small, fc.boolean()),
    named("store", store, small, small, bytes),
    named("load", load, small),
    named("fill", fill, small, fc.nat(7), small, fc.nat(20), small),
    named("copy", copy, small, small, small, small, small),
    named("compute", compute, small, small),
    named("write", write, small, small, bytes),
    named("move", move, small, fc.constantFrom("device", "host")),
    named("elsewhere", elsewhere, small, small, fc.constantFrom("unbind", "end"))
  ),
  { minLength: 5, maxLength: 60, size: "max" }
)

const agrees = (world: World) =>
  Effect.forEach(
    world.held,
    ({ bytes, lease }) => Effect.map(CommandQueue.read(lease, Uint8Array), (read) => deepStrictEqual(read, bytes)),
    { discard: true }
  )

/** Runs a program, and checks that the memory has the model's bytes and that no driver object is left. */
const program = (grain: Svm.Grain, programs: ReadonlyArray<{ readonly step: Step }>) =>
  Effect.gen(function*() {
    const world: World = { grain, queue: yield* ownQueue(), held: [] }
    yield* allocate(256)(world)
    yield* allocate(64)(world)
    for (const { step } of programs) yield* step(world)
    yield* agrees(world)
    while (world.held.length > 0) yield* end(0, false)(world)
    yield* CommandQueue.finish
    const stats = yield* BufferPool.stats
    deepStrictEqual([stats.activeBlocks, stats.activeBytes, stats.releaseFailures], [0, 0, 0])
  })

const runs = 40

const agreesOn = (grain: Svm.Grain) =>
  onSvm(() =>
    Effect.gen(function*() {
      const context = yield* Effect.context<OpenCl.Services | BufferPool.BufferPool | Scope.Scope>()
      const run = Effect.runPromiseWith(context)
      yield* Effect.promise(() =>
        fc.assert(fc.asyncProperty(steps, (programs) => run(Effect.scoped(program(grain, programs)))), {
          numRuns: runs
        })
      )
      assert.isAbove((yield* BufferPool.stats).hits, 0)
    }), { grain, clear: "acquire" })

describeWith(["opencl"], "Random programs on shared virtual memory", () => {
  it.live("of coarse grain do what arrays of bytes do", () => agreesOn("coarse"))
})

describeWith(["finegrain"], "Random programs on shared virtual memory", () => {
  it.live("of fine grain do what arrays of bytes do", () => agreesOn("fine"))
})
