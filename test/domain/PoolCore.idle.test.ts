import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { idleDecay, type PoolBlock, PoolCore } from "../../src/domain/pool/PoolCore.ts"
import { runs } from "../support/explore.ts"
import { largest } from "../support/poolCoreModel.ts"

type Core = PoolCore<string>

const decaying = (steps: number, keepBytes = 0): Core => new PoolCore({ idle: idleDecay({ steps, keepBytes }) })

const hold = (core: Core, size: number, value = String(size)): void => {
  assert.isTrue(core.addPending(size))
  core.addHeld(0, size, value)
}

/** An owner's step: returns the values of the evicted blocks. */
const step = (core: Core): string => {
  core.tick()
  let gone = ""
  for (let block = core.evictIdle(); block !== undefined; block = core.evictIdle()) {
    gone += block.value
    core.freed(block)
  }
  return gone
}

const stepsOf = (core: Core, count: number): Array<string> => Array.from({ length: count }, () => step(core))

describe("PoolCore.evictIdle", () => {
  it("frees what became idle together in equal steps, the longest idle first", () => {
    const core = decaying(4)
    for (const value of "abcdefgh") hold(core, 10, value)
    core.tick()
    assert.deepStrictEqual(stepsOf(core, 5), ["ab", "cd", "ef", "gh", ""])
    assert.strictEqual(core.managedBlocks, 0)
  })

  it("does not count the step in which a block was released", () => {
    const core = decaying(2)
    hold(core, 10, "a")
    hold(core, 10, "b")
    assert.deepStrictEqual(stepsOf(core, 3), ["", "a", "b"])
  })

  it("counts late steps, and what was released meanwhile from the last of them on", () => {
    for (const [late, first] of [[2, "ab"], [3, "abc"], [4, "abcd"], [5, "abcd"], [100, "abcd"]] as const) {
      const core = decaying(4)
      for (const value of "abcd") hold(core, 10, value)
      core.tick()
      for (const value of "efgh") hold(core, 10, value)
      core.tick(late)
      let gone = ""
      for (let block = core.evictIdle(); block !== undefined; block = core.evictIdle()) {
        gone += block.value
        core.freed(block)
      }
      assert.strictEqual(gone, first)
      const rest = stepsOf(core, 4).map((values) => values.replace(/[a-d]/g, ""))
      assert.deepStrictEqual(rest, ["e", "f", "g", "h"])
    }
  })

  it("lets a block that became idle alone go when its time to live is over", () => {
    const core = decaying(4)
    hold(core, 10, "a")
    core.tick()
    assert.deepStrictEqual(stepsOf(core, 4), ["", "", "", "a"])
  })

  it("frees everything at once in one step", () => {
    const core = decaying(1)
    for (const value of "abc") hold(core, 10, value)
    core.tick()
    assert.deepStrictEqual(stepsOf(core, 2), ["abc", ""])
  })

  it("stays above the curve when the steps do not divide the bytes", () => {
    const core = decaying(3)
    for (const value of "abcd") hold(core, 1, value)
    core.tick()
    assert.deepStrictEqual(stepsOf(core, 3), ["a", "b", "cd"])
  })

  it("keeps the floor, however long it is idle", () => {
    const core = decaying(2, 25)
    for (const value of "abcde") hold(core, 10, value)
    core.tick()
    assert.deepStrictEqual(stepsOf(core, 10).join(""), "ab")
    assert.strictEqual(core.heldBytes, 30)
    hold(core, 10, "f")
    assert.deepStrictEqual(stepsOf(core, 10).join(""), "c")
  })

  it("starts anew with a block that was used", () => {
    const core = decaying(2)
    for (const value of "abcd") hold(core, 10, value)
    core.tick()
    const [d, c] = [core.acquire(0, 10, 10, 10)!, core.acquire(0, 10, 10, 10)!]
    core.release(c)
    core.release(d)
    assert.deepStrictEqual(stepsOf(core, 4), ["", "abc", "d", ""])
  })

  it("does not count what was used up within the step", () => {
    const core = decaying(2)
    for (const value of "abcd") hold(core, 10, value)
    for (let n = 0; n < 100; n++) core.release(core.acquire(0, 10, 10, 10)!)
    core.tick()
    assert.deepStrictEqual(stepsOf(core, 2), ["ab", "cd"])
  })

  it("frees younger blocks while an older one must stay whole, and keeps the stack in order", () => {
    const core = decaying(4)
    hold(core, 10, "a")
    core.tick()
    for (const value of "bcd") hold(core, 10, value)
    core.tick()
    for (const value of "ef") hold(core, 10, value)
    assert.deepStrictEqual(stepsOf(core, 2), ["", "b"])
    const rest = [1, 2, 3, 4].map(() => core.acquire(0, 10, 10, 10)!.value)
    assert.deepStrictEqual(rest, ["f", "e", "d", "c"])
    assert.strictEqual(core.evictOldest()?.value, "a")
  })

  it("is exact where sums are at the limit of whole numbers", () => {
    // Of 2^53 - 1 bytes 3 * 2^51 may stay after the first of four steps.
    for (const [size, gone] of [[2 ** 51 - 1, "a"], [2 ** 51, ""]] as const) {
      const core = decaying(4)
      hold(core, size, "a")
      hold(core, largest - size, "b")
      core.tick()
      assert.strictEqual(step(core), gone)
    }
  })

  it("does nothing in a pool without it", () => {
    const core: Core = new PoolCore({ recency: true })
    hold(core, 10)
    for (let n = 0; n < 10; n++) assert.strictEqual(step(core), "")
    assert.strictEqual(core.heldBlocks, 1)
  })
})

// Laws, on an independent record of when each block became idle.

interface Idle {
  readonly block: PoolBlock<string>
  readonly since: number
}

const sum = (blocks: ReadonlyArray<Idle>): number => blocks.reduce((total, { block }) => total + block.capacity, 0)

/** A pool under random use, and its idle blocks in the order of their release. */
class Watched {
  readonly core: Core
  readonly steps: number
  readonly keepBytes: number
  idle: ReadonlyArray<Idle> = []
  now = 0
  readonly becameIdle = new Map<number, number>()

  constructor(steps: number, keepBytes: number) {
    this.core = decaying(steps, keepBytes)
    this.steps = steps
    this.keepBytes = keepBytes
  }

  /** Leases of some sizes, all at one time. */
  use(sizes: ReadonlyArray<number>): void {
    for (const block of sizes.map((size) => this.lease(size))) {
      this.core.release(block)
      this.idle = [...this.idle, { block, since: this.now }]
    }
  }

  step(): void {
    this.becameIdle.set(this.now, sum(this.idle.filter(({ since }) => since === this.now)))
    this.core.tick()
    this.now++
    for (let block = this.core.evictIdle(); block !== undefined; block = this.core.evictIdle()) this.gone(block)
    for (const [tick] of this.becameIdle) this.expectCloseToCurve(tick)
  }

  private lease(size: number): PoolBlock<string> {
    const { core } = this
    const hit = core.acquire(0, size, size, 2 * size)
    this.idle = this.idle.filter(({ block }) => block !== hit)
    if (hit === undefined) assert.isTrue(core.addPending(size))
    return hit ?? core.addActive(0, size, "", size)
  }

  private gone(block: PoolBlock<string>): void {
    const { since } = this.idle.find((idle) => idle.block === block)!
    const cohort = this.cohort(since)
    assert.strictEqual(cohort[0]?.block, block, "the longest idle first")
    assert.isTrue(sum(cohort) - block.capacity >= this.curve(since), "below the curve")
    assert.isTrue(sum(this.idle) - block.capacity >= this.keepBytes, "below the floor")
    this.idle = this.idle.filter((idle) => idle.block !== block)
    this.core.freed(block)
  }

  private expectCloseToCurve(tick: number): void {
    const cohort = this.cohort(tick)
    const first = cohort[0]?.block.capacity ?? 0
    const within = sum(cohort) - first < this.curve(tick) || first === 0
    assert.isTrue(within || sum(this.idle) - first < this.keepBytes || this.waitsForAnOlder(tick), "above the curve")
  }

  /** Expired blocks are evicted in the order of their release, so an older block at the floor keeps younger ones. */
  private waitsForAnOlder(tick: number): boolean {
    const oldest = this.idle[0]!
    const expired = (since: number) => this.now - 1 - since >= this.steps
    return expired(tick) && expired(oldest.since) && sum(this.idle) - oldest.block.capacity < this.keepBytes
  }

  private cohort(tick: number): ReadonlyArray<Idle> {
    return this.idle.filter(({ since }) => since === tick)
  }

  private curve(tick: number): number {
    const idle = Math.min(Math.max(this.now - 1 - tick, 0), this.steps)
    return this.becameIdle.get(tick)! * (1 - idle / this.steps)
  }
}

const anyUse = fc.array(fc.constantFrom(8, 16, 24, 64, 200), { minLength: 1, maxLength: 8 })
const anySteps = fc.constantFrom(1, 2, 4, 8)

describe("the decay of idle blocks", () => {
  it("stays on its curve, by less than one block above it and never below, nor below the floor", () => {
    fc.assert(
      fc.property(
        anySteps,
        fc.constantFrom(0, 0, 100),
        fc.array(fc.option(anyUse, { freq: 2 }), { size: "+1", maxLength: 80 }),
        (steps, keepBytes, uses) => {
          const watched = new Watched(steps, keepBytes)
          for (const sizes of uses) {
            if (sizes === null) watched.step()
            else watched.use(sizes)
          }
          for (let n = 0; n <= steps; n++) watched.step()
          if (keepBytes === 0) assert.strictEqual(watched.core.managedBlocks, 0)
        }
      ),
      { numRuns: runs(500) }
    )
  })
})
