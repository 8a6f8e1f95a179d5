/**
 * The facts about this machine that decide which drivers it can have, and how they are installed.
 *
 * @internal
 */

/** Makers of GPUs that need different drivers. */
export type Vendor = "NVIDIA" | "AMD" | "Intel" | "another vendor"

export type PackageManager = "npm" | "pnpm" | "yarn" | "bun" | "deno"

/** The members of /etc/os-release that are used. */
export interface Distribution {
  readonly name: string
  /** Ids such as `debian`: its own first, then those of similar distributions. */
  readonly ids: ReadonlyArray<string>
  /** Such as `12`; undefined for a rolling release. */
  readonly version: string | undefined
  /** Such as `bookworm`. */
  readonly codename: string | undefined
}

/** The parts of the system that a backend needs: files, or a text that says what was found instead. */
export interface SystemParts {
  /** The file of the loader. */
  readonly loader: string | undefined
  /** The files that tell the loader about drivers. */
  readonly drivers: ReadonlyArray<string>
  /** Where the loader looks for such files. */
  readonly places: ReadonlyArray<string>
  /** The variable that names these places, if one is set. */
  readonly variable: string | undefined
}

export interface Machine {
  /** As `process.platform`. */
  readonly platform: string
  readonly arch: string
  /** The system's name in output. */
  readonly system: string
  /** Such as `Node 24.21.0`. */
  readonly runtime: string
  /** Whether it can detach an ArrayBuffer over a driver's memory, which OpenCL needs. */
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
  /** Undefined where the system includes loaders: only on Linux they are installed separately. */
  readonly vulkan: SystemParts | undefined
  readonly openCl: SystemParts | undefined
  /** The folder of a package that is installed, by its name. */
  readonly packages: Readonly<Record<string, string | undefined>>
}
