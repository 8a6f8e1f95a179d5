/**
 * The devices on which a suite of tests runs.
 *
 * @since 0.1.0
 */
import type * as Layer from "effect/Layer"
import type { GpuError } from "../domain/GpuError.ts"
import type { Services } from "../services/backend/Device.ts"

/**
 * A device for tests.
 *
 * @category models
 * @since 0.1.0
 */
export interface TestDevice {
  /** Its name in the titles of tests, as `opencl:0:1 Intel(R) Arc(TM)`. */
  readonly name: string
  /** The platform's name in titles, as `opencl:0 Intel(R) OpenCL Graphics`. A device without it counts as one platform. */
  readonly platform?: string | undefined
  /** Opens the device. */
  readonly layer: Layer.Layer<Services, GpuError>
}

/**
 * The devices that were selected for tests, and what went wrong with the selection.
 *
 * @category models
 * @since 0.1.0
 */
export interface TestDevices {
  /** Where the selection comes from, as `GPU_POOL_TEST`, or `default`. */
  readonly source: string
  readonly devices: ReadonlyArray<TestDevice>
  /** Why a part of the selection selects no device: a run of tests must fail with it. */
  readonly problem: string | undefined
}
