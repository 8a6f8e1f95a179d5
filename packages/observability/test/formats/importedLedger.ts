/** The rule for every import: its events are those of an allocator that leases whole blocks. */
import { assert } from "@effect/vitest"
import * as Recording from "../../src/recording/Recording.ts"

interface Block {
  readonly capacity: number
  readonly size: number | undefined
}

const keyOf = (memory: number, block: number): string => `${memory} ${block}`

/** Asserts that each event fits the state before it, and returns the bytes of all leases at the end. */
export const checkLedger = (recording: Recording.Recording): number => {
  // Throws if the recording could not be saved and loaded again.
  assert.strictEqual(Recording.make(recording, Recording.events(recording)).length, recording.length)
  const blocks = new Map<string, Block>()
  for (const { block, capacity, lease, memory } of recording.blocks) {
    assert.isFalse(blocks.has(keyOf(memory, block)), "a block is there twice before the first event")
    blocks.set(keyOf(memory, block), { capacity, size: lease?.size })
  }
  const bytesOf = (memory: number, ofLeases: boolean) =>
    Array.from(blocks).reduce(
      (sum, [key, { capacity, size }]) =>
        key.startsWith(`${memory} `) && (size !== undefined) === ofLeases ? sum + capacity : sum,
      0
    )
  for (const event of Recording.events(recording)) {
    const memory = event.memoryNumber
    assert.isTrue(recording.memories.some(({ number }) => number === memory), "an event is of no memory")
    if (event._tag === "RanOut") {
      assert.deepStrictEqual([event.activeBytes, event.heldBytes], [bytesOf(memory, true), bytesOf(memory, false)])
    }
    if (!("block" in event)) continue
    const key = keyOf(memory, event.block)
    const before = blocks.get(key)
    const { capacity } = event
    if (event._tag === "Kept" || (event._tag === "Leased" && event.from === "driver")) {
      assert.isUndefined(before, "the driver has made a block that is there")
    } else if (event._tag === "Released") {
      assert.deepStrictEqual(before, { capacity, size: event.size }, "a lease ends that is not there")
    } else assert.deepStrictEqual(before, { capacity, size: undefined }, `${event._tag} of what is not held`)
    if (event._tag === "Freed") blocks.delete(key)
    else blocks.set(key, { capacity, size: event._tag === "Leased" ? event.size : undefined })
  }
  return Array.from(blocks.values()).reduce((sum, { capacity, size }) => size === undefined ? sum : sum + capacity, 0)
}
