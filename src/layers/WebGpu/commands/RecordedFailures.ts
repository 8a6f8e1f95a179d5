/**
 * Failures of work that was recorded or written earlier, kept until the next finish or read reports them, once.
 *
 * @internal
 */
import type { GpuError } from "../../../domain/GpuError.ts"
import { driverError, type ScopedFailure } from "./ErrorScopes.ts"

interface Failed {
  readonly call: string
  readonly failures: ReadonlyArray<ScopedFailure>
  readonly commands: ReadonlyArray<string>
}

export class RecordedFailures {
  #failed: Array<Failed> = []
  readonly #pending = new Set<Promise<void>>()

  add(failed: Failed): void {
    this.#failed.push(failed)
  }

  /** Follows the scopes of a call; `onFailure` runs only when something failed, and names the commands. */
  follow(call: string, scopes: Promise<ReadonlyArray<ScopedFailure>>, onFailure: () => ReadonlyArray<string>): void {
    const settled = this.#decide(call, scopes, onFailure)
    this.#pending.add(settled)
    void settled.then(() => this.#pending.delete(settled))
  }

  async #decide(
    call: string,
    scopes: Promise<ReadonlyArray<ScopedFailure>>,
    onFailure: () => ReadonlyArray<string>
  ): Promise<void> {
    const failures = await scopes
    if (failures.length > 0) this.add({ call, failures, commands: onFailure() })
  }

  /** Resolves when everything followed so far has been decided. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending)
  }

  /** Everything that failed since the last call, as one error. */
  take(): GpuError | undefined {
    const failed = this.#failed
    if (failed.length === 0) return undefined
    this.#failed = []
    return driverError(
      failed[0]!.call,
      failed.flatMap(({ failures }) => failures),
      failed.flatMap(({ commands }) => commands)
    )
  }
}
