/**
 * Reads a trace by the Trace Event Format, as Perfetto's importer does (json_trace_tokenizer.cc,
 * json_trace_parser_impl.cc): a parse failure of the importer is an error here.
 */

interface TraceEvent {
  readonly ph: string
  readonly name: string
  readonly ts: number
  readonly pid: number
  readonly tid: number
  readonly cat?: string
  readonly id?: string
  readonly s?: string
  readonly args: Readonly<Record<string, unknown>>
}

const expect = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what)
}

const isUint32 = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) < 2 ** 32

const members: Readonly<Record<string, ReadonlyArray<string>>> = {
  M: ["ph", "name", "ts", "pid", "tid", "args"],
  C: ["ph", "name", "ts", "pid", "tid", "args"],
  b: ["ph", "name", "ts", "pid", "tid", "cat", "id", "args"],
  e: ["ph", "name", "ts", "pid", "tid", "cat", "id", "args"],
  i: ["ph", "name", "ts", "pid", "tid", "cat", "s", "args"]
}

const checkFields = (event: TraceEvent, where: string): void => {
  const known = members[event.ph]
  expect(known !== undefined, `${where}: phase ${event.ph}`)
  expect(JSON.stringify(Object.keys(event)) === JSON.stringify(known), `${where}: members ${Object.keys(event)}`)
  // The importer treats an empty name as missing, and then begin and end are on different tracks.
  expect(typeof event.name === "string" && event.name !== "", `${where}: name`)
  // Nanoseconds have to fit into 63 bits.
  expect(Number.isFinite(event.ts) && Math.abs(event.ts) < 2 ** 63 / 1000, `${where}: ts`)
  expect(isUint32(event.pid) && isUint32(event.tid), `${where}: pid or tid`)
  expect(typeof event.args === "object" && event.args !== null && !Array.isArray(event.args), `${where}: args`)
}

const checkPhase = ({ args, cat, id, name, ph, s }: TraceEvent, where: string): void => {
  if (ph === "M") {
    expect(name === "process_name" || name === "thread_name", `${where}: metadata ${name}`)
    expect(typeof args["name"] === "string" && args["name"] !== "", `${where}: a name`)
  } else if (ph === "C") {
    expect(Object.values(args).length > 0 && Object.values(args).every(Number.isFinite), `${where}: counter values`)
  } else if (ph === "b" || ph === "e") {
    expect(typeof id === "string" && id !== "" && typeof cat === "string" && cat !== "", `${where}: id or cat`)
  } else expect(s === "p" && typeof cat === "string", `${where}: scope of an instant`)
}

/** A slice of a trace; without an end when it was not over. */
export interface Slice {
  readonly category: string
  readonly name: string
  readonly pid: number
  readonly from: number
  to: number | undefined
  readonly args: Readonly<Record<string, unknown>>
}

/** What a trace shows. */
export interface Trace {
  readonly slices: ReadonlyArray<Slice>
  readonly counters: ReadonlyArray<TraceEvent>
  readonly instants: ReadonlyArray<TraceEvent>
  readonly processes: ReadonlyMap<number, string>
}

/** Reads a trace; throws where the importer would drop something. */
export const readTrace = (text: string): Trace => {
  // The importer expects the unit in the first chunk, and the events as a member of the outermost object.
  expect(text.startsWith(`{"displayTimeUnit":"ms","traceEvents":[`), "the trace begins otherwise")
  const { traceEvents } = JSON.parse(text) as { readonly traceEvents: ReadonlyArray<TraceEvent> }
  const slices = new Map<string, Slice>()
  const processes = new Map<number, string>()
  const threads = new Set<number>()
  for (const [index, event] of traceEvents.entries()) {
    const where = `traceEvents[${index}]`
    checkFields(event, where)
    checkPhase(event, where)
    const { args, cat, id, name, ph, pid, tid, ts } = event
    if (name === "process_name" && ph === "M") processes.set(pid, String(args["name"]))
    else if (ph === "M") threads.add(tid)
    else {
      expect(processes.has(pid), `${where}: the process ${pid} has no name`)
      expect(tid === pid || threads.has(tid), `${where}: the thread ${tid} has no name`)
    }
    // The track of an asynchronous slice, as the importer finds it: by name, process, category and id.
    const track = JSON.stringify([name, pid, cat, id])
    if (ph === "b") {
      expect(!slices.has(track), `${where}: a slice is within itself`)
      slices.set(track, { category: cat!, name, pid, from: ts, to: undefined, args })
    } else if (ph === "e") {
      const slice = slices.get(track)
      expect(slice !== undefined && slice.to === undefined, `${where}: ends what has not begun`)
      expect(slice!.from <= ts, `${where}: ends before it begins`)
      slice!.to = ts
    }
  }
  return {
    slices: Array.from(slices.values()),
    counters: traceEvents.filter(({ ph }) => ph === "C"),
    instants: traceEvents.filter(({ ph }) => ph === "i"),
    processes
  }
}
