/** Arrays of other libraries on the same device, in turn, each in fresh processes. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import * as KMeans from "../contenders/kmeans.ts"
import * as PeerExpression from "../contenders/peerExpression.ts"
import * as PeerProducts from "../contenders/peerProducts.ts"
import * as Measure from "../Measure.ts"
import * as NumPy from "../NumPy.ts"
import * as PyOpenCl from "../PyOpenCl.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"

const processes = 3
const sizes = [256, 512, 1024]
const rounds = 5
const libraries = ["webgpu", "jax-js", "TensorFlow.js", "opencl"] as const

const runsOf = (size: number) =>
  Effect.all(libraries.map((library) => Contender.run(PeerProducts.contender, { library, size, rounds })))

/** Of each process its median. */
const wallOf = (runs: ReadonlyArray<Effect.Success<ReturnType<typeof runsOf>>>, library: typeof libraries[number]) =>
  Measure.medians("ms", runs.map((run) => run[libraries.indexOf(library)]!.wall))

const ratio = (ours: Measure.Measure, theirs: Measure.Measure): Measure.Measure =>
  Measure.make("x", ours.samples.map((sample, process) => sample / theirs.samples[process]!))

const ofSize = Effect.fnUntraced(function*(size: number) {
  const runs = yield* Effect.replicateEffect(runsOf(size), processes)
  const python = yield* Section.optional(Effect.replicateEffect(PyOpenCl.product({ size, rounds }), processes))
  const ours = wallOf(runs, "webgpu")
  const [jax, tensorflow, opencl] = [wallOf(runs, "jax-js"), wallOf(runs, "TensorFlow.js"), wallOf(runs, "opencl")]
  const plain = python.figures === undefined ? undefined : Measure.medians("ms", python.figures)
  const overJax = ratio(ours, jax)
  const overPlain = plain === undefined ? undefined : ratio(opencl, plain)
  const sums = new Set(runs.flat().map(({ checksum }) => checksum))
  return Section.findings({
    tables: [{
      title: `product of ${size} x ${size} matrices of f32`,
      columns: ["a product", "ours / theirs"],
      rows: [
        { name: "ours on WebGPU", cells: [ours, null] },
        { name: "jax-js", cells: [jax, overJax] },
        { name: "TensorFlow.js", cells: [tensorflow, ratio(ours, tensorflow)] },
        { name: "ours on OpenCL", cells: [opencl, null] },
        ...(plain === undefined ? [] : [{ name: "a tiled kernel in PyOpenCL", cells: [plain, overPlain ?? null] }])
      ]
    }],
    checks: [
      { name: `product of ${size} x ${size}, ours / jax-js`, figure: overJax, atMost: 0.6 },
      ...(overPlain === undefined
        ? []
        : [{ name: `product of ${size} x ${size}, ours / PyOpenCL's tiles`, figure: overPlain, atMost: 0.6 }])
    ],
    remarks: python.remarks,
    failures: sums.size === 1 ? [] : [`products of ${size} x ${size} have the checksums ${[...sums].join(", ")}`]
  })
})

export const products = Effect.map(Effect.forEach(sizes, ofSize), Report.merge)

/** The longer a round, the fewer. */
const expressions = [
  { name: "1 Ki", elements: 1 << 10, rounds: 300 },
  { name: "256 Ki", elements: 1 << 18, rounds: 300 },
  { name: "4 Mi", elements: 1 << 22, rounds: 10 }
]

/** Each process has all forms, in turn. */
const expression = Effect.fnUntraced(function*({ elements, name, rounds }: typeof expressions[number]) {
  const runs = yield* Effect.replicateEffect(Contender.run(PeerExpression.contender, { elements, rounds }), processes)
  const of = (form: typeof PeerExpression.forms[number]) => Measure.medians("ms", runs.map((run) => run[form]))
  const jax = of("jax-js")
  const overJax = ratio(of("compiled"), jax)
  return Section.findings({
    tables: [{
      title: `nine elementwise operations and a sum that is read, ${name} elements of f32, WebGPU`,
      columns: ["a round", "over jax-js"],
      rows: PeerExpression.forms.map((form) => ({
        name: form === "jax-js" ? "jax-js, jit" : `ours, ${form}`,
        cells: [of(form), form === "jax-js" ? null : ratio(of(form), jax)]
      }))
    }],
    checks: [{ name: `compiled / jax-js's jit at ${name} elements`, figure: overJax, atMost: 1 }]
  })
})

export const compiled = Effect.map(Effect.forEach(expressions, expression), Report.merge)

/** Eight clusters in four dimensions. A sample is the mean of some rounds, after which the centres are read. */
const clusterings = [
  { name: "10^4", points: 10_000, rounds: 200, samples: 9 },
  { name: "10^5", points: 100_000, rounds: 50, samples: 7 },
  { name: "10^6", points: 1_000_000, rounds: 5, samples: 5 }
]

/** Both round in other places. */
const near = (one: ReadonlyArray<number>, other: ReadonlyArray<number>): boolean =>
  one.length === other.length && one.every((coordinate, at) => Math.abs(coordinate - other[at]!) < 1e-3)

const clustering = Effect.fnUntraced(function*({ name, ...sizes }: typeof clusterings[number]) {
  const input = { ...sizes, clusters: 8, dimensions: 4 }
  const round = {
    ours: Contender.run(KMeans.contender, { ...input, backend: "opencl" }),
    numpy: Section.optional(NumPy.kmeans(input))
  }
  const runs = yield* Effect.replicateEffect(Effect.all(round), processes)
  const ours = runs.map((run) => run.ours)
  const plain = runs.flatMap(({ numpy }) => numpy.figures === undefined ? [] : [numpy.figures])
  const of = (some: typeof ours | typeof plain, what: "wall" | "processors") =>
    Measure.medians("ms", some.map((run) => run[what]))
  const over = plain.length === 0 ? undefined : ratio(of(ours, "wall"), of(plain, "wall"))
  return Section.findings({
    tables: [{
      title: `a round of k-means, ${name} points of four coordinates, eight centres, f32`,
      columns: ["a round", "of all processors", "ours / NumPy"],
      rows: [
        { name: "ours on OpenCL", cells: [of(ours, "wall"), of(ours, "processors"), over ?? null] },
        ...(over === undefined ? [] : [{ name: "NumPy", cells: [of(plain, "wall"), of(plain, "processors"), null] }])
      ]
    }],
    checks: over === undefined
      ? []
      : [{ name: `k-means of ${name} points, ours on OpenCL / NumPy`, figure: over, atMost: 1 }],
    remarks: runs[0]!.numpy.remarks,
    failures: plain.every(({ centres }, run) => near(ours[run]!.centres, centres))
      ? []
      : [`k-means of ${name} points found other centres than NumPy`]
  })
})

export const kmeans = Effect.map(Effect.forEach(clusterings, clustering), Report.merge)
