const trusted = "the side of backends and of other services: its arguments were checked before, and are not again"
const rawHandle = "takes the address of a driver's object, of which every number may be one"
const kit = "a kit for tests, whose arguments are the framework and the tests themselves"

/** What the fuzzer leaves out, and why: an export, a member, or a namespace with `.*`. */
export const unfuzzed: { readonly [id: string]: string } = {
  "CommandQueue.CommandQueue#info": "a value",
  "KernelCache.make": trusted,
  "Device.fromDrivers": trusted,
  "DeviceContext.DeviceContext": trusted,
  "DeviceStatus.DeviceStatus": trusted,
  "DriverObjects.DriverObjects": trusted,
  "Allocator.Allocator#freeUnsafe": trusted,
  "GpuError.make": trusted,
  "GpuError.invalidRequest": trusted,
  "GpuError.outOfMemory": trusted,
  "BufferLike.problem": trusted,
  "ImageLike.problem": trusted,
  "BufferLike.deviceBuffer": trusted,
  "ImageLike.deviceImage": trusted,
  "Inspection.*": trusted,
  "Operation.*": trusted,
  "ValueType.*": trusted,
  "OpenCl.OpenCl": "the driver's handles, and commands of one's own with them",
  "WebGpu.WebGpu": "the driver's objects",
  "OpenCl.layerFromHandles": rawHandle,
  "OpenClMemory.adopt": rawHandle,
  "OpenClMemory.adoptImage": rawHandle,
  "OpenClMemory.adoptSampler": rawHandle,
  "Conformance.*": kit,
  "DeviceTests.*": kit,
  "Schedules.*": kit,
  "Arbitraries.*": kit,
  "PoolAgreement.*": kit,
  "PoolModel.*": kit
}
