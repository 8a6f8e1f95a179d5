/**
 * The core of a pool that splits what the driver gives: it has the counters and the limit of a `PoolCore`, and another way to
 * keep free memory.
 *
 * A slab is one driver allocation. A request gets a chunk of one, and the rest stays free. A chunk that comes back merges with
 * its free neighbours. A slab without leases is a held block of an inner `PoolCore`, which decides about slabs as it does
 * about blocks: which goes first, what is kept, how long it may be idle.
 *
 * @see cupy.cuda.MemoryPool, whose chunks are split and merged so
 * @since 0.1.0
 */
import { floorLog2, maxBytes as largestByteCount, powerOfTwo } from "../../data/PowersOfTwo.ts"
import type { OutgrownOptions } from "../Outgrown.ts"
import { notActive, type PoolBlock } from "../PoolBlock.ts"
import type { BlockCore, Slabs } from "../PoolCore.ts"
import type { PoolCoreOptions } from "../PoolCoreOptions.ts"
import { type PoolStats, snapshotOf } from "../PoolStats.ts"
import { Arena, Chunk, Slab } from "./Chunk.ts"
import { mostUnits } from "./ChunkIndex.ts"
import { SlabCore } from "./SlabCore.ts"
import { SpareSlabs } from "./SpareSlabs.ts"

/** Requests below this share of a slab are small. */
const smallShare = 1 / 4

/**
 * What an `ArenaCore` is made with.
 *
 * @category models
 * @since 0.1.0
 */
export interface ArenaCoreOptions<A, F = number> extends PoolCoreOptions {
  /**
   * Parts of slabs have multiples of so many bytes, and begin at such: a power of two. A slab may have any number of bytes. What
   * remains of it beyond whole units is leased only together with all of it.
   */
  readonly unit: number
  /** The bytes of a slab, a power of two. Default: 1 MiB, or a sixteenth of a smaller limit. */
  readonly slabBytes?: number | undefined
  /** The share of the managed bytes that a new slab has at least. Default: 0. */
  readonly growth?: number | undefined
  /** How far requests borrow from slabs without leases: see `SizePolicy`. Default: 1. */
  readonly borrow?: number | undefined
  /** The memory of some bytes of a slab. */
  readonly part: (slab: A, begin: number, bytes: number) => A
  /** Whether the blocks of a family may be split; those of others are kept as by a `PoolCore`. Default: all. */
  readonly splits?: ((family: F) => boolean) | undefined
}

/**
 * Slabs, their chunks and the byte ledger of one pool: see `PoolCore` for the methods, which are the same.
 *
 * **Details**
 *
 * - Chunks are the blocks: `heldBlocks` and `heldBytes` count free chunks, `activeBlocks` leased ones. The driver's
 *   allocations are the slabs.
 * - Bytes that the driver can get back are those of slabs without leases: {@link ArenaCore.evictableBytes}. Free chunks beside
 *   leased ones are held, and no eviction frees them.
 * - `addPending` and `addActive` take the bytes of a slab; the request gets its part of it, or all of it where its bytes in whole
 *   units are more.
 * - {@link ArenaCore.release} returns the slab that must be freed, which is not the block that was released.
 *
 * **Example** (Three leases in one driver allocation)
 *
 * ```ts
 * import { ArenaCore } from "effect-gpu-pool/machine"
 *
 * const core = new ArenaCore.ArenaCore<string>({ unit: 256, part: (slab, begin) => `${slab} from ${begin}` })
 * core.addPending(4096)
 * const first = core.addActive(0, 4096, "a slab", 1000)
 * const second = core.acquireOwn(0, 4096, 500)!
 * const third = core.acquireOwn(0, 4096, 300)!
 * second.value // => "a slab from 1024"
 * core.release(second)
 * core.release(first)
 * core.acquireOwn(0, 4096, 1500)?.value // => "a slab from 0"
 * core.stats().driverAllocations // => 1
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class ArenaCore<A, F = number> extends SlabCore<A, F> implements BlockCore<A, F> {
  activeBlocks = 0
  activeBytes = 0
  peakActiveBytes = 0
  peakActiveBlocks = 0
  hits = 0
  releaseFailures = 0
  waiters = 0
  reservedBytes = 0

  readonly unit: number
  /** A slab for each request that is no larger. */
  readonly slabs: Slabs

  readonly #part: ArenaCoreOptions<A, F>["part"]
  readonly #splits: (family: F) => boolean
  readonly #arenas = new Map<F, Arena<A, F>>()
  /** The arena used last: consecutive requests mostly have the same family. */
  #recent: Arena<A, F> | undefined = undefined
  /** The slabs by their blocks. */
  readonly #slabOf = new WeakMap<PoolBlock<A, F>, Slab<A, F>>()
  /** Free chunks of slabs with leases. */
  #freeChunks = 0
  #freeBytes = 0
  readonly #outgrown: SpareSlabs<F> | undefined
  readonly #given: number | undefined
  readonly #growth: number
  /** The bytes of the next slab. */
  #slabBytes = 0

  constructor(options: ArenaCoreOptions<A, F>) {
    super(options)
    const { outgrown } = options
    this.#outgrown = outgrown && new SpareSlabs(outgrown)
    this.unit = options.unit
    const blockSize = (request: number): number =>
      request <= this.#slabBytes ? this.#slabBytes : this.#unitsOf(request) * this.unit
    this.slabs = { unit: this.unit, sizePolicy: { name: "arena", borrow: options.borrow ?? 1, blockSize } }
    this.#given = options.slabBytes
    this.#growth = options.growth ?? 0
    this.#resize()
    this.#part = options.part
    this.#splits = options.splits ?? always
  }

  get heldBlocks(): number {
    return this.core.heldBlocks + this.#freeChunks
  }

  get heldBytes(): number {
    return this.core.heldBytes + this.#freeBytes
  }

  /** Free bytes of slabs with leases: held ones that no eviction can free. */
  get fragmentedBytes(): number {
    return this.#freeBytes
  }

  /** 0: a chunk fits its request. */
  get borrows(): number {
    return 0
  }

  /** The bytes of leased chunks that were not requested; those of slabs whose memory may not exist, too. */
  get paddingBytes(): number {
    return this.managedBytes - this.heldBytes - this.activeBytes
  }

  /** `Infinity`: only a chunk's last unit is padding. */
  get nextPadding(): number {
    return Infinity
  }

  get outgrownSoFar(): OutgrownOptions | undefined {
    if (this.#outgrown === undefined) return undefined
    const { missedBytes, mostLeasedBytes } = this.#outgrown
    return { mostLeasedBytes: Math.max(mostLeasedBytes, this.peakActiveBytes), missedBytes }
  }

  get releases(): number {
    return this.hits + this.misses - this.activeBlocks
  }

  /** The bytes of the largest free chunk, or of a held slab. */
  get largestHeld(): number {
    let largest = this.core.largestHeld
    for (const arena of this.#arenas.values()) largest = Math.max(largest, arena.largest)
    return largest
  }

  setMaxBytes(bytes: number): void {
    this.core.setMaxBytes(bytes)
    this.#resize()
  }

  acquire(family: F, blockSize: number, request: number, borrowLimit: number): PoolBlock<A, F> | undefined {
    return this.acquireOwn(family, blockSize, request) ?? this.borrow(family, blockSize, request, borrowLimit)
  }

  /**
   * A part of a slab with leases, or else of one without leases that has at most `blockSize` bytes. Where that is no more than
   * the request's bytes in whole units, the lease is alone in its slab.
   */
  acquireOwn(family: F, blockSize: number, request: number): PoolBlock<A, F> | undefined {
    const arena = this.#arenaOf(family)
    return arena === undefined
      ? this.#counted(this.core.acquireOwn(family, blockSize, request))
      : this.#acquirePart(arena, request, blockSize)
  }

  /** A part of a slab with leases. */
  acquireBeside(family: F, request: number): PoolBlock<A, F> | undefined {
    const units = this.#unitsOf(request)
    const arena = this.#mayShare(units) ? this.#arenaOf(family) : undefined
    const chunk = arena?.find(units, this.#isSmall(units))
    return chunk && this.#leaseFree(chunk, units, request)
  }

  /** The same with slabs of at most `borrowLimit` bytes. */
  borrow(family: F, blockSize: number, request: number, borrowLimit: number): PoolBlock<A, F> | undefined {
    if (borrowLimit <= blockSize) return undefined
    const arena = this.#arenaOf(family)
    return arena === undefined
      ? this.#counted(this.core.borrow(family, blockSize, request, borrowLimit))
      : this.#acquirePart(arena, request, borrowLimit)
  }

  /** Always false: what fits together shows only when it is taken. */
  holds(): boolean {
    return false
  }

  acquireAccepted(
    family: F,
    blockSize: number,
    request: number,
    borrowLimit: number,
    accepts: (value: A) => boolean,
    among: number = Infinity
  ): PoolBlock<A, F> | undefined {
    const arena = this.#arenaOf(family)
    if (arena === undefined) {
      return this.#counted(this.core.acquireAccepted(family, blockSize, request, borrowLimit, accepts, among))
    }
    const units = this.#unitsOf(request)
    const inUnits = units * this.unit
    const most = Math.max(blockSize, borrowLimit)
    const chunk = most > inUnits && this.#mayShare(units)
      ? arena.findAccepted(
        units,
        this.#isSmall(units),
        (one) => accepts(this.#valueOf(one, inUnits)),
        among
      )
      : undefined
    return chunk === undefined
      ? this.#leaseSlab(
        this.core.acquireAccepted(family, Math.min(inUnits, most), request, most, accepts, among),
        units,
        request
      )
      : this.#leaseFree(chunk, units, request)
  }

  /** Slabs without leases, and free chunks of the others. */
  *held(): Generator<PoolBlock<A, F>, void> {
    yield* this.core.held()
    for (const arena of this.#arenas.values()) {
      for (const chunk of arena.all()) {
        chunk.value = this.#valueOf(chunk, chunk.capacity)
        yield chunk
      }
    }
  }

  /** A miss: turns pending bytes into a slab, and leases a part of it. */
  addActive(family: F, blockSize: number, value: A, request: number): PoolBlock<A, F> {
    const block = this.core.addActive(family, blockSize, value, request)
    this.#resize()
    const slab = this.#makeSlab(family, block)
    const units = this.#unitsOf(request)
    if (slab !== undefined && blockSize >= units * this.unit) return this.#lease(slab.chunk, units, request)
    this.#activate(request)
    return block
  }

  /**
   * A slab with leases of these parts of it, which are in order and do not overlap, as a replay begins with. Its bytes are pending
   * before. Throws a RangeError for parts that do not begin and end at multiples of the unit.
   */
  addParts(
    family: F,
    blockSize: number,
    value: A,
    parts: ReadonlyArray<{ readonly begin: number; readonly bytes: number; readonly request: number }>
  ): ReadonlyArray<PoolBlock<A, F>> {
    const slab = this.#makeSlab(family, this.core.addActive(family, blockSize, value, blockSize))
    if (slab === undefined || parts.some(({ begin, bytes }) => begin % this.unit !== 0 || bytes % this.unit !== 0)) {
      throw new RangeError(`a slab of ${blockSize} B has no such parts`)
    }
    this.#resize()
    this.hits += parts.length - 1
    this.#open(slab, this.#unitsOf(parts[0]!.request))
    // Otherwise its first part would open it.
    slab.leases = 1
    this.#addFree(slab.chunk)
    let rest: Chunk<A, F> | undefined = slab.chunk
    const leases = parts.map(({ begin, bytes, request }) => {
      if (rest === undefined || begin < rest.begin || begin + bytes > rest.begin + rest.capacity) {
        throw new RangeError(`parts of a slab of ${blockSize} B overlap`)
      }
      this.#takeFree(rest)
      const lease = this.#lease(this.#beginningAt(rest, begin), bytes / this.unit, request)
      rest = lease.after
      return lease
    })
    slab.leases--
    return leases
  }

  /** The part from `begin` on of a chunk that is in no index. What is before it is free. */
  #beginningAt(chunk: Chunk<A, F>, begin: number): Chunk<A, F> {
    if (begin === chunk.begin) return chunk
    this.#split(chunk, (begin - chunk.begin) / this.unit)
    this.#addFree(chunk)
    const rest = chunk.after!
    this.#takeFree(rest)
    return rest
  }

  addActiveUnbinned(capacity: number, value: A, request: number): PoolBlock<A, F> {
    const block = this.core.addActiveUnbinned(capacity, value, request)
    this.#activate(request)
    return block
  }

  addHeld(family: F, blockSize: number, value: A): PoolBlock<A, F> {
    const block = this.core.addHeld(family, blockSize, value)
    if (block.state === "held") this.#makeSlab(family, block)
    return block
  }

  /** Ends a lease. Returns the block that the caller must free now: its slab, if no lease is left and it is not kept. */
  release(block: PoolBlock<A, F>): PoolBlock<A, F> | undefined {
    this.#deactivate(block)
    if (!(block instanceof Chunk)) return this.core.release(block)
    const chunk: Chunk<A, F> = block
    const { slab } = chunk
    slab.leases--
    if (slab.distrusted) return slab.leases === 0 ? this.core.discard(slab.block) : undefined
    if (slab.leases > 0) {
      this.#addFree(this.#merge(chunk))
      return undefined
    }
    slab.chunk = this.#close(chunk)
    return this.core.release(slab.block)
  }

  /** Ends a lease whose memory must not be reused: its slab gives no more leases, and is freed with its last one. */
  discard(block: PoolBlock<A, F>): PoolBlock<A, F> | undefined {
    this.#deactivate(block)
    if (!(block instanceof Chunk)) return this.core.discard(block)
    const chunk: Chunk<A, F> = block
    const { slab } = chunk
    slab.leases--
    if (!slab.distrusted) {
      slab.distrusted = true
      for (const one of chunksOf(chunk)) {
        if (one.state !== "held" || one === chunk) continue
        this.#takeFree(one)
        one.state = "detached"
      }
    }
    return slab.leases === 0 ? this.core.discard(slab.block) : undefined
  }

  /** Before a slab of `size` bytes is made, which are pending: detaches slabs without leases beyond what the program needs. */
  *evictOutgrown(family: F, size: number, most: number): Generator<PoolBlock<A, F>, void> {
    const outgrown = this.#outgrown
    if (outgrown === undefined) return
    outgrown.missedAfter(this.hits + this.misses, family, size, most)
    const allowed = outgrown.mostManaged(this.peakActiveBytes)
    while (this.managedBytes + this.pendingBytes > allowed) {
      const block = this.core.evictNext()
      if (block === undefined) return
      outgrown.freed(block.bin!.family, block.capacity)
      yield block
    }
  }

  freed(block: PoolBlock<A, F>): void {
    this.core.freed(block)
    this.#resize()
  }

  stats(): PoolStats {
    return snapshotOf(this)
  }

  #resize(): void {
    const { managedBytes, maxBytes, unit } = this
    const least = this.#given ?? Math.min(defaultSlabBytes, powerBelow(maxBytes / 16))
    this.#slabBytes = Math.max(
      unit,
      least,
      Math.min(powerBelow(managedBytes * this.#growth), powerBelow(maxBytes / 16))
    )
  }

  #unitsOf(bytes: number): number {
    return Math.ceil(bytes / this.unit)
  }

  #isSmall(units: number): boolean {
    return units * this.unit < this.#slabBytes * smallShare
  }

  /** The arena of a family, which is made when it is first asked for; `undefined` if the family is not split. */
  #arenaOf(family: F): Arena<A, F> | undefined {
    const recent = this.#recent
    if (recent !== undefined && recent.family === family) return recent
    const arena = this.#arenas.get(family) ?? (this.#splits(family) ? this.#openArena(family) : undefined)
    if (arena !== undefined) this.#recent = arena
    return arena
  }

  #openArena(family: F): Arena<A, F> {
    const arena = new Arena<A, F>(family)
    this.#arenas.set(family, arena)
    return arena
  }

  /** Undefined for memory that is not split. */
  #makeSlab(family: F, block: PoolBlock<A, F>): Slab<A, F> | undefined {
    const units = Math.floor(block.capacity / this.unit)
    const arena = units > mostUnits ? undefined : this.#arenaOf(family)
    if (arena === undefined) return undefined
    const slab = new Slab(arena, block, units)
    this.#slabOf.set(block, slab)
    return slab
  }

  #acquirePart(arena: Arena<A, F>, request: number, most: number): PoolBlock<A, F> | undefined {
    const units = this.#unitsOf(request)
    const inUnits = units * this.unit
    const shares = most > inUnits && this.#mayShare(units)
    const chunk = shares ? arena.find(units, this.#isSmall(units)) : undefined
    if (chunk !== undefined) return this.#leaseFree(chunk, units, request)
    const slab = this.core.acquire(arena.family, Math.min(inUnits, most), request, most)
    if (slab !== undefined || !shares || this.deficit(inUnits) === 0) return this.#leaseSlab(slab, units, request)
    // The driver is not asked for more, so all chunks that may fit are looked at.
    const last = arena.find(units, this.#isSmall(units), Infinity)
    return last && this.#leaseFree(last, units, request)
  }

  /** Whether a request may take a part beside leases: not above a lowered limit, since that would keep the slab. */
  #mayShare(units: number): boolean {
    return units <= mostUnits && !this.core.isOverLimit
  }

  #leaseFree(chunk: Chunk<A, F>, units: number, request: number): Chunk<A, F> {
    this.#takeFree(chunk)
    this.hits++
    return this.#lease(chunk, units, request)
  }

  /** A part of a slab without leases, or all of it: it may have fewer bytes than the units of the request. */
  #leaseSlab(block: PoolBlock<A, F> | undefined, units: number, request: number): PoolBlock<A, F> | undefined {
    const slab = block && this.#slabOf.get(block)
    if (slab === undefined || slab.capacity < units * this.unit) return this.#counted(block)
    this.hits++
    return this.#lease(slab.chunk, units, request)
  }

  /** A hit of a whole block. */
  #counted(block: PoolBlock<A, F> | undefined): PoolBlock<A, F> | undefined {
    if (block === undefined) return undefined
    this.hits++
    this.#activate(block.request)
    return block
  }

  /** Leases the first units of a chunk that is in no index. The rest stays free. */
  #lease(chunk: Chunk<A, F>, units: number, request: number): Chunk<A, F> {
    const { slab } = chunk
    if (slab.leases === 0) this.#open(slab, units)
    slab.leases++
    if (chunk.capacity > units * this.unit) this.#split(chunk, units)
    chunk.value = this.#valueOf(chunk, chunk.capacity)
    chunk.request = request
    chunk.state = "active"
    this.#activate(request)
    return chunk
  }

  /** A slab gets its first lease. */
  #open(slab: Slab<A, F>, units: number): void {
    slab.free = this.#isSmall(units) ? slab.arena.ofSmall : slab.arena.ofLarge
    const { chunk, chunk: { after } } = slab
    if (after === undefined) return
    if (chunk.units === units) this.#addFree(after)
    else this.#join(chunk, after)
  }

  /** A slab's last lease has ended. If that had its first bytes, the rest stays apart: the next lease mostly has as many units. */
  #close(chunk: Chunk<A, F>): Chunk<A, F> {
    const { after, before } = chunk
    if (before !== undefined || after === undefined) return this.#merge(chunk)
    this.#takeFree(after)
    return chunk
  }

  #split(chunk: Chunk<A, F>, units: number): void {
    const bytes = units * this.unit
    const rest = new Chunk(chunk.slab, chunk.begin + bytes, chunk.units - units, chunk.capacity - bytes)
    const { after } = chunk
    rest.before = chunk
    rest.after = after
    if (after !== undefined) after.before = rest
    chunk.after = rest
    chunk.resize(units, bytes)
    this.#addFree(rest)
  }

  /** A chunk has come back: one with its free neighbours, which leave the index. */
  #merge(chunk: Chunk<A, F>): Chunk<A, F> {
    const { after, before } = chunk
    if (after !== undefined && after.state === "held") {
      this.#takeFree(after)
      this.#join(chunk, after)
    }
    if (before === undefined || before.state !== "held") return chunk
    this.#takeFree(before)
    this.#join(before, chunk)
    return before
  }

  #join(chunk: Chunk<A, F>, next: Chunk<A, F>): void {
    const { after } = next
    chunk.after = after
    if (after !== undefined) after.before = chunk
    chunk.resize(chunk.units + next.units, chunk.capacity + next.capacity)
  }

  #addFree(chunk: Chunk<A, F>): void {
    chunk.state = "held"
    chunk.slab.free.add(chunk)
    this.#freeChunks++
    this.#freeBytes += chunk.capacity
  }

  #takeFree(chunk: Chunk<A, F>): void {
    chunk.slab.free.remove(chunk)
    this.#freeChunks--
    this.#freeBytes -= chunk.capacity
  }

  /** The memory of a chunk's first bytes. The next lease of a chunk mostly has as many as the last one. */
  #valueOf(chunk: Chunk<A, F>, bytes: number): A {
    const { begin, slab } = chunk
    if (bytes === slab.capacity) return slab.block.value
    if (chunk.part !== undefined && chunk.partBytes === bytes) return chunk.part
    const part = this.#part(slab.block.value, begin, bytes)
    chunk.part = part
    chunk.partBytes = bytes
    return part
  }

  #activate(request: number): void {
    const blocks = this.activeBlocks + 1
    const bytes = this.activeBytes + request
    this.activeBlocks = blocks
    this.activeBytes = bytes
    if (blocks > this.peakActiveBlocks) this.peakActiveBlocks = blocks
    if (bytes > this.peakActiveBytes) this.peakActiveBytes = bytes
  }

  #deactivate(block: PoolBlock<A, F>): void {
    if (block.state !== "active") throw notActive(block)
    this.activeBlocks--
    this.activeBytes -= block.request
    if (!(block instanceof Chunk)) return
    block.request = 0
    block.state = "detached"
  }
}

/** All chunks of the slab of one. */
function* chunksOf<A, F>(chunk: Chunk<A, F>): Generator<Chunk<A, F>, void> {
  let first = chunk
  while (first.before !== undefined) first = first.before
  for (let one: Chunk<A, F> | undefined = first; one !== undefined; one = one.after) yield one
}

const defaultSlabBytes = 2 ** 20

/** The largest power of two that is no larger; at least 1. */
const powerBelow = (bytes: number): number => bytes < 2 ? 1 : powerOfTwo(floorLog2(Math.min(bytes, largestByteCount)))

const always = (): boolean => true
