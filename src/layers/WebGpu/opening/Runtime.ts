/**
 * Where the program runs.
 *
 * @internal
 */
/** What is known of the place where the program runs. */
export interface Runtime {
  /** Whether it is Node, or another runtime that has Node's packages, and no page or worker of a browser. */
  readonly isNode: boolean
  /** What it calls itself. */
  readonly name: string | undefined
  /** `false` for a page that was not loaded over https or from this machine. */
  readonly isSecureContext: boolean | undefined
  /** Where a page comes from. */
  readonly origin: string | undefined
}

interface Globals {
  readonly navigator?: { readonly userAgent?: unknown; readonly gpu?: unknown }
  readonly process?: { readonly versions?: { readonly node?: unknown } }
  readonly isSecureContext?: unknown
  readonly location?: { readonly origin?: unknown }
}

const textOf = (value: unknown): string | undefined => typeof value === "string" && value !== "" ? value : undefined

export const currentRuntime = (globals: Globals = globalThis as Globals): Runtime => ({
  isNode: textOf(globals.process?.versions?.node) !== undefined,
  name: textOf(globals.navigator?.userAgent),
  isSecureContext: typeof globals.isSecureContext === "boolean" ? globals.isSecureContext : undefined,
  origin: textOf(globals.location?.origin)
})
