/**
 * The answers of an OpenCL device, and the facts that follow from them for kernels that are tuned to a device.
 *
 * Some facts are the driver's own answers; the rest are rules of thumb, as in `pyopencl.characterize`: `guessed` names
 * them.
 *
 * @see pyopencl.characterize
 * @since 0.1.0
 */
import type { ComputeCapability } from "./ComputeCapability.ts"
import { isAtLeast } from "./ComputeCapability.ts"
import type { LocalMemoryBanks } from "./LocalMemory.ts"

/**
 * What a driver answers; `undefined` for what it does not know. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenClFacts {
  readonly type: "cpu" | "gpu" | "accelerator" | "other"
  readonly platformName: string
  readonly platformVendor: string
  readonly platformVersion: string
  readonly deviceVendor: string
  readonly extensions: ReadonlyArray<string>
  /** CL_DEVICE_LOCAL_MEM_SIZE. */
  readonly localMemoryBytes: number
  /** CL_DEVICE_LOCAL_MEM_TYPE: whether local memory is a part of global memory. */
  readonly isLocalMemoryGlobal: boolean
  /** CL_DEVICE_WARP_SIZE_NV. */
  readonly warpSize: number | undefined
  /** CL_DEVICE_WAVEFRONT_WIDTH_AMD. */
  readonly wavefrontWidth: number | undefined
  readonly computeCapability: ComputeCapability | undefined
  /** CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE of a kernel that does next to nothing. */
  readonly preferredMultiple: number | undefined
}

/**
 * What a device is like, for kernels that are tuned to it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Characteristics {
  /** Work items that run in lockstep; 1 on a CPU. */
  readonly simdGroupSize: number | undefined
  /** Workgroup sizes should be multiples of it. */
  readonly workgroupSizeMultiple: number | undefined
  /** All of local memory. */
  readonly localMemoryBytes: number
  /** Local memory without what the driver keeps for a kernel's arguments: see {@link usableLocalMemoryBytes}. */
  readonly usableLocalMemoryBytes: number
  /** Has no banks where local memory is global memory, as on CPUs; there one work item accesses it at a time. */
  readonly localMemoryBanks: LocalMemoryBanks
  readonly hasDoubleSupport: boolean
  readonly computeCapability: ComputeCapability | undefined
  /** The version of PoCL; `undefined` for other drivers, and where PoCL's answer has none. */
  readonly poclVersion: PoclVersion | undefined
  /** Whether the driver miscounts struct arguments of kernels; `undefined` when only a kernel could tell. */
  readonly hasStructArgumentCountBug: boolean | undefined
  /** Whether the driver keeps what it compiled from source on disk. */
  readonly hasSourceBuildCache: boolean | undefined
  /** Compiler options that trade accuracy for speed. */
  readonly fastInaccurateBuildOptions: ReadonlyArray<string>
  /** Which of these are rules of thumb for the kind of device. */
  readonly guessed: ReadonlyArray<"simdGroupSize" | "localMemoryBanks">
}

const isNvidia = ({ deviceVendor, platformVendor }: OpenClFacts): boolean =>
  /nvidia/i.test(deviceVendor) || /nvidia/i.test(platformVendor)

/** Whole words: the "ati" in "Corporation" is no vendor. */
const isAmd = ({ deviceVendor, platformVendor }: OpenClFacts): boolean =>
  [deviceVendor, platformVendor].some((vendor) => /advanced micro|\bAMD\b|AuthenticAMD|\bATI\b/i.test(vendor))

const isPocl = ({ platformName }: OpenClFacts): boolean => /portable computing language/i.test(platformName)

const simdGroupSize = (facts: OpenClFacts): number | undefined =>
  facts.warpSize ?? facts.wavefrontWidth ??
    (facts.type === "cpu" ? 1 : isNvidia(facts) ? 32 : facts.preferredMultiple)

const granularity = 4

const banksOf = (facts: OpenClFacts): LocalMemoryBanks => {
  const isOldNvidia = facts.computeCapability !== undefined &&
    !isAtLeast(facts.computeCapability, { major: 2, minor: 0 })
  // NVIDIA's programming guide: 32 banks from capability 2.0 on, 16 before. For others 16 is the usual wild guess.
  const banks = isNvidia(facts) ? (isOldNvidia ? 16 : 32) : 16
  return {
    banks: facts.isLocalMemoryGlobal ? undefined : banks,
    granularity,
    simultaneousWorkItems: facts.type === "cpu" ? 1 : banks
  }
}

/**
 * The bytes of local memory that a kernel with so many arguments can use; without a number, one with as many as there may be. NVIDIA's
 * devices before compute capability 2.0 pass arguments in local memory, 4 bytes for each and 256 at most.
 *
 * **Example** (A kernel with 8 arguments, on the first GPUs with CUDA)
 *
 * ```ts
 * import { OpenClFacts } from "effect-gpu-pool/devices"
 *
 * const device = { localMemoryBytes: 16384, computeCapability: { major: 1, minor: 1 } }
 * const bytes = [OpenClFacts.usableLocalMemoryBytes(device, 8), OpenClFacts.usableLocalMemoryBytes(device)]
 * bytes // => [16352, 16128]
 * ```
 *
 * @see pyopencl.characterize.usable_local_mem_size
 * @category getters
 * @since 0.1.0
 */
export const usableLocalMemoryBytes = (
  { computeCapability, localMemoryBytes }: Pick<OpenClFacts, "computeCapability" | "localMemoryBytes">,
  argumentCount = 64
): number => {
  const keepsArguments = computeCapability !== undefined && !isAtLeast(computeCapability, { major: 2, minor: 0 })
  return keepsArguments ? localMemoryBytes - 4 * Math.min(64, argumentCount) : localMemoryBytes
}

/**
 * A version of PoCL, as 3.1.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoclVersion {
  readonly major: number
  readonly minor: number
}

const poclVersion = (facts: OpenClFacts): PoclVersion | undefined => {
  const version = isPocl(facts) ? /pocl (\d+)\.(\d+)/i.exec(facts.platformVersion) : null
  return version === null ? undefined : { major: Number(version[1]), minor: Number(version[2]) }
}

/** PoCL has the bug up to 0.13, and perhaps in 0.14; Apple's OpenCL has it on CPUs. */
const hasStructArgumentCountBug = (facts: OpenClFacts): boolean | undefined => {
  if (/^apple$/i.test(facts.platformName) && facts.type === "cpu") return true
  if (!isPocl(facts)) return false
  const version = poclVersion(facts)
  if (version === undefined) return undefined
  const { major, minor } = version
  if (major > 0 || minor > 14) return false
  return minor === 14 ? undefined : true
}

const hasSourceBuildCache = (facts: OpenClFacts): boolean | undefined =>
  isPocl(facts) || isNvidia(facts) ? true : /AMD Accelerated Parallel/i.test(facts.platformName) ? false : undefined

const fastInaccurateBuildOptions = (facts: OpenClFacts): ReadonlyArray<string> => [
  "-cl-mad-enable",
  "-cl-fast-relaxed-math",
  "-cl-no-signed-zeros",
  ...(isAmd(facts) || isNvidia(facts) ? ["-cl-strict-aliasing"] : [])
]

/**
 * What follows from a device's answers.
 *
 * **Example** (A CPU)
 *
 * ```ts
 * import { OpenClFacts } from "effect-gpu-pool/devices"
 *
 * const characteristics = OpenClFacts.characterize({
 *   type: "cpu",
 *   platformName: "Portable Computing Language",
 *   platformVendor: "The pocl project",
 *   platformVersion: "OpenCL 3.0 PoCL 3.1",
 *   deviceVendor: "AuthenticAMD",
 *   extensions: ["cl_khr_fp64"],
 *   localMemoryBytes: 524288,
 *   isLocalMemoryGlobal: true,
 *   warpSize: undefined,
 *   wavefrontWidth: undefined,
 *   computeCapability: undefined,
 *   preferredMultiple: 8
 * })
 * characteristics.simdGroupSize // => 1
 * ```
 *
 * @see pyopencl.characterize
 * @category getters
 * @since 0.1.0
 */
export const characterize = (facts: OpenClFacts): Characteristics => {
  const isTold = facts.warpSize !== undefined || facts.wavefrontWidth !== undefined || facts.type === "cpu"
  // A CPU without banks has one item at a time, which is no guess.
  const areBanksTold = facts.computeCapability !== undefined || (facts.type === "cpu" && facts.isLocalMemoryGlobal)
  return {
    simdGroupSize: simdGroupSize(facts),
    workgroupSizeMultiple: facts.warpSize ?? facts.preferredMultiple,
    localMemoryBytes: facts.localMemoryBytes,
    usableLocalMemoryBytes: usableLocalMemoryBytes(facts),
    localMemoryBanks: banksOf(facts),
    hasDoubleSupport: facts.extensions.includes("cl_khr_fp64"),
    computeCapability: facts.computeCapability,
    poclVersion: poclVersion(facts),
    hasStructArgumentCountBug: hasStructArgumentCountBug(facts),
    hasSourceBuildCache: hasSourceBuildCache(facts),
    fastInaccurateBuildOptions: fastInaccurateBuildOptions(facts),
    guessed: [
      ...(isTold || simdGroupSize(facts) === undefined ? [] : ["simdGroupSize" as const]),
      ...(areBanksTold ? [] : ["localMemoryBanks" as const])
    ]
  }
}
