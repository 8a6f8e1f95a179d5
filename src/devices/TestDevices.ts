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
  /** What titles of tests call it, as `opencl:0:1 Intel(R) Arc(TM)`. */
  readonly name: string
  /** What titles call its platform, as `opencl:0 Intel(R) OpenCL Graphics`. Without it, it is a platform of its own. */
  readonly platform?: string | undefined
  /** Opens it. */
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
  /** Why a part of the selection selects nothing: a run of tests must fail with it. */
  readonly problem: string | undefined
}
