/**
 * How a reduction divides its rows among groups of items. The rule depends only on the lengths and the device, not on
 * where elements lie in memory, so that a view, a recorded array and a copy of it are combined in the same order.
 *
 * @internal
 */
import type { DeviceInfo } from "effect-gpu-pool/DeviceInfo"

/** A division of rows into parts of `segment` elements, the last of which may have fewer. */
export interface Parts {
  /** Parts of a row. */
  readonly parts: number
  readonly segment: number
}

/**
 * How many items of a workgroup share a part: 1 for kernels of single items, without workgroup memory; 8 where a group has
 * parts of eight neighbouring rows, so that it reads whole memory transactions along rows and across them; or all 64.
 */
export type Lanes = 1 | 8 | 64

export interface Division extends Parts {
  readonly lanes: Lanes
  /** Whether lanes read neighbouring elements in turn, as GPUs want it, or each has a contiguous run, as caches of CPUs do. */
  readonly interleaved: boolean
}

/** Items of a workgroup. */
export const groupItems = 64

/** What runs the items: `items` where they cannot share memory. */
export type Runner = "items" | "cpu" | "gpu"

export const runnerOf = ({ isCpu }: DeviceInfo): Runner => isCpu === true ? "cpu" : "gpu"

/** So many rows keep a device busy with an item, or a few, for each. */
const manyRows = 64

/** Divides each of `rows` rows of `length` elements, at least one. On devices with workgroups, two kernels reduce any row. */
export const divide = (rows: number, length: number, runner: Runner): Division => {
  switch (runner) {
    case "items":
      return ofItems(rows, length)
    case "cpu":
      return length <= (rows < manyRows ? cpu.item : item.segment * item.parts)
        ? ofItems(rows, length)
        : ofGroups(length, 64, partsOnCpu(rows, length), false)
    case "gpu": {
      if (length <= gpu.item) return { ...whole(length), lanes: 1, interleaved: false }
      const lanes = rows < manyRows ? 64 : 8
      return ofGroups(length, lanes, partsOnGpu(rows, length, lanes), true)
    }
  }
}

/** Rows are whole where one item or one group has all of one. */
const whole = (length: number): Parts => ({ parts: 1, segment: length })

/** Equal parts, as many as wanted or a few less, each a multiple of `multiple` elements but the last. */
export const equal = (length: number, wanted: number, multiple = 1): Parts => {
  if (wanted <= 1) return whole(length)
  const segment = Math.ceil(length / (wanted * multiple)) * multiple
  return { parts: Math.ceil(length / segment), segment }
}

/**
 * The most elements of an item alone: more would make a task of the host's event loop long, and sums less exact. In many rows
 * an item has as few as `short`, and items have `parts` of a row, so that those of neighbouring rows still find in a cache
 * what one of them has read, even where all elements of a row compete for one place of it.
 */
const item = { segment: 1024, short: 64, parts: 128 }

const ofItems = (rows: number, length: number): Division => {
  const least = rows < manyRows ? item.segment : item.short
  const segment = Math.min(item.segment, Math.max(least, Math.ceil(length / item.parts)))
  return {
    ...equal(length, length <= 2 * least ? 1 : Math.ceil(length / segment)),
    lanes: 1,
    interleaved: false
  }
}

const ofGroups = (length: number, lanes: Lanes, wanted: number, interleaved: boolean): Division => ({
  ...equal(length, wanted, lanes * 4),
  lanes,
  interleaved
})

/** The most parts of a row: one kernel combines their states, by groups or, in many rows of a CPU device, by items. */
const mostParts = (rows: number): number => rows < manyRows ? 1024 : item.parts

/**
 * A group of a CPU device takes microseconds to begin and at every barrier, and a second kernel 70. So an item takes rows of up
 * to `item` elements alone, one group all rows of up to `alone`, and there are few groups, of `part` elements at least, but not
 * so few that an item adds more than `chain` elements to one sum.
 */
const cpu = { item: 256, alone: 262_144, part: 65_536, groups: 16, chain: 1024 }

const partsOnCpu = (rows: number, length: number): number => {
  if (length <= cpu.alone) return 1
  const busy = Math.min(Math.ceil(cpu.groups / rows), Math.ceil(length / cpu.part))
  return Math.min(mostParts(rows), Math.max(busy, Math.ceil(length / (cpu.chain * 4 * groupItems))))
}

/**
 * A GPU hides the time of a read behind other groups. It wants about a thousand, whose items read four elements at a time, in
 * `worth / 4` rounds at least; up to twice as long, a second kernel costs more than it gains. An item reads a row of `item`
 * elements sooner than a group begins.
 */
const gpu = { item: 32, groups: 1024, worth: 32 }

const partsOnGpu = (rows: number, length: number, lanes: number): number => {
  if (length <= 2 * lanes * gpu.worth) return 1
  const groups = Math.ceil(rows / (groupItems / lanes))
  return Math.min(Math.ceil(gpu.groups / groups), Math.ceil(length / (lanes * gpu.worth)))
}
