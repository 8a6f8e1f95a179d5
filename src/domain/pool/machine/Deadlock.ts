/**
 * Deadlocks: which requests can only be served by each other's memory, and which of them have to fail so that the others can be
 * served. Both are functions of a view of the state.
 *
 * A holding is stuck when a stuck request has one of its keys. A request is stuck when only stuck holdings can give
 * anything back to its queue. The search takes all waiting requests for stuck, and removes those that are not, again and again. The rest
 * are in a deadlock.
 *
 * @since 0.1.0
 */

/**
 * Connects a holding with the requests of its owner: the id of a fiber, a scope, an allocation in use, a reservation, a request.
 *
 * @category models
 * @since 0.1.0
 */
export type Key = number | object

/**
 * Where requests wait. In the queue of exclusive sections, the running section counts as one byte.
 *
 * @category models
 * @since 0.1.0
 */
export interface Queue {
  /** Bytes that may come back to it: leased, pending, reserved or charged. */
  readonly countedBytes: number
  /** Bytes that its requests could have now; 0 where the driver has refused, since nobody knows then. */
  readonly roomBytes: number
}

/**
 * Memory that comes back when a job ends: a lease, a reservation, or what a waiting request has drawn or is charged with.
 *
 * @category models
 * @since 0.1.0
 */
export interface Holding<Q extends Queue = Queue> {
  /** Its owners: it comes back at the latest when they end. */
  readonly keys: ReadonlyArray<Key>
  /** How many bytes come back to which queue. */
  readonly bytes: ReadonlyArray<readonly [queue: Q, bytes: number]>
  /** Its position in the order of all leases of the memory; `undefined` for a holding that does not count for the age of its job. */
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
  /** Its position in the order in which requests came to wait. */
  readonly arrival: number
  /** Whether it may fail for a deadlock. One with a time limit may not: it ends by itself. */
  readonly mayFail: boolean
}

/**
 * The part of the state that decides about deadlocks. Requests whose jobs have nothing may be left out.
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
  /** The sequence number of its oldest holding; Infinity if no holding has one. */
  readonly age: number
  /** The latest first. */
  readonly requests: ReadonlyArray<W>
  readonly holdings: ReadonlyArray<H>
}

/**
 * The jobs in a deadlock, and the requests that fail to end it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Resolution<H extends Holding, W extends Waiting> {
  /** One request of each job that fails. */
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
 * The search for deadlocks in one view.
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

  /** The holdings of a request's job; each comes once for every key that the two share. */
  *#holdingsOf({ keys }: W): Iterable<H> {
    for (const key of keys) yield* this.#ofKey.get(key) ?? []
  }

  /**
   * The requests in a deadlock, among those for which `mayBe` holds. It visits each request and each holding at most twice for each
   * key that they share.
   */
  find(mayBe: (request: W) => boolean = () => true): ReadonlyArray<W> {
    const { queues, waiting } = this.#view
    const inQueue = new Map<Q, Array<W>>()
    /** How many keys each holding shares with stuck requests. */
    const stuck = new Map<H, number>()
    const stuckBytes = new Map<Q, number>()
    for (const request of waiting) {
      if (!mayBe(request)) continue
      append(inQueue, request.queue, request)
      for (const holding of this.#holdingsOf(request)) {
        if (sum(stuck, holding, 1) === 1) { for (const [queue, bytes] of holding.bytes) sum(stuckBytes, queue, bytes) }
      }
    }
    const left = new Set(queues)
    const toCheck = Array.from(queues)
    for (let queue = toCheck.pop(); queue !== undefined; queue = toCheck.pop()) {
      if (!left.has(queue) || queue.countedBytes <= (stuckBytes.get(queue) ?? 0)) continue
      left.delete(queue)
      for (const request of inQueue.get(queue) ?? []) {
        for (const holding of this.#holdingsOf(request)) {
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
    return Array.from(new Set(this.#holdingsOf(request)))
  }

  /**
   * Which of the stuck requests fail: those of as few jobs as let all others be served, the youngest where there is a choice. The
   * oldest of several jobs never fails, so it gets all that it needs in the end. `mostLeft` says how many of the jobs that have memory
   * of a queue may keep it.
   */
  resolve(stuck: ReadonlyArray<W>, mostLeft: (queue: Q, jobs: number) => number = () => Infinity): Resolution<H, W> {
    const jobs = this.#jobsOf(stuck)
    const most = new Map(Array.from(having(jobs), ([queue, count]) => [queue, mostLeft(queue, count)]))
    const failing = (requests: ReadonlyArray<W>) => requests.filter(({ mayFail }) => mayFail).slice(0, 1)
    // No job has anything, so nothing can come back: one request fails, rather than that all wait for ever.
    if (jobs.length === 0) return { jobs, victims: failing(stuck) }
    return { jobs, victims: victimsAmong(this.#view.queues, jobs, most).flatMap(({ requests }) => failing(requests)) }
  }

  /** Requests that share their oldest holding are one job. A request without one is a job of its own if it is charged with anything. */
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

/** Above this many combinations of jobs and victims, the search does not try to spare single victims. */
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
  // The more jobs fail, the more of the others are served. Mostly few are enough, so the search doubles from one.
  let [tooFew, enough] = [0, 1]
  while (!isEnough(first(enough))) {
    // Even all are not enough: nobody knows what the others lack, or they wait for jobs that end by themselves. Fail one at a time.
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
  // Spares victims that are not needed, the oldest first.
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

/** Whether the number of jobs that have memory which a queue waits for is within its limit, for every queue. */
const areFew = <Q extends Queue>(
  jobs: ReadonlyArray<StuckJob<Holding<Q>, Waiting<Q>>>,
  most: ReadonlyMap<Q, number>
): boolean =>
  most.size === 0 || Array.from(having<Q>(jobs)).every(([queue, count]) => count <= (most.get(queue) ?? Infinity))

/** The queues that wait for any of these holdings. */
const queuesOf = <Q extends Queue>(holdings: ReadonlyArray<Holding<Q>>): ReadonlySet<Q> =>
  new Set(holdings.flatMap(({ bytes }) => bytes.flatMap(([queue, some]) => some > 0 ? [queue] : [])))

/**
 * Whether all jobs get what they wait for, one after the other, once the memory of the victims has come back. It assumes that a job
 * ends, and gives back all it has, when it gets what it waits for: nobody knows what else it would ask for.
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
  // Iteration of a Set includes what is added meanwhile.
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
