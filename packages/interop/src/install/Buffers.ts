/**
 * The buffers of a device: which the pool lends, which it holds, and what happens to each of them.
 *
 * @internal
 */
import { type PoolBlock, PoolCore } from "effect-gpu-pool/PoolCore"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import { capture, enoughFrames } from "../foreign/CallStack.ts"
import { bufferClass } from "./BufferClass.ts"
import { Clears } from "./Clears.ts"
import { type ErrorScopes, outOfMemory } from "./ErrorScopes.ts"
import { ownFrames, refusalOf } from "./Holders.ts"
import { bits, type Buffer, type BufferDescriptor, type Native } from "./Native.ts"
import type { Settings } from "./Options.ts"
import type { OverPrototype } from "./OverPrototype.ts"
import { Slot } from "./Slot.ts"

/** Blocks have multiples of so many bytes. */
const granularity = 16
/** No usage of WebGPU: a buffer with it is invalid, as one is for which there is no memory. */
const noUsage = 1 << 20

export class Buffers {
  readonly core: PoolCore<Slot>
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
  readonly #blockSize: (request: number) => number
  readonly #slots = new WeakMap<object, Slot>()
  readonly #class: OverPrototype
  readonly #collections = new FinalizationRegistry<Slot>((slot) => this.#collect(slot))
  #grave: Buffer | undefined = undefined
  #isGone = false

  constructor(native: Native, settings: Settings, errors: ErrorScopes, maxBufferBytes: number) {
    this.#native = native
    this.#settings = settings
    this.#errors = errors
    this.#maxBufferBytes = maxBufferBytes
    this.#blockSize = SizePolicy.forDevice(settings.sizePolicy, { granularity, maxBlockBytes: maxBufferBytes })
    this.core = new PoolCore<Slot>({ maxBytes: settings.maxBytes, outgrown: { mostLeasedBytes: 0, missedBytes: 0 } })
    this.clears = new Clears(native)
    this.#class = bufferClass(this)
  }

  /** What is known of a buffer; `undefined` for one that was made before the installation, or that is invalid. */
  slotOf(buffer: unknown): Slot | undefined {
    return typeof buffer === "object" && buffer !== null ? this.#slots.get(buffer) : undefined
  }

  /** Whether the lease has ended, though the driver's buffer has not. */
  isStale(slot: Slot): boolean {
    return !slot.isLeased && slot.held !== undefined
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
    const isPooled = canBePooled(asked)
    const blockSize = isPooled ? this.#blockSize(size) : size
    const lent = isPooled ? this.#lend(asked, blockSize) : undefined
    const buffer = lent ?? this.#make(asked, this.#capacityOf(asked, blockSize), isPooled)
    if (this.#settings.tracks) {
      const slot = this.slotOf(buffer)
      if (slot !== undefined) slot.stack = capture(enoughFrames + ownFrames)
    }
    return buffer
  }

  /** The driver's buffers that nobody has are destroyed. */
  trim(): void {
    for (const block of this.core.evictAll()) this.#destroy(block)
  }

  /** Nothing is held any more. */
  stop(): void {
    this.clears.flush()
    this.core.stopHolding()
    this.trim()
  }

  /** The device has ended, and the memory of all buffers with it. */
  end(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.clears.forgetAll()
    this.core.stopHolding()
    this.trim()
    for (const slot of this.live) this.#discard(slot)
  }

  #lend({ label, size, usage }: Asked, blockSize: number): Buffer | undefined {
    const { sizePolicy } = this.#settings
    const block = this.core.acquire(usage, blockSize, size, SizePolicy.borrowLimit(sizePolicy, blockSize))
    if (block === undefined) return undefined
    const slot = block.value
    const buffer = slot.held!
    slot.held = undefined
    this.#begin(slot, size)
    if (slot.label !== label) buffer.label = label
    if (this.#settings.clears) this.clears.add(slot, buffer)
    if (slot.creation !== undefined) this.#errors.follow(slot.creation)
    return buffer
  }

  #begin(slot: Slot, size: number): void {
    slot.lease++
    slot.size = size
    this.live.add(slot)
  }

  /** What a block that the driver makes has: less than its bin where a limit leaves too little for that. */
  #capacityOf({ size }: Asked, blockSize: number): number {
    return blockSize - size <= this.core.nextPadding && this.#makeRoom(blockSize) ? blockSize : size
  }

  #makeRoom(bytes: number): boolean {
    for (let missing = this.core.deficit(bytes); missing > 0; missing = this.core.deficit(bytes)) {
      const block = this.core.evictNext(missing)
      if (block === undefined) return false
      this.#destroy(block)
    }
    return true
  }

  #make(asked: Asked, capacity: number, isPooled: boolean): Buffer {
    const { core } = this
    const { label, size, usage } = asked
    if (!this.#makeRoom(capacity)) return this.#refuse(asked)
    const isMappable = (usage & (bits.mapRead | bits.mapWrite)) !== 0
    const slot = new Slot(capacity, isMappable)
    const buffer = isPooled ? this.#allocate(slot, asked) : this.#native.createBuffer(asked)
    core.addPending(capacity, size)
    if (isPooled) this.#letGoOfOutgrown(usage, capacity)
    slot.block = isPooled ? core.addActive(usage, capacity, slot, size) : core.addActiveUnbinned(capacity, slot, size)
    slot.label = label
    this.#begin(slot, size)
    this.#slots.set(buffer, slot)
    this.#collections.register(buffer, slot)
    return this.#class.put(buffer)
  }

  /** Blocks that are too small for what the program asks for now go, as in every pool. */
  #letGoOfOutgrown(usage: number, capacity: number): void {
    const most = SizePolicy.borrowLimit(this.#settings.sizePolicy, capacity)
    for (const block of this.core.evictOutgrown(usage, capacity, most)) this.#destroy(block)
  }

  /**
   * Asks the driver, and hears whether it had memory, which it tells later: a buffer without memory must not be lent again. The
   * program's scope gets the error nevertheless.
   */
  #allocate(slot: Slot, { label, size, usage }: Asked): Buffer {
    this.#native.pushErrorScope("out-of-memory")
    const buffer = this.#native.createBuffer({ label, size: slot.capacity, usage })
    // A device that is lost meanwhile may reject: it tells of no error.
    const creation = this.#native.popErrorScope().then((error) => error, () => null).then((error) => {
      slot.creation = undefined
      if (error !== null) this.#break(slot)
      return error
    })
    slot.creation = creation
    this.#errors.follow(creation)
    slot.size = size
    return buffer
  }

  #break(slot: Slot): void {
    slot.isBroken = true
    if (slot.held === undefined) return
    for (const block of this.core.evictWhich((value) => value === slot)) this.#destroy(block)
  }

  /** Does what a device does that has no memory: an error in the scope for that, and an invalid buffer. */
  #refuse(asked: Asked): Buffer {
    this.refused++
    const { activeBytes, maxBytes } = this.core
    const error = outOfMemory(refusalOf(asked.size, { live: this.live, maxBytes, usedBytes: activeBytes }))
    this.#errors.follow(Promise.resolve(error))
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

  /** The program has called `destroy()`. Returns whether the driver is to destroy the buffer. */
  endLease(slot: Slot, buffer: Buffer): boolean {
    if (!slot.isLeased) return slot.held === undefined
    slot.lease++
    this.live.delete(slot)
    this.clears.drop(slot)
    if (slot.isMappable && buffer.mapState !== "unmapped") buffer.unmap()
    const block = slot.block!
    const detached = slot.isBroken ? this.core.discard(block) : this.core.release(block)
    if (detached !== undefined) {
      this.core.freed(detached)
      return true
    }
    slot.held = buffer
    slot.stack = undefined
    return false
  }

  #collect(slot: Slot): void {
    if (!slot.isLeased) return
    this.collected++
    this.#discard(slot)
  }

  /** The lease ends, and its memory with it. */
  #discard(slot: Slot): void {
    slot.lease++
    this.live.delete(slot)
    const detached = this.core.discard(slot.block!)
    if (detached !== undefined) this.core.freed(detached)
  }

  #destroy(block: PoolBlock<Slot>): void {
    const slot = block.value
    const buffer = slot.held
    slot.held = undefined
    // Its lease has ended: the driver gets it.
    buffer?.destroy()
    this.core.freed(block)
  }
}

interface Asked {
  readonly label: string
  readonly mappedAtCreation: boolean
  readonly size: number
  readonly usage: number
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
