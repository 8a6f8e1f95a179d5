/**
 * Under a limit, an owner that uses no larger blocks than the core allows serves all requests whose sum is small
 * enough.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Padding from "../../src/domain/pool/Padding.ts"
import { type PoolBlock, PoolCore } from "../../src/domain/pool/PoolCore.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { runs } from "../support/explore.ts"

const limit = 12_000

const policies = [
  SizePolicy.defaultPolicy,
  SizePolicy.sizeClasses(0, { borrow: 3 }),
  SizePolicy.sizeClasses(2, { borrow: 0.5 }),
  SizePolicy.table([500, 2000, 6000, 12_000], { borrow: 1 })
]

/** A request whose driver call is under way, or its block. */
type Lease = { readonly size: number; readonly capacity: number } | PoolBlock<undefined>

const isBlock = (lease: Lease): lease is PoolBlock<undefined> => "bin" in lease

/**
 * Takes blocks as a pool does: from the request's bin, from other bins, from the driver; then it evicts held blocks,
 * and at last takes the exact size.
 */
class Owner {
  readonly core = new PoolCore<undefined>({ maxBytes: limit, outgrown: { mostLeasedBytes: 0, missedBytes: 0 } })
  readonly leases: Array<Lease> = []
  readonly #policy: SizePolicy.SizePolicy

  constructor(policy: SizePolicy.SizePolicy) {
    this.#policy = policy
  }

  get asked(): number {
    return this.leases.reduce((sum, lease) => sum + (isBlock(lease) ? lease.request : lease.size), 0)
  }

  /** False if there is no memory for the request. */
  ask(size: number, answers: boolean): boolean {
    const { core } = this
    const most = size + core.nextPadding
    const policySize = this.#policy.blockSize(size)
    const blockSize = policySize <= most ? policySize : size
    const borrowLimit = Math.min(SizePolicy.borrowLimit(this.#policy, blockSize), most)
    const hit = core.acquire(0, blockSize, size, borrowLimit)
    if (hit !== undefined) {
      this.leases.push(hit)
      return true
    }
    const capacity = [blockSize, size].find((bytes) => core.deficit(bytes) <= core.heldBytes)
    if (capacity === undefined) return false
    for (const block of core.trim(core.managedBytes - core.deficit(capacity))) core.freed(block)
    assert.isTrue(core.addPending(capacity, size))
    for (const block of core.evictOutgrown(0, capacity, borrowLimit)) core.freed(block)
    this.leases.push(answers ? core.addActive(0, capacity, undefined, size) : { size, capacity })
    return true
  }

  /** A lease ends, or the driver answers. */
  end(n: number): void {
    const [lease] = this.leases.splice(n % Math.max(this.leases.length, 1), 1)
    if (lease === undefined) return
    if (isBlock(lease)) this.core.release(lease)
    else this.leases.push(this.core.addActive(0, lease.capacity, undefined, lease.size))
  }
}

const anyStep = fc.oneof(
  fc.record({ size: fc.integer({ min: 1, max: 6000 }), answers: fc.boolean() }),
  fc.record({ size: fc.integer({ min: 1, max: 600 }), answers: fc.boolean() }),
  fc.nat(50)
)

/** Whether requests that ask for no more than that together are all served. */
const serves = (mostAsked: number) =>
  fc.property(fc.constantFrom(...policies), fc.array(anyStep, { minLength: 20, maxLength: 120 }), (policy, steps) => {
    const owner = new Owner(policy)
    for (const step of steps) {
      if (typeof step === "number") owner.end(step)
      else if (owner.asked + step.size <= mostAsked) assert.isTrue(owner.ask(step.size, step.answers))
      assert.isAtMost(owner.core.paddingBytes, limit / Padding.share)
    }
  })

describe("the padding under a limit", () => {
  it("leaves eleven twelfths of the limit to what requests ask for, whatever the policy, also while the driver is at work", () => {
    fc.assert(serves(limit - limit / Padding.share), { numRuns: runs(1000) })
  })

  it("is half of what is left of its share for the next request, and none without a limit", () => {
    assert.deepStrictEqual([0, 100, 999, 1000, 5000].map((padding) => Padding.nextOf(Padding.mostOf(limit), padding)), [
      500,
      450,
      0,
      0,
      0
    ])
    assert.strictEqual(Padding.nextOf(Padding.mostOf(Infinity), 5000), Infinity)
    assert.strictEqual(Padding.nextOf(Padding.mostOf(0), 0), 0)
  })

  it("follows the limit", () => {
    const core = new PoolCore<undefined>({ maxBytes: 1200 })
    assert.strictEqual(core.nextPadding, 50)
    assert.isTrue(core.addPending(140, 100))
    assert.strictEqual(core.paddingBytes, 40)
    assert.strictEqual(core.nextPadding, 30)
    core.setMaxBytes(Infinity)
    assert.strictEqual(core.nextPadding, Infinity)
    core.setMaxBytes(2400)
    assert.strictEqual(core.nextPadding, 80)
    core.removePending(140, 100)
    assert.strictEqual(core.paddingBytes, 0)
  })

  it("is 0 of reservations that do not say what was asked for", () => {
    const core = new PoolCore<undefined>({ maxBytes: 1200 })
    assert.isTrue(core.addPending(200))
    const block = core.addActive(0, 200, undefined, 150)
    assert.strictEqual(core.paddingBytes, 50)
    core.release(block)
    assert.strictEqual(core.paddingBytes, 0)
  })
})
