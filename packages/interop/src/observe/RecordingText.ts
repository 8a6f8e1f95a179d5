/**
 * Writes what was observed in the format of recordings: a line of facts, a line of texts, and a line for each event.
 *
 * A buffer or a texture is a block of its own, which the driver makes when it is made and gets back when it ends.
 *
 * @internal
 */
import type { Happening, ObservedDevice, Tracked } from "./Tracked.ts"

/** What is written. */
export interface Observed {
  readonly events: ReadonlyArray<Happening>
  /** The objects that live now. */
  readonly live: ReadonlyArray<Tracked>
  readonly siteOf: (tracked: Tracked) => string | undefined
  /** When the observation began, and when this is written, in milliseconds since 1970. */
  readonly beganAt: number
  readonly takenAt: number
  /** How many events before the first one were dropped. */
  readonly dropped: number
}

/** The columns of each kind of event after its kind, its time and the number of its memory. */
const columns = {
  Leased: ["pool", "request", "family", "size", "label", "callSite", "waitAtMost", "from", "block", "capacity"],
  Released: ["pool", "block", "capacity", "size", "label", "callSite", "why"],
  Freed: ["pool", "block", "capacity", "why"]
}

/** Texts by their places, from 1 on; 0 is for none. */
class Texts {
  readonly all: Array<string> = []
  readonly #places = new Map<string, number>()

  placeOf(text: string | undefined): number {
    if (text === undefined || text === "") return 0
    const known = this.#places.get(text)
    if (known !== undefined) return known
    const place = this.all.push(text)
    this.#places.set(text, place)
    return place
  }
}

const poolOf = ({ kind }: Tracked): string => kind === "buffer" ? "BufferPool" : "ImagePool"

const familyOf = ({ kind, usage }: Tracked): string => `${kind} usage ${usage}`

/** Whether an object was there before the events. */
const wasBefore = (events: ReadonlyArray<Happening>, live: ReadonlyArray<Tracked>): ReadonlyArray<Tracked> => {
  const made = new Set(events.filter(({ ends }) => !ends).map(({ tracked }) => tracked))
  const all = new Set([...live, ...events.map(({ tracked }) => tracked)])
  return [...all].filter((tracked) => !made.has(tracked)).sort((a, b) => a.id - b.id)
}

const memoryOf = ({ name, number }: ObservedDevice) => ({
  number,
  label: name,
  device: name,
  kind: "pool",
  maxBytes: "Infinity",
  maxHeldBytes: 0,
  maxBypasses: 0,
  deadlockTimeoutMillis: 0
})

/** A family of each memory, with every size that its requests have. */
const familiesOf = (all: ReadonlyArray<Tracked>) => {
  const families = new Map<string, { readonly tracked: Tracked; readonly sizes: Set<number> }>()
  for (const tracked of all) {
    const key = `${tracked.device.number} ${familyOf(tracked)}`
    const family = families.get(key) ?? { tracked, sizes: new Set<number>() }
    families.set(key, family)
    family.sizes.add(tracked.bytes)
  }
  return Array.from(families.values(), ({ sizes, tracked }) => ({
    memory: tracked.device.number,
    pool: poolOf(tracked),
    family: familyOf(tracked),
    // WebGPU promises zeros.
    clears: true,
    sizes: Array.from(sizes, (size) => [size, size, size, size])
  }))
}

/** The text of a recording. */
export const textOf = ({ beganAt, dropped, events, live, siteOf, takenAt }: Observed): string => {
  const texts = new Texts()
  const before = wasBefore(events, live)
  const all = [...new Set([...before, ...events.map(({ tracked }) => tracked)])]
  const devices = new Map(all.map(({ device }) => [device.number, device]))
  const lines = events.flatMap(({ at: after, ends, tracked }) => {
    const at = beganAt + after
    const { bytes, device, id, label } = tracked
    const [pool, name, site] = [texts.placeOf(poolOf(tracked)), texts.placeOf(label), texts.placeOf(siteOf(tracked))]
    if (!ends) {
      const family = texts.placeOf(familyOf(tracked))
      return [["Leased", at, device.number, pool, id, family, bytes, name, site, 0, texts.placeOf("driver"), id, bytes]]
    }
    const isLost = tracked.ending === "deviceLost"
    return [
      [
        "Released",
        at,
        device.number,
        pool,
        id,
        bytes,
        bytes,
        name,
        site,
        texts.placeOf(isLost ? "poolClosed" : "released")
      ],
      ["Freed", at, device.number, pool, id, bytes, texts.placeOf(isLost ? "lost" : "notKept")]
    ]
  })
  const header = {
    format: "effect-gpu-pool recording",
    version: 1,
    length: lines.length,
    columns,
    facts: {
      source: "@effect-gpu-pool/interop",
      reason: "asked",
      takenAt,
      dropped,
      memories: Array.from(devices.values(), memoryOf).sort((a, b) => a.number - b.number),
      families: familiesOf(all),
      budgets: [],
      blocks: before.map((tracked) => {
        const callSite = siteOf(tracked)
        const { bytes, device, id, label } = tracked
        return {
          memory: device.number,
          block: id,
          capacity: bytes,
          pool: poolOf(tracked),
          family: familyOf(tracked),
          lease: { size: bytes, ...(label === "" ? {} : { label }), ...(callSite === undefined ? {} : { callSite }) }
        }
      })
    }
  }
  return [header, ["texts", ...texts.all], ...lines].map((line) => `${JSON.stringify(line)}\n`).join("")
}
