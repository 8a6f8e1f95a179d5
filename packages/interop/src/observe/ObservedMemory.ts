/**
 * A buffer or a texture that is observed, as a program sees it.
 *
 * @since 0.1.0
 */

/**
 * How an object has ended: by its own `destroy`; collected without one; with its device, which was destroyed or lost.
 *
 * @category models
 * @since 0.1.0
 */
export type Ending = "destroyed" | "collected" | "deviceDestroyed" | "deviceLost"

/**
 * A buffer or a texture.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceMemoryObject {
  /** A number for the object, in the order in which they were made. */
  readonly id: number
  readonly kind: "buffer" | "texture"
  /** The label that it has now, or had last; an empty text without one. */
  readonly label: string
  /** Its bytes; of a texture those of its texels, without what a driver adds, and 0 for a format that is not known. */
  readonly bytes: number
  /** The bits of GPUBufferUsage or GPUTextureUsage. */
  readonly usage: number
  /** What it is in words, as `buffer, 4,096 B` or `texture rgba8unorm 640×480`. */
  readonly shape: string
  /** The label of its device, or the name of the device's adapter. */
  readonly device: string
  /** When it was made, in milliseconds since 1970. */
  readonly madeAt: number
  /** How long it has lived, in milliseconds. */
  readonly age: number
  /** The frame of the call that made it which is the program's own, or else the innermost; `undefined` without `frames`. */
  readonly site: string | undefined
  /** The frames of that call, the innermost first. */
  readonly frames: ReadonlyArray<string>
  /** How it has ended; `undefined` while it lives. */
  readonly ending: Ending | undefined
}

/**
 * Objects that one line of the program made, and that have one label.
 *
 * @category models
 * @since 0.1.0
 */
export interface Group {
  readonly site: string | undefined
  readonly label: string
  readonly kind: "buffer" | "texture"
  /** How many there are. */
  readonly count: number
  /** The sum of their bytes. */
  readonly bytes: number
  /** The age of the oldest, in milliseconds. */
  readonly oldest: number
  /** The frames of the oldest's call. */
  readonly frames: ReadonlyArray<string>
}

/**
 * A moment of a program, to ask what was made after it, or was alive at it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Moment {
  /** When it was, in milliseconds since 1970. */
  readonly at: number
  /** How many objects were made before, and had ended. */
  readonly made: number
  readonly ended: number
}

/**
 * Which objects are meant. Without a member every live object is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Selection {
  /** Those that were made after this moment. */
  readonly madeAfter?: Moment | undefined
  /** Those that were alive at this moment; without it, those that are alive now. */
  readonly aliveAt?: Moment | undefined
  /** Those that are older than so many milliseconds. */
  readonly olderThan?: number | undefined
}

/**
 * Counts of objects and bytes, since the observation began.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counts {
  /** Buffers and textures that were made. */
  readonly made: number
  /** Those that have ended with `destroy`, theirs or that of their device. */
  readonly destroyed: number
  /** Those that were collected without `destroy`. */
  readonly collected: number
  readonly live: number
  /** The bytes of live objects. */
  readonly liveBytes: number
  /** The most that {@link Counts.liveBytes} has been. */
  readonly peakBytes: number
  /** The sum of the bytes of all objects that were made. */
  readonly madeBytes: number
}
