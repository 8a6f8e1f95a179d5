/**
 * The calls of a device and its queue that take buffers.
 *
 * @internal
 */
import type { Method } from "../foreign/Patch.ts"
import type { Buffers } from "./Buffers.ts"
import { EncoderClasses } from "./EncoderClasses.ts"
import type { BindGroupDescriptor, BindGroupEntry, Buffer, BufferBinding, Native } from "./Native.ts"
import type { Slot } from "./Slot.ts"

/** An object, its method, and what replaces that. */
export type Replacement = readonly [object: object, name: string, replacing: (inner: Method) => Method]

export class Calls {
  readonly #native: Native
  readonly #buffers: Buffers
  /** `undefined` where commands are not checked. */
  readonly #encoders: EncoderClasses | undefined

  constructor(native: Native, buffers: Buffers, isStrict: boolean) {
    this.#native = native
    this.#buffers = buffers
    this.#encoders = isStrict ? new EncoderClasses(buffers) : undefined
  }

  replacements(device: { readonly queue: object }): ReadonlyArray<Replacement> {
    const encoders = this.#encoders
    const { queue } = device
    const always: ReadonlyArray<Replacement> = [
      [device, "createBindGroup", () => (descriptor) => this.#createBindGroup(descriptor as BindGroupDescriptor)],
      [queue, "writeBuffer", () => (...args) => this.#writeBuffer(args)],
      [queue, "submit", () => (commandBuffers) => this.#submit(commandBuffers as Iterable<object>)]
    ]
    if (encoders === undefined) return always
    return [
      ...always,
      [device, "createCommandEncoder", (inner) => made(inner, (encoder) => encoders.commandEncoder(encoder))],
      [device, "createRenderBundleEncoder", (inner) => made(inner, (encoder) => encoders.bundleEncoder(encoder))]
    ]
  }

  #createBindGroup({ entries, label, layout }: BindGroupDescriptor): object {
    const slots: Array<Slot> = []
    const group = this.#native.createBindGroup({
      ...(label === undefined ? {} : { label }),
      layout,
      entries: Array.from(entries, (entry) => this.#bound(entry, slots))
    })
    if (slots.length > 0) this.#encoders?.bound(group, slots)
    return group
  }

  /** A binding without a size is the lease's rest, not the block's. */
  #bound(entry: BindGroupEntry, slots: Array<Slot>): BindGroupEntry {
    const { binding, resource } = entry
    const { buffer, offset = 0, size } = this.#buffers.slotOf(resource) === undefined
      ? resource as Partial<BufferBinding>
      : { buffer: resource as Buffer }
    const slot = this.#buffers.slotOf(buffer)
    if (slot === undefined || buffer === undefined) return entry
    slots.push(slot)
    const bytes = size ?? slot.bytesFrom(offset)
    const from = slot.placeOf(offset, bytes)
    // The device says what is wrong with an empty binding, for which no size stands.
    return {
      binding,
      resource: { buffer, offset: from, ...(bytes === 0 && size === undefined ? {} : { size: bytes }) }
    }
  }

  #writeBuffer(args: ReadonlyArray<unknown>): void {
    const [buffer, offset, ...data] = args
    const slot = this.#buffers.slotOf(buffer)
    if (slot === undefined) return this.#native.writeBuffer(...args)
    const { clears } = this.#buffers
    if (this.#buffers.isStale(slot)) {
      return this.#native.writeBuffer(this.#buffers.inPlaceOfStale(), offset, ...data)
    }
    const bytes = bytesWritten(data)
    const isWhole = Number(offset) === 0 && bytes === slot.size && !slot.isMappable
    if (!isWhole && clears.has(slot)) clears.flush()
    this.#native.writeBuffer(buffer, slot.placeOf(Number(offset), bytes), ...data)
    if (isWhole) clears.leaveOut(slot)
  }

  #submit(commandBuffers: Iterable<object>): void {
    const all = [...commandBuffers]
    this.#buffers.clears.flush()
    if (this.#encoders !== undefined && all.some((one) => this.#encoders?.isStale(one))) {
      // The device refuses all of a submit of which one command uses a destroyed buffer.
      const encoder = this.#native.createCommandEncoder()
      encoder.clearBuffer(this.#buffers.inPlaceOfStale())
      all.push(encoder.finish())
    }
    this.#native.submit(all)
  }
}

/** A method that makes an encoder, of which `put` then makes what programs get. */
const made = (inner: Method, put: (encoder: object) => object): Method =>
  function(...args) {
    return put(Reflect.apply(inner, this, args) as object)
  }

/** The bytes that `writeBuffer` takes of the rest of its arguments: data, and its first element and their count. */
const bytesWritten = ([data, from, count]: ReadonlyArray<unknown>): number => {
  const { BYTES_PER_ELEMENT = 1, byteLength } = data as {
    readonly BYTES_PER_ELEMENT?: number
    readonly byteLength: number
  }
  return count === undefined ? byteLength - Number(from ?? 0) * BYTES_PER_ELEMENT : Number(count) * BYTES_PER_ELEMENT
}
