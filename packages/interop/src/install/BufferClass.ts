/**
 * GPUBuffer with the size, the label and the end of a lease.
 *
 * @internal
 */
import type { Clears } from "./Clears.ts"
import type { Buffer } from "./Native.ts"
import { OverPrototype } from "./OverPrototype.ts"
import type { Slot } from "./Slot.ts"

/** What the class asks of the pool. */
export interface Leases {
  readonly clears: Clears
  slotOf(buffer: unknown): Slot | undefined
  isStale(slot: Slot): boolean
  inPlaceOfStale(): Buffer
  /** Returns whether the driver is to destroy the buffer. */
  endLease(buffer: Buffer): boolean
}

export const bufferClass = (leases: Leases): OverPrototype =>
  new OverPrototype(
    (inner) => {
      const [mapAsync, getMappedRange, destroy] = [inner("mapAsync"), inner("getMappedRange"), inner("destroy")]
      return {
        mapAsync: (self, [mode, offset, size]) => {
          const slot = leases.slotOf(self)
          if (slot === undefined) return Reflect.apply(mapAsync, self, [mode, offset, size])
          if (leases.isStale(slot)) return Reflect.apply(mapAsync, leases.inPlaceOfStale(), [mode, offset, size])
          if (leases.clears.has(slot)) leases.clears.flush()
          const from = Number(offset ?? 0)
          const bytes = size === undefined ? slot.bytesFrom(from) : Number(size)
          return Reflect.apply(mapAsync, self, [mode, slot.placeOf(from, bytes), bytes])
        },
        getMappedRange: (self, [offset, size]) => {
          const slot = leases.slotOf(self)
          const from = Number(offset ?? 0)
          return Reflect.apply(getMappedRange, self, [offset, slot === undefined ? size : size ?? slot.bytesFrom(from)])
        },
        destroy: (self) => {
          if (leases.endLease(self as Buffer)) Reflect.apply(destroy, self, [])
        }
      }
    },
    (native) => ({
      size: {
        get(this: object) {
          return leases.slotOf(this)?.size ?? Reflect.get(native, "size", this)
        },
        enumerable: true,
        configurable: true
      },
      label: {
        get(this: object) {
          return leases.slotOf(this)?.label ?? Reflect.get(native, "label", this)
        },
        set(this: object, value: unknown) {
          const label = String(value)
          const slot = leases.slotOf(this)
          if (slot !== undefined) slot.label = label
          Reflect.set(native, "label", label, this)
        },
        enumerable: true,
        configurable: true
      }
    })
  )
