/**
 * What an observation keeps of objects and of what happened to them.
 *
 * @internal
 */
import type { Stack } from "../foreign/CallStack.ts"
import type { TextureShape } from "../foreign/TextureBytes.ts"
import type { Ending } from "./ObservedMemory.ts"

/** What is kept of an object. It does not keep the object. */
export interface Tracked {
  readonly id: number
  readonly kind: "buffer" | "texture"
  readonly bytes: number
  readonly usage: number
  /** Of textures. */
  readonly shape: TextureShape | undefined
  readonly device: ObservedDevice
  /** In milliseconds since the observation began. */
  readonly madeAt: number
  readonly stack: Stack | undefined
  /** While it lives: an engine looks through all such references whenever it collects. */
  object: WeakRef<Labelled> | undefined
  label: string
  ending: Ending | undefined
  /** In milliseconds since the observation began; 0 while it lives. */
  endedAt: number
  /** How many objects had ended when it did, itself among them; 0 while it lives. */
  endedAs: number
}

/** What every object of a device has. */
export interface Labelled {
  readonly label: string
}

/** A device, which is not kept either. */
export interface ObservedDevice {
  /** From 0 on, in the order in which they were found. */
  readonly number: number
  readonly name: string
}

/** An event of the recording: an object was made, or has ended. */
export interface Happening {
  /** In milliseconds since the observation began. */
  readonly at: number
  readonly ends: boolean
  readonly tracked: Tracked
}
