/** TensorFlow.js without its own pool, on the null device of Dawn: what it destroys, and what it finds when that is over. */
import { install } from "@effect-gpu-pool/interop/install"
import { observe } from "@effect-gpu-pool/interop/observe"
import { passThrough } from "@effect-gpu-pool/interop/tfjs"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual, throws } from "@effect/vitest/utils"
import type { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu"
import { create, globals } from "webgpu"

// TensorFlow.js looks for a page's GPU and for its classes when it is loaded.
const gpu = create(["backend=null"])
Object.assign(globalThis, globals)
Object.defineProperty(globalThis.navigator, "gpu", { value: gpu, configurable: true })
const tf = await import("@tensorflow/tfjs-core")
const { WebGPUBackend: Backend } = await import("@tensorflow/tfjs-backend-webgpu")

const openDevice = async (): Promise<GPUDevice> => await (await gpu.requestAdapter())!.requestDevice()

/** A backend of its own, and what is seen of its device. */
const open = async () => {
  const device = await openDevice()
  const observation = observe(device, { frames: 0 })
  // Kernels are registered for this name alone.
  tf.removeBackend("webgpu")
  tf.registerBackend("webgpu", () => new Backend(device))
  await tf.setBackend("webgpu")
  return { backend: tf.backend() as WebGPUBackend, device, observation, live: () => observation.counts().live }
}

/** Computes until all is submitted, and disposes of it. */
const compute = async (size: number): Promise<void> => {
  const y = tf.tidy(() => tf.square(tf.tensor1d(new Float32Array(size).fill(3))))
  await y.data()
  y.dispose()
}

const usage = 0x8c

const own = (object: object) =>
  Reflect.ownKeys(object).map((key) => [key, typeof Object.getOwnPropertyDescriptor(object, key)?.value])

describe("passThrough", () => {
  it("destroys what the program has disposed of, and counts it", async () => {
    const { backend, live } = await open()
    await compute(1024)
    assert.isAbove(live(), 0)
    const before = backend.memory()
    strictEqual(before.numBytesInGPU, 0)
    assert.isAbove(before.numBytesAllocatedInGPU, 0)
    const passed = passThrough(tf.backend())
    strictEqual(live(), 0)
    const { numBytesAllocatedInGPU, numBytesInGPU } = backend.memory()
    deepStrictEqual([numBytesInGPU, numBytesAllocatedInGPU], [0, 0])
    for (const size of [1024, 1024, 2048]) await compute(size)
    strictEqual(live(), 0)
    const kept = tf.square(tf.tensor1d(new Float32Array(256)))
    await kept.data()
    deepStrictEqual([backend.bufferManager.getNumUsedBuffers(), backend.bufferManager.getNumFreeBuffers()], [2, 0])
    const after = backend.memory()
    deepStrictEqual([after.numBytesInGPU, after.numBytesAllocatedInGPU], [2048, 2048])
    passed.stop()
  })

  it("lets a pool under the device lend what tensors had", async () => {
    const { device } = await open()
    const passed = passThrough(tf.backend())
    const pool = install(passed.device)
    strictEqual(passed.device, device)
    for (let step = 0; step < 5; step++) await compute(1000 + step)
    const { activeBlocks, hits, staleUses } = pool.stats()
    strictEqual(activeBlocks, 0)
    assert.isAbove(hits, 8)
    strictEqual(staleUses, 0)
    passed[Symbol.dispose]()
    pool.stop()
  })

  it("gives the backend the same manager back, also for tensors from meanwhile", async () => {
    const { backend, live, observation } = await open()
    const manager = backend.bufferManager
    const before = own(manager)
    const { acquireBuffer, releaseBuffer } = manager
    const passed = passThrough(backend)
    const meanwhile = tf.tidy(() => tf.square(tf.tensor1d(new Float32Array(512))))
    await meanwhile.data()
    passed.stop()
    passed.stop()
    deepStrictEqual(own(manager), before)
    deepStrictEqual([manager.acquireBuffer, manager.releaseBuffer], [acquireBuffer, releaseBuffer])
    const count = live()
    meanwhile.dispose()
    strictEqual(live(), count)
    assert.isAbove(manager.getNumFreeBuffers(), 0)
    const { made } = observation.counts()
    manager.acquireBuffer(4 * 512, usage)
    strictEqual(observation.counts().made, made)
  })

  it("begins again after its end, and not twice at once", async () => {
    const { backend } = await open()
    const first = passThrough(backend)
    throws(() => passThrough(backend), (error) => {
      assert.match(String(error), /^Error: passThrough: the backend passes through already/)
    })
    first.stop()
    const second = passThrough(backend)
    // An end that comes again ends nothing of the second.
    first.stop()
    assert.isTrue(Object.hasOwn(backend.bufferManager, "acquireBuffer"))
    second.stop()
    assert.isFalse(Object.hasOwn(backend.bufferManager, "acquireBuffer"))
  })

  it("leaves a disposed backend alone", async () => {
    const { backend, live } = await open()
    const passed = passThrough(backend)
    const manager = backend.bufferManager
    const buffer = manager.acquireBuffer(64, usage)
    manager.acquireBuffer(128, usage)
    backend.dispose()
    strictEqual(live(), 0)
    // As without passThrough: what comes back late is none of its buffers any more.
    manager.releaseBuffer(buffer)
    deepStrictEqual([manager.numBytesUsed, manager.getNumUsedBuffers()], [0, 0])
    passed.stop()
    assert.isFalse(Object.hasOwn(manager, "releaseBuffer"))
  })

  it("keeps two backends apart", async () => {
    const [one, other] = [await openDevice(), await openDevice()].map((device) => new Backend(device).bufferManager)
    const [first, second] = [
      passThrough({ bufferManager: one, device: {} }),
      passThrough({ bufferManager: other, device: {} })
    ]
    first.stop()
    const kept = one!.acquireBuffer(64, usage)
    const given = other!.acquireBuffer(64, usage)
    one!.releaseBuffer(kept)
    other!.releaseBuffer(given)
    deepStrictEqual([one!.getNumFreeBuffers(), other!.getNumFreeBuffers()], [1, 0])
    deepStrictEqual([one!.numBytesAllocated, other!.numBytesAllocated], [64, 0])
    second.stop()
  })

  it("is refused by what is no backend of WebGPU that it knows", () => {
    const device = {}
    const known = { freeBuffers: new Map(), usedBuffers: new Map(), numFreeBuffers: 0, numBytesAllocated: 0 }
    const methods = { acquireBuffer: () => {}, releaseBuffer: () => {} }
    const wrong: ReadonlyArray<object> = [
      {},
      { device },
      { bufferManager: { ...known, ...methods } },
      { device, bufferManager: known },
      { device, bufferManager: { ...methods, ...known, freeBuffers: {} } },
      { device, bufferManager: { ...methods, ...known, numBytesAllocated: undefined } }
    ]
    for (const backend of wrong) {
      throws(() => passThrough(backend), (error) => {
        assert.instanceOf(error, TypeError)
        assert.match(error.message, /Pass tf\.backend\(\) after await tf\.setBackend\("webgpu"\)/)
      })
    }
  })
})
