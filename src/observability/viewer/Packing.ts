/**
 * A timeline as bytes, for the page to read back. The bytes of numbers are stored by their place in the number, all first ones
 * and so on, since those of sizes, times and places are much alike: that makes compressed files a third as large.
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

/** Moves bytes from number after number to place after place. */
const spread = (raw: Uint8Array, width: number, into: Uint8Array): void => {
  const count = raw.length / width
  for (let place = 0; place < width; place++) {
    const from = place * count
    for (let at = 0, byte = place; at < count; at++, byte += width) into[from + at] = raw[byte]!
  }
}

const gathered = (stored: Uint8Array, width: number): Uint8Array => {
  const raw = new Uint8Array(stored.length)
  const count = raw.length / width
  for (let place = 0; place < width; place++) {
    const from = place * count
    for (let at = 0, byte = place; at < count; at++, byte += width) raw[byte] = stored[from + at]!
  }
  return raw
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
    spread(rawOf(column), column.BYTES_PER_ELEMENT, packed.subarray(offset, offset + column.byteLength))
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
    const column = columnOf(kind, gathered(packed.subarray(offset, offset + bytes), widths[kind]))
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

/** Some engines have it already. */
interface Base64 {
  readonly toBase64?: () => string
}

const piece = 0x6000

/** Bytes as text that stands in a document as it is. */
export const toText = (bytes: Uint8Array): string => {
  const native = (bytes as Base64).toBase64
  if (native !== undefined) return native.call(bytes)
  const pieces: Array<string> = []
  // a multiple of three, so that the pieces of text can be joined
  for (let at = 0; at < bytes.length; at += piece) {
    pieces.push(btoa(String.fromCharCode(...bytes.subarray(at, at + piece))))
  }
  return pieces.join("")
}

export const fromText = (text: string): Uint8Array<ArrayBuffer> => {
  const raw = atob(text)
  const bytes = new Uint8Array(raw.length)
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at)
  return bytes
}
