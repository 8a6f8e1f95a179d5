/**
 * Random owners of pooled blocks on several queues, some of them busy: each owner must read what it wrote, whatever
 * commands of earlier owners still run.
 *
 * @internal
 */
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import type { Random } from "../Random.ts"
import * as Kernels from "./Kernels.ts"

/** How large a run is. */
export interface Options {
  readonly operations: number
  /** The queues, of one device. */
  readonly queues: ReadonlyArray<CommandQueue.Queue>
  /** Items of the work that makes a queue late. */
  readonly busyItems: number
}

/** The sizes of leases. The largest has the most words. */
const sizes = [64, 128, 320]
const mostOwners = 6

class Owner {
  readonly lease: PooledBuffer
  readonly scope: Scope.Closeable
  queue: CommandQueue.Queue
  mark: number

  constructor(lease: PooledBuffer, scope: Scope.Closeable, queue: CommandQueue.Queue, mark: number) {
    this.lease = lease
    this.scope = scope
    this.queue = queue
    this.mark = mark
  }
}

/** A read under way, and what it must return. */
interface Promised {
  readonly read: Fiber.Fiber<Uint32Array, GpuError>
  readonly mark: number
  readonly operation: number
}

class Race {
  readonly #random: Random
  readonly #options: Options
  readonly #work: ReadonlyArray<PooledBuffer>
  readonly #owners: Array<Owner> = []
  #promised: Array<Promised> = []
  #marks = 0
  #operation = 0

  constructor(random: Random, options: Options, work: ReadonlyArray<PooledBuffer>) {
    this.#random = random
    this.#options = options
    this.#work = work
  }

  step(): Effect.Effect<void, GpuError, TestServices> {
    this.#operation += 1
    const owners = this.#owners.length
    const choice = this.#random.integer(0, 99)
    if (owners === 0 || (choice < 35 && owners < mostOwners)) return this.#acquire()
    if (choice < 45) return this.#beBusy()
    const owner = this.#random.pick(this.#owners)
    if (choice < 60) return this.#rewrite(owner)
    if (choice < 70) return this.#move(owner)
    if (choice < 75) return this.#readAndKeep(owner)
    return this.#readAndRelease(owner)
  }

  /** Checks the reads under way. */
  readonly settle: Effect.Effect<void, GpuError> = Effect.suspend(() => {
    const promised = this.#promised
    this.#promised = []
    return Effect.forEach(promised, ({ mark, operation, read }) =>
      Effect.map(Fiber.join(read), (found) => {
        const other = found.find((word) => word !== mark)
        Expect.equal(`what the owner reads in operation ${operation}`, other ?? mark, mark)
      }), { discard: true })
  })

  readonly end: Effect.Effect<void, GpuError, TestServices> = Effect.suspend(() =>
    Effect.andThen(
      Effect.forEach(this.#owners.splice(0), (owner) => this.#readAndRelease(owner), { discard: true }),
      this.settle
    )
  )

  #acquire(): Effect.Effect<void, GpuError, TestServices> {
    const queue = this.#random.pick(this.#options.queues)
    const words = this.#random.pick(sizes)
    return Effect.gen({ self: this }, function*() {
      const scope = yield* Scope.make()
      const leased = CommandQueue.on(BufferPool.allocate(4 * words), queue)
      const lease = yield* Scope.provide(leased, scope)
      const owner = new Owner(lease, scope, queue, 0)
      this.#owners.push(owner)
      yield* this.#rewrite(owner)
    })
  }

  #beBusy(): Effect.Effect<void, GpuError> {
    const at = this.#random.integer(0, this.#options.queues.length - 1)
    const items = this.#random.integer(1, this.#options.busyItems)
    return this.#options.queues[at]!.dispatch(Kernels.busy, { y: this.#work[at]! }, items)
  }

  /** Writes new content, by one of the kinds of commands. */
  #rewrite(owner: Owner): Effect.Effect<void, GpuError> {
    const mark = owner.mark = ++this.#marks
    const { lease, queue } = owner
    const words = lease.size / 4
    const kind = this.#random.integer(0, 2)
    if (kind === 0) return queue.fill(lease, mark)
    if (kind === 1) return queue.write(lease, new Uint32Array(words).fill(mark))
    return queue.dispatch(Kernels.setTo, { y: lease, value: mark }, words)
  }

  /** Moves the owner to another queue, which the program makes wait for the first. */
  #move(owner: Owner): Effect.Effect<void, GpuError> {
    const queue = this.#random.pick(this.#options.queues)
    return Effect.flatMap(owner.queue.event, (event) => {
      owner.queue = queue
      return CommandQueue.on(CommandQueue.after(Effect.void, [event]), queue)
    })
  }

  #readAndKeep(owner: Owner): Effect.Effect<void, GpuError> {
    const { mark, queue } = owner
    return Effect.map(
      Effect.forkChild(queue.read(owner.lease, Uint32Array), { startImmediately: true }),
      (read) => void this.#promised.push({ read, mark, operation: this.#operation })
    )
  }

  /** The read is in the queue, and the block may have its next owner before the read ends. */
  #readAndRelease(owner: Owner): Effect.Effect<void, GpuError> {
    const at = this.#owners.indexOf(owner)
    if (at >= 0) this.#owners.splice(at, 1)
    return Effect.andThen(this.#readAndKeep(owner), Scope.close(owner.scope, Exit.void))
  }
}

/** Runs random operations. The pool has little memory, so that blocks are reused on other queues. */
export const run = (random: Random, options: Options): Effect.Effect<void, GpuError, TestServices> =>
  Effect.scoped(Effect.gen(function*() {
    const work = yield* Effect.forEach(options.queues, () => BufferPool.allocate(4 * options.busyItems))
    const race = new Race(random, options, work)
    for (let operation = 1; operation <= options.operations; operation++) {
      yield* race.step()
      if (operation % 64 === 0) yield* race.settle
    }
    yield* race.end
    yield* Effect.forEach(options.queues, (queue) => queue.finish, { discard: true })
  }))
