/**
 * The results of opening and using each device of a backend.
 *
 * @internal
 */
export interface ProbedDevice {
  /** Such as `opencl:0:1`; a backend without devices is one entry under its own name. */
  readonly selector: string
  readonly name: string
  readonly type: string | null
  readonly driver: string
  /** Why it does not work, or null. */
  readonly why: string | null
}

export type ProbeResult = ReadonlyArray<ProbedDevice>
