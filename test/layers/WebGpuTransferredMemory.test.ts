/** Mapped memory that a program transfers away in Node, each time in a process of its own, which must not crash. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { create } from "webgpu"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as Mapping from "../../src/services/buffers/mapping/Mapping.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { some } from "../support/explore.ts"
import { onDevice } from "../support/nullDevice.ts"
import { describeWith } from "../support/required.ts"

/** Dawn crashes when this object is collected while anything made from it is in use. */
const dawn = create(["backend=null"])

const program = fileURLToPath(new URL("../support/takenMemory.ts", import.meta.url))

/** The last line that the process printed, after the logs of closing scopes, and how the process ended. */
const ran = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly last: string | undefined; readonly signal: string | null }>((resolve) =>
    execFile(
      process.execPath,
      ["--expose-gc", "--conditions=effect-gpu-pool:source", program, ...args],
      { env: { ...process.env, NODE_OPTIONS: "" } },
      (error, said) => resolve({ last: said.trim().split("\n").at(-1), signal: error?.signal ?? null })
    )
  )

const survives = (flag: string, endings: ReadonlyArray<string>, ofOtherCode: ReadonlyArray<string>) => {
  for (const ending of endings) {
    it(`outlives what ends it: ${ending}`, async () => {
      deepStrictEqual(await ran(ending, flag), { last: "survived", signal: null })
    })
  }
  for (const ending of ofOtherCode) {
    it(`outlives what ends it on a device of other code: ${ending}`, async () => {
      deepStrictEqual(await ran(ending, flag, "shared"), { last: "survived", signal: null })
    })
  }
}

describeWith(["webgpu"], "memory that a program has taken from WebGPU", () => {
  const all = [
    "unmapped",
    "released",
    "viewed",
    "interrupted",
    "pool closed",
    "device destroyed",
    "device destroyed later"
  ]
  survives("", some(all, 3), some(["unmapped", "pool closed"]))
})

describe("memory that a program has taken from Dawn's null device", () => {
  survives("backend=null", ["unmapped", "device destroyed"], ["pool closed"])
})

const upload = Effect.flatMap(
  DeviceContext,
  (device) =>
    Effect.acquireRelease(
      device.createBuffer(64, BufferUsage.upload),
      (buffer) => Effect.orDie(device.destroyBufferUnsafe(buffer))
    )
)

describe("mapped memory that no program has taken", () => {
  it.live("is detached when the program destroys the device, which is really destroyed", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const mapped = yield* Mapping.map(yield* upload, Uint8Array)
        const { device } = yield* WebGpu.WebGpu
        device.destroy()
        strictEqual(mapped.data.length, 0)
        strictEqual((yield* Effect.promise(() => device.lost)).reason, "destroyed")
        strictEqual((yield* Effect.flip(CommandQueue.finish)).reason._tag, "DeviceLost")
        yield* Mapping.unmap(mapped)
      })))

  it.live("is not taken for stolen when the program unmaps or destroys the buffer itself", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        for (const end of ["unmap", "destroy"] as const) {
          const buffer = yield* upload
          const mapped = yield* Mapping.map(buffer, Uint8Array)
          const gpu = yield* WebGpu.handle(buffer)
          gpu[end]()
          strictEqual(mapped.data.length, 0)
          yield* Mapping.unmap(mapped)
          strictEqual(driverObjects.taken, 0)
        }
      })))

  it.live("leaves the device of other code as it is", () =>
    Effect.gen(function*() {
      const adapter = yield* Effect.promise(() => dawn.requestAdapter())
      const device = yield* Effect.promise(() => adapter!.requestDevice())
      yield* Effect.scoped(Effect.flatMap(upload, (buffer) => Mapping.map(buffer, Uint8Array))).pipe(
        Effect.provide(WebGpu.layerFromDevice(device))
      )
      strictEqual(Object.hasOwn(device, "destroy"), false)
      device.destroy()
    }))
})
