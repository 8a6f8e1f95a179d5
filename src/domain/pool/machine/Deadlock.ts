/**
 * Deadlocks of jobs that have memory and wait for memory of each other: which requests can only be served by each other's
 * memory, and which of them have to fail so that the others go on. Both are functions of a view of the state.
 *
 * A holding is stuck when a stuck request has one of its keys. A request is stuck when only stuck holdings can give
 * anything back to its queue. The requests that are left when all others are removed, again and again, are in a deadlock.
 *
 * @since 0.1.0
 */

/**
 * What tells who has memory and who waits: the id of a fiber, a scope, a memory that is used, a reservation, a request.
 *
 * @category models
 * @since 0.1.0
 */
export type Key = number | object

/**
 * Where requests wait. Bytes count what they wait for; a queue for a turn counts a turn as one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Queue {
  /** Bytes that may come back to it: leased, pending, reserved or charged. */
  readonly countedBytes: number
  /** Bytes that its requests could have now. Where the driver has refused nobody knows, and it is 0. */
  readonly roomBytes: number
}

/**
 * Memory that comes back when a job ends: a lease, a reservation, or what a waiting request is charged with.
 *
 * @category models
 * @since 0.1.0
 */
export interface Holding<Q extends Queue = Queue> {
  /** Who has it: it comes back at the latest when they end. */
  readonly keys: ReadonlyArray<Key>
  /** How many bytes come back to which queue. */
  readonly bytes: ReadonlyArray<readonly [queue: Q, bytes: number]>
  /** Its place among all leases of the memory; `undefined` for what makes no job older. */
  readonly sequence: number | undefined
}

/**
 * A request that does nothing but wait.
 *
 * @category models
 * @since 0.1.0
 */
export interface Waiting<Q extends Queue = Queue> {
  readonly queue: Q
  readonly keys: ReadonlyArray<Key>
  /** Bytes that it lacks. */
  readonly bytes: number
  /** Its place among all requests. */
  readonly arrival: number
  /** Whether it may fail for a deadlock: one that ends by itself after some time does not. */
  readonly mayFail: boolean
}

/**
 * The state, as far as deadlocks are a function of it. Requests that have nothing may be left out.
 *
 * @category models
 * @since 0.1.0
 */
export interface View<Q extends Queue, H extends Holding<Q>, W extends Waiting<Q>> {
  readonly queues: ReadonlyArray<Q>
  readonly holdings: ReadonlyArray<H>
  readonly waiting: ReadonlyArray<W>
}

/**
 * The waiting requests of one job, and what it has.
 *
 * @category models
 * @since 0.1.0
 */
export interface StuckJob<H extends Holding, W extends Waiting> {
  /** The sequence number of its oldest holding; Infinity if nothing tells. */
  readonly age: number
  /** The one that came last is the first. */
  readonly requests: ReadonlyArray<W>
  readonly holdings: ReadonlyArray<H>
}

/**
 * What is in a deadlock, and how it ends.
 *
 * @category models
 * @since 0.1.0
 */
export interface Resolution<H extends Holding, W extends Waiting> {
  /** Of each job that fails, the request that fails. */
  readonly victims: ReadonlyArray<W>
  /** All jobs that have memory which others wait for, the youngest first. */
  readonly jobs: ReadonlyArray<StuckJob<H, W>>
}

/** Adds a value to those that a key has. */
const append = <K, V>(map: Map<K, Array<V>>, key: K, value: V): void => {
  const values = map.get(key)
  if (values === undefined) map.set(key, [value])
  else values.push(value)
}

const sum = <K>(map: Map<K, number>, key: K, more: number): number => {
  const value = (map.get(key) ?? 0) + more
  map.set(key, value)
  return value
}

const byKeys = <H extends Holding>(holdings: ReadonlyArray<H>): ReadonlyMap<Key, ReadonlyArray<H>> => {
  const index = new Map<Key, Array<H>>()
  for (const holding of holdings) for (const key of holding.keys) append(index, key, holding)
  return index
}

/**
 * A view that is searched: every key leads to its holdings.
 *
 * @category models
 * @since 0.1.0
 */
export class Deadlocks<Q extends Queue, H extends Holding<Q>, W extends Waiting<Q>> {
  readonly #view: View<Q, H, W>
  readonly #ofKey: ReadonlyMap<Key, ReadonlyArray<H>>

  constructor(view: View<Q, H, W>) {
    this.#view = view
    this.#ofKey = byKeys(view.holdings)
  }

  /** Each holding of a request, once for every key that they share. */
  *#roundToType({ keys }: W): Iterable<H> {
    for (const key of keys) yield* this.#ofKey.get(key) ?? []
  }

  /**
   * The requests that wait for each other, among those that may. Each request and each holding is looked at twice at most for each key
   * that they share.
   */
  find(mayBe: (request: W) => boolean = () => true): ReadonlyArray<W> {
    const { queues, waiting } = this.#view
    const inQueue = new Map<Q, Array<W>>()
    /** How many stuck requests have a key of the holding. */
    const stuck = new Map<H, number>()
    const stuckBytes = new Map<Q, number>()
    for (const request of waiting) {
      if (!mayBe(request)) continue
      append(inQueue, request.queue, request)
      for (const holding of this.#roundToType(request)) {
        if (sum(stuck, holding, 1) === 1) { for (const [queue, bytes] of holding.bytes) sum(stuckBytes, queue, bytes) }
      }
    }
    const left = new Set(queues)
    const toCheck = Array.from(queues)
    for (let queue = toCheck.pop(); queue !== undefined; queue = toCheck.pop()) {
      if (!left.has(queue) || queue.countedBytes <= (stuckBytes.get(queue) ?? 0)) continue
      left.delete(queue)
      for (const request of inQueue.get(queue) ?? []) {
        for (const holding of this.#roundToType(request)) {
          if (sum(stuck, holding, -1) > 0) continue
          for (const [other, bytes] of holding.bytes) {
            sum(stuckBytes, other, -bytes)
            toCheck.push(other)
          }
        }
      }
    }
    return Array.from(left).flatMap((queue) => inQueue.get(queue) ?? [])
  }

  /** What comes back when the job of a request ends. */
  holdingsOf(request: W): ReadonlyArray<H> {
    return Array.from(new Set(this.#roundToType(request)))
  }

  /**
   * Which of the stuck requests fail: as few jobs as let all others go on, the youngest where that is a choice, and never the
   * oldest of several, which at last gets all that it needs. `mostLeft` says how many of the jobs that have memory of a queue may
   * keep it.
   */
  resolve(stuck: ReadonlyArray<W>, mostLeft: (queue: Q, jobs: number) => number = () => Infinity): Resolution<H, W> {
    const jobs = this.#jobsOf(stuck)
    const most = new Map(Array.from(having(jobs), ([queue, count]) => [queue, mostLeft(queue, count)]))
    const failing = (requests: ReadonlyArray<W>) => requests.filter(({ mayFail }) => mayFail).slice(0, 1)
    // Where nobody has anything they wait for nothing, and must not wait for ever.
    if (jobs.length === 0) return { jobs, victims: failing(stuck) }
    return { jobs, victims: victimsAmong(this.#view.queues, jobs, most).flatMap(({ requests }) => failing(requests)) }
  }

  /** Those that share their oldest holding are one job; one that has none is a job by what it is charged with. */
  #jobsOf(stuck: ReadonlyArray<W>): ReadonlyArray<StuckJob<H, W>> {
    const jobs = new Map<H | W, { age: number; requests: Array<W>; holdings: Set<H> }>()
    for (const request of stuck) {
      const holdings = this.holdingsOf(request)
      const oldest = holdings.reduce<H | undefined>((one, other) => isOlder(other, one) ? other : one, undefined)
      if (oldest === undefined && holdings.every(({ bytes }) => bytes.every(([, some]) => some === 0))) continue
      const key = oldest ?? request
      const job = jobs.get(key) ?? { age: oldest?.sequence ?? Infinity, requests: [], holdings: new Set() }
      jobs.set(key, job)
      job.requests.push(request)
      for (const holding of holdings) job.holdings.add(holding)
    }
    const last = ({ requests }: { readonly requests: ReadonlyArray<W> }) => requests[0]!.arrival
    return Array.from(jobs.values(), ({ age, holdings, requests }) => ({
      age,
      holdings: Array.from(holdings),
      requests: requests.sort((a, b) => b.arrival - a.arrival)
    })).sort((a, b) => a.age === b.age ? last(b) - last(a) : b.age - a.age)
  }
}

const isOlder = (one: Holding, other: Holding | undefined): boolean =>
  one.sequence !== undefined && (other?.sequence === undefined || one.sequence < other.sequence)

/** So many jobs are looked at, at most, for victims that the others could do without. */
const mostLooks = 100_000

const victimsAmong = <Q extends Queue, H extends Holding<Q>, W extends Waiting<Q>>(
  queues: ReadonlyArray<Q>,
  jobs: ReadonlyArray<StuckJob<H, W>>,
  most: ReadonlyMap<Q, number>
): ReadonlyArray<StuckJob<H, W>> => {
  const mayFail = jobs.filter(({ requests }, index) =>
    (jobs.length === 1 || index < jobs.length - 1) && requests.some(({ mayFail }) => mayFail)
  )
  if (mayFail.length <= 1) return mayFail
  const isEnough = (victims: ReadonlySet<StuckJob<H, W>>): boolean => {
    const others = jobs.filter((job) => !victims.has(job))
    return areFew<Q>(others, most) && goOn<Q>(queues, others, victims)
  }
  const first = (count: number) => new Set(mayFail.slice(0, count))
  // The more of them fail, the more of the others go on; mostly few are enough.
  let [tooFew, enough] = [0, 1]
  while (!isEnough(first(enough))) {
    // What the others lack nobody knows, or they wait for jobs that end by themselves: one at a time.
    if (enough === mayFail.length) return most.size === 0 ? mayFail.slice(0, 1) : victimsAmong(queues, jobs, new Map())
    tooFew = enough
    enough = Math.min(2 * enough, mayFail.length)
  }
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2)
    if (isEnough(first(middle))) enough = middle
    else tooFew = middle
  }
  const victims = first(enough)
  if (enough === 1 || enough * jobs.length > mostLooks) return Array.from(victims)
  // The oldest of them is spared first.
  for (let index = enough - 1; index >= 0; index--) {
    const victim = mayFail[index]!
    victims.delete(victim)
    if (victims.size === 0 || !isEnough(victims)) victims.add(victim)
  }
  return mayFail.filter((job) => victims.has(job))
}

/**
 * How many jobs have memory that a queue waits for.
 *
 * @category functions
 * @since 0.1.0
 */
export const having = <Q extends Queue>(
  jobs: ReadonlyArray<StuckJob<Holding<Q>, Waiting<Q>>>
): ReadonlyMap<Q, number> => {
  const counts = new Map<Q, number>()
  for (const { holdings } of jobs) for (const queue of queuesOf(holdings)) sum(counts, queue, 1)
  return counts
}

/** Whether no more jobs than may have memory that a queue waits for. */
const areFew = <Q extends Queue>(
  jobs: ReadonlyArray<StuckJob<Holding<Q>, Waiting<Q>>>,
  most: ReadonlyMap<Q, number>
): boolean =>
  most.size === 0 || Array.from(having<Q>(jobs)).every(([queue, count]) => count <= (most.get(queue) ?? Infinity))

/** The queues that wait for some of it. */
const queuesOf = <Q extends Queue>(holdings: ReadonlyArray<Holding<Q>>): ReadonlySet<Q> =>
  new Set(holdings.flatMap(({ bytes }) => bytes.flatMap(([queue, some]) => some > 0 ? [queue] : [])))

/**
 * Whether jobs get what they wait for, one after the other, when the memory of the victims has come back. A job that has it
 * ends and gives back what it had: what it would ask for after that nobody knows.
 */
const goOn = <Q extends Queue>(
  queues: ReadonlyArray<Q>,
  jobs: ReadonlyArray<StuckJob<Holding<Q>, Waiting<Q>>>,
  victims: ReadonlySet<StuckJob<Holding<Q>, Waiting<Q>>>
): boolean => {
  const room = new Map(queues.map((queue) => [queue, queue.roomBytes]))
  const inQueue = new Map<Q, Array<readonly [bytes: number, job: StuckJob<Holding<Q>, Waiting<Q>>]>>()
  const missing = new Map<object, number>()
  for (const job of jobs) {
    missing.set(job, job.requests.length)
    for (const { bytes, queue } of job.requests) append(inQueue, queue, [bytes, job])
  }
  for (const waiting of inQueue.values()) waiting.sort(([a], [b]) => b - a)
  const toServe = new Set(queues)
  const over = new Set<Holding<Q>>()
  const end = ({ holdings }: StuckJob<Holding<Q>, Waiting<Q>>): void => {
    for (const holding of holdings) {
      if (over.has(holding)) continue
      over.add(holding)
      for (const [queue, some] of holding.bytes) {
        sum(room, queue, some)
        toServe.add(queue)
      }
    }
  }
  for (const victim of victims) end(victim)
  // A set goes on to what is added meanwhile.
  for (const queue of toServe) {
    toServe.delete(queue)
    const waiting = inQueue.get(queue) ?? []
    for (let next = waiting.at(-1); next !== undefined && next[0] <= room.get(queue)!; next = waiting.at(-1)) {
      waiting.pop()
      if (sum(missing, next[1], -1) > 0) continue
      missing.delete(next[1])
      end(next[1])
    }
  }
  return missing.size === 0
}
