/** The tasks of threads and their answers: plain data, which is sent in messages. */

/** A region of rows in a piece of memory. Memory that is not shared moves with the message, and back with the answer. */
export interface Rows {
  readonly memory: ArrayBuffer | SharedArrayBuffer
  /** The first byte. */
  readonly offset: number
  /** Bytes from a row to the next. */
  readonly rowPitch: number
  /** Bytes from a slice to the next. */
  readonly slicePitch: number
}

export type Element = "f32" | "i32" | "u32" | "f16" | "f64" | "i8" | "u8" | "i16" | "u16" | "i64" | "u64" | "bool"

/** A vector of a kernel, which its body sees as a typed array. */
export interface Vector {
  readonly element: Element
  readonly memory: SharedArrayBuffer
  readonly offset: number
  readonly bytes: number
}

export type Task =
  /** Makes a kernel's body from its text. */
  | { readonly _tag: "define"; readonly kernel: number; readonly source: string }
  | { readonly _tag: "forget"; readonly kernel: number }
  /** Runs the items `from` to `to`, the last not included. */
  | {
    readonly _tag: "run"
    readonly kernel: number
    readonly from: number
    readonly to: number
    readonly vectors: Readonly<Record<string, Vector>>
    readonly values: Readonly<Record<string, unknown>>
  }
  | {
    readonly _tag: "copy"
    readonly extent: readonly [bytes: number, rows: number, slices: number]
    readonly from: Rows
    readonly to: Rows
  }
  /** Repeats a pattern, whose last copy may be cut off. */
  | {
    readonly _tag: "fill"
    readonly memory: SharedArrayBuffer
    readonly offset: number
    readonly bytes: number
    readonly pattern: Uint8Array
  }

/** The outcome of a task: what it threw, if anything, and the memory that came with it. */
export interface Answer {
  readonly problem: string | undefined
  readonly memory: ArrayBuffer | undefined
}
