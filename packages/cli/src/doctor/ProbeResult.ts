/**
 * What came of it when each device of a backend was opened and used.
 *
 * @internal
 */
export interface ProbedDevice {
  /** As `opencl:0:1`; a backend that has no device is one entry under its own name. */
  readonly selector: string
  readonly name: string
  readonly type: string | null
  readonly driver: string
  /** Why it does not work, or null. */
  readonly why: string | null
}

export type ProbeResult = ReadonlyArray<ProbedDevice>
