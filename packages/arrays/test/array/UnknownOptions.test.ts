/** Options with a name that does not exist: every function refuses them, and says which one was probably meant. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { join } from "node:path"
import { resolve, signaturesOf } from "../../../../test/fuzz/DeclaredType.ts"
import { moduleOf } from "../../../../test/fuzz/SourceModule.ts"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import * as ElementwiseKernel from "../../src/kernels/ElementwiseKernel.ts"
import * as Expr from "../../src/kernels/Expr.ts"
import * as ReductionKernel from "../../src/kernels/ReductionKernel.ts"
import * as ScanKernel from "../../src/kernels/ScanKernel.ts"
import { type Gpu, strictHost } from "./ArrayBackends.ts"
import { sampleCalls } from "./SampleCalls.ts"

/** A value of another type than its parameter has, as programs in JavaScript pass. */
const wrong = (options: object): never => options as never

type Refused = Effect.Effect<unknown, GpuError, Gpu | Scope.Scope>

const messageOf = (call: Refused) => Effect.map(Effect.flip(call), ({ message }) => message)

const functions = DeviceArray as unknown as Readonly<Record<string, (...args: ReadonlyArray<unknown>) => Refused>>

const source = moduleOf(join(import.meta.dirname, "../../src/array/DeviceArray.ts"))

/** Whether a function is declared with options; some that may take none are declared with `undefined`. */
const takesOptions = (name: string): boolean =>
  signaturesOf(source, name).some(({ parameters }) =>
    parameters.some(({ name, type }) => {
      const options = name === "options" && type !== undefined ? resolve(type) : undefined
      return options !== undefined && !(options.tag === "plain" && options.name === "undefined")
    })
  )

const isOptions = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** The last argument of a sample call, if that is options. */
const optionsOf = (args: ReadonlyArray<unknown>): Readonly<Record<string, unknown>> | undefined => {
  const last = args.at(-1)
  return isOptions(last) ? last : undefined
}

/** The options that the error of an unknown one lists. */
const listedIn = (message: string): ReadonlyArray<string> =>
  /The (?:options are|only option is) (.+)\.$/.exec(message)![1]!.split(/, | and /).sort()

const x = VectorArg("f32", "x", { access: "read" })
const common = { name: "tested", args: [x], neutral: 0 } as const
const map = ({ x }: { readonly x: Expr.Expr<"f32"> }) => x
const combine = (a: Expr.Expr<"f32">, b: Expr.Expr<"f32">) => Expr.add(a, b)
const scan = ScanKernel.make({ ...common, map, combine })

describe("An unknown option is refused by name", () => {
  it.effect("by each function of arrays that is declared with options, which leaves no memory", () =>
    Effect.scoped(Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost(Int32Array.of(1, 0, 3, -2), { shape: [2, 2] })
      const lease = yield* BufferPool.allocate(16)
      for (const [name, sample] of Object.entries(sampleCalls)) {
        const args = sample(x, lease)
        const options = optionsOf(args)
        strictEqual(options !== undefined, takesOptions(name), `SampleCalls has options of ${name}`)
        if (options === undefined) continue
        const refusal = (given: object) =>
          Effect.gen(function*() {
            const { reason } = yield* Effect.flip(functions[name]!(...args.slice(0, -1), given))
            strictEqual(reason._tag, "InvalidRequest")
            assert.include(reason.message, `DeviceArray.${name}: there is no option "`)
            return reason.message
          })
        const names = Object.keys(options)
        deepStrictEqual(listedIn(yield* refusal({ ...options, somethingElse: 1 })), [...names].sort())
        for (const meant of names) {
          const message = yield* refusal({ ...options, [meant]: undefined, [`${meant}s`]: options[meant] })
          assert.include(message, `Did you mean ${meant}?`)
        }
      }
      strictEqual((yield* BufferPool.stats).activeBlocks, 2)
    })).pipe(Effect.provide([strictHost, BufferPools.layer(() => Host.layer())])))

  it.effect("in a range", () =>
    Effect.scoped(Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost(Float32Array.of(1, 2))
      const message = yield* messageOf(DeviceArray.slice(x, [wrong({ sotp: 1 })]))
      assert.include(message, `DeviceArray.slice: there is no option "sotp" in a range. Did you mean stop?`)
    })).pipe(Effect.provide(strictHost)))

  it.effect("where there are none, and where others have one of that name", () =>
    Effect.scoped(Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost(Float32Array.of(1, 2))
      assert.include(
        yield* messageOf((DeviceArray.hstack as typeof DeviceArray.stack)([x], { axis: 0 })),
        "options were given, and it has none"
      )
      assert.include(yield* messageOf(DeviceArray.mean(x, wrong({ initial: 1 }))), `no option "initial"`)
      assert.include(yield* messageOf(DeviceArray.sum(x, wrong({ ddof: 1 }))), `no option "ddof"`)
      assert.include(yield* messageOf(DeviceArray.sum(wrong([0]))(x)), "[0] was given for options")
    })).pipe(Effect.provide(strictHost)))

  it.effect("by the definitions of kernels, as other mistakes at their first use, and by their runs", () =>
    Effect.scoped(Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(4)
      const definitions = [
        ElementwiseKernel.make(wrong({ name: "k", args: [], outputs: () => ({}), workgroupsize: 4 })),
        ReductionKernel.make(wrong({ ...common, map, combine, comutative: true })),
        ReductionKernel.makeState(wrong({
          ...common,
          state: { s: "f32" },
          neutral: { s: 0 },
          map: ({ x }: { readonly x: unknown }) => ({ s: x }),
          combine: (a: unknown) => a,
          comutative: true
        })),
        ScanKernel.make(wrong({ ...common, map, combine, outputs: map }))
      ]
      const near = definitions.map(({ problem }) =>
        isGpuError(problem) ? /there is no option .* Did you mean (\w+)\?/.exec(problem.message)?.[1] : undefined
      )
      deepStrictEqual(near, ["workgroupSize", "commutative", "commutative", "output"])
      const run = ScanKernel.run(scan, { x: lease }, 1, wrong({ exclusiv: true }))
      assert.include((yield* Effect.flip(run)).message, "Did you mean exclusive?")
    })).pipe(Effect.provide(strictHost)))
})
