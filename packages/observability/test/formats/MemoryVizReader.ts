/**
 * Reads a snapshot by the rules of PyTorch's viewer (torch/utils/viz/MemoryViz.js) and of torch/cuda/_memory_viz.py:
 * the viewer begins with the segments at the end and goes back through the trace, undoing each entry. Each entry must
 * match the segments, or the viewer draws nonsense or fails.
 */

interface Frame {
  readonly name: string
  readonly filename: string
  readonly line: number
}

interface Entry {
  readonly action: string
  readonly addr: number
  readonly size: number
  readonly stream: number
  readonly time_us: number
  readonly frames: ReadonlyArray<Frame>
  readonly device_free?: number
}

interface Segment {
  readonly device: number
  readonly address: number
  readonly total_size: number
  readonly allocated_size: number
  readonly active_size: number
  readonly requested_size: number
  readonly stream: number
  readonly segment_type: string
  readonly blocks: ReadonlyArray<{
    readonly address: number
    readonly size: number
    readonly requested_size: number
    readonly state: string
    readonly frames: ReadonlyArray<Frame>
  }>
}

/** The bytes after an entry, as the viewer shows them. */
export interface DrawnEntry {
  readonly action: string
  readonly allocated: number
  readonly reserved: number
}

const expect = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what)
}

const isBytes = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const checkFrames = (frames: unknown, where: string): void => {
  expect(Array.isArray(frames), `${where} has no frames`)
  for (const { filename, line, name } of frames as ReadonlyArray<Frame>) {
    expect(typeof name === "string" && name !== "undefined", `${where}: a frame's name`)
    expect(typeof filename === "string", `${where}: a frame's filename`)
    expect(isBytes(line), `${where}: a frame's line`)
  }
}

const kinds = ["alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "oom"]

const checkEntry = (entry: Entry, where: string): void => {
  expect(kinds.includes(entry.action), `${where}: action ${entry.action}`)
  expect(isBytes(entry.addr) && isBytes(entry.size) && isBytes(entry.stream), `${where}: addr, size or stream`)
  expect(Number.isSafeInteger(entry.time_us), `${where}: time_us`)
  checkFrames(entry.frames, where)
  // The viewer treats an entry without frames as one from before the recording.
  expect(entry.frames.length > 0, `${where} has an empty list of frames`)
  if (entry.action === "oom") expect(isBytes(entry.device_free), `${where}: device_free`)
}

const states = ["active_allocated", "active_pending_free", "inactive"]

/** What segsum of _memory_viz.py asserts. */
const checkSegment = (segment: Segment, where: string): void => {
  const { active_size, address, allocated_size, blocks, device, stream, total_size } = segment
  expect([device, address, total_size, stream].every(isBytes), `${where}: device, address, total_size or stream`)
  expect(["small", "large"].includes(segment.segment_type), `${where}: segment_type`)
  expect(blocks.every(({ state }) => states.includes(state)), `${where}: the state of a block`)
  for (const block of blocks) {
    expect(block.requested_size <= block.size, `${where}: more is requested than there is`)
    checkFrames(block.frames, where)
  }
  const active = blocks.filter(({ state }) => state === "active_allocated").reduce((sum, { size }) => sum + size, 0)
  expect(active === allocated_size && active === active_size, `${where}: allocated_size`)
  expect(blocks.reduce((sum, { size }) => sum + size, 0) === total_size, `${where}: blocks and total_size`)
  expect(blocks[0]?.address === address, `${where}: the address of the first block`)
}

/** Ranges that do not overlap, by address. */
class Ranges {
  readonly all = new Map<number, number>()
  readonly #what: string

  constructor(what: string) {
    this.#what = what
  }

  add(address: number, size: number, where: string): void {
    for (const [other, length] of this.all) {
      expect(address + size <= other || other + length <= address, `${where}: ${this.#what} overlap`)
    }
    this.all.set(address, size)
  }

  remove(address: number, size: number, where: string): void {
    expect(this.all.get(address) === size, `${where}: no such ${this.#what}, of ${size} at ${address}`)
    this.all.delete(address)
  }

  get bytes(): number {
    return Array.from(this.all.values()).reduce((sum, size) => sum + size, 0)
  }
}

const isWithin = (segments: Ranges, address: number): boolean =>
  Array.from(segments.all).some(([from, size]) => from <= address && address < from + size)

const undo = (entry: Entry, segments: Ranges, blocks: Ranges, where: string): void => {
  const { action, addr, size } = entry
  if (action === "free_completed") {
    blocks.add(addr, size, where)
    expect(isWithin(segments, addr), `${where}: the block is in no segment`)
  } else if (action === "alloc") blocks.remove(addr, size, where)
  else if (action === "segment_free") segments.add(addr, size, where)
  else if (action === "segment_alloc") {
    segments.remove(addr, size, where)
    for (const address of blocks.all.keys()) {
      expect(isWithin(segments, address), `${where}: the segment has a block before it exists`)
    }
  }
}

const readTrace = (trace: ReadonlyArray<Entry>, ofDevice: ReadonlyArray<Segment>): ReadonlyArray<DrawnEntry> => {
  const segments = new Ranges("segments")
  const blocks = new Ranges("blocks")
  for (const [index, segment] of ofDevice.entries()) {
    segments.add(segment.address, segment.total_size, `segments[${index}]`)
    for (const { address, requested_size, state } of segment.blocks) {
      if (state === "active_allocated") blocks.add(address, requested_size, `segments[${index}]`)
    }
  }
  const shown: Array<DrawnEntry> = Array.from({ length: trace.length })
  for (let index = trace.length - 1; index >= 0; index--) {
    const entry = trace[index]!
    const where = `entry ${index}`
    checkEntry(entry, where)
    // The viewer shows the two as one when nothing is between them.
    if (entry.action === "free_requested") {
      const next = trace[index + 1]
      expect(next?.action === "free_completed" && next.addr === entry.addr, `${where}: is never completed`)
    }
    if (entry.action === "free_completed") {
      const before = trace[index - 1]
      expect(before?.action === "free_requested" && before.addr === entry.addr, `${where}: was never requested`)
    }
    shown[index] = { action: entry.action, allocated: blocks.bytes, reserved: segments.bytes }
    undo(entry, segments, blocks, where)
  }
  return shown
}

/** The bytes at each entry, by device. Throws where the viewer would fail. */
export const readMemoryViz = (text: string): ReadonlyArray<ReadonlyArray<DrawnEntry>> => {
  const snapshot = JSON.parse(text) as {
    readonly segments: ReadonlyArray<Segment>
    readonly device_traces: ReadonlyArray<ReadonlyArray<Entry>>
  }
  for (const [index, segment] of snapshot.segments.entries()) {
    checkSegment(segment, `segments[${index}]`)
    expect(segment.device < snapshot.device_traces.length, `segments[${index}] is of no device`)
  }
  return snapshot.device_traces.map((trace, device) =>
    readTrace(trace, snapshot.segments.filter((segment) => segment.device === device))
  )
}
