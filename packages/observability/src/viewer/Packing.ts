/**
 * Serializes a timeline for the page. The bytes of numbers are stored by significance, first the first byte of every number and so on:
 * neighbours are then much alike, which makes compressed files a third as large.
 *
 * @internal
 */
import type { Timeline } from "./Timeline.ts"

type Column = Float64Array | Int32Array | Uint8Array
type Kind = "f64" | "i32" | "u8"

interface Header {
  readonly facts: object
  readonly columns: ReadonlyArray<
    { readonly path: ReadonlyArray<string>; readonly kind: Kind; readonly length: number }
  >
}

const groups = ["leases", "blocks", "waits"] as const

const kindOf = (column: Column): Kind =>
  column instanceof Float64Array ? "f64" : column instanceof Int32Array ? "i32" : "u8"

const widths: { readonly [K in Kind]: number } = { f64: 8, i32: 4, u8: 1 }

const columnsOf = (timeline: Timeline): ReadonlyArray<readonly [path: ReadonlyArray<string>, column: Column]> => [
  [["times"], timeline.times],
  [["kind"], timeline.kind],
  ...groups.flatMap((group) =>
    Object.entries(timeline[group] as unknown as Record<string, Column>).map(([name, column]) =>
      [[group, name], column] as const
    )
  )
]

const rawOf = (column: Column): Uint8Array => new Uint8Array(column.buffer, column.byteOffset, column.byteLength)

/** Transposes a matrix of bytes: from numbers to their bytes by significance, and back. */
const transposed = (bytes: Uint8Array, rows: number): Uint8Array => {
  const turned = new Uint8Array(bytes.length)
  for (let row = 0, from = 0; row < rows; row++) {
    for (let to = row; to < bytes.length; to += rows) turned[to] = bytes[from++]!
  }
  return turned
}

export const pack = (timeline: Timeline): Uint8Array<ArrayBuffer> => {
  const { blocks: _, kind: _kind, leases: _leases, times: _times, waits: _waits, ...facts } = timeline
  const columns = columnsOf(timeline)
  const header: Header = {
    facts,
    columns: columns.map(([path, column]) => ({ path, kind: kindOf(column), length: column.length }))
  }
  const text = new TextEncoder().encode(JSON.stringify(header))
  const packed = new Uint8Array(4 + text.length + columns.reduce((sum, [, { byteLength }]) => sum + byteLength, 0))
  new DataView(packed.buffer).setUint32(0, text.length, true)
  packed.set(text, 4)
  let offset = 4 + text.length
  for (const [, column] of columns) {
    packed.set(transposed(rawOf(column), column.length), offset)
    offset += column.byteLength
  }
  return packed
}

const columnOf = (kind: Kind, raw: Uint8Array): Column =>
  kind === "f64" ? new Float64Array(raw.buffer) : kind === "i32" ? new Int32Array(raw.buffer) : raw

export const unpack = (packed: Uint8Array): Timeline => {
  const length = new DataView(packed.buffer, packed.byteOffset).getUint32(0, true)
  const { columns, facts } = JSON.parse(new TextDecoder().decode(packed.subarray(4, 4 + length))) as Header
  const timeline: Record<string, unknown> = { ...facts, leases: {}, blocks: {}, waits: {} }
  let offset = 4 + length
  for (const { kind, length: count, path: [first, second] } of columns) {
    const bytes = count * widths[kind]
    const column = columnOf(kind, transposed(packed.subarray(offset, offset + bytes), widths[kind]))
    offset += bytes
    if (second === undefined) timeline[first!] = column
    else (timeline[first!] as Record<string, Column>)[second] = column
  }
  return timeline as unknown as Timeline
}

const through = async (
  bytes: Uint8Array<ArrayBuffer>,
  change: CompressionStream | DecompressionStream
): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(change)).arrayBuffer())

export const compressed = (bytes: Uint8Array<ArrayBuffer>) => through(bytes, new CompressionStream("gzip"))
export const decompressed = (bytes: Uint8Array<ArrayBuffer>) => through(bytes, new DecompressionStream("gzip"))

export const fromText = (text: string): Uint8Array<ArrayBuffer> => {
  const raw = atob(text)
  const bytes = new Uint8Array(raw.length)
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at)
  return bytes
}
