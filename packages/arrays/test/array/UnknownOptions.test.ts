/** Options with a name that does not exist: every function refuses them, and says which one was probably meant. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { type GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import * as ElementwiseKernel from "../../src/kernels/ElementwiseKernel.ts"
import * as Expr from "../../src/kernels/Expr.ts"
import * as ReductionKernel from "../../src/kernels/ReductionKernel.ts"
import * as ScanKernel from "../../src/kernels/ScanKernel.ts"
import { type Gpu, strictHost } from "./ArrayBackends.ts"

type Floats = DeviceArray.DeviceArray<"f32">

/** A value of another type than its parameter has, as programs in JavaScript pass. */
const wrong = (options: object): never => options as never

type Refused = Effect.Effect<unknown, GpuError, Gpu | Scope.Scope>

const messageOf = (call: Refused) => Effect.map(Effect.flip(call), ({ message }) => message)

/** Each function with a misspelled option, and the name that was meant. */
const calls = (
  x: Floats,
  labels: DeviceArray.DeviceArray<"u32">
): Readonly<Record<string, readonly [call: Refused, near: string]>> => ({
  all: [DeviceArray.all(x, wrong({ axes: 0 })), "axis"],
  any: [DeviceArray.any(x, wrong({ keepdim: true })), "keepDims"],
  arange: [DeviceArray.arange(3, wrong({ dType: "i32" })), "dtype"],
  argmax: [DeviceArray.argmax(x, wrong({ axes: 0 })), "axis"],
  argmin: [DeviceArray.argmin(wrong({ axes: 0 }))(x), "axis"],
  concatenate: [DeviceArray.concatenate([x, x], wrong({ axes: 0 })), "axis"],
  conv: [DeviceArray.conv(x, x, wrong({ strides: 2 })), "stride"],
  countNonzero: [DeviceArray.countNonzero(x, wrong({ keepdims: true, axis: 0 })), "keepDims"],
  cummax: [DeviceArray.cummax(x, wrong({ axes: 0 })), "axis"],
  cumsum: [DeviceArray.cumsum(wrong({ type: "f32" }))(x), "dtype"],
  diff: [DeviceArray.diff(x, wrong({ axes: 0 })), "axis"],
  empty: [DeviceArray.empty([2], wrong({ dtypes: "f32" })), "dtype"],
  eye: [DeviceArray.eye(2, wrong({ column: 3 })), "columns"],
  fromHost: [DeviceArray.fromHost([1, 2], wrong({ shapes: [2] })), "shape"],
  fromLease: [Effect.suspend(() => DeviceArray.fromLease(x.lease!, wrong({ ofset: 1 }))), "offset"],
  full: [DeviceArray.full([2], 1, wrong({ dtyp: "f32" })), "dtype"],
  fullLike: [DeviceArray.fullLike(x, 1, wrong({ dtyp: "f32" })), "dtype"],
  iterate: [DeviceArray.iterate(x, wrong({ time: 3, body: Effect.succeed })), "times"],
  lazy: [DeviceArray.lazy(DeviceArray.add(x, 1), wrong({ reserved: 64 })), "reserve"],
  linspace: [DeviceArray.linspace(0, 1, wrong({ counts: 3 })), "count"],
  max: [DeviceArray.max(x, wrong({ inital: 0 })), "initial"],
  mean: [DeviceArray.mean(x, wrong({ axes: 0 })), "axis"],
  onesLike: [DeviceArray.onesLike(x, wrong({ dtyp: "f32" })), "dtype"],
  pad: [DeviceArray.pad(x, 1, wrong({ values: 3 })), "value"],
  prod: [DeviceArray.prod(x, wrong({ keepdims: true })), "keepDims"],
  put: [DeviceArray.put(x, [0], 1, wrong({ modes: "wrap" })), "mode"],
  repeat: [DeviceArray.repeat(x, 2, wrong({ axes: 0 })), "axis"],
  roll: [DeviceArray.roll(x, 2, wrong({ axes: 0 })), "axis"],
  scoped: [DeviceArray.scoped(wrong({ reserves: 64 }))(DeviceArray.add(x, 1)), "reserve"],
  segmentSum: [DeviceArray.segmentSum(x, labels, 1, wrong({ axes: 0 })), "axis"],
  slice: [DeviceArray.slice(x, [wrong({ sotp: 1 })]), "stop"],
  split: [DeviceArray.split(x, 2, wrong({ axes: 0 })), "axis"],
  stack: [DeviceArray.stack([x, x], wrong({ axes: 0 })), "axis"],
  std: [DeviceArray.std(x, wrong({ dof: 1 })), "ddof"],
  sum: [DeviceArray.sum(x, wrong({ axes: 0 })), "axis"],
  take: [DeviceArray.take(x, [0], wrong({ modes: "wrap" })), "mode"],
  zeros: [DeviceArray.zeros([2], wrong({ dtyp: "f32" })), "dtype"]
})

const x = VectorArg("f32", "x", { access: "read" })
const common = { name: "tested", args: [x], neutral: 0 } as const
const map = ({ x }: { readonly x: Expr.Expr<"f32"> }) => x
const combine = (a: Expr.Expr<"f32">, b: Expr.Expr<"f32">) => Expr.add(a, b)
const scan = ScanKernel.make({ ...common, map, combine })

describe("An unknown option is refused by name", () => {
  it.effect("by each function of arrays, which leaves no memory", () =>
    Effect.scoped(Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost(Float32Array.of(1, 2))
      const labels = yield* DeviceArray.fromHost(Uint32Array.of(0, 0))
      for (const [name, [call, near]] of Object.entries(calls(x, labels))) {
        const { reason } = yield* Effect.flip(call)
        strictEqual(reason._tag, "InvalidRequest")
        assert.include(reason.message, `DeviceArray.${name}: there is no option "`)
        assert.include(reason.message, `Did you mean ${near}?`)
      }
      strictEqual((yield* BufferPool.stats).activeBlocks, 2)
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
