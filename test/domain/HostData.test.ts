import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as HostData from "../../src/domain/data/HostData.ts"
import { GpuError } from "../../src/domain/GpuError.ts"
import { runs } from "../support/explore.ts"

type Make<B extends ArrayBufferLike> = (buffer: B, byteOffset: number, length: number) => ArrayBufferView

interface Kind {
  readonly name: string
  readonly elementBytes: number
  readonly make: Make<ArrayBuffer> & Make<SharedArrayBuffer>
}

const kinds: ReadonlyArray<Kind> = [
  { name: "Int8Array", elementBytes: 1, make: (...args) => new Int8Array(...args) },
  { name: "Uint8Array", elementBytes: 1, make: (...args) => new Uint8Array(...args) },
  { name: "Uint8ClampedArray", elementBytes: 1, make: (...args) => new Uint8ClampedArray(...args) },
  { name: "Int16Array", elementBytes: 2, make: (...args) => new Int16Array(...args) },
  { name: "Uint16Array", elementBytes: 2, make: (...args) => new Uint16Array(...args) },
  { name: "Int32Array", elementBytes: 4, make: (...args) => new Int32Array(...args) },
  { name: "Uint32Array", elementBytes: 4, make: (...args) => new Uint32Array(...args) },
  { name: "Float32Array", elementBytes: 4, make: (...args) => new Float32Array(...args) },
  { name: "Float64Array", elementBytes: 8, make: (...args) => new Float64Array(...args) },
  { name: "BigInt64Array", elementBytes: 8, make: (...args) => new BigInt64Array(...args) },
  { name: "BigUint64Array", elementBytes: 8, make: (...args) => new BigUint64Array(...args) },
  { name: "DataView", elementBytes: 1, make: (...args) => new DataView(...args) },
  { name: "Buffer", elementBytes: 1, make: (...args) => Buffer.from(...args) }
]

/** A view of some kind within a buffer of counted bytes. */
const place = fc.record({
  kind: fc.constantFrom(...kinds),
  before: fc.nat(3),
  length: fc.nat(9),
  after: fc.nat(17)
})

type Place = typeof place extends fc.Arbitrary<infer P> ? P : never

const totalOf = ({ after, before, kind, length }: Place): number => (before + length) * kind.elementBytes + after

const counted = (size: number): Uint8Array<ArrayBuffer> => Uint8Array.from({ length: size }, (_, index) => index % 251)

const viewOf = (at: Place, buffer: ArrayBuffer): ArrayBufferView =>
  at.kind.make(buffer, at.before * at.kind.elementBytes, at.length)

const bytesOf = (data: HostData.HostData): Uint8Array<ArrayBuffer> => {
  const bytes = HostData.bytes("Queue.test", data)
  if (bytes instanceof GpuError) throw bytes
  return bytes
}

/** The message of a refusal. */
const refusal = (error: unknown): string => {
  assert.instanceOf(error, GpuError)
  assert.strictEqual(error.reason._tag, "InvalidRequest")
  assert.match(error.message, /^Queue\.test: /)
  return error.message
}

const detach = (buffer: ArrayBuffer): void => {
  structuredClone(buffer, { transfer: [buffer] })
}

describe("HostData.bytes", () => {
  it("sees exactly the bytes of a view of any kind, at any offset", () => {
    fc.assert(
      fc.property(place, (at) => {
        const all = counted(totalOf(at))
        const start = at.before * at.kind.elementBytes
        const bytes = bytesOf(viewOf(at, all.buffer))
        assert.deepStrictEqual([...bytes], [...all.subarray(start, start + at.length * at.kind.elementBytes)])
      }),
      { numRuns: runs(400) }
    )
  })

  it("copies nothing", () => {
    fc.assert(fc.property(place, (at) => {
      const { buffer } = counted(totalOf(at))
      const view = viewOf(at, buffer)
      const bytes = bytesOf(view)
      assert.strictEqual(bytes.buffer, buffer)
      assert.deepStrictEqual([bytes.byteOffset, bytes.byteLength], [view.byteOffset, view.byteLength])
    }))
  })

  it("sees the whole of an ArrayBuffer", () => {
    fc.assert(fc.property(fc.nat(100), (size) => {
      const { buffer } = counted(size)
      const bytes = bytesOf(buffer)
      assert.strictEqual(bytes.buffer, buffer)
      assert.deepStrictEqual([...bytes], [...counted(size)])
    }))
  })

  it("refuses shared memory, by itself and under a view of any kind", () => {
    assert.match(refusal(HostData.bytes("Queue.test", new SharedArrayBuffer(8) as never)), /SharedArrayBuffer/)
    fc.assert(fc.property(place, (at) => {
      const shared = new SharedArrayBuffer(totalOf(at))
      const view = at.kind.make(shared, at.before * at.kind.elementBytes, at.length)
      assert.match(refusal(HostData.bytes("Queue.test", view)), /SharedArrayBuffer/)
    }))
  })

  it("refuses detached memory, by itself and under a view of any kind", () => {
    fc.assert(fc.property(place, (at) => {
      const { buffer } = counted(totalOf(at))
      const view = viewOf(at, buffer)
      detach(buffer)
      assert.match(refusal(HostData.bytes("Queue.test", view)), /detached/)
      assert.match(refusal(HostData.bytes("Queue.test", buffer)), /detached/)
    }))
  })

  it("refuses what is no memory at all", () => {
    for (const value of [undefined, null, 1, "bytes", [1, 2], {}, { buffer: new ArrayBuffer(8) }]) {
      assert.match(
        refusal(HostData.bytes("Queue.test", value as never)),
        / was given for the data\. Pass a typed array/
      )
    }
  })
})

describe("HostData.copyInto", () => {
  it("fills the target and nothing around it", () => {
    fc.assert(fc.property(place, (at) => {
      const around = new Uint8Array(totalOf(at)).fill(255)
      const view = viewOf(at, around.buffer)
      const source = counted(view.byteLength)
      assert.isUndefined(HostData.copyInto("Queue.test", source.buffer, view))
      const expected = new Uint8Array(around.byteLength).fill(255)
      expected.set(source, view.byteOffset)
      assert.deepStrictEqual([...around], [...expected])
    }))
  })

  it("refuses a target of another length, and changes nothing", () => {
    fc.assert(fc.property(fc.nat(20), fc.nat(20), (from, to) => {
      const target = new Uint8Array(to).fill(255)
      const error = HostData.copyInto("Queue.test", counted(from).buffer, target)
      if (from === to) return assert.isUndefined(error)
      assert.match(refusal(error), new RegExp(`${to} bytes, ${from} were read`))
      assert.isTrue(target.every((byte) => byte === 255))
    }))
  })

  it("refuses a target that was shared or detached meanwhile", () => {
    const target = new Uint8Array(8)
    detach(target.buffer)
    assert.match(refusal(HostData.copyInto("Queue.test", new ArrayBuffer(8), target)), /detached/)
    assert.match(refusal(HostData.copyInto("Queue.test", new ArrayBuffer(0), target)), /detached/)
    assert.match(
      refusal(HostData.copyInto("Queue.test", new ArrayBuffer(8), new Uint8Array(new SharedArrayBuffer(8)))),
      /SharedArrayBuffer/
    )
  })
})
