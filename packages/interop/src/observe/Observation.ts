/**
 * Watches the buffers and textures of devices that other code uses.
 *
 * @since 0.1.0
 */
import { enoughFrames, framesOf, isForeign, siteOf } from "../foreign/CallStack.ts"
import { type Call, listen } from "../foreign/Patch.ts"
import { textureBytes, type TextureShape } from "../foreign/TextureBytes.ts"
import { EventLog } from "./EventLog.ts"
import { makeMarks } from "./Marks.ts"
import type { Counts, DeviceMemoryObject, Ending, Group, Moment, Selection } from "./ObservedMemory.ts"
import { textOf } from "./RecordingText.ts"
import type { Adapter, Device, Gpu, Target } from "./Targets.ts"
import type { Labelled, ObservedDevice, Tracked } from "./Tracked.ts"

/**
 * The options of an observation.
 *
 * @category models
 * @since 0.1.0
 */
export interface ObserveOptions {
  /**
   * How many frames of each call are kept: about half a microsecond for each that there is, and nothing with 0. The program's own line is
   * up to 14 frames deep in three.js and up to 30 in onnxruntime-web. Default: 32.
   */
  readonly frames?: number | undefined
  /**
   * Which frames are not the program's own, so that the site of an object is a frame outside. Default: those of `node_modules`, of
   * WebAssembly, of Node and of the engine.
   */
  readonly ignore?: RegExp | ((frame: string) => boolean) | undefined
  /**
   * What hears of objects that were collected without `destroy`, so that their memory was held for longer than it was used: once for
   * each site, with all of that site so far. `false` for nothing. Default: a warning on the console.
   */
  readonly onCollected?: ((group: Group) => void) | false | undefined
  /** How many of the last events a recording has: objects made and ended. Default: 20,000. */
  readonly events?: number | undefined
}

const defaults = { frames: enoughFrames, events: 20_000 }

/**
 * Watches the buffers and textures of devices that other code uses. `observe` makes one.
 *
 * @category models
 * @since 0.1.0
 */
export class Observation {
  readonly #frames: number
  readonly #ignore: (frame: string) => boolean
  readonly #onCollected: ((group: Group) => void) | undefined
  readonly #ends: Array<() => void> = []
  /** Those that live, by their numbers. */
  readonly #live = new Map<number, Tracked>()
  /** Those that have ended and were alive at a moment that the program noted. */
  readonly #past: Array<Tracked> = []
  readonly #events: EventLog
  /** Times are kept as milliseconds since then: small integers, which an engine keeps without an object for each. */
  readonly #beganAt = Date.now()
  readonly #objects = makeMarks<Tracked>()
  readonly #devices = makeMarks<ObservedDevice>()
  #deviceCount = 0
  /** The prototypes of objects whose `destroy` it hears, and those that have these. */
  readonly #classes = new WeakSet<object>()
  /** Hears that a garbage collection has run, by an object that nothing holds: to register every object would cost a microsecond each. */
  readonly #collections = new FinalizationRegistry<undefined>(() => {
    this.#findCollected()
    this.#awaitCollection()
  })
  readonly #toldSites = new Set<string | undefined>()
  #made = 0
  #ended = 0
  #destroyed = 0
  #collectedCount = 0
  #liveBytes = 0
  #peakBytes = 0
  #madeBytes = 0
  #lastMoment = -1
  #isStopped = false

  /** @internal */
  constructor(target: Target, options: ObserveOptions = {}) {
    const { ignore, onCollected } = options
    this.#frames = options.frames ?? defaults.frames
    this.#events = new EventLog(options.events ?? defaults.events)
    this.#ignore = typeof ignore === "function"
      ? ignore
      : ignore === undefined
      ? isForeign
      : (frame) => ignore.test(frame)
    this.#onCollected = onCollected === false ? undefined : onCollected ?? warn
    this.#attach(target)
    this.#awaitCollection()
  }

  /** The objects, the largest first. */
  live(selection: Selection = {}): ReadonlyArray<DeviceMemoryObject> {
    const now = this.#now()
    return this.#selected(selection, now)
      .map((tracked) => this.#shown(tracked, now))
      .sort((a, b) => b.bytes - a.bytes || a.id - b.id)
  }

  /** The objects by the lines of the program that made them and by their labels, those with the most bytes first. */
  groups(selection: Selection = {}): ReadonlyArray<Group> {
    return this.#grouped(this.#selected(selection, this.#now()))
  }

  /** How many objects and bytes there are, and were. */
  counts(): Counts {
    this.#findCollected()
    return {
      made: this.#made,
      destroyed: this.#destroyed,
      collected: this.#collectedCount,
      live: this.#live.size,
      liveBytes: this.#liveBytes,
      peakBytes: this.#peakBytes,
      madeBytes: this.#madeBytes
    }
  }

  /**
   * Notes this moment: objects that live now are kept in mind when they end, a few hundred bytes each, so that `live` can tell later
   * which were alive at it.
   */
  moment(): Moment {
    this.#lastMoment = this.#made
    return { at: Date.now(), made: this.#made, ended: this.#ended }
  }

  /** The groups as a table of text, for a console or a log. */
  table(selection: Selection = {}): string {
    const { live, liveBytes, peakBytes } = this.counts()
    const head = `${number(live)} live, ${number(liveBytes)} B; at most ${number(peakBytes)} B`
    const rows = this.groups(selection).map(({ bytes, count, kind, label, oldest, site }) =>
      `${number(bytes).padStart(15)} B  ${number(count).padStart(7)} ${kind}${count === 1 ? "" : "s"}${
        label === "" ? "" : ` "${label}"`
      }, oldest ${seconds(oldest)}, made at ${site ?? "a line that was not recorded"}`
    )
    return [head, ...rows].join("\n")
  }

  /**
   * The last events and the objects before them, in the format of `Recording.load` of `@effect-gpu-pool/observability`: a file of this text
   * is what `effect-gpu-pool view`, `replay`, `export` and `top` read.
   */
  recording(): string {
    return textOf({
      events: this.#events.happenings(),
      live: Array.from(this.#live.values()),
      siteOf: (tracked) => this.#siteOf(tracked),
      beganAt: this.#beganAt,
      takenAt: Date.now(),
      dropped: this.#events.dropped
    })
  }

  /** Ends the observation: the methods of all objects are again what they were. What was counted can still be asked. */
  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    for (const end of this.#ends.splice(0)) end()
  }

  #attach(target: Target): void {
    if ("GPUDevice" in target) this.#listenToDevice(target.GPUDevice.prototype)
    else if ("requestAdapter" in target) this.#attachGpu(target)
    else if ("requestDevice" in target) this.#attachAdapter(target)
    else this.#attachDevice(target)
  }

  #listen(object: object, name: string, hear: (call: Call) => void, frames = 0): void {
    this.#ends.push(listen(object, name, { hear, frames }))
  }

  #attachGpu(gpu: Gpu): void {
    this.#listen(gpu, "requestAdapter", ({ result }) => {
      ;(result as Promise<Adapter | null>).then(
        (adapter) => adapter === null || this.#isStopped || this.#attachAdapter(adapter),
        ignored
      )
    })
  }

  #attachAdapter(adapter: Adapter): void {
    this.#listen(adapter, "requestDevice", ({ result }) => {
      ;(result as Promise<Device>).then((device) => this.#isStopped || this.#attachDevice(device), ignored)
    })
  }

  #attachDevice(device: Device): void {
    if (this.#devices.get(device) !== undefined) return
    this.#known(device)
    this.#listenToDevice(device)
  }

  /** A device, or the prototype of all. */
  #listenToDevice(device: object): void {
    this.#listen(device, "createBuffer", (call) => this.#madeBuffer(call), this.#frames)
    this.#listen(device, "createTexture", (call) => this.#madeTexture(call), this.#frames)
    this.#listen(device, "destroy", ({ self }) => this.#endAll(this.#devices.get(self), "deviceDestroyed"))
  }

  /** What is known of a device, whose loss ends its objects. */
  #known(device: Device): ObservedDevice {
    const known = this.#devices.get(device)
    if (known !== undefined) return known
    const found = { number: this.#deviceCount++, name: nameOf(device) }
    this.#devices.put(device, found)
    // A device keeps what waits for its loss.
    const self = new WeakRef(this)
    const endAll = (ending: Ending): void => {
      const observation = self.deref()
      if (observation !== undefined) observation.#endAll(found, ending)
    }
    device.lost.then(({ reason }) => endAll(reason === "destroyed" ? "deviceDestroyed" : "deviceLost"), ignored)
    return found
  }

  /** Hears `destroy` of an object's class, once for each class: that costs less than to hear that of each object. */
  #listenToClass(object: object): void {
    const nearest: object = Object.getPrototypeOf(object)
    if (this.#classes.has(nearest)) return
    this.#classes.add(nearest)
    let prototype: object | null = nearest
    while (prototype !== null && !Object.hasOwn(prototype, "destroy")) prototype = Object.getPrototypeOf(prototype)
    if (prototype === null || prototype !== nearest && this.#classes.has(prototype)) return
    this.#classes.add(prototype)
    this.#listen(prototype, "destroy", ({ self }) => {
      const tracked = this.#objects.get(self)
      if (tracked !== undefined) this.#end(tracked, "destroyed")
    })
  }

  #madeBuffer(call: Call): void {
    const { size, usage } = sizeOf(call)
    this.#add(call, "buffer", size, usage, undefined)
  }

  #madeTexture(call: Call): void {
    const shape = shapeOf(call.result as TextureShape)
    this.#add(call, "texture", textureBytes(shape), (call.result as { readonly usage: number }).usage, shape)
  }

  #add(
    { argument, result, self, stack }: Call,
    kind: Tracked["kind"],
    bytes: number,
    usage: number,
    shape: Tracked["shape"]
  ): void {
    const object = result as Labelled
    const before = this.#objects.get(object)
    // A device that pools gives an object again when it was destroyed; one of its methods may call another.
    if (before !== undefined && before.ending === undefined) return
    this.#listenToClass(object)
    const tracked: Tracked = {
      id: ++this.#made,
      kind,
      bytes,
      usage,
      shape,
      device: this.#known(self as Device),
      madeAt: this.#now(),
      stack: this.#frames > 0 ? stack : undefined,
      object: new WeakRef(object),
      label: (argument as Partial<Labelled> | undefined)?.label ?? "",
      ending: undefined,
      endedAt: 0,
      endedAs: 0
    }
    this.#live.set(tracked.id, tracked)
    this.#objects.put(object, tracked)
    this.#madeBytes += bytes
    this.#liveBytes += bytes
    if (this.#liveBytes > this.#peakBytes) this.#peakBytes = this.#liveBytes
    this.#events.add(tracked)
  }

  #endAll(device: ObservedDevice | undefined, ending: Ending): void {
    for (const tracked of this.#live.values()) if (tracked.device === device) this.#end(tracked, ending)
  }

  #end(tracked: Tracked, ending: Ending): void {
    if (tracked.ending !== undefined || this.#isStopped) return
    tracked.label = labelOf(tracked)
    tracked.object = undefined
    tracked.ending = ending
    tracked.endedAt = this.#now()
    tracked.endedAs = ++this.#ended
    this.#live.delete(tracked.id)
    this.#liveBytes -= tracked.bytes
    if (tracked.id <= this.#lastMoment) this.#past.push(tracked)
    this.#events.add(tracked)
    if (ending === "collected") this.#collectedCount++
    else this.#destroyed++
  }

  #awaitCollection(): void {
    if (!this.#isStopped) this.#collections.register({}, undefined)
  }

  /** Ends the objects that were collected, and tells of those whose sites are new. */
  #findCollected(): void {
    if (this.#isStopped) return
    const collected = Array.from(this.#live.values()).filter(({ object }) => object?.deref() === undefined)
    for (const tracked of collected) this.#end(tracked, "collected")
    const onCollected = this.#onCollected
    if (onCollected === undefined) return
    const groups = this.#grouped(collected).filter(({ site }) => !this.#toldSites.has(site))
    for (const group of groups) this.#toldSites.add(group.site)
    for (const group of groups) onCollected(group)
  }

  #now(): number {
    return Date.now() - this.#beganAt
  }

  #selected({ aliveAt, madeAfter, olderThan = 0 }: Selection, now: number): ReadonlyArray<Tracked> {
    this.#findCollected()
    const after = madeAfter?.made ?? 0
    const isMeant = ({ id, madeAt }: Tracked): boolean => id > after && now - madeAt >= olderThan
    if (aliveAt === undefined) return Array.from(this.#live.values()).filter(isMeant)
    return [...this.#past, ...this.#live.values()].filter((tracked) =>
      tracked.id <= aliveAt.made && (tracked.ending === undefined || tracked.endedAs > aliveAt.ended) &&
      isMeant(tracked)
    )
  }

  #framesOf({ stack }: Tracked): ReadonlyArray<string> {
    return stack === undefined ? [] : framesOf(stack, this.#frames)
  }

  #siteOf(tracked: Tracked): string | undefined {
    return siteOf(this.#framesOf(tracked), this.#ignore)
  }

  #shown(tracked: Tracked, now: number): DeviceMemoryObject {
    const { bytes, device, ending, id, kind, madeAt, usage } = tracked
    const frames = this.#framesOf(tracked)
    return {
      id,
      kind,
      label: labelOf(tracked),
      bytes,
      usage,
      shape: shownShape(tracked),
      device: device.name,
      madeAt: this.#beganAt + madeAt,
      age: (tracked.ending === undefined ? now : tracked.endedAt) - madeAt,
      site: siteOf(frames, this.#ignore),
      frames,
      ending
    }
  }

  #grouped(all: ReadonlyArray<Tracked>): ReadonlyArray<Group> {
    const now = this.#now()
    const groups = new Map<string, { count: number; bytes: number; first: DeviceMemoryObject }>()
    for (const tracked of all) {
      const shown = this.#shown(tracked, now)
      const key = JSON.stringify([shown.site, shown.label, shown.kind])
      const group = groups.get(key)
      if (group === undefined) groups.set(key, { count: 1, bytes: shown.bytes, first: shown })
      else {
        group.count++
        group.bytes += shown.bytes
      }
    }
    return Array.from(groups.values(), ({ bytes, count, first: { age, frames, kind, label, site } }) => ({
      site,
      label,
      kind,
      count,
      bytes,
      oldest: age,
      frames
    })).sort((a, b) => b.bytes - a.bytes)
  }
}

/** Of a buffer. An integer of the descriptor is what the buffer has, which takes several times as long to tell it. */
const sizeOf = ({ argument, result }: Call): BufferSize => {
  const { size, usage } = argument as BufferSize
  return Number.isSafeInteger(size) && Number.isSafeInteger(usage) ? { size, usage } : result as BufferSize
}

interface BufferSize {
  readonly size: number
  readonly usage: number
}

/** A copy, since the texture itself is not kept. */
const shapeOf = (
  { depthOrArrayLayers, dimension, format, height, mipLevelCount, sampleCount, width }: TextureShape
): TextureShape => ({ depthOrArrayLayers, dimension, format, height, mipLevelCount, sampleCount, width })

const shownShape = ({ bytes, shape }: Tracked): string => {
  if (shape === undefined) return `buffer, ${number(bytes)} B`
  const { depthOrArrayLayers: layers, format, height, width } = shape
  return `texture ${format} ${width}×${height}${layers === 1 ? "" : `×${layers}`}`
}

const labelOf = ({ label, object }: Tracked): string => object?.deref()?.label ?? label

/** The label of a device, or what its adapter is called. */
const nameOf = ({ adapterInfo, label }: Device): string =>
  label || adapterInfo?.description || adapterInfo?.device || adapterInfo?.vendor || "webgpu"

const ignored = (): void => undefined

const warn = (group: Group): void => {
  const { bytes, count, kind, label, site } = group
  const what = `${number(count)} ${kind}${count === 1 ? "" : "s"}${label === "" ? "" : ` "${label}"`}, ${
    number(bytes)
  } B`
  console.warn(
    `GPU memory: ${what}, ${count === 1 ? "was" : "were"} collected without destroy(), made at ${
      site ?? "a line that was not recorded"
    }. ` +
      "Call destroy() when they are not used any more: a collector does not know how much GPU memory they hold."
  )
}

const number = (value: number): string => value.toLocaleString("en-US")

const seconds = (millis: number): string =>
  millis < 1000 ? `${Math.round(millis)} ms` : `${number(Math.round(millis / 1000))} s`

/**
 * Watches the buffers and textures of a device, of the devices of an adapter or of `navigator.gpu`, or of all devices of a page. Nothing
 * that the program does changes: the methods that make and destroy them call what they called before, and tell the observation.
 *
 * **Details**
 *
 * The target is a GPUDevice; a GPUAdapter, whose `requestDevice` it hears; `navigator.gpu`, whose `requestAdapter` it hears; or an object
 * with the class `GPUDevice`, as `globalThis` of a page, for every device that exists or will. Objects that were made before are not known.
 * It keeps no object alive. An object for which the device reports an error, such as out of memory, counts until it is destroyed, as
 * WebGPU tells that later, and to the error scope of the program.
 *
 * **Example** (Who holds the memory)
 *
 * ```ts no-run
 * import { observe } from "@effect-gpu-pool/interop/observe"
 *
 * declare const device: GPUDevice
 * declare const frame: () => Promise<void>
 *
 * const observation = observe(device)
 * await frame()
 * const before = observation.moment()
 * await frame()
 * console.log(observation.table({ madeAfter: before }))
 * observation.stop()
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const observe = (target: Target, options?: ObserveOptions): Observation => new Observation(target, options)
