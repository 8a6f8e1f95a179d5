/**
 * The handlers of a replay: who had some, and when, is known of those requests alone that asked them.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import type { GpuError } from "../../../domain/GpuError.ts"
import { Handlers } from "../../../services/pool/Handlers.ts"

export class SimulatedHandlers extends Handlers {
  readonly #areThere: () => boolean
  readonly #answer: Effect.Effect<boolean, GpuError>

  constructor(areThere: () => boolean, answer: Effect.Effect<boolean, GpuError>) {
    super({})
    this.#areThere = areThere
    this.#answer = answer
  }

  override get isEmpty(): boolean {
    return !this.#areThere()
  }

  override run(): Effect.Effect<boolean, GpuError> {
    return this.#answer
  }
}
