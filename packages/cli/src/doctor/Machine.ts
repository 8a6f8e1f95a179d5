/**
 * What of this machine decides which drivers it can have, and how they are installed.
 *
 * @internal
 */

/** Who makes a GPU, as far as drivers tell them apart. */
export type Vendor = "NVIDIA" | "AMD" | "Intel" | "another vendor"

export type PackageManager = "npm" | "pnpm" | "yarn" | "bun" | "deno"

/** /etc/os-release, as far as it is read. */
export interface Distribution {
  readonly name: string
  /** As `debian` and `ubuntu`; first its own, then those that it is like. */
  readonly ids: ReadonlyArray<string>
  /** As `12`; undefined for a rolling release. */
  readonly version: string | undefined
  /** As `bookworm`. */
  readonly codename: string | undefined
}

/** What a backend needs of the system: files, or a text that says what is there instead. */
export interface SystemParts {
  /** The file of the loader. */
  readonly loader: string | undefined
  /** The files by which drivers are known to the loader. */
  readonly drivers: ReadonlyArray<string>
  /** Where such files are looked for. */
  readonly places: ReadonlyArray<string>
  /** The variable that names these places, if one is set. */
  readonly variable: string | undefined
}

export interface Machine {
  /** As `process.platform`. */
  readonly platform: string
  readonly arch: string
  /** The system's name, for people. */
  readonly system: string
  /** As `Node 24.21.0`. */
  readonly runtime: string
  /** Whether it can take memory of a driver away from a program, without which there is no OpenCL. */
  readonly canDetach: boolean
  readonly distribution: Distribution | undefined
  readonly isRoot: boolean
  readonly isContainer: boolean
  /** Whether Debian's backports of this release are a source of apt. */
  readonly hasBackports: boolean
  readonly packageManager: PackageManager
  readonly gpus: ReadonlyArray<Vendor>
  /** Files of GPUs that this user may not open. */
  readonly denied: ReadonlyArray<string>
  /** Undefined where the system brings them: only Linux has loaders of its own. */
  readonly vulkan: SystemParts | undefined
  readonly openCl: SystemParts | undefined
  /** The folder of a package that is installed, by its name. */
  readonly packages: Readonly<Record<string, string | undefined>>
}
