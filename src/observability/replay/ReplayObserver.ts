/**
 * Hears what a replayed memory does: it counts, and tells it under the numbers of the recording.
 *
 * @internal
 */
import type { ChargedBudget, Origin } from "../../domain/pool/machine/Reservation.ts"
import type { FreeReason, GaveUp, Released } from "../../domain/pool/PoolEvent.ts"
import type { MachineRequest, Told } from "./MachineRequest.ts"
import type { MemoryObserver } from "./ReplayedMemory.ts"
import type { ReplayedBlock, ReplayedLease, ReplayedSource } from "./ReplayedSource.ts"
import type { RowEmitter } from "./RowEmitter.ts"
import type { Tally } from "./Tally.ts"

export class ReplayObserver implements MemoryObserver {
  /** The memory, which counts its events of no request. */
  readonly #memory: { toldOfNone: number }
  readonly #tally: Tally
  /** Those that have said that they wait, and not that they do no more. */
  readonly #waiting = new WeakSet<MachineRequest>()
  /** Writes events, if they are wanted. */
  readonly #rows: RowEmitter | undefined

  constructor(memory: { toldOfNone: number }, tally: Tally, rows: RowEmitter | undefined) {
    this.#memory = memory
    this.#tally = tally
    this.#rows = rows
  }

  #tellOf({ replayed }: MachineRequest): void {
    replayed.told++
  }

  #tellOfMemory(): void {
    this.#memory.toldOfNone++
  }

  /** A hit makes no request. */
  hit(replayed: Told, lease: ReplayedLease, block: ReplayedBlock, from: Origin): void {
    replayed.told++
    this.#tally.leased(replayed.asked, block.capacity, from)
    this.#rows?.hitOf(replayed, lease, block, from)
  }

  leased(request: MachineRequest, block: ReplayedBlock, from: Origin): void {
    this.#tellOf(request)
    this.#tally.leased(request.replayed.asked, block.capacity, from)
    this.#rows?.leased(request, block, from)
  }

  driverAsked(request: MachineRequest, capacity: number): void {
    this.#tellOf(request)
    this.#rows?.driverAsked(request, capacity)
  }

  kept(request: MachineRequest, block: ReplayedBlock): void {
    this.#tellOf(request)
    this.#tally.kept(block.capacity)
    this.#rows?.kept(request, block)
  }

  released(lease: ReplayedLease, block: ReplayedBlock, why: Released["why"]): void {
    this.#tellOfMemory()
    this.#tally.released(lease.size)
    this.#rows?.released(lease, block, why)
  }

  freed(block: ReplayedBlock, why: FreeReason): void {
    this.#tellOfMemory()
    this.#tally.freed(block.capacity, why)
    this.#rows?.freed(block, why)
  }

  reclaimed(): void {
    this.#tellOfMemory()
    this.#rows?.reclaimed()
  }

  refused(request: MachineRequest, capacity: number, why: string): void {
    this.#tellOf(request)
    this.#tally.refusals++
    this.#rows?.refused(request, capacity, why)
  }

  roomNeeded(request: MachineRequest, missing: number): void {
    this.#tellOf(request)
    this.#rows?.roomNeeded(request, missing)
  }

  gaveUp(request: MachineRequest, why: GaveUp["why"]): void {
    this.#tellOf(request)
    this.#rows?.gaveUp(request, why)
  }

  waiting(request: MachineRequest): void {
    this.#tellOf(request)
    if (!this.#waiting.has(request)) this.#tally.waiting(request.replayed.asked)
    this.#waiting.add(request)
    this.#rows?.waiting(request)
  }

  waited(request: MachineRequest, served: boolean): void {
    if (!this.#waiting.delete(request)) return
    this.#tellOf(request)
    this.#tally.waited(request.replayed.asked)
    this.#rows?.waited(request, served)
  }

  reserved(request: MachineRequest): void {
    this.#tellOf(request)
    this.#rows?.reserved(request)
  }

  reservationEnded(request: MachineRequest): void {
    this.#tellOf(request)
    this.#rows?.reservationEnded(request)
  }

  handlersAsked(request: MachineRequest, freed: boolean): void {
    this.#tellOf(request)
    this.#rows?.handlersAsked(request, freed)
  }

  ranOut(request: MachineRequest, rungs: Iterable<string>): void {
    this.#tellOf(request)
    this.#rows?.ranOut(request, rungs)
  }

  limitChanged(budget: ChargedBudget | undefined, from: number, to: number): void {
    this.#tellOfMemory()
    this.#rows?.limitChanged(budget, from, to)
  }

  trimAsked(to: number | undefined, queue: string | undefined): void {
    this.#tellOfMemory()
    this.#rows?.trimAsked(to, queue)
  }

  holdingChanged(holds: boolean): void {
    this.#tellOfMemory()
    this.#rows?.holdingChanged(holds)
  }

  idleStep(steps: number): void {
    this.#tellOfMemory()
    this.#rows?.idleStep(steps)
  }

  lost(): void {
    this.#tellOfMemory()
    this.#rows?.lost()
  }

  closing(source: ReplayedSource | undefined, pool: ChargedBudget | undefined): void {
    this.#tellOfMemory()
    this.#rows?.closing(source, pool)
  }

  closed(): void {
    this.#tellOfMemory()
    this.#rows?.closed()
  }
}
