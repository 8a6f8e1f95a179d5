/**
 * Byte limits as programs and their configuration write them: bytes, a size with its unit, or a share of the device's
 * memory.
 *
 * @see cupy.cuda.MemoryPool.set_limit, CUPY_GPU_MEMORY_LIMIT
 * @since 0.1.0
 */
import * as ByteSize from "effect/ByteSize"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { formatted } from "../arguments/Format.ts"
import * as LayerOptions from "../arguments/LayerOptions.ts"
import type { DeviceInfo } from "../device/DeviceInfo.ts"
import { type GpuError, invalidRequest, isGpuError, unsupported } from "../GpuError.ts"

/**
 * A limit in one of these forms:
 *
 * - bytes, as a number, a bigint or a `ByteSize` of Effect; `Infinity` is no limit
 * - bytes as text, `"1073741824"`
 * - a size with a unit of Effect's `ByteSize`, `"512 MiB"`, `"1.5 GiB"`, `"2 GB"`; it must come to whole bytes
 * - a percentage of the device's memory, `"50%"`, `"70.5%"`, rounded down to whole bytes
 * - `"unlimited"` or `"Infinity"`, in any case: no limit, as configuration writes it
 *
 * `0`, `"0"` and `"0%"` are limits of no bytes. In CuPy they are no limit.
 *
 * **Example** (Four limits of a gibibyte, or what comes close to it, and none)
 *
 * ```ts
 * import type { BufferPool } from "effect-gpu-pool"
 *
 * const limits: ReadonlyArray<BufferPool.ByteAmount> = [2 ** 30, 1073741824n, "1 GiB", "12.5%", "unlimited"]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type ByteAmount = Forms["amount"]

/** Editors show the forms of a member's type, but only the name of an alias. */
interface Forms {
  readonly amount: number | bigint | `${number} MiB` | `${number} GiB` | `${number}%` | "unlimited" | (string & {})
}

/**
 * A limit as options take it: bytes, or a share of the device's memory, or neither.
 *
 * @internal
 */
export interface MemoryLimit {
  readonly bytes?: ByteAmount | undefined
  /** From 0 to 1, taken as it is written: 0.29 of 100 bytes are 29. Rounded down to whole bytes. */
  readonly fraction?: number | undefined
}

/** The facts of a device that limits need. @internal */
export interface MemoryOf extends Pick<DeviceInfo, "backend"> {
  readonly limits: Pick<DeviceInfo["limits"], "memoryBytes">
}

/**
 * The limit in bytes, from 0 to 2^53 - 1 or `Infinity`; `undefined` when none is given. Otherwise an error of
 * `operation`, which calls the limit `name`: InvalidRequest for a value that is no limit, or for bytes and a fraction
 * at once; Unsupported for a share of the memory of a device that does not report it, as on WebGPU.
 *
 * @internal
 */
export const resolve = (
  operation: string,
  name: string,
  limit: MemoryLimit,
  device: MemoryOf
): number | undefined | GpuError => {
  const { bytes, fraction } = limit
  if (bytes === undefined && fraction === undefined) return undefined
  const given: Given = { operation, name, device }
  if (fraction === undefined) return ofBytes(given, bytes)
  return bytes === undefined ? ofFraction(given, fraction) : invalidRequest(
    operation,
    `${name} is given twice, as ${formatted(bytes)} and as the fraction ${formatted(fraction)}`,
    "Pass bytes or a fraction of the device's memory, and leave the other out."
  )
}

/**
 * The same of bytes that must be given.
 *
 * @internal
 */
export const required = (
  operation: string,
  name: string,
  bytes: ByteAmount,
  device: MemoryOf
): number | GpuError =>
  resolve(operation, name, { bytes }, device) ??
    invalidRequest(operation, `${name} is not given`, `Pass bytes, as 1048576 or "1 MiB".`)

/** The arguments of `resolve`, for its errors. */
interface Given {
  readonly operation: string
  readonly name: string
  readonly device: MemoryOf
}

const percentage = /^\s*(\d+(?:\.\d+)?)\s*%\s*$/
const digits = /^\s*\d+\s*$/
const none = /^\s*(?:unlimited|infinity)\s*$/i

const ofBytes = (given: Given, input: unknown): number | GpuError => {
  if (input === Infinity || (typeof input === "string" && none.test(input))) return Infinity
  const percent = typeof input === "string" ? percentage.exec(input)?.[1] : undefined
  if (percent !== undefined) return ofPercentage(given, percent, formatted(input))
  const bytes = wholeBytes(input)
  return bytes !== undefined && bytes >= 0n && bytes <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(bytes)
    : invalidRequest(
      given.operation,
      `${given.name} ${formatted(input)} is no whole number of bytes from 0 to 2^53 - 1`,
      `Pass bytes, a size such as "512 MiB", or a percentage of the device's memory such as "50%"; ` +
        `Infinity, or "unlimited" as text, is no limit.`
    )
}

/** A device whose memory is known, so that only the form of a limit is checked. */
const someDevice: MemoryOf = { backend: "any", limits: { memoryBytes: 0 } }

const isNoAmount = (operation: string, name: string, bytes: unknown): GpuError | undefined => {
  const answer = bytes === undefined ? undefined : ofBytes({ operation, name, device: someDevice }, bytes)
  return isGpuError(answer) ? answer : undefined
}

/**
 * Bytes as an option of a layer.
 *
 * @internal
 */
export const amount: LayerOptions.Option<ByteAmount> = LayerOptions.instance(isNoAmount, Schema.String)

/**
 * A share of the device's memory as an option of a layer, from 0 to 1.
 *
 * @internal
 */
export const fraction: LayerOptions.Option<number> = LayerOptions.instance((operation, _, fraction) => {
  const answer = fraction === undefined
    ? undefined
    : ofFraction({ operation, name: "maxBytes", device: someDevice }, fraction)
  return isGpuError(answer) ? answer : undefined
}, Schema.Finite)

/**
 * Bytes as a number, a bigint, or a text such as `"2 MiB"`; `undefined` for anything else.
 *
 * @internal
 */
export const wholeBytes = (input: unknown): bigint | undefined => {
  switch (typeof input) {
    case "bigint":
      return input
    case "number":
      return Number.isSafeInteger(input) ? BigInt(input) : undefined
    case "string":
      return digits.test(input) ? BigInt(input) : Option.getOrUndefined(ByteSize.fromString(input))
    default:
      return undefined
  }
}

const ofPercentage = (given: Given, percent: string, written: string): number | GpuError =>
  Number(percent) <= 100
    ? share(given, `${percent}e-2`, written)
    : invalidRequest(
      given.operation,
      `${given.name} ${written} is more than the device's whole memory`,
      `Pass at most "100%", or bytes.`
    )

const ofFraction = (given: Given, fraction: unknown): number | GpuError =>
  typeof fraction === "number" && fraction >= 0 && fraction <= 1
    ? share(given, String(fraction), `as the fraction ${fraction}`)
    : invalidRequest(
      given.operation,
      `${given.name} as the fraction ${formatted(fraction)} is no share of the device's memory`,
      "Pass a number from 0 to 1, such as 0.5 for half of it."
    )

const share = ({ device, name, operation }: Given, decimal: string, written: string): number | GpuError => {
  const { memoryBytes } = device.limits
  return memoryBytes === undefined
    ? unsupported(
      operation,
      device.backend,
      `${name} ${written} of the device's memory`,
      `The device does not tell how much memory it has: pass bytes, or a size such as "512 MiB".`
    )
    : shareOf(memoryBytes, decimal)
}

/** Exact, rounded down: in floating point 0.29 of 100 bytes would be 28. The decimal has no positive exponent. */
const shareOf = (bytes: number, decimal: string): number => {
  const [mantissa = "", exponent = "0"] = decimal.split("e")
  const [whole = "", fraction = ""] = mantissa.split(".")
  const scale = 10n ** BigInt(fraction.length - Number(exponent))
  return Number(BigInt(whole + fraction) * BigInt(bytes) / scale)
}
