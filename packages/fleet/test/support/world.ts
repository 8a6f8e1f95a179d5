/**
 * A fleet within the test: hosts on process memory, each behind a network that can stall or break, and a broker that can move. Time is that
 * of the test.
 */
import { Fleet } from "@effect-gpu-pool/fleet"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import * as HostBackend from "effect-gpu-pool/Host"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as RpcClient from "effect/rpc/RpcClient"
import { RpcClientDefect, RpcClientError } from "effect/rpc/RpcClientError"
import type * as RpcGroup from "effect/rpc/RpcGroup"
import * as RpcServer from "effect/rpc/RpcServer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as BrokerLink from "../../src/broker/BrokerLink.ts"
import * as FleetClient from "../../src/client/FleetClient.ts"
import type { FleetMethods } from "../../src/client/FleetMethods.ts"
import type { HostCalls, HostLinks } from "../../src/client/HostLinks.ts"
import type { Handler } from "../../src/FleetJob.ts"
import * as FleetHost from "../../src/host/FleetHost.ts"
import type { HostOptions } from "../../src/host/HostOptions.ts"
import type { HostState } from "../../src/host/HostState.ts"
import * as MembershipLoop from "../../src/host/MembershipLoop.ts"
import { HostRpcs } from "../../src/protocol/HostRpcs.ts"
import * as Timing from "../../src/protocol/Timing.ts"

/** The network of one host. What is sent while it stalls arrives, late, when it no longer does. */
class Network {
  #open = Latch.makeUnsafe(true)
  #broken = Deferred.makeUnsafe<never, RpcClientError>()

  stall(): void {
    this.#open.closeUnsafe()
  }

  heal(): void {
    this.#open.openUnsafe()
  }

  /** Breaks all connections. New ones can be made at once. */
  readonly break = Effect.suspend(() => {
    const broken = this.#broken
    this.#broken = Deferred.makeUnsafe()
    const reason = new RpcClientDefect({ message: "the connection was reset", cause: "a test" })
    return Deferred.fail(broken, new RpcClientError({ reason }))
  })

  /** One direction of a connection: messages arrive in their order, and their senders do not wait for it. */
  readonly direction = Effect.gen({ self: this }, function*() {
    const messages = yield* Queue.unbounded<Effect.Effect<void>>()
    const arrive = Effect.flatMap(Queue.take(messages), (message) => Effect.andThen(this.#open.await, message))
    yield* Effect.forkScoped(Effect.forever(arrive))
    return (message: Effect.Effect<void>): Effect.Effect<void> =>
      Effect.sync(() => Queue.offerUnsafe(messages, message))
  })

  /** A call whose question and answer go through the network. */
  readonly call = <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    this.#open.await.pipe(Effect.andThen(call), Effect.tap(this.#open.await))

  readonly unlessBroken = <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E | RpcClientError, R> =>
    Effect.suspend(() => Effect.raceFirst(call, Deferred.await(this.#broken)))

  readonly streamUnlessBroken = <A, E, R>(stream: Stream.Stream<A, E, R>): Stream.Stream<A, E | RpcClientError, R> =>
    Stream.suspend(() => Stream.interruptWhen(stream, Deferred.await(this.#broken)))
}

type Rpcs = RpcGroup.Rpcs<typeof HostRpcs>
type Server = RpcServer.RpcServer<Rpcs>
type Client = Effect.Success<ReturnType<typeof RpcClient.makeNoSerialization<Rpcs, never>>>

/** A client of a host, through its network. */
const connect = Effect.fnUntraced(function*(network: Network) {
  const toClient = yield* network.direction
  const toServer = yield* network.direction
  const server: Server = yield* RpcServer.makeNoSerialization(HostRpcs, {
    disableFatalDefects: true,
    onFromServer: (response): Effect.Effect<void> => toClient(made.write(response))
  })
  const made: Client = yield* RpcClient.makeNoSerialization(HostRpcs, {
    supportsAck: true,
    onFromClient: ({ message }): Effect.Effect<void> => toServer(server.write(0, message))
  })
  const { client } = made
  return {
    Hold: (payload) => network.streamUnlessBroken(client.Hold(payload)),
    Run: (payload) => network.streamUnlessBroken(client.Run(payload)),
    Read: (payload) => network.streamUnlessBroken(client.Read(payload)),
    Send: (payload) => network.unlessBroken(client.Send(payload)),
    Allocate: (payload) => network.unlessBroken(client.Allocate(payload)),
    Write: (payload) => network.unlessBroken(client.Write(payload)),
    Free: (payload) => network.unlessBroken(client.Free(payload))
  } as HostCalls
})

export interface WorldHost {
  readonly network: Network
  readonly state: HostState
  /** The counters of the pools of its devices, added up. */
  readonly stats: Effect.Effect<PoolStats>
  /** A connection to it. */
  readonly calls: Effect.Effect<HostCalls, never, Scope.Scope>
  /** Runs an effect of the host's own program, beside the fleet. */
  readonly own: <A, E>(effect: Effect.Effect<A, E, BufferPools.BufferPools>) => Effect.Effect<A, E>
  /** Closes its layer: it drains. */
  readonly close: Effect.Effect<void>
}

export interface World {
  readonly host: (name: string) => WorldHost
  /** Starts one more host, or a second process of one that is gone. */
  readonly start: (options: HostOptions) => Effect.Effect<WorldHost, unknown>
  /** The broker ends, and another one begins that knows nothing. */
  readonly failOver: Effect.Effect<void>
  readonly fleet: FleetMethods
  readonly timing: Timing.Timing
}

export interface WorldOptions {
  readonly hosts: ReadonlyArray<HostOptions>
  readonly timing?: Timing.Options | undefined
  /** The limit of each device's pool. */
  readonly poolBytes?: number | undefined
}

/** Brokers, one after the other. A call to one that has been replaced is made again to the next, as in a cluster. */
const brokers = Effect.fnUntraced(function*(timing: Timing.Timing) {
  // It closes after the hosts, whichever broker is the last.
  const scope = yield* Scope.fork(yield* Effect.scope)
  const begin = (recovery: number) =>
    Effect.map(Scope.provide(BrokerLink.local(timing, recovery), scope), (link) => ({
      link,
      ended: Deferred.makeUnsafe<void>()
    }))
  let current = yield* begin(0)
  const call = <A, E>(f: (link: BrokerLink.BrokerLink) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const { ended, link } = current
      return Effect.raceFirst(Effect.asSome(f(link)), Effect.as(Deferred.await(ended), Option.none<A>()))
    }).pipe(Effect.flatMap(Option.match({ onNone: () => call(f), onSome: Effect.succeed })))
  const link = (through: Network): BrokerLink.BrokerLink => ({
    join: (join) => through.call(call((broker) => broker.join(join))),
    report: (report) => through.call(call((broker) => broker.report(report))),
    leave: (host, epoch) => through.call(call((broker) => broker.leave(host, epoch))),
    place: (place) => through.call(call((broker) => broker.place(place))),
    cancel: (id) => through.call(call((broker) => broker.cancel(id))),
    status: through.call(call((broker) => broker.status))
  })
  const failOver = Effect.gen(function*() {
    const { ended } = current
    current = yield* begin(3 * timing.heartbeat)
    yield* Deferred.succeed(ended, undefined)
  })
  return { link, failOver }
})

let incarnations = 0

/** A world that ends with the scope. */
export const make = Effect.fnUntraced(function*(options: WorldOptions) {
  const timing = yield* Timing.make(options.timing)
  const pool = options.poolBytes === undefined ? undefined : { pool: { maxBytes: options.poolBytes } }
  const outer = yield* Effect.scope
  const { failOver, link } = yield* brokers(timing)
  const hosts = new Map<string, WorldHost>()
  const calls: Array<Effect.Effect<HostCalls, never, Scope.Scope>> = []

  const start = Effect.fnUntraced(function*(host: HostOptions) {
    const scope = yield* Scope.fork(outer)
    const network = new Network()
    const pools = yield* Layer.buildWithScope(Layer.fresh(BufferPools.layer(() => HostBackend.layer(), pool)), scope)
    const made = yield* Effect.provideContext(FleetHost.make(host, timing), pools)
    const handlers = yield* Effect.provideContext(HostRpcs.toHandlers(Effect.succeed(made.handlers)), pools)
    const context = Context.merge(pools, handlers)
    const connection = Effect.provideContext(connect(network), context)
    const port = calls.push(connection) - 1
    yield* MembershipLoop.stay({
      ...made,
      broker: link(network),
      address: { host: "test", port },
      incarnation: String(++incarnations)
    }).pipe(Scope.provide(scope))
    const started: WorldHost = {
      network,
      state: made.state,
      calls: connection,
      own: (effect) => Effect.provideContext(effect, pools),
      stats: Effect.map(Context.get(pools, BufferPools.BufferPools).stats, ({ total }) => total.buffers),
      close: Scope.close(scope, Exit.void)
    }
    hosts.set(host.host, started)
    return started
  })

  for (const host of options.hosts) yield* start(host)
  const links: HostLinks = { connect: ({ port }) => calls[port]!, failed: () => Effect.void }
  const world: World = {
    host: (name) => hosts.get(name)!,
    start,
    failOver,
    fleet: FleetClient.make(link(new Network()), links, timing),
    timing
  }
  return world
})

/** One device of so many bytes on each host. */
export const hostOf = (host: string, maxBytes: number, jobs: ReadonlyArray<Handler> = []): HostOptions => ({
  host,
  devices: { "0": { maxBytes } },
  jobs
})

/** The fleet of a world as a service. */
export const fleetOf = (world: World) => Layer.succeed(Fleet.Fleet, world.fleet)
