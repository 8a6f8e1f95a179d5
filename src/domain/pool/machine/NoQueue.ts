/**
 * The wait queue of a memory whose requests never wait, which is always empty.
 *
 * @internal
 */
import type { MakeQueue, PoolState } from "./PoolState.ts"
import type { Account, Queue, Request } from "./Request.ts"

class NoQueue implements Queue {
  readonly length = 0
  readonly atWork = 0
  readonly isRefused = false
  readonly leastBytes = Infinity
  readonly jobs = undefined
  readonly account: Account
  readonly #state: PoolState

  constructor(account: Account, state: PoolState) {
    this.account = account
    this.#state = state
  }

  enter(): never {
    throw new Error("PoolMachine: a request would wait, in a memory without a wait queue")
  }

  tryNow(request: Request): boolean {
    return this.#state.isAnswered(request, this.account) || this.account.serve(request) !== undefined
  }

  holdsBack(): boolean {
    return false
  }

  hasOthersAtWork(): boolean {
    return false
  }

  hasRoomFor(): boolean {
    return false
  }

  parked(): ReadonlyArray<never> {
    return []
  }

  changes(): number {
    return 0
  }

  serve(): void {}
  served(): void {}
  keepPlace(): void {}
  countAtWork(): void {}
  leave(): void {}
  limitJobs(): void {}
  promote(): void {}
  end(): void {}
  endRequest(): void {}
}

export const noQueue: MakeQueue = (account, state) => new NoQueue(account, state)
