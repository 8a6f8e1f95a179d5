/** The characteristics of a device, from the machine's driver and from one that answers as NVIDIA's would. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Occupancy from "../../src/domain/characterisation/Occupancy.ts"
import { OpenCl } from "../../src/layers/OpenCl/OpenCl.ts"
import { OpenClCharacteristics } from "../../src/opencl.ts"
import { onDevice, reasonOf } from "../support/openClDevice.ts"
import { describeWithPocl } from "../support/required.ts"
import type { Bends } from "../support/watchedOpenCl.ts"

const answers: ReadonlyMap<number, number> = new Map([[0x4000, 8], [0x4001, 6], [0x4002, 65536], [0x4003, 32]])

/** The driver, with NVIDIA's extension and what it would answer on an RTX 3080. */
const asNvidia: Bends = ({ clGetDeviceInfo }) => ({
  clGetDeviceInfo: (device, what, bytes, value, needed) => {
    const answer = answers.get(what)
    if (answer !== undefined && value instanceof Uint32Array) {
      value[0] = answer
      return 0
    }
    if (what !== 0x1030) return clGetDeviceInfo(device, what, bytes, value, needed)
    const text = new TextEncoder().encode("cl_nv_device_attribute_query\0")
    if (needed instanceof BigUint64Array) needed[0] = BigInt(text.length)
    if (value instanceof Uint8Array) value.set(text)
    return 0
  }
})

/** The driver, with AMD's extension and what it answers of free memory: KiB, in all and in one block. */
const asAmd = (free: ReadonlyArray<bigint>): Bends => ({ clGetDeviceInfo }) => ({
  clGetDeviceInfo: (device, what, bytes, value, needed) => {
    const answer = what === 0x1030
      ? new TextEncoder().encode("cl_amd_device_attribute_query\0")
      : what === 0x4039
      ? new Uint8Array(BigUint64Array.from(free).buffer)
      : undefined
    if (answer === undefined) return clGetDeviceInfo(device, what, bytes, value, needed)
    if (needed instanceof BigUint64Array) needed[0] = BigInt(answer.length)
    if (value instanceof Uint8Array) value.set(answer)
    return 0
  }
})

describe("an AMD GPU", () => {
  it.effect("says how much of its memory is free", () =>
    Effect.gen(function*() {
      for (const [free, bytes] of [[[3n * 2n ** 20n, 1024n], 3 * 2 ** 30], [[16n], 16384], [[0n], 0]] as const) {
        yield* onDevice(
          () => Effect.map(OpenClCharacteristics.freeMemoryBytes, (found) => strictEqual(found, bytes)),
          asAmd(free)
        )
      }
    }))
})

describe("an NVIDIA GPU", () => {
  it.effect("is asked by its vendor's own questions", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const found = yield* OpenClCharacteristics.characteristics
        strictEqual(found.simdGroupSize, 32)
        deepStrictEqual(found.computeCapability, { major: 8, minor: 6 })
        const device = yield* OpenClCharacteristics.deviceData
        strictEqual(device.registers, 65536)
        const occupancy = yield* Effect.fromResult(Occupancy.pycuda(device, { threads: 256, registers: 32 }))
        strictEqual(occupancy.threadBlocksPerMultiprocessor, 8)
      }), asNvidia))
})

describeWithPocl([], "the machine's CPU", () => {
  it.effect("has no lockstep, no banks and doubles", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const found = yield* OpenClCharacteristics.characteristics
        const { device } = yield* OpenCl
        strictEqual(device.type, "cpu")
        strictEqual(found.simdGroupSize, 1)
        // As PyOpenCL answers: one item at a time, words of 4 bytes, and no count of banks.
        deepStrictEqual(found.localMemoryBanks, { banks: undefined, granularity: 4, simultaneousWorkItems: 1 })
        assert.isTrue(found.hasDoubleSupport && found.hasSourceBuildCache && found.usableLocalMemoryBytes > 0)
        assert.isAbove(found.workgroupSizeMultiple ?? 0, 0)
        strictEqual(found.hasStructArgumentCountBug, false)
        deepStrictEqual(found.guessed, [])
      })
    ))

  it.effect("is none of PyCUDA's devices", () =>
    onDevice(() =>
      Effect.gen(function*() {
        strictEqual(yield* reasonOf(OpenClCharacteristics.deviceData), "Unsupported")
        strictEqual(yield* reasonOf(OpenClCharacteristics.freeMemoryBytes), "Unsupported")
        assert.isAtLeast((yield* OpenClCharacteristics.characteristics).poclVersion?.major ?? 0, 1)
      })
    ))
})
