/**
 * A reservation that a host has granted: on its device, until its client ends it or the host loses its epoch.
 *
 * @internal
 */
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type * as BufferPools from "effect-gpu-pool/BufferPools"
import { type GpuError, invalidRequest, released } from "effect-gpu-pool/GpuError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Scope from "effect/Scope"
import type { Grant } from "../protocol/FleetModel.ts"
import type { Transfers } from "./Transfers.ts"

/** What the effect of a reservation has. */
export type LeaseServices = BufferPools.Services | Scope.Scope

interface OwnBuffer {
  readonly buffer: BufferPool.PooledBuffer
  readonly scope: Scope.Closeable
}

export class HeldLease {
  readonly grant: Grant
  readonly transfers: Transfers
  /** Whether jobs and buffers may begin. */
  isOpen = true
  readonly #context: Context.Context<LeaseServices>
  readonly #scope: Scope.Scope
  readonly #jobs: FiberSet.FiberSet<unknown, unknown>
  readonly #buffers = new Map<string, OwnBuffer>()

  private constructor(
    grant: Grant,
    transfers: Transfers,
    context: Context.Context<LeaseServices>,
    scope: Scope.Scope,
    jobs: FiberSet.FiberSet<unknown, unknown>
  ) {
    this.grant = grant
    this.transfers = transfers
    this.#context = context
    this.#scope = scope
    this.#jobs = jobs
  }

  /** Within the reservation's effect. When its scope closes, the jobs end first, then the buffers. */
  static readonly make = Effect.fnUntraced(function*(grant: Grant, transfers: Transfers) {
    const context = yield* Effect.context<LeaseServices>()
    const scope = yield* Effect.scope
    const lease = new HeldLease(grant, transfers, context, yield* Scope.fork(scope), yield* FiberSet.make())
    yield* Effect.addFinalizer(() => Effect.sync(() => void (lease.isOpen = false)))
    return lease
  })

  /**
   * Runs an effect on the device of the reservation, whose leases draw from it. It is interrupted when the reservation ends, and then
   * fails with `lost`.
   */
  run<A, E, R>(
    effect: Effect.Effect<A, E, R | LeaseServices>,
    lost: () => GpuError
  ): Effect.Effect<A, E | GpuError, Exclude<R, LeaseServices>> {
    const inside = Effect.provideContext(Effect.scoped(effect), this.#context) as Effect.Effect<
      A,
      E,
      Exclude<R, LeaseServices>
    >
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(FiberSet.run(this.#jobs, inside), (fiber) =>
        restore(Fiber.await(fiber)).pipe(
          Effect.onInterrupt(() => Fiber.interrupt(fiber)),
          Effect.flatMap((exit): Effect.Effect<A, E | GpuError> =>
            Exit.hasInterrupts(exit) ? Effect.fail(this.isOpen ? interruptedItself() : lost()) : exit
          )
        ))
    )
  }

  /** Allocates a buffer, which ends with the reservation if not before. */
  allocate(id: string, bytes: number, label: string | undefined): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => {
      if (this.#buffers.has(id)) {
        return Effect.fail(
          invalidRequest("Fleet.allocate", `the buffer "${id}" exists already`, "Give each its own identifier.")
        )
      }
      return Effect.uninterruptibleMask((restore) =>
        Effect.gen({ self: this }, function*() {
          const scope = yield* Scope.fork(this.#scope)
          const buffer = yield* restore(BufferPool.allocate(bytes, { label })).pipe(
            Scope.provide(scope),
            Effect.provideContext(this.#context),
            Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
          )
          this.#buffers.set(id, { buffer, scope })
        })
      )
    })
  }

  /** Fails with Released for one that has ended. */
  buffer(id: string): Effect.Effect<BufferPool.PooledBuffer, GpuError> {
    return Effect.suspend(() => {
      const own = this.#buffers.get(id)
      return own === undefined ? Effect.fail(ended(id)) : Effect.succeed(own.buffer)
    })
  }

  free(id: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const own = this.#buffers.get(id)
      this.#buffers.delete(id)
      return own === undefined ? Effect.void : Scope.close(own.scope, Exit.void)
    })
  }
}

/** Interruptions of the call and of the reservation do not come here: the effect was interrupted from inside. */
const interruptedItself = (): GpuError =>
  invalidRequest(
    "FleetJob.handler",
    "the job interrupted itself",
    "Let it succeed, or fail with an error of its schema."
  )

/** The error for a buffer that has ended. */
const ended = (id: string): GpuError => released("Fleet", { label: id, size: 0, what: undefined })
