/**
 * The kernels of the conformance suite, with a body for every backend.
 *
 * @internal
 */
import * as Kernel from "effect-gpu-pool/Kernel"
import { type KernelArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"

/** A kernel, by its body for one item: in WGSL and OpenCL, or the same code for both, and as a function on the host. */
export const perItem = <const Args extends ReadonlyArray<KernelArgument>>(
  { code, item, opencl = code, wgsl = code, ...options }:
    & Omit<Parameters<typeof Kernel.define<Args>>[0], "body">
    & { readonly code?: string; readonly wgsl?: string; readonly opencl?: string }
    & { readonly item: (i: number, args: Kernel.HostArguments<Args>) => void }
): Kernel.Kernel<Args> => {
  // A backend may send the text of the function elsewhere, so it may use only its arguments.
  const host = Kernel.hostFunction({ item }, ({ item }): Kernel.HostBody<Args> => (from, to, args) => {
    for (let i = from; i < to; i++) item(i, args)
  })
  return Kernel.define({ ...options, body: { wgsl, opencl, host } })
}

/** y[i] = i + start. */
export const iota = perItem({
  name: "iota",
  args: [VectorArg("u32", "y"), ScalarArg("u32", "start")],
  code: "y[i] = i + start;",
  item: (i, { start, y }) => {
    y[i] = i + start
  }
})

/** Adds i + 1 to element i, so that the result shows an item that ran twice or never. */
export const visit = (workgroupSize: number) =>
  perItem({
    name: `visit${workgroupSize}`,
    args: [VectorArg("u32", "y")],
    code: "y[i] = y[i] + i + 1u;",
    item: (i, { y }) => {
      y[i] = y[i]! + i + 1
    },
    workgroupSize
  })

/** x[i] = a * x[i]. */
export const scale = perItem({
  name: "scale",
  args: [VectorArg("f32", "x"), ScalarArg("f32", "a")],
  code: "x[i] = a * x[i];",
  item: (i, { a, x }) => {
    x[i] = a * x[i]!
  }
})

/** y[i] = x[i] + a, on whole numbers. */
export const addTo = perItem({
  name: "add_to",
  args: [VectorArg("u32", "x", { access: "read" }), VectorArg("u32", "y"), ScalarArg("u32", "a")],
  code: "y[i] = x[i] + a;",
  item: (i, { a, x, y }) => {
    y[i] = x[i]! + a
  }
})

/** Sums two inputs that may be the same buffer. */
export const sum = perItem({
  name: "sum",
  args: [
    VectorArg("u32", "a", { access: "read" }),
    VectorArg("u32", "b", { access: "read" }),
    VectorArg("u32", "y", { access: "write" })
  ],
  code: "y[i] = a[i] + b[i];",
  item: (i, { a, b, y }) => {
    y[i] = a[i]! + b[i]!
  }
})

/** Two writable vectors, for the rule that no buffer may be in both. */
export const exchange = perItem({
  name: "exchange",
  args: [VectorArg("u32", "x"), VectorArg("u32", "y")],
  wgsl: "let kept = x[i]; x[i] = y[i]; y[i] = kept;",
  opencl: "const uint kept = x[i]; x[i] = y[i]; y[i] = kept;",
  item: (i, { x, y }) => {
    const kept = x[i]!
    x[i] = y[i]!
    y[i] = kept
  }
})

/** Scalars of every type in mixed order; each goes to the output of its type. */
export const scalars = perItem({
  name: "scalars",
  args: [
    ScalarArg("u32", "a"),
    VectorArg("u32", "xs", { access: "write" }),
    ScalarArg("f32", "b"),
    VectorArg("f32", "ys", { access: "write" }),
    ScalarArg("i32", "c"),
    VectorArg("i32", "zs", { access: "write" }),
    ScalarArg("u32", "d")
  ],
  code: "xs[i] = a; ys[i] = b; zs[i] = c; if (i == 1u) { xs[i] = d; }",
  item: (i, { a, b, c, d, xs, ys, zs }) => {
    xs[i] = i === 1 ? d : a
    ys[i] = b
    zs[i] = c
  }
})

/** Writes the lengths and offsets that a body gets with its arguments. */
export const lengths = Kernel.make({
  name: "lengths",
  args: [
    VectorArg("f32", "x", { access: "read", withOffset: true }),
    VectorArg("u32", "y", { access: "write" }),
    VectorArg("i32", "z", { access: "read" })
  ],
  body: {
    wgsl: "y[0] = x_length; y[1] = x_offset; y[2] = y_length; y[3] = z_length; y[4] = count; " +
      "y[5] = u32(x[0]); y[6] = u32(z[0]);",
    opencl: "y[0] = x_length; y[1] = x_offset; y[2] = y_length; y[3] = z_length; y[4] = count; " +
      "y[5] = (uint) x[0]; y[6] = (uint) z[0];",
    host: (_from, to, { x, x_offset, y, z }) => {
      y.set([x.length, x_offset, y.length, z.length, to, x[0]!, z[0]!])
    }
  }
})

/** y[i] = x[i], where x begins at an offset. */
export const view = perItem({
  name: "view_of",
  args: [VectorArg("u32", "x", { access: "read", withOffset: true }), VectorArg("u32", "y", { withOffset: true })],
  code: "y[y_offset + i] = x[x_offset + i];",
  item: (i, { x, x_offset, y, y_offset }) => {
    y[y_offset + i] = x[x_offset + i]!
  }
})

/** Its body leaves some arguments unused. */
export const careless = perItem({
  name: "careless",
  args: [
    VectorArg("f32", "unread", { access: "read" }),
    ScalarArg("f32", "ignored"),
    VectorArg("u32", "y"),
    VectorArg("i32", "unwritten"),
    ScalarArg("i32", "forgotten")
  ],
  code: "y[i] = 5u;",
  item: (i, { y }) => {
    y[i] = 5
  }
})

/** Calls a function of its preamble. */
export const preamble = perItem({
  name: "squares",
  args: [VectorArg("u32", "y")],
  preamble: {
    wgsl: "fn square(x: u32) -> u32 { return x * x; }",
    opencl: "uint square(uint x) { return x * x; }"
  },
  code: "y[i] = square(i);",
  item: (i, { y }) => {
    y[i] = i * i
  }
})

/** How many rounds of integer mixing each item of {@link busy} does. */
const rounds = 64

/** Each item has so much work that the device is busy for a while. */
export const busy = perItem({
  name: "busy",
  args: [VectorArg("u32", "y")],
  wgsl: `var x = y[i] + i; for (var k = 0u; k < ${rounds}u; k++) { x = x * 1664525u + 1013904223u; } y[i] = x;`,
  opencl: `uint x = y[i] + i; for (uint k = 0; k < ${rounds}; k++) { x = x * 1664525u + 1013904223u; } y[i] = x;`,
  item: Kernel.hostFunction({ rounds }, ({ rounds }) => (i: number, { y }: { readonly y: Uint32Array }) => {
    let x = y[i]! + i
    for (let k = 0; k < rounds; k++) x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0
    y[i] = x
  })
})

/** Every compiler refuses it. It has no body for the host, which compiles nothing. */
export const broken = Kernel.make({
  name: "broken",
  args: [VectorArg("u32", "y")],
  body: { wgsl: "y[i] = no_such_name + 1u;", opencl: "y[i] = no_such_name + 1u;" }
})

/** A kernel without a body for any backend. */
export const bodiless = Kernel.make({ name: "bodiless", args: [VectorArg("u32", "y")], body: {} })

/** A kernel of doubles, for devices that have them. */
export const halve = perItem({
  name: "halve",
  args: [VectorArg("f64", "x"), ScalarArg("f64", "by")],
  code: "x[i] = x[i] / by;",
  item: (i, { by, x }) => {
    x[i] = x[i]! / by
  }
})

/** A kernel of halves, for devices that have them. It also writes the length and the offset of their vector. */
export const scaleHalves = Kernel.make({
  name: "scale_halves",
  args: [
    VectorArg("f16", "x", { withOffset: true }),
    ScalarArg("f16", "by"),
    VectorArg("u32", "facts", { access: "write" })
  ],
  body: {
    wgsl: "x[x_offset + i] = x[x_offset + i] * by; if (i == 0u) { facts[0] = x_length; facts[1] = x_offset; }",
    opencl: "x[x_offset + i] = x[x_offset + i] * by; if (i == 0) { facts[0] = x_length; facts[1] = x_offset; }",
    host: (from, to, { by, facts, x, x_offset }) => {
      for (let i = from; i < to; i++) x[x_offset + i] = x[x_offset + i]! * by
      facts.set([x.length, x_offset])
    }
  }
})

/** y[i] = a, in halves. */
export const fillHalves = perItem({
  name: "fill_halves",
  args: [VectorArg("f16", "y", { access: "write" }), ScalarArg("f16", "a")],
  code: "y[i] = a;",
  item: (i, { a, y }) => {
    y[i] = a
  }
})

/** Every `step`-th item writes i modulo 2048, which is exact as a half. Other items write the elements beside it. */
export const countHalves = (workgroupSize: number) =>
  perItem({
    name: `count_halves${workgroupSize}`,
    args: [VectorArg("f16", "y"), ScalarArg("u32", "step")],
    wgsl: "if (i % step == 0u) { y[i] = f16(i % 2048u); }",
    opencl: "if (i % step == 0) y[i] = (half) (i % 2048);",
    item: (i, { step, y }) => {
      if (i % step === 0) y[i] = i % 2048
    },
    workgroupSize
  })

/** Uses halves in its body only: its arguments do not show it. */
export const throughHalves = perItem({
  name: "through_halves",
  args: [VectorArg("f32", "x")],
  wgsl: "x[i] = f32(f16(x[i]) * 0.5h);",
  opencl: "x[i] = (float) ((half) x[i] * (half) 0.5f);",
  item: (i, { x }) => {
    const { f16round } = Math as Math & { readonly f16round: (value: number) => number }
    x[i] = f16round(x[i]!) * 0.5
  },
  dtypes: ["f16"]
})

/** y[i] = x[i] + a, over as many items as the shorter vector has elements. */
export const addItemwise = perItem({
  name: "add_itemwise",
  args: [
    VectorArg("u32", "x", { access: "read", withOffset: true }),
    VectorArg("u32", "y", { withOffset: true }),
    ScalarArg("u32", "a")
  ],
  code: "y[y_offset + i] = x[x_offset + i] + a;",
  item: (i, { a, x, x_offset, y, y_offset }) => {
    y[y_offset + i] = x[x_offset + i]! + a
  },
  itemwise: ["x", "y"]
})

/** A kernel of `count` scalars, which writes each of them to one element. */
export const manyScalars = (scalars: number): Kernel.Kernel => {
  const names = Array.from({ length: scalars }, (_, index) => `s${index}`)
  const code = names.map((name, index) => `y[${index}] = ${name};`).join("\n")
  return Kernel.make({
    name: `scalars${scalars}`,
    args: [...names.map((name) => ScalarArg("u32", name)), VectorArg("u32", "y", { access: "write" })],
    body: {
      wgsl: code,
      opencl: code,
      host: Kernel.hostFunction(
        { names },
        ({ names }) => (_from: number, _to: number, args: Readonly<Record<string, number>> & { y: Uint32Array }) => {
          args.y.set(names.map((name) => args[name]!))
        }
      )
    }
  })
}

/** A kernel of `count` vectors, which writes the sum of the others to the first. */
export const wide = (vectors: number): Kernel.Kernel => {
  const names = Array.from({ length: vectors - 1 }, (_, index) => `x${index}`)
  const code = `y[i] = ${names.map((name) => `${name}[i]`).join(" + ")};`
  return Kernel.make({
    name: `wide${vectors}`,
    args: [VectorArg("u32", "y"), ...names.map((name) => VectorArg("u32", name, { access: "read" }))],
    body: {
      wgsl: code,
      opencl: code,
      host: Kernel.hostFunction(
        { names },
        ({ names }) => (from: number, to: number, args: Readonly<Record<string, Uint32Array>>) => {
          for (let i = from; i < to; i++) args.y![i] = names.reduce((total, name) => total + args[name]![i]!, 0)
        }
      )
    }
  })
}

/** Kernels that differ only in a number in their source code. */
export const constant = (value: number) =>
  perItem({
    name: "constant",
    args: [VectorArg("u32", "y")],
    code: `y[i] = ${value}u;`,
    item: Kernel.hostFunction({ value }, ({ value }) => (i: number, { y }: { readonly y: Uint32Array }) => {
      y[i] = value
    })
  })

/** y[i] = value. */
export const setTo = perItem({
  name: "set_to",
  args: [VectorArg("u32", "y"), ScalarArg("u32", "value")],
  code: "y[i] = value;",
  item: (i, { value, y }) => {
    y[i] = value
  }
})
