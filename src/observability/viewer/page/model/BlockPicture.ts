/**
 * The blocks of a run between two places of the axis, as rectangles: each block as wide as it lasts and as high as its
 * capacity, and in it its leases. What would be narrower or lower than a pixel or two is not drawn, and blocks with such leases say so.
 *
 * @internal
 */
import { Intervals } from "./Intervals.ts"
import type { View } from "./Picture.ts"
import type { Axis, Run } from "./Run.ts"

export interface Rectangle {
  readonly from: number
  readonly to: number
  /** Bytes, from the lowest address. */
  readonly bottom: number
  readonly top: number
  /** The place of the lease or of the block. */
  readonly of: number
}

/** A block, and whether it had leases that are too short to be seen. */
export interface BlockRectangle extends Rectangle {
  readonly busy: boolean
}

/** A lease, and the end of its block. */
export interface LeaseRectangle extends Rectangle {
  readonly blockTop: number
}

export interface BlockPicture {
  readonly blocks: ReadonlyArray<BlockRectangle>
  readonly leases: ReadonlyArray<LeaseRectangle>
  /** Whether leases were left out as too short. */
  readonly partial: boolean
}

/** What a frame may look at and draw. */
const mostLooks = 30_000

interface OnAxis {
  readonly start: Float64Array
  readonly end: Float64Array
  readonly all: Intervals
}

interface Columns {
  readonly start: Int32Array
  readonly end: Int32Array
}

const onAxis = (run: Run, axis: Axis, { end, start }: Columns): OnAxis => {
  const positions = run.positions(axis)
  const last = run.length(axis)
  const from = Float64Array.from(start, (state) => positions[state]!)
  const to = Float64Array.from(end, (state) => state >= run.states ? last : positions[state]!)
  // on the axis of time a unit is a small part of the whole
  return { start: from, end: to, all: new Intervals(from, to, axis === "time" ? last / 2 ** 30 : 1) }
}

const rectangle = ({ end, start }: OnAxis, of: number, bottom: number, bytes: number): Rectangle => (
  { from: start[of]!, to: end[of]!, bottom, top: bottom + bytes, of }
)

export class BlockPictures {
  /** The bytes from the lowest address to the highest. */
  readonly height: number
  readonly #run: Run
  readonly #blocks: OnAxis
  readonly #leases: OnAxis
  /** For each block, the length of its shortest lease. */
  readonly #shortest: Float64Array

  constructor(run: Run, axis: Axis) {
    const { blocks, leases } = run.timeline
    this.#run = run
    this.#blocks = onAxis(run, axis, blocks)
    this.#leases = onAxis(run, axis, leases)
    this.height = blocks.address.reduce((most, address, at) => Math.max(most, address + blocks.capacity[at]!), 0)
    this.#shortest = new Float64Array(blocks.start.length).fill(Infinity)
    leases.block.forEach((block, at) => {
      const length = this.#leases.end[at]! - this.#leases.start[at]!
      this.#shortest[block] = Math.min(this.#shortest[block]!, length)
    })
  }

  /** With the length on the axis, and the bytes, that something must have to be drawn. */
  picture({ from, to }: View, shortest: number, lowest: number): BlockPicture {
    const { blocks: { address, capacity }, leases: { block, size } } = this.#run.timeline
    const blocks: Array<BlockRectangle> = []
    const leases: Array<LeaseRectangle> = []
    const all = [
      this.#blocks.all.over(from, to, shortest, mostLooks, (of) => {
        if (capacity[of]! < lowest) return
        blocks.push({
          ...rectangle(this.#blocks, of, address[of]!, capacity[of]!),
          busy: this.#shortest[of]! < shortest
        })
      }),
      this.#leases.all.over(from, to, shortest, mostLooks, (of) => {
        const bytes = capacity[block[of]!]!
        const bottom = address[block[of]!]!
        if (bytes < lowest) return
        leases.push({ ...rectangle(this.#leases, of, bottom, Math.min(size[of]!, bytes)), blockTop: bottom + bytes })
      })
    ]
    return { blocks, leases, partial: all.includes(false) || blocks.some(({ busy }) => busy) }
  }

  /** The block at a place of the axis and an address, if there is one. */
  blockAt(x: number, address: number): number | undefined {
    let found: number | undefined
    const { blocks } = this.#run.timeline
    this.#blocks.all.at(x, (block) => {
      const bottom = blocks.address[block]!
      if (address >= bottom && address < bottom + blocks.capacity[block]!) found = block
    })
    return found
  }
}
