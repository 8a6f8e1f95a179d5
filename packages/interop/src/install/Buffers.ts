/**
 * The buffers of a device: which programs have, and what happens to each of them.
 *
 * @internal
 */
import { capture, enoughFrames } from "../foreign/CallStack.ts"
import { bufferClass } from "./BufferClass.ts"
import { Clears } from "./Clears.ts"
import { type ErrorScopes, outOfMemory } from "./ErrorScopes.ts"
import { ownFrames } from "./Holders.ts"
import type { Asked, Memory } from "./Memory.ts"
import { bits, type Buffer, type BufferDescriptor, type Native } from "./Native.ts"
import type { Settings } from "./Options.ts"
import type { OverPrototype } from "./OverPrototype.ts"
import type { Slot } from "./Slot.ts"

/** No usage of WebGPU: a buffer with it is invalid, as one is for which there is no memory. */
const noUsage = 1 << 20

/** Makes the memory of an installation; `live` are the buffers that programs have. */
export type MakeMemory = (native: Native, live: Iterable<Slot>) => Memory

export class Buffers {
  readonly memory: Memory
  readonly clears: Clears
  readonly live = new Set<Slot>()
  /** How many were dropped without `destroy()`, and collected. */
  collected = 0
  /** How many the limit has refused. */
  refused = 0
  /** How many calls were refused, since they used a buffer after its `destroy()`. */
  staleUses = 0
  readonly #native: Native
  readonly #settings: Settings
  readonly #errors: ErrorScopes
  readonly #maxBufferBytes: number
  readonly #slots = new WeakMap<object, Slot>()
  readonly #class: OverPrototype
  readonly #collections = new FinalizationRegistry<Slot>((slot) => this.#collect(slot))
  #grave: Buffer | undefined = undefined
  #isGone = false

  constructor(
    native: Native,
    settings: Settings,
    errors: ErrorScopes,
    maxBufferBytes: number,
    makeMemory: MakeMemory
  ) {
    this.#native = native
    this.#settings = settings
    this.#errors = errors
    this.#maxBufferBytes = maxBufferBytes
    this.memory = makeMemory(native, this.live)
    this.clears = new Clears(native)
    this.#class = bufferClass(this)
  }

  /**
   * What is known of a buffer; `undefined` for one that was made before the installation, or that is invalid, or that the program has
   * leased.
   */
  slotOf(buffer: unknown): Slot | undefined {
    const slot = this.#knownSlot(buffer)
    return slot === undefined || slot.isOfProgram ? undefined : slot
  }

  #knownSlot(buffer: unknown): Slot | undefined {
    return typeof buffer === "object" && buffer !== null ? this.#slots.get(buffer) : undefined
  }

  /** Whether the lease has ended, though the driver's buffer has not. */
  isStale(slot: Slot): boolean {
    return !slot.isLeased && !slot.isDestroyed
  }

  /** A buffer that the driver has destroyed: what uses it in the place of a stale one fails as WebGPU wants. */
  inPlaceOfStale(): Buffer {
    this.staleUses++
    if (this.#grave === undefined) {
      const usage = bits.mapRead | bits.copyDestination
      this.#grave = this.#native.createBuffer({
        label: "a buffer that was used after its destroy()",
        size: 16,
        usage
      })
      this.#grave.destroy()
    }
    return this.#grave
  }

  create(descriptor: BufferDescriptor): Buffer {
    const { label, mappedAtCreation, size, usage } = descriptor
    if (this.#isGone || !isPlain(descriptor) || size > this.#maxBufferBytes) {
      return this.#native.createBuffer(descriptor)
    }
    const asked = { label: label ?? "", mappedAtCreation: mappedAtCreation === true, size, usage }
    const stack = this.#settings.tracks ? capture(enoughFrames + ownFrames) : undefined
    const lent = canBePooled(asked) ? this.memory.lend(asked, stack) : this.memory.own(asked)
    if (lent === undefined) return this.#native.createBuffer(descriptor)
    if (typeof lent === "string") return this.#refuse(asked, lent)
    const buffer = this.#begin(lent, asked)
    lent.stack = stack
    return buffer
  }

  trim(): void {
    this.memory.trim()
  }

  /** Nothing is held any more. */
  stop(): void {
    this.clears.flush()
    this.memory.stop()
  }

  /** The device has ended, and the memory of all buffers with it. */
  end(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.clears.forgetAll()
    this.memory.stop()
    for (const slot of this.live) this.#discard(slot)
  }

  #begin(slot: Slot, { label, size }: Asked): Buffer {
    const buffer = slot.held!
    slot.held = undefined
    slot.size = size
    slot.lease++
    this.live.add(slot)
    if (!slot.isKnown) {
      slot.isKnown = true
      this.#slots.set(buffer, slot)
      this.#collections.register(buffer, slot)
      this.#class.put(buffer)
      if (!slot.isUsed) slot.label = label
      if (slot.creation !== undefined) this.#hear(slot, slot.creation)
    }
    if (slot.label !== label) buffer.label = label
    if (slot.isUsed && this.#settings.clears) this.clears.add(slot, buffer)
    if (slot.creation !== undefined) this.#errors.follow(slot.creation)
    return buffer
  }

  /** A buffer without memory must not be lent again. The program's scope gets the error nevertheless. */
  #hear(slot: Slot, creation: Promise<object | null>): void {
    slot.creation = creation.then((error) => {
      slot.creation = undefined
      if (error !== null) {
        slot.isBroken = true
        this.memory.refused(slot)
      }
      return error
    })
  }

  /** Does what a device does that has no memory: an error in the scope for that, and an invalid buffer. */
  #refuse(asked: Asked, why: string): Buffer {
    this.refused++
    this.#errors.follow(Promise.resolve(outOfMemory(why)))
    this.#native.pushErrorScope("validation")
    try {
      const buffer = this.#native.createBuffer({ ...asked, usage: asked.usage | noUsage })
      Object.defineProperty(buffer, "usage", { value: asked.usage, configurable: true })
      return buffer
    } finally {
      // That the usage is none is what makes the buffer invalid, and no error of the program.
      this.#native.popErrorScope().then(ignored, ignored)
    }
  }

  /** A program, or the pool, has called `destroy()`. Returns whether the driver is to destroy the buffer. */
  endLease(buffer: Buffer): boolean {
    const slot = this.#knownSlot(buffer)
    if (slot === undefined) return true
    if (!slot.isLeased) {
      if (slot.isDestroyed || !this.memory.isFreeing) return slot.isDestroyed
      this.#destroyed(slot)
      return true
    }
    this.#end(slot)
    slot.isUsed = true
    slot.stack = undefined
    if (slot.isMappable && buffer.mapState !== "unmapped") buffer.unmap()
    const isDestroyed = this.memory.giveBack(slot, buffer)
    if (isDestroyed) this.#destroyed(slot)
    return isDestroyed
  }

  #end(slot: Slot): void {
    slot.lease++
    this.live.delete(slot)
    this.clears.drop(slot)
  }

  #collect(slot: Slot): void {
    if (!slot.isLeased) return
    this.collected++
    this.#discard(slot)
  }

  /** The lease ends, and its memory with it. */
  #discard(slot: Slot): void {
    this.#end(slot)
    this.memory.discard(slot)
    this.#destroyed(slot)
  }

  /** The block may have the buffer, which stays alive with the slot. */
  #destroyed(slot: Slot): void {
    slot.isDestroyed = true
    slot.block = undefined
  }
}

const ignored = (): void => {}

/** Whether a descriptor is one that WebGPU takes, in types that it need not convert. The device judges all others. */
const isPlain = ({ label, mappedAtCreation, size, usage }: BufferDescriptor): boolean =>
  (label === undefined || typeof label === "string") &&
  (mappedAtCreation === undefined || typeof mappedAtCreation === "boolean") &&
  Number.isSafeInteger(size) && size > 0 && (mappedAtCreation !== true || size % 4 === 0) &&
  Number.isInteger(usage) && usage > 0 && (usage & ~bits.all) === 0 && isMappedRightly(usage)

const isMappedRightly = (usage: number): boolean =>
  (usage & bits.mapRead) !== 0
    ? (usage & ~(bits.mapRead | bits.copyDestination)) === 0
    : (usage & bits.mapWrite) === 0 || (usage & ~(bits.mapWrite | bits.copySource)) === 0

/**
 * Whether its memory may serve others later. It must be possible to clear it, so it is the target of copies and of whole words. What the
 * program maps to write, or at creation, stays its own, so that it is mapped exactly as WebGPU says.
 */
const canBePooled = ({ mappedAtCreation, size, usage }: Asked): boolean =>
  !mappedAtCreation && size % 4 === 0 && (usage & bits.copyDestination) !== 0 &&
  (usage & (bits.mapWrite | bits.queryResolve)) === 0
