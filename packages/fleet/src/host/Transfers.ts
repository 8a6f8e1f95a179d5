/**
 * Inputs of jobs that arrive in chunks. All transfers of a host together have at most `maxBytes`: the first chunk of one waits until
 * there is room for the whole.
 *
 * @internal
 */
import { type GpuError, invalidRequest, limitExceeded } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"

/** A chunk of an input that has `size` bytes. */
export interface Chunk {
  readonly transfer: string
  readonly size: number
  readonly offset: number
  readonly data: Uint8Array
}

interface Arriving {
  readonly bytes: Uint8Array
  received: number
}

const operation = "Fleet.run"
const hint = "Send the chunks of a job's input in their order, once each."

/** The bytes that all transfers of a host share. */
export class TransferLimit {
  readonly maxBytes: number
  readonly #semaphore: Semaphore.Semaphore

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.#semaphore = Semaphore.makeUnsafe(maxBytes)
  }

  /** Waits for so many bytes, which come back when the scope closes. */
  take(bytes: number): Effect.Effect<void, GpuError, Scope.Scope> {
    if (bytes > this.maxBytes) {
      return Effect.fail(
        limitExceeded({ operation, requested: bytes, limitName: "maxInputBytes", limit: this.maxBytes })
      )
    }
    return this.#semaphore.takeScoped(bytes)
  }
}

/** The transfers of one reservation. */
export class Transfers {
  readonly #limit: TransferLimit
  readonly #scope: Scope.Scope
  readonly #arriving = new Map<string, Arriving>()
  readonly #scopes = new Map<string, Scope.Closeable>()

  constructor(limit: TransferLimit, scope: Scope.Scope) {
    this.#limit = limit
    this.#scope = scope
  }

  /** A chunk has arrived. */
  readonly receive = Effect.fnUntraced(function*(this: Transfers, { data, offset, size, transfer }: Chunk) {
    if (offset === 0 && !this.#scopes.has(transfer)) yield* this.#begin(transfer, size)
    const arriving = this.#arriving.get(transfer)
    if (
      arriving === undefined || offset !== arriving.received || size !== arriving.bytes.length ||
      data.length > size - offset
    ) {
      const problem = arriving === undefined
        ? `a chunk at ${offset} of a transfer that has not begun`
        : `a chunk of ${data.length} bytes at ${offset} of ${size}, where ${arriving.received} of ${arriving.bytes.length} have arrived`
      return yield* Effect.fail(invalidRequest(operation, problem, hint))
    }
    arriving.bytes.set(data, offset)
    arriving.received += data.length
  })

  #begin(transfer: string, size: number): Effect.Effect<void, GpuError> {
    if (!Number.isSafeInteger(size) || size < 0) {
      return Effect.fail(invalidRequest(operation, `an input of ${size} bytes`, hint))
    }
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function*() {
        const scope = yield* Scope.fork(this.#scope)
        this.#scopes.set(transfer, scope)
        yield* restore(Scope.provide(this.#limit.take(size), scope)).pipe(Effect.onError(() => this.#end(transfer)))
        this.#arriving.set(transfer, { bytes: new Uint8Array(size), received: 0 })
      })
    )
  }

  #end(transfer: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const scope = this.#scopes.get(transfer)
      this.#scopes.delete(transfer)
      this.#arriving.delete(transfer)
      return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
    })
  }

  /** The input, which has arrived completely. Its bytes count for the limit until the scope closes. */
  readonly taken = Effect.fnUntraced(function*(this: Transfers, transfer: string) {
    const arriving = this.#arriving.get(transfer)
    if (arriving === undefined || arriving.received < arriving.bytes.length) {
      const received = arriving === undefined ? "no byte" : `${arriving.received} of ${arriving.bytes.length} bytes`
      return yield* Effect.fail(invalidRequest(operation, `${received} of the input have arrived`, hint))
    }
    this.#arriving.delete(transfer)
    yield* Effect.addFinalizer(() => this.#end(transfer))
    return arriving.bytes
  })
}
