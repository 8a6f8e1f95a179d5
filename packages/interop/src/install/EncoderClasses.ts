/**
 * Encoders that note which leases they use, and that refuse what lies behind a lease's end.
 *
 * @internal
 */
import type { Method } from "../foreign/Patch.ts"
import { bytesOfCopy } from "../foreign/TextureBytes.ts"
import type { Buffer } from "./Native.ts"
import { type Body, type Inner, type Over, OverPrototype } from "./OverPrototype.ts"
import { Recording } from "./Recording.ts"
import type { Slot } from "./Slot.ts"

/** What encoders ask of the pool. */
export interface Uses {
  slotOf(buffer: unknown): Slot | undefined
}

/** A part of a texture's data in a buffer. */
interface BufferRows {
  readonly buffer: Buffer
  readonly offset?: number
  readonly bytesPerRow?: number
  readonly rowsPerImage?: number
}

interface TexturePlace {
  readonly texture: { readonly format: string }
  readonly aspect?: string
}

/** The bytes that an indirect command reads. */
const indirect = { dispatchWorkgroupsIndirect: 12, drawIndirect: 16, drawIndexedIndirect: 20 }

export class EncoderClasses {
  readonly #uses: Uses
  /** Of bind groups, encoders, bundles and command buffers. */
  readonly #recordings = new WeakMap<object, Recording>()
  readonly #commands = new OverPrototype((inner) => ({
    ...this.#copies(inner),
    ...this.#begins(inner),
    ...this.#ends(inner)
  }))
  readonly #passes = new OverPrototype((inner) => this.#pass(inner))
  readonly #bundles = new OverPrototype((inner) => ({ ...this.#pass(inner), ...this.#ends(inner) }))

  constructor(uses: Uses) {
    this.#uses = uses
  }

  /** Whether a command buffer uses a lease that has ended. */
  isStale(commandBuffer: object): boolean {
    return this.#recordings.get(commandBuffer)?.isStale === true
  }

  /** A bind group uses these. */
  bound(bindGroup: object, slots: Iterable<Slot>): void {
    const recording = new Recording()
    for (const slot of slots) recording.use(slot)
    this.#recordings.set(bindGroup, recording)
  }

  commandEncoder(encoder: object): object {
    this.#recordings.set(encoder, new Recording())
    return this.#commands.put(encoder)
  }

  bundleEncoder(encoder: object): object {
    this.#recordings.set(encoder, new Recording())
    return this.#bundles.put(encoder)
  }

  /** Notes the use of a buffer. */
  #use(encoder: unknown, buffer: unknown): Slot | undefined {
    const slot = this.#uses.slotOf(buffer)
    if (slot !== undefined) this.#recordings.get(encoder as object)?.use(slot)
    return slot
  }

  /** Notes the use of the bytes from an offset on, without a size of all of them; returns where they are for the device. */
  #range(encoder: unknown, buffer: unknown, offset: unknown, size: unknown): readonly [offset: unknown, size: unknown] {
    const slot = this.#use(encoder, buffer)
    if (slot === undefined) return [offset, size]
    const from = Number(offset ?? 0)
    const bytes = size === undefined ? slot.bytesFrom(from) : Number(size)
    return [slot.placeOf(from, bytes), bytes]
  }

  #copies(inner: Inner): ReturnType<Over> {
    const [copy, clear, resolve] = [inner("copyBufferToBuffer"), inner("clearBuffer"), inner("resolveQuerySet")]
    const [toTexture, toBuffer] = [inner("copyBufferToTexture"), inner("copyTextureToBuffer")]
    return {
      copyBufferToBuffer: (self, args) => {
        // The short form has no offsets: (source, destination, size?).
        const [source, from, to, at, size] = typeof args[1] === "object" ? [args[0], 0, args[1], 0, args[2]] : args
        const bytes = size ?? this.#uses.slotOf(source)?.bytesFrom(Number(from ?? 0))
        if (bytes === undefined) {
          this.#use(self, source)
          this.#use(self, to)
          return Reflect.apply(copy, self, args)
        }
        const [sourceOffset] = this.#range(self, source, from, bytes)
        const [destinationOffset] = this.#range(self, to, at, bytes)
        return Reflect.apply(copy, self, [source, sourceOffset, to, destinationOffset, bytes])
      },
      clearBuffer: (self, [buffer, offset, size]) => {
        return Reflect.apply(clear, self, [buffer, ...this.#range(self, buffer, offset, size)])
      },
      resolveQuerySet: (self, args) => {
        this.#use(self, args[3])
        return Reflect.apply(resolve, self, args)
      },
      copyBufferToTexture: (self, [source, destination, size]) => {
        const rows = this.#rows(self, source as BufferRows, destination as TexturePlace, size)
        return Reflect.apply(toTexture, self, [rows, destination, size])
      },
      copyTextureToBuffer: (self, [source, destination, size]) => {
        const rows = this.#rows(self, destination as BufferRows, source as TexturePlace, size)
        return Reflect.apply(toBuffer, self, [source, rows, size])
      }
    }
  }

  #rows(encoder: unknown, rows: BufferRows, place: TexturePlace, size: unknown): BufferRows {
    const slot = this.#use(encoder, rows.buffer)
    if (slot === undefined) return rows
    const { buffer, bytesPerRow, offset = 0, rowsPerImage } = rows
    const bytes = bytesOfCopy(place.texture.format, place.aspect ?? "all", { bytesPerRow, rowsPerImage }, size)
    const begin = slot.placeOf(Number(offset), bytes)
    return begin === offset ? rows : {
      buffer,
      offset: begin,
      ...(bytesPerRow === undefined ? {} : { bytesPerRow }),
      ...(rowsPerImage === undefined ? {} : { rowsPerImage })
    }
  }

  #begins(inner: Inner): ReturnType<Over> {
    const begin = (begins: Method): Body => (self, [descriptor]) => {
      const pass = Reflect.apply(begins, self, [descriptor]) as object
      const recording = this.#recordings.get(self as object)
      if (recording !== undefined) this.#recordings.set(pass, recording)
      return this.#passes.put(pass)
    }
    return {
      beginComputePass: begin(inner("beginComputePass")),
      beginRenderPass: begin(inner("beginRenderPass"))
    }
  }

  #ends(inner: Inner): ReturnType<Over> {
    const finish = inner("finish")
    return {
      finish: (self, args) => {
        const result = Reflect.apply(finish, self, args) as object
        const recording = this.#recordings.get(self as object)
        if (recording !== undefined) this.#recordings.set(result, recording)
        return result
      }
    }
  }

  #pass(inner: Inner): ReturnType<Over> {
    const [setBindGroup, executeBundles] = [inner("setBindGroup"), inner("executeBundles")]
    const [setVertexBuffer, setIndexBuffer] = [inner("setVertexBuffer"), inner("setIndexBuffer")]
    const include = (encoder: unknown, part: unknown): void => {
      if (typeof part !== "object" || part === null) return
      this.#recordings.get(encoder as object)?.include(this.#recordings.get(part))
    }
    return {
      setBindGroup: (self, args) => {
        include(self, args[1])
        return Reflect.apply(setBindGroup, self, args)
      },
      executeBundles: (self, [bundles]) => {
        const all = [...bundles as Iterable<object>]
        for (const bundle of all) include(self, bundle)
        return Reflect.apply(executeBundles, self, [all])
      },
      setVertexBuffer: (self, [at, buffer, offset, size]) => {
        return Reflect.apply(setVertexBuffer, self, [at, buffer, ...this.#range(self, buffer, offset, size)])
      },
      setIndexBuffer: (self, [buffer, format, offset, size]) => {
        return Reflect.apply(setIndexBuffer, self, [buffer, format, ...this.#range(self, buffer, offset, size)])
      },
      ...Object.fromEntries(
        Object.entries(indirect).map(([name, bytes]) => [name, this.#indirect(inner(name), bytes)])
      )
    }
  }

  #indirect(command: Method, bytes: number): Body {
    return (self, [buffer, offset]) => {
      const [from] = this.#range(self, buffer, offset, bytes)
      return Reflect.apply(command, self, [buffer, from])
    }
  }
}
