/**
 * All of the conformance suite on one backend, for any runtime: `suite.ts host|webgpu|opencl`. It is copied next to an
 * installed package, and prints how many tests it ran and what failed.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Conformance } from "@effect-gpu-pool/testing"
import { BufferPool, DType } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import process from "node:process"

// a small cache, so that filling it does not take hundreds of compilations
const options = { kernelCacheCapacity: 4 }

/** More of the same would only be more work for a driver, of which `npm test` has enough; waiting needs real work. */
const scaleOf = (group: string): number => group === "event loop" ? 1 : 0.02

/** What failed, and how many tests ran. */
const conformance = Effect.fnUntraced(function*<E>(layer: Layer.Layer<Conformance.Device, E>) {
  const suite = Conformance.suite(layer).map((test) => ({
    ...test,
    run: Effect.provideService(test.run, Conformance.workScale, scaleOf(test.group))
  }))
  const outcomes = yield* Conformance.runAll(layer, suite)
  const failures = outcomes.filter(({ passed }) => !passed)
  return {
    count: outcomes.length,
    problems: failures.map(({ group, name, problem }) => `${group}: ${name}: ${problem}`)
  }
})

/** Halves are there with `Float16Array`, and else Unsupported, with the reason and what to do. */
const halves = DeviceArray.zeros([1], { dtype: "f16" }).pipe(
  Effect.as("there"),
  Effect.catch((error) => Effect.succeed(`${error.reason._tag}: ${error.message}`)),
  Effect.scoped,
  Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(Host.layer()))),
  Effect.map((said) => {
    const expected = DType.hostSupports("f16") ? /^there$/ : /^Unsupported: .*needs .*Float16Array.*as Node 24/
    return expected.test(said) ? [] : [`f16: ${said}`]
  })
)

const backends = {
  host: conformance(Host.layer(options)),
  webgpu: conformance(WebGpu.layer(options)),
  opencl: conformance(OpenCl.layer(options))
}

const backend = process.argv[2] as keyof typeof backends
const { count, problems } = await Effect.runPromise(backends[backend])
const all = [...problems, ...await Effect.runPromise(halves)]
console.log([`${count} tests`, ...all].join("\n"))
// drivers keep threads that would keep the process alive
process.exit(all.length === 0 ? 0 : 1)
