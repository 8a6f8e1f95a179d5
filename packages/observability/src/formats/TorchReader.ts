/**
 * Reads a snapshot of PyTorch's memory, one object at a time.
 *
 * @internal
 */
import { valid } from "effect-gpu-pool/ArgumentProblem"
import { formatted } from "effect-gpu-pool/Format"
import type * as Effect from "effect/Effect"
import type { Recording } from "../recording/Recording.ts"
import { type Action, AllocatorLog } from "./AllocatorLog.ts"
import { type ElementPlace, JsonElements } from "./JsonElements.ts"
import { defaultPool, recordingOf } from "./LogRecorder.ts"
import type { TextReader } from "./TextInput.ts"

const operation = "TorchSnapshot.fromText"

/** PyTorch's actions that a recording keeps. */
const actions = new Map<unknown, Action>([
  ["alloc", "alloc"],
  ["free_completed", "free"],
  ["segment_alloc", "segmentAlloc"],
  ["segment_free", "segmentFree"],
  ["oom", "failure"]
])

/** Known actions that a recording does not keep. */
const passedOver = new Set<unknown>(["free_requested", "snapshot"])

const hint = "Pass the snapshot as PyTorch made it, written by Python's json.dump."

const howToConvert =
  "Pass it as JSON: python3 -c \"import json, pickle, sys; json.dump(pickle.load(open(sys.argv[1], 'rb')), sys.stdout)\" snapshot.pickle"

type Json = Readonly<Record<string, unknown>>

export class TorchReader implements TextReader<Effect.Effect<Recording>> {
  readonly #elements = new JsonElements(
    operation,
    new Map([["segments", 1], ["device_traces", 2]]),
    (value, place) => this.#element(value, place)
  )
  readonly #log = new AllocatorLog(operation)
  #hasBegun = false

  take(piece: string): void {
    if (!this.#hasBegun && piece.trim() !== "") {
      this.#hasBegun = true
      const first = piece.trim()[0]!
      // A pickle begins with 0x80, which no UTF-8 text does.
      if (first === "\u0080" || first === "\ufffd") {
        valid(this.#elements.problem("the text is a pickle, which only Python reads", howToConvert))
      }
    }
    this.#elements.take(piece)
  }

  end(): Effect.Effect<Recording> {
    this.#elements.end()
    for (const name of ["segments", "device_traces"]) {
      if (!this.#elements.found.has(name)) {
        valid(this.#elements.problem(`the snapshot has no ${name}`, "Pass what torch.cuda.memory._snapshot() returns."))
      }
    }
    return recordingOf(this.#log, "PyTorch")
  }

  #element(value: Json, place: ElementPlace): void {
    if (place.member === "segments") this.#segment(value, `segments[${place.index}]`)
    else this.#entry(value, place)
  }

  #entry(value: Json, { index, list }: ElementPlace): void {
    const where = `device_traces[${list}][${index}]`
    const action = actions.get(value["action"])
    if (action === undefined) {
      if (passedOver.has(value["action"])) return
      return this.#log.leaveOut(`entries with the action ${formatted(value["action"])}`, where)
    }
    const time = value["time_us"]
    this.#log.add({
      action,
      device: deviceOf(list),
      pool: defaultPool,
      at: typeof time === "number" && Number.isFinite(time) ? time / 1000 : index,
      // An `oom` has no address.
      address: action === "failure" ? 0 : this.#number(value, "addr", where),
      size: this.#number(value, "size", where),
      capacity: Number.NaN,
      queue: queueOf(value["stream"]),
      ...placeOf(value),
      where
    })
  }

  #segment(value: Json, where: string): void {
    const device = deviceOf(value["device"] === undefined ? 0 : this.#number(value, "device", where))
    const address = this.#number(value, "address", where)
    const size = this.#number(value, "total_size", where)
    // An expandable segment is nearly always divided.
    if (value["is_expandable"] !== true) this.#log.lastSegments.push({ device, address, size })
    let next = address
    for (const block of this.#blocks(value, where)) {
      const size = this.#number(block, "size", where)
      if (block["state"] === "active_allocated" || block["state"] === "active_pending_free") {
        this.#log.lastLeases.push({
          device,
          pool: defaultPool,
          address: next,
          size: block["requested_size"] === undefined ? size : this.#number(block, "requested_size", where),
          capacity: size,
          ...placeOf(block)
        })
      }
      next += size
    }
  }

  #blocks(segment: Json, where: string): ReadonlyArray<Json> {
    const blocks = segment["blocks"]
    const isList = Array.isArray(blocks) && blocks.every((block) => typeof block === "object" && block !== null)
    if (!isList) valid(this.#elements.problem(`the blocks of ${where} are no list of objects`, hint))
    return blocks as ReadonlyArray<Json>
  }

  #number(value: Json, name: string, where: string): number {
    const number = value[name]
    if (!Number.isSafeInteger(number) || (number as number) < 0) {
      valid(this.#elements.problem(`${name} of ${where} is ${formatted(number)}, and no whole number`, hint))
    }
    return number as number
  }
}

const deviceOf = (index: number): string => `CUDA device ${index}`

/** Stream 0 is the default one. */
const queueOf = (stream: unknown): string | undefined =>
  stream === undefined || stream === null || stream === 0 ? undefined : String(stream)

/** The innermost frame that has a line as call site; its function is the label. Where no frame has a line, a function alone is. */
const placeOf = (value: Json): { readonly label: string | undefined; readonly callSite: string | undefined } => {
  const frames: ReadonlyArray<unknown> = Array.isArray(value["frames"]) ? value["frames"] : []
  const frame = frames.find((frame): frame is Json => typeof frame === "object" && frame !== null)
  const metadata = value["user_metadata"]
  const label = typeof metadata === "string" && metadata !== "" ? metadata : frame?.["name"]
  const isPlace = typeof frame?.["filename"] === "string" && typeof frame["line"] === "number" && frame["line"] > 0
  return {
    label: typeof label === "string" ? label : undefined,
    callSite: isPlace ? `${String(frame["filename"])}:${String(frame["line"])}` : undefined
  }
}
