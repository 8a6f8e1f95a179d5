/**
 * A WebAssembly module of one function, byte by byte: `run(bytes, first, ...numbers)`, which works through blocks of
 * memory 16 bytes at a time.
 *
 * @see https://webassembly.github.io/spec/core/binary/index.html
 * @internal
 */

const magicAndVersion = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]
const i32 = 0x7f
const f32 = 0x7d
const v128 = 0x7b
const empty = 0x40

/** The instructions on vectors that expressions need, by their names in the specification. @internal */
export const vectorCode = {
  "v128.not": 0x4d,
  "v128.and": 0x4e,
  "v128.or": 0x50,
  "v128.xor": 0x51,
  "v128.bitselect": 0x52,
  "i32x4.splat": 0x11,
  "f32x4.splat": 0x13,
  "i32x4.eq": 0x37,
  "i32x4.ne": 0x38,
  "i32x4.lt_s": 0x39,
  "i32x4.lt_u": 0x3a,
  "i32x4.gt_s": 0x3b,
  "i32x4.gt_u": 0x3c,
  "i32x4.le_s": 0x3d,
  "i32x4.le_u": 0x3e,
  "i32x4.ge_s": 0x3f,
  "i32x4.ge_u": 0x40,
  "f32x4.eq": 0x41,
  "f32x4.ne": 0x42,
  "f32x4.lt": 0x43,
  "f32x4.gt": 0x44,
  "f32x4.le": 0x45,
  "f32x4.ge": 0x46,
  "f32x4.ceil": 0x67,
  "f32x4.floor": 0x68,
  "f32x4.trunc": 0x69,
  "f32x4.nearest": 0x6a,
  "i32x4.abs": 0xa0,
  "i32x4.neg": 0xa1,
  "i32x4.add": 0xae,
  "i32x4.sub": 0xb1,
  "i32x4.mul": 0xb5,
  "i32x4.min_s": 0xb6,
  "i32x4.min_u": 0xb7,
  "i32x4.max_s": 0xb8,
  "i32x4.max_u": 0xb9,
  "f32x4.abs": 0xe0,
  "f32x4.neg": 0xe1,
  "f32x4.sqrt": 0xe3,
  "f32x4.add": 0xe4,
  "f32x4.sub": 0xe5,
  "f32x4.mul": 0xe6,
  "f32x4.div": 0xe7,
  "f32x4.min": 0xe8,
  "f32x4.max": 0xe9,
  "i32x4.trunc_sat_f32x4_s": 0xf8,
  "i32x4.trunc_sat_f32x4_u": 0xf9,
  "f32x4.convert_i32x4_s": 0xfa,
  "f32x4.convert_i32x4_u": 0xfb
} as const

/** @internal */
export type VectorInstruction = keyof typeof vectorCode

/** A value in a local variable of the function. @internal */
export type Local = number

const unsigned = (value: number): ReadonlyArray<number> => {
  const bytes: Array<number> = []
  let rest = value >>> 0
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80)
    rest >>>= 7
  }
  return [...bytes, rest]
}

const sized = (bytes: ReadonlyArray<number>): ReadonlyArray<number> => [...unsigned(bytes.length), ...bytes]

const section = (id: number, entries: ReadonlyArray<ReadonlyArray<number>>): ReadonlyArray<number> => [
  id,
  ...sized([...unsigned(entries.length), ...entries.flat()])
]

const text = (value: string): ReadonlyArray<number> => sized([...new TextEncoder().encode(value)])

const get = (local: Local): ReadonlyArray<number> => [0x20, ...unsigned(local)]

const set = (local: Local): ReadonlyArray<number> => [0x21, ...unsigned(local)]

const simd = (code: number): ReadonlyArray<number> => [0xfd, ...unsigned(code)]

/** Alignment 1 byte, and where the block begins. */
const at = (address: number): ReadonlyArray<number> => [0, ...unsigned(address)]

/**
 * Collects the function's instructions. Values are made once before the loop or anew in every turn of it.
 *
 * @internal
 */
export class WasmFunction {
  readonly #numbers: ReadonlyArray<"f32" | "i32">
  readonly #before: Array<number> = []
  readonly #inside: Array<number> = []
  #vectors = 0

  /** The types of the numbers that the function takes. */
  constructor(numbers: ReadonlyArray<"f32" | "i32">) {
    this.#numbers = numbers
  }

  /** Four times the number that the function takes at this place. */
  number(index: number): Local {
    const splat = this.#numbers[index] === "f32" ? "f32x4.splat" : "i32x4.splat"
    return this.#keep(this.#before, [...get(2 + index), ...simd(vectorCode[splat])])
  }

  /** Four times a constant of 32 bits. */
  constant(bits: number): Local {
    const word = [bits & 0xff, (bits >>> 8) & 0xff, (bits >>> 16) & 0xff, bits >>> 24]
    return this.#keep(this.#before, [...simd(0x0c), ...word, ...word, ...word, ...word])
  }

  /** The indices of the four items of this turn. */
  index(): Local {
    const steps = [0, 1, 2, 3].flatMap((step) => [step, 0, 0, 0])
    // (position >> 2) + first
    const first = [...get(this.#position), 0x41, 2, 0x76, ...get(1), 0x6a]
    return this.#keep(this.#inside, [
      ...first,
      ...simd(vectorCode["i32x4.splat"]),
      ...simd(0x0c),
      ...steps,
      ...simd(vectorCode["i32x4.add"])
    ])
  }

  /** The four elements of this turn, from the block that begins at an address. */
  load(address: number): Local {
    return this.#keep(this.#inside, [...get(this.#position), ...simd(0x00), ...at(address)])
  }

  store(address: number, value: Local): void {
    this.#inside.push(...get(this.#position), ...get(value), ...simd(0x0b), ...at(address))
  }

  apply(instruction: VectorInstruction, ...operands: ReadonlyArray<Local>): Local {
    return this.#keep(this.#inside, [...operands.flatMap(get), ...simd(vectorCode[instruction])])
  }

  /** The local that counts bytes: the parameters come before it, the vectors after. */
  get #position(): Local {
    return 2 + this.#numbers.length
  }

  #keep(into: Array<number>, instructions: ReadonlyArray<number>): Local {
    const local = this.#position + 1 + this.#vectors++
    into.push(...instructions, ...set(local))
    return local
  }

  /** The module; it imports its memory as `host.memory` and exports `run`. */
  module(): Uint8Array<ArrayBuffer> {
    const parameters = [i32, i32, ...this.#numbers.map((type) => type === "f32" ? f32 : i32)]
    const position = get(this.#position)
    // do { ...; position += 16 } while (position < bytes)
    const loop = [0x03, empty, ...this.#inside, ...position, 0x41, 16, 0x6a, 0x22, ...unsigned(this.#position)]
    const code = [...this.#before, ...loop, ...get(0), 0x49, 0x0d, 0, 0x0b, 0x0b]
    const locals = [...unsigned(2), 1, i32, ...unsigned(this.#vectors), v128]
    return Uint8Array.from([
      ...magicAndVersion,
      ...section(1, [[0x60, ...sized(parameters), 0]]),
      ...section(2, [[...text("host"), ...text("memory"), 0x02, 0x00, 1]]),
      ...section(3, [[0]]),
      ...section(7, [[...text("run"), 0x00, 0]]),
      ...section(10, [sized([...locals, ...code])])
    ])
  }
}
