/**
 * The blocks of a run in a view, as rectangles: each block as wide as it lasts and as high as its
 * capacity, and in it its leases, those of parts at their offsets. What would be narrower or lower than a pixel or two is not drawn, and blocks with such leases say so.
 *
 * @internal
 */
import { Intervals } from "./Intervals.ts"
import type { Place } from "./Moment.ts"
import type { View } from "./Picture.ts"
import type { Axis, Run } from "./Run.ts"

/** Draws a rectangle: from one place of the axis to another, and from one address to another. */
export type Draw = (from: number, to: number, bottom: number, top: number) => void

/** What draws the parts of a picture. */
export interface Drawing {
  readonly held: Draw
  /** A block with leases that are too short or too small to be seen. */
  readonly busy: Draw
  /** What a lease has beyond its request. */
  readonly slack: Draw
  readonly lease: (lease: number) => Draw
}

/** What is visible, as indices: a frame may have tens of thousands, so there is no object for each. */
export interface BlockPicture {
  readonly blocks: ReadonlyArray<number>
  readonly leases: ReadonlyArray<number>
  /** The highest address. */
  readonly top: number
  readonly draw: (drawing: Drawing) => void
}

/** The most that a frame reads and draws. */
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

export class BlockPictures {
  /** The bytes from the lowest address to the highest. */
  readonly height: number
  readonly #run: Run
  readonly #blocks: OnAxis
  readonly #leases: OnAxis
  /** For each block, the length of its shortest lease, and the bytes of its smallest one. */
  readonly #shortest: Float64Array
  readonly #lowest: Float64Array

  constructor(run: Run, axis: Axis) {
    const { blocks, leases } = run.timeline
    this.#run = run
    this.#blocks = onAxis(run, axis, blocks)
    this.#leases = onAxis(run, axis, leases)
    this.height = blocks.address.reduce((most, address, at) => Math.max(most, address + blocks.capacity[at]!), 0)
    this.#lowest = new Float64Array(blocks.start.length).fill(Infinity)
    this.#shortest = new Float64Array(blocks.start.length).fill(Infinity)
    leases.block.forEach((block, at) => {
      const length = this.#leases.end[at]! - this.#leases.start[at]!
      this.#shortest[block] = Math.min(this.#shortest[block]!, length)
      this.#lowest[block] = Math.min(this.#lowest[block]!, leases.bytes[at]!)
    })
  }

  /** `shortest` and `lowest` are the length on the axis and the bytes that something must have to be drawn. */
  picture({ from, to }: View, shortest: number, lowest: number): BlockPicture {
    const { blocks: { address, capacity }, leases: { bytes } } = this.#run.timeline
    const blocks: Array<number> = []
    const leases: Array<number> = []
    let top = 1
    this.#blocks.all.over(from, to, shortest, mostLooks, (of) => {
      if (capacity[of]! < lowest) return
      blocks.push(of)
      top = Math.max(top, address[of]! + capacity[of]!)
    })
    this.#leases.all.over(from, to, shortest, mostLooks, (of) => {
      if (bytes[of]! >= lowest) leases.push(of)
    })
    return { blocks, leases, top, draw: (drawing) => this.#draw(blocks, leases, shortest, lowest, drawing) }
  }

  #draw(
    blocks: ReadonlyArray<number>,
    leases: ReadonlyArray<number>,
    shortest: number,
    lowest: number,
    drawing: Drawing
  ): void {
    const { blocks: { address, capacity }, leases: { block, bytes, offset, size } } = this.#run.timeline
    for (const of of blocks) {
      const draw = this.#shortest[of]! < shortest || this.#lowest[of]! < lowest ? drawing.busy : drawing.held
      draw(this.#blocks.start[of]!, this.#blocks.end[of]!, address[of]!, address[of]! + capacity[of]!)
    }
    for (const of of leases) {
      const [from, to] = [this.#leases.start[of]!, this.#leases.end[of]!]
      const bottom = address[block[of]!]! + offset[of]!
      const top = bottom + bytes[of]!
      const end = Math.min(bottom + size[of]!, top)
      drawing.slack(from, to, end, top)
      drawing.lease(of)(from, to, bottom, end)
    }
  }

  /** Where a block, or a lease in it, is drawn. */
  rectangleOf({ block, lease }: Place) {
    const { blocks: { address, capacity }, leases: { bytes, offset } } = this.#run.timeline
    const bottom = address[block]! + (lease === undefined ? 0 : offset[lease]!)
    const { end, start } = lease === undefined ? this.#blocks : this.#leases
    return {
      from: start[lease ?? block]!,
      to: end[lease ?? block]!,
      bottom,
      top: bottom + (lease === undefined ? capacity[block]! : bytes[lease]!)
    }
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
