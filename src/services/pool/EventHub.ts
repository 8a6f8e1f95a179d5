/**
 * Where memories and those who listen to them meet. A program in which nobody listens loads nothing else of events.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { Emitter, Heard } from "./waiting/Emitter.ts"

export class EventHub {
  readonly #memories = new Set<Heard>()
  #emitterOf: ((memory: Heard) => Emitter) | undefined = undefined

  /** Adds a memory. Returns the way to leave. */
  join(memory: Heard): () => void {
    this.#memories.add(memory)
    memory.hear(this.#emitterOf?.(memory))
    return () => {
      this.#memories.delete(memory)
    }
  }

  /** From now on what happens is told to what this makes for each memory, or to nobody. */
  tell(emitterOf: ((memory: Heard) => Emitter) | undefined): void {
    this.#emitterOf = emitterOf
    for (const memory of this.#memories) memory.hear(emitterOf?.(memory))
  }
}

/** That of the whole program, unless a part of it has one of its own. */
export const CurrentHub: Context.Reference<EventHub> = Context.Reference<EventHub>("effect-gpu-pool/EventHub", {
  defaultValue: () => new EventHub()
})
