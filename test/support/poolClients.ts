/**
 * Named requests, each in a scope of its own, and a log of their results.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { type GpuError, isGpuError, type Reason } from "../../src/domain/GpuError.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import { nextTurn } from "./hostPool.ts"

export const patient = { onExhausted: "wait" } as const

/** Lets everything that is ready run, however many turns of the event loop it takes. */
export const quiet = Effect.replicateEffect(nextTurn, 10, { discard: true })

interface Client<L> {
  readonly fiber: Fiber.Fiber<L, GpuError>
  readonly scope: Scope.Closeable
}

const outcomeOf = (exit: Exit.Exit<unknown, GpuError>): string => {
  if (Exit.isSuccess(exit)) return ""
  if (Cause.hasInterruptsOnly(exit.cause)) return ": interrupted"
  const error = Cause.squash(exit.cause)
  return isGpuError(error) ? `: ${error.reason._tag}` : `: ${String(error)}`
}

type Allocate<L, R> = (size: number, options: BufferPool.PoolAllocateOptions) => Effect.Effect<L, GpuError, R>

/** Clients of the pool on which `allocate` allocates. */
export class ClientsOf<L, R> {
  readonly #clients = new Map<string, Client<L>>()
  readonly #log: Array<string> = []
  readonly #allocate: Allocate<L, R>

  constructor(allocate: Allocate<L, R>) {
    this.#allocate = allocate
  }

  /** The name of each request that ended since the last look, with the reason if it was not served. */
  log(): ReadonlyArray<string> {
    return this.#log.splice(0)
  }

  /** Asks for a lease; it waits unless the options say something else. */
  ask(
    name: string,
    size: number,
    options?: BufferPool.PoolAllocateOptions
  ): Effect.Effect<void, never, Exclude<R, Scope.Scope>> {
    const scope = Scope.makeUnsafe()
    const request = this.#allocate(size, { ...patient, label: name, ...options }).pipe(
      Effect.onExit((exit) => Effect.sync(() => this.#log.push(name + outcomeOf(exit)))),
      Scope.provide(scope)
    )
    const forked = Effect.map(Effect.forkDetach(request, { startImmediately: true }), (fiber) => {
      this.#clients.set(name, { fiber, scope })
    })
    return Effect.andThen(forked, quiet)
  }

  askAll(requests: Readonly<Record<string, number>>, options?: BufferPool.PoolAllocateOptions) {
    return Effect.forEach(Object.entries(requests), ([name, size]) => this.ask(name, size, options), { discard: true })
  }

  /** Closes the scopes of these one after the other, in one step. */
  release(...names: ReadonlyArray<string>): Effect.Effect<void> {
    const closed = Effect.forEach(names, (name) => Scope.close(this.#get(name).scope, Exit.void), { discard: true })
    return Effect.andThen(closed, quiet)
  }

  interrupt(name: string): Effect.Effect<void> {
    return Effect.andThen(Fiber.interrupt(this.#get(name).fiber), quiet)
  }

  lease(name: string): Effect.Effect<L, GpuError> {
    return Fiber.join(this.#get(name).fiber)
  }

  reason(name: string): Effect.Effect<Reason, L> {
    return Effect.map(Effect.flip(Fiber.join(this.#get(name).fiber)), (error) => error.reason)
  }

  #get(name: string): Client<L> {
    const client = this.#clients.get(name)
    if (client === undefined) throw new Error(`nobody is called ${name}`)
    return client
  }
}

/** Clients of the buffer pool of the context. */
export class Clients extends ClientsOf<
  PooledBuffer.PooledBuffer,
  BufferPool.BufferPool | Scope.Scope
> {
  constructor() {
    super(BufferPool.allocate)
  }
}
