import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Result from "effect/Result"
import * as fc from "fast-check"
import * as ComputeCapability from "../../src/domain/characterisation/ComputeCapability.ts"
import * as DeviceData from "../../src/domain/characterisation/DeviceData.ts"
import * as Occupancy from "../../src/domain/characterisation/Occupancy.ts"

const multiprocessor = (major: number, minor: number) =>
  Result.getOrThrow(ComputeCapability.multiprocessor({ major, minor }))

const workloads = fc.record({
  threads: fc.integer({ min: 1, max: 1024 }),
  registers: fc.integer({ min: 0, max: 255 }),
  sharedMemory: fc.integer({ min: 0, max: 230 * 1024 })
})

const multiprocessors = fc.constantFrom(...ComputeCapability.known).map((capability) =>
  Result.getOrThrow(ComputeCapability.multiprocessor(capability))
)

describe("NVIDIA's rule", () => {
  // Worked by hand from the rules; the first is the programming guide's own figure for full occupancy.
  it.each(
    [
      [9, 0, { threads: 1024, registers: 32, sharedMemory: 0 }, 2, "regs", 1],
      [8, 0, { threads: 256, registers: 40, sharedMemory: 16384 }, 6, "regs", 0.75],
      [8, 6, { threads: 32, registers: 0, sharedMemory: 0 }, 16, "device", 1 / 3],
      [8, 6, { threads: 128, registers: 32, sharedMemory: 24 * 1024 }, 4, "smem", 1 / 3],
      [7, 5, { threads: 1024, registers: 0, sharedMemory: 0 }, 1, "warps", 1],
      [6, 1, { threads: 96, registers: 63, sharedMemory: 0 }, 10, "regs", 30 / 64]
    ] as const
  )("at %d.%d with %o", (major, minor, workload, blocks, limitedBy, occupancy) => {
    const found = Result.getOrThrow(Occupancy.make(multiprocessor(major, minor), workload))
    deepStrictEqual([found.threadBlocksPerMultiprocessor, found.limitedBy], [blocks, limitedBy])
    assert.approximately(found.occupancy, occupancy, 1e-12)
  })

  it("gives what fits, and no more would", () => {
    fc.assert(fc.property(multiprocessors, workloads, (device, workload) => {
      const answer = Occupancy.make(device, workload)
      if (Result.isFailure(answer)) return
      const found = answer.success
      const warpsPerBlock = Math.ceil(workload.threads / 32)
      const registersPerWarp = Math.ceil(workload.registers * 32 / 256) * 256
      const partitionWarps = registersPerWarp === 0
        ? Infinity
        : Math.floor(device.registers / device.subPartitions / registersPerWarp)
      const shared = Math.ceil((workload.sharedMemory + device.reservedSharedMemoryBytes) / device.sharedMemoryUnit) *
        device.sharedMemoryUnit
      const fits = (blocks: number) =>
        blocks <= device.blocks && blocks * warpsPerBlock <= device.warps &&
        blocks * warpsPerBlock <= partitionWarps * device.subPartitions && blocks * shared <= device.sharedMemoryBytes
      const blocks = found.threadBlocksPerMultiprocessor
      assert.isTrue(blocks >= 1 && fits(blocks) && !fits(blocks + 1))
      strictEqual(found.occupancy, blocks * warpsPerBlock / device.warps)
    }))
  })

  it("never gets better by asking for more", () => {
    fc.assert(
      fc.property(multiprocessors, workloads, fc.constantFrom("registers", "sharedMemory"), (device, less, of) => {
        const [one, other] = [less, { ...less, [of]: less[of] + 1 }].map((workload) => Occupancy.make(device, workload))
        const blocks = [one, other].map((answer) =>
          Result.isSuccess(answer!) ? answer.success.threadBlocksPerMultiprocessor : 0
        )
        assert.isAtMost(blocks[1]!, blocks[0]!)
      })
    )
  })

  it.each([
    [{ threads: 0 }, /0 threads are no block/],
    [{ threads: NaN }, /NaN threads are no block/],
    [{ threads: 32, registers: -1 }, /-1 is no number of registers/],
    [{ threads: 32, sharedMemory: 0.5 }, /0.5 is no number of bytes/],
    [{ threads: 1025 }, /takes 1025 threads/],
    [{ threads: 32, registers: 256 }, /takes 256 registers per thread/],
    [{ threads: 1024, registers: 65 }, /registers does not run where 65536/],
    [{ threads: 32, sharedMemory: 163 * 1024 + 1 }, /bytes of shared memory does not run/]
  ])("refuses %o", (workload, message) => {
    const found = Occupancy.make(multiprocessor(8, 0), workload)
    assert(Result.isFailure(found))
    assert.match(found.failure.message, message)
  })

  it("is Unsupported where no agreeing source is known", () => {
    for (const capability of [{ major: 2, minor: 0 }, { major: 11, minor: 0 }, { major: 12, minor: 0 }]) {
      const found = ComputeCapability.multiprocessor(capability)
      assert(Result.isFailure(found) && found.failure.reason._tag === "Unsupported")
    }
  })
})

const ceilTo = (value: number, to: number) => {
  while (value % to !== 0) value++
  return value
}

/** As the formula is described, in the words of its source, with nothing shared with the code under test. */
const described = (major: number, minor: number, threads: number, smem: number, regs: number) => {
  const cc = major * 10 + minor
  const [maxThreads, allRegs, allSmem] = [1024, 32768, 49152]
  const warps = ceilTo(threads, 32) / 32
  const asm = ceilTo(smem, cc >= 20 ? 128 : 512)
  const ar = cc >= 20 ? warps * 32 * regs : ceilTo(2 * warps, 4) * 16 * regs
  if (threads > maxThreads || ar > allRegs || asm > allSmem) return undefined
  const perMp = cc >= 30 ? 64 : cc >= 20 ? 48 : cc >= 12 ? 32 : 24
  const limits: Array<[number, string]> = [[8, "device"], [Math.floor(perMp / warps), "warps"]]
  if (regs > 0) limits.push([Math.floor(allRegs / ar), "regs"])
  if (smem > 0) limits.push([Math.floor(allSmem / asm), "smem"])
  limits.sort(([a, x], [b, y]) => a - b || (x < y ? -1 : 1))
  return [limits[0]![0], limits[0]![1], limits[0]![0] * warps / perMp]
}

describe("PyCUDA's formula", () => {
  it("is followed to the letter", () => {
    const capabilities = fc.constantFrom([1, 0], [1, 1], [1, 2], [1, 3], [2, 0], [2, 1], [3, 0], [8, 6])
    fc.assert(fc.property(capabilities, workloads, ([major, minor], { registers, sharedMemory, threads }) => {
      const device = DeviceData.make({
        computeCapability: { major: major!, minor: minor! },
        maxThreads: 1024,
        warpSize: 32,
        registers: 32768,
        sharedMemory: 49152
      })
      const found = Occupancy.pycuda(device, { threads, registers, sharedMemory })
      const expected = described(major!, minor!, threads, sharedMemory, registers)
      deepStrictEqual(
        Result.getOrUndefined(Result.map(found, (record) => [
          record.threadBlocksPerMultiprocessor,
          record.limitedBy,
          record.occupancy
        ])),
        expected
      )
    }))
  })
})
