/** An animation continues when its device is lost, and has the same pictures as one that keeps its device. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import * as Heat from "../../examples/render/Heat.ts"
import { describeWith } from "../support/required.ts"

const run = (args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const main = join(import.meta.dirname, "../../examples/render/main.ts")
    const child = spawn(process.execPath, ["--conditions=effect-gpu-pool:source", main, ...args])
    const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")])
    return { out, error, code }
  })

const animate = (options: Partial<Heat.AnimationOptions>) =>
  Effect.provide(Heat.animate({ size: 16, frames: 8, ...options }), Heat.Gpu.layer)

describeWith(["webgpu"], "npm run render", () => {
  it.live("draws the same pictures whichever frame loses the device", () =>
    Effect.gen(function*() {
      const kept = yield* animate({})
      deepStrictEqual([kept.frames, kept.devices], [8, 1])
      assert.isAbove(kept.picture[0]!, 0)
      for (const loseAt of [0, 3, 7]) {
        const lost = yield* animate({ loseAt })
        deepStrictEqual([lost.frames, lost.devices], [8, 2])
        deepStrictEqual(lost.picture, kept.picture)
      }
    }))

  it.live("says that a device is gone, and draws on", () =>
    Effect.gen(function*() {
      const { code, error, out } = yield* run(["--size", "8", "--frames", "4", "--lose-at", "2"])
      strictEqual(code, 0, error)
      assert.match(out, /device 1 is gone: The webgpu device was lost/)
      assert.include(out, "4 frames on 2 devices")
    }))
})
