/**
 * Where the pools on one limited allocator hear of each other.
 *
 * @internal
 */
import type { Watched } from "./Standstill.ts"

/** A memory whose blocks come from the allocator. */
interface Member extends Watched {
  /** Whether requests wait for it. */
  readonly hasWaiters: boolean
  /** Driver calls that ended without a block. */
  readonly refusals: number
  /** Frees held blocks until so many bytes have come back, or nothing is held. */
  readonly evictFor: (bytes: number) => void
  /** Memory came back that another member, or somebody else, had of the allocator. */
  readonly hear: () => void
  /** Requests begin to wait for another member, or none does any more: it tells of what comes back to it meanwhile. */
  readonly listen: () => void
}

/** @internal */
export class SharedLimit {
  readonly members = new Set<Member>()
  /** Bytes of the limit that are allocated, or asked of the driver. */
  readonly usedBytes: () => number
  /** What comes back now is taken again, or came from the same hands. */
  #isQuiet = false

  constructor(usedBytes: () => number) {
    this.usedBytes = usedBytes
  }

  join(member: Member): void {
    this.members.add(member)
  }

  leave(member: Member): void {
    this.members.delete(member)
    this.listen()
  }

  others(member: Member): ReadonlyArray<Member> {
    return Array.from(this.members).filter((other) => other !== member)
  }

  get hasWaiters(): boolean {
    for (const { hasWaiters } of this.members) if (hasWaiters) return true
    return false
  }

  listen(): void {
    for (const member of this.members) member.listen()
  }

  /** Something came back. */
  tell(): void {
    if (this.#isQuiet) return
    for (const member of this.members) if (member.hasWaiters) member.hear()
  }

  /** How many requests of the others were refused. */
  refusalsBeside(member: Member): number {
    return this.others(member).reduce((sum, { refusals }) => sum + refusals, 0)
  }

  /**
   * An attempt of a member came to nothing, and gives back what it had. It matters only to those that were refused since:
   * two that try in turn would wake each other for ever.
   */
  giveUp<A>(member: Member, refusalsBefore: number, giveBack: () => A): A {
    const given = this.#quietly(giveBack)
    if (this.refusalsBeside(member) !== refusalsBefore) this.tell()
    return given
  }

  /** Held blocks give way until `missing` says that nothing is missing. Whoever asks takes them: nobody is told. */
  makeRoom(missing: () => number): void {
    this.#quietly(() => {
      for (const member of this.members) if (missing() > 0) member.evictFor(missing())
    })
  }

  #quietly<A>(f: () => A): A {
    const isQuiet = this.#isQuiet
    this.#isQuiet = true
    try {
      return f()
    } finally {
      this.#isQuiet = isQuiet
    }
  }
}

/** A property, so that decorators which take over what they do not change take it over too. */
const key: unique symbol = Symbol("effect-gpu-pool/SharedLimit")

/**
 * Lets the pools on an allocator hear of each other.
 *
 * @internal
 */
export const share = <A extends object>(allocator: A, limit: SharedLimit): A =>
  Object.assign(allocator, { [key]: limit })

/**
 * Where the pools on an allocator hear of each other, if it has a limit.
 *
 * @internal
 */
export const sharedBy = (allocator: object): SharedLimit | undefined =>
  (allocator as { readonly [key]?: SharedLimit })[key]
