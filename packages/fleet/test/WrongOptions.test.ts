/** What a fleet refuses of programs: each wrong option or argument is InvalidRequest, which names it, its value and what to do. */
import { DurableJob, Fleet, FleetJob, FleetModel, FleetStorage, Timing } from "@effect-gpu-pool/fleet"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import { GpuError, isGpuError } from "effect-gpu-pool/GpuError"
import * as Host from "effect-gpu-pool/Host"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { hostOf, make } from "./support/world.ts"

/** A value of another type than its parameter has, as programs in JavaScript and parsed files pass. */
const wrong = <A>(value: unknown): A => value as A

/** The message of an InvalidRequest. A defect, another reason, and a call that throws or succeeds fail the test. */
const problemOf = <A, E, R>(call: () => Effect.Effect<A, E, R>): Effect.Effect<string, A, R> =>
  Effect.map(Effect.flip(Effect.suspend(call)), (error) => {
    if (!isGpuError(error)) throw new Error(`no GpuError: ${String(error)}`)
    strictEqual(error.reason._tag, "InvalidRequest", error.message)
    return error.message
  })

type Case<R> = readonly [what: string, call: () => Effect.Effect<unknown, unknown, R>, says: RegExp]

const all = <R>(cases: ReadonlyArray<Case<R>>) =>
  Effect.forEach(
    cases,
    ([what, call, says]) => Effect.map(problemOf(call), (message) => assert.match(message, says, what)),
    { discard: true }
  )

const Echo = FleetJob.make("Echo", { input: Schema.Int, output: Schema.Int, bytes: 4 })
let runs = 0
const echo = FleetJob.handler(Echo, (x) => Effect.sync(() => (runs++, x)))

const jobOf = (name: string, options: Partial<FleetJob.JobOptions<number, number, never>>) =>
  FleetJob.make(name, { input: Schema.Int, output: Schema.Int, bytes: 4, ...options })

const First = FleetJob.make("First", { input: FleetModel.FleetBuffer, output: Schema.Number, bytes: 4 })
const first = FleetJob.handler(First, (buffer) =>
  FleetJob.CurrentHost.pipe(
    Effect.flatMap((host) => host.buffer(buffer)),
    Effect.flatMap((lease) => CommandQueue.read(lease, Uint8Array)),
    Effect.map((bytes) => bytes[0]!)
  ))

const Forged = FleetJob.make("Forged", { input: Schema.Int, output: Schema.Void, bytes: 4 })
const forged = FleetJob.handler(
  Forged,
  () => Effect.asVoid(Effect.flatMap(FleetJob.CurrentHost, (host) => host.buffer(wrong({}))))
)

const pools = BufferPools.layer(() => Host.layer())
const options = { host: "here", devices: { "0": { maxBytes: 4096 } }, jobs: [echo, first, forged] }
const local = Layer.provide(Fleet.layerLocal(options), pools)

const reserving = (given: unknown) => () => Effect.scoped(Fleet.reserve(wrong(given)))
const running = (given: unknown) => () => Fleet.run(Echo, 1, wrong(given))
const mapping = (given: unknown, inputs: unknown = [1]) => () =>
  Stream.runDrain(Fleet.map(Echo, wrong<Array<number>>(inputs), wrong(given)))

const wrongWheres: ReadonlyArray<readonly [unknown, RegExp]> = [
  [{ hosts: "a" }, /no option "hosts" in where\. Did you mean host\?/],
  [{ label: { kind: "x" } }, /no option "label" in where\. Did you mean labels\?/],
  [{ facts: {} }, /no option "facts" in where\. The options are host, device, backend, labels and atLeast/],
  [{ host: 7 }, /where\.host 7 is no text/],
  [{ host: undefined }, /where\.host is undefined/],
  [{ labels: { zone: 1 } }, /where\.labels\["zone"\] 1 is no text/],
  [{ atLeast: { maxBufferSize: "1" } }, /where\.atLeast\["maxBufferSize"\] "1" is no number/],
  ["west", /where "west" is no object/],
  [null, /where null is no object/],
  [Fleet.near(wrong({})), /where\.device is undefined/],
  [Fleet.near(wrong(null)), /where\.device is undefined/]
]

const wrongWaits = ["soon", -1, NaN, {}, { second: 1 }, null, true]

const reasons = (calls: ReadonlyArray<Effect.Effect<unknown, unknown, Fleet.Fleet>>) =>
  Effect.forEach(
    calls,
    (call) => Effect.map(Effect.flip(call), (error) => error instanceof GpuError ? error.reason._tag : error)
  )

const thrown = (): never => {
  throw new Error("boom")
}

const uses = (buffer: FleetModel.FleetBuffer): ReadonlyArray<Effect.Effect<unknown, unknown, Fleet.Fleet>> => [
  Fleet.write(buffer, new Uint8Array(4)),
  Stream.runDrain(Fleet.read(buffer)),
  Stream.runDrain(Fleet.read(buffer, { length: 0 })),
  Fleet.run(First, buffer)
]

const secret = Redacted.make("a secret of the tests")
const address = { host: "127.0.0.1", port: 0 }
const storage = FleetStorage.sqlite(":memory:")

const localWith = (given: unknown) => () =>
  Effect.scoped(Layer.build(Layer.provide(Fleet.layerLocal(wrong<Fleet.LocalOptions>(given)), pools)))
const clientWith = (given: unknown) => () =>
  Effect.scoped(Layer.build(Layer.provide(Fleet.layerClient(wrong(given)), storage)))
const hostWith = (given: unknown) => () =>
  Effect.scoped(Layer.build(Layer.provide(Fleet.layerHost(wrong<Fleet.ClusterHostOptions>(given)), [pools, storage])))

describe("a fleet refuses", () => {
  it.live("wrong options of reservations and runs, and runs nothing", () =>
    Effect.gen(function*() {
      runs = 0
      yield* all([
        ["undefined", reserving(undefined), /Fleet\.reserve: options undefined is no object/],
        ["null", reserving(null), /options null is no object/],
        ["a number", reserving(5), /options 5 is no object/],
        [
          "a misspelt name",
          reserving({ bytes: 4, waitAtMots: 5 }),
          /no option "waitAtMots"\. Did you mean waitAtMost\?/
        ],
        ["a label", reserving({ bytes: 4, label: 7 }), /label 7 is no text/],
        ["onExhausted", reserving({ bytes: 4, onExhausted: "throw" }), /onExhausted "throw" is no "fail" or "wait"/],
        ...["1", NaN, 0, -1, 1.5, Infinity, 2 ** 60, undefined].map((bytes): Case<Fleet.Fleet> => [
          `${bytes} bytes`,
          reserving({ bytes }),
          /Fleet\.reserve: bytes .+ is no whole number of bytes of at least 1/
        ]),
        ...wrongWaits.map((waitAtMost): Case<Fleet.Fleet> => [
          `waits ${JSON.stringify(waitAtMost)}`,
          reserving({ bytes: 4, waitAtMost }),
          /waitAtMost .+ is no duration of 0 or more/
        ]),
        ...wrongWheres.flatMap(([where, says]): ReadonlyArray<Case<Fleet.Fleet>> => [
          [`reserve where ${JSON.stringify(where)}`, reserving({ bytes: 4, where }), says],
          [`run where ${JSON.stringify(where)}`, running({ where }), says]
        ]),
        ["run: null", running(null), /Fleet\.run: options null is no object/],
        ["run: a misspelt name", running({ with: 1 }), /no option "with"/],
        ["run: within", running({ within: {} }), /within an object is no reservation/],
        ["run: within null", running({ within: null }), /within null is no reservation/],
        ["run: retry", running({ retry: 5 }), /retry 5 is no schedule/],
        ["run: bytes", running({ bytes: -1 }), /bytes -1 is no whole number/],
        [
          "run: no job",
          () => Fleet.run(wrong<FleetJob.Job<number, number, never>>(null), 1),
          /the job null is no job\. Pass what FleetJob\.make returned/
        ],
        ["run: {}", () => Fleet.run(wrong<FleetJob.Job<number, number, never>>({}), 1), /the job an object is no job/],
        ["map: nothing", mapping(undefined), /Fleet\.map: options undefined is no object/],
        ["map: inputs", mapping({ concurrency: 1 }, 5), /the inputs 5 is no iterable and no Stream/],
        ["map: ordered", mapping({ concurrency: 1, ordered: "x" }), /ordered "x" is no boolean/],
        ["map: a misspelt name", mapping({ concurency: 1 }), /no option "concurency"\. Did you mean concurrency\?/],
        [
          "map: no job",
          () => Stream.runDrain(Fleet.map(wrong<FleetJob.Job<number, number, never>>({}), [], { concurrency: 1 })),
          /the job an object/
        ],
        ...[0, -1, 1.5, NaN, "2", Infinity, undefined, null].map((concurrency): Case<Fleet.Fleet> => [
          `map: concurrency ${concurrency}`,
          mapping({ concurrency }),
          /concurrency .+ is no number of jobs\. Pass a whole number of at least 1, or "unbounded"/
        ])
      ])
      strictEqual(runs, 0)
      strictEqual((yield* Fleet.status).placed, 0)
      deepStrictEqual(yield* Stream.runCollect(Fleet.map(Echo, [1, 2], { concurrency: "unbounded" })), [1, 2])
      strictEqual(yield* Fleet.run(Echo, 3, { where: { labels: {}, atLeast: { maxBufferSize: 1 } }, waitAtMost: 0 }), 3)
    }).pipe(Effect.provide(local)))

  it.live("jobs that say nonsense, also durable ones", () => {
    const nonsense: ReadonlyArray<readonly [FleetJob.Job<number, number, never>, RegExp]> = [
      [jobOf("A", { bytes: thrown }), /bytes of the job "A" threw Error: boom/],
      [jobOf("B", { where: thrown }), /where of the job "B" threw Error: boom/],
      [jobOf("C", { bytes: () => NaN }), /bytes of the job "C" NaN is no whole number of bytes of at least 1/],
      [jobOf("D", { bytes: wrong("12") }), /the job an object is no job/],
      [jobOf("E", { bytes: () => 0 }), /bytes of the job "E" 0 is no whole number/],
      [jobOf("F", { where: wrong(() => 17) }), /where of the job "F" 17 is no object/],
      [jobOf("G", { where: wrong({ hosts: "a" }) }), /no option "hosts" in where of the job "G"/],
      [jobOf("", {}), /the name of the job "" is no text of one character or more/],
      [jobOf("I", { input: wrong(5) }), /the job an object is no job/]
    ]
    return all(nonsense.flatMap(([job, says]): ReadonlyArray<Case<Fleet.Fleet | DurableJob.DurableJobs>> => [
      [`run ${job.name}`, () => Fleet.run(job, 1), says],
      [`execute ${job.name}`, () => DurableJob.execute(job, 1, { id: "x" }), says]
    ])).pipe(Effect.provide(local))
  })

  it.live("wrong identifiers of durable jobs", () =>
    all([
      ...["", 7, undefined, null].flatMap((id): ReadonlyArray<Case<DurableJob.DurableJobs>> => {
        const says = /id .+ is no text of one character or more/
        return [
          [`execute ${id}`, () => DurableJob.execute(Echo, 1, { id: wrong(id) }), says],
          [`poll ${id}`, () => DurableJob.poll(Echo, wrong(id)), says],
          [`interrupt ${id}`, () => DurableJob.interrupt(Echo, wrong(id)), says]
        ]
      }),
      [
        "execute",
        () => DurableJob.execute(Echo, 1, wrong<{ id: string }>(undefined)),
        /options undefined is no object/
      ],
      [
        "a name",
        () => DurableJob.execute(Echo, 1, wrong<{ id: string }>({ id: "a", discrad: true })),
        /Did you mean discard\?/
      ],
      [
        "discard",
        () => DurableJob.execute(Echo, 1, wrong<{ id: string }>({ id: "a", discard: 1 })),
        /discard 1 is no boolean/
      ],
      [
        "poll",
        () => DurableJob.poll(wrong<FleetJob.Job<number, number, never>>({}), "a"),
        /DurableJob\.poll: the job an object is no job/
      ],
      ["interrupt", () => DurableJob.interrupt(wrong(null), "a"), /the job null is no job with a name/]
    ]).pipe(Effect.provide(local)))

  it.live("wrong arguments of buffers, before anything is written", () =>
    Effect.gen(function*() {
      const within = yield* Fleet.reserve({ bytes: 64 })
      const buffer = yield* Fleet.allocate(within, 16)
      yield* Fleet.write(buffer, new Uint8Array(16).fill(7))
      const reading = (given: unknown) => () => Stream.runDrain(Fleet.read(buffer, wrong(given)))
      const writing = (data: unknown, given?: unknown) => () =>
        Fleet.write(buffer, wrong<Uint8Array>(data), wrong(given))
      yield* all([
        ...["8", NaN, 0, -1, 1.5, undefined, 2 ** 60].map((bytes): Case<Fleet.Fleet> => [
          `allocate ${bytes}`,
          () => Fleet.allocate(within, wrong(bytes)),
          /Fleet\.allocate: bytes .+ is no whole number of bytes of at least 1/
        ]),
        ["allocate: label", () => Fleet.allocate(within, 4, wrong({ label: 5 })), /label 5 is no text/],
        ["allocate: a name", () => Fleet.allocate(within, 4, wrong({ lable: "x" })), /no option "lable"/],
        ...[{}, null, undefined].map((reservation): Case<Fleet.Fleet> => [
          "allocate: no reservation",
          () => Fleet.allocate(wrong(reservation), 4),
          /the reservation .+ is no reservation\. Pass what Fleet\.reserve returned/
        ]),
        ...["hello", [1, 2, 3, 4], null, new Float32Array(2)].map((data): Case<Fleet.Fleet> => [
          "write: data",
          writing(data),
          /the data .+ is no Uint8Array and no Stream/
        ]),
        ["write: elements", writing(Stream.make("x")), /an element of the data "x" is no Uint8Array/],
        [
          "write: too much",
          writing(new Uint8Array(20)),
          /the size of the data at 0 of 16 bytes, 20 is no whole number/
        ],
        ["write: too far", writing(new Uint8Array(8), { offset: 12 }), /the size of the data at 12 of 16 bytes, 8/],
        ["write: length", writing(new Uint8Array(4), { length: 4 }), /no option "length"\. The only option is offset/],
        ...["4", NaN, -4, 1.5, 20, Infinity, null].flatMap((offset): ReadonlyArray<Case<Fleet.Fleet>> => [
          [
            `write at ${offset}`,
            writing(new Uint8Array(4), { offset }),
            /offset .+ is no whole number of bytes from 0 to 16/
          ],
          [`read at ${offset}`, reading({ offset }), /offset .+ is no whole number of bytes from 0 to 16/]
        ]),
        ...["4", NaN, -4, 1.5, 17, 2 ** 40, Infinity, null].map((length): Case<Fleet.Fleet> => [
          `read ${length}`,
          reading({ length }),
          /length .+ is no whole number of bytes from 0 to 16/
        ]),
        [
          "read: too far",
          reading({ offset: 8, length: 12 }),
          /length from 8 on 12 is no whole number of bytes from 0 to 8/
        ],
        ["read: null", reading(null), /options null is no object/],
        ["read: a symbol", reading({ offset: Symbol("x") }), /offset Symbol\(x\) is no whole number/],
        ...[{}, null, undefined, within, { ...buffer, epoch: "1" }].flatMap((odd): ReadonlyArray<Case<Fleet.Fleet>> => {
          const says = /the buffer .+ is no buffer of a fleet\. Pass what Fleet\.allocate returned/
          return [
            ["read: no buffer", () => Stream.runDrain(Fleet.read(wrong(odd))), says],
            ["write: no buffer", () => Fleet.write(wrong(odd), new Uint8Array(4)), says],
            ["free: no buffer", () => Fleet.free(wrong(odd)), says]
          ]
        }),
        ["a job: no buffer", () => Fleet.run(Forged, 1), /CurrentHost\.buffer: the buffer an object is no buffer/]
      ])
      deepStrictEqual(yield* Stream.mkUint8Array(Fleet.read(buffer)), new Uint8Array(16).fill(7))
    }).pipe(Effect.scoped, Effect.provide(local)))

  it.live("buffers that have ended, with Released", () =>
    Effect.gen(function*() {
      const ended = yield* Effect.scoped(Effect.flatMap(Fleet.reserve({ bytes: 64 }), (it) => Fleet.allocate(it, 8)))
      deepStrictEqual(yield* reasons([...uses(ended), Fleet.free(ended)]), Array.from({ length: 5 }, () => "Released"))
      const freed = yield* Fleet.allocate(yield* Fleet.reserve({ bytes: 64 }), 8)
      yield* Fleet.free(freed)
      yield* Fleet.free(freed)
      deepStrictEqual(yield* reasons(uses(freed)), Array.from({ length: 4 }, () => "Released"))
    }).pipe(Effect.scoped, Effect.provide(local)))

  it.effect("ranges outside a buffer at the host too, whatever a client asks", () =>
    Effect.gen(function*() {
      const world = yield* make({ hosts: [hostOf("a", 1000)] })
      const { epoch, id: lease } = yield* world.fleet.reserve({ bytes: 64 })
      const calls = yield* world.host("a").calls
      yield* calls.Allocate({ lease, epoch, buffer: "b", bytes: 16, label: undefined })
      const ranges = [[0, 2 ** 40], [0, 17], [8, 9], [0, NaN], [0, -4], [NaN, 4], [-4, 4], [17, 0], [
        0,
        Infinity
      ]] as const
      yield* all(ranges.map(([offset, length]): Case<Scope.Scope> => [
        `${length} at ${offset}`,
        () => Stream.runDrain(calls.Read({ lease, epoch, buffer: "b", offset, length })),
        /Fleet\.read: (offset|length) \S+ is no whole number of bytes from 0 to/
      ]))
    }).pipe(Effect.scoped))
})

describe("a layer of a fleet refuses", () => {
  /** What is wrong of a host, local or not. */
  const ofHosts: ReadonlyArray<readonly [what: string, given: object, says: RegExp]> = [
    ["a misspelt name", { hots: "a" }, /no option "hots"\. Did you mean host\?/],
    ["an empty name", { host: "" }, /host "" is no text of one character or more/],
    ["no name", { host: undefined }, /host undefined is no text/],
    ["no devices", { devices: undefined }, /devices undefined is no object/],
    ["no device", { devices: {} }, /devices has no device/],
    ["an array", { devices: ["0"] }, /devices an array is no object/],
    ["an unnamed device", { devices: { "": {} } }, /a name in devices "" is no text of one character/],
    [
      "a device's name",
      { devices: { "0": { maxByte: 1 } } },
      /no option "maxByte" in devices\["0"\]\. Did you mean maxBytes\?/
    ],
    ["maxBytes", { devices: { "0": { maxBytes: 0 } } }, /devices\["0"\]\.maxBytes 0 is no whole number of bytes/],
    ["labels", { devices: { "0": { labels: { zone: 1 } } } }, /devices\["0"\]\.labels\["zone"\] 1 is no text/],
    ["jobs", { jobs: echo }, /jobs an object is no array/],
    ["a job without handler", { jobs: [Echo] }, /jobs\[0\] an object is no handler of a job/],
    ["two of one name", { jobs: [echo, echo] }, /two of the jobs have the name "Echo"/],
    [
      "an unnamed job",
      { jobs: [FleetJob.handler(jobOf("", {}), Effect.succeed)] },
      /jobs\[0\]\.job\.name "" is no text/
    ],
    ["maxInputBytes", { maxInputBytes: 1.5 }, /maxInputBytes 1\.5 is no whole number of bytes/]
  ]

  const times: ReadonlyArray<readonly [timing: unknown, says: RegExp]> = [
    [5, /timing 5 is no object/],
    [{ heartbeats: 1 }, /no option "heartbeats" in timing\. Did you mean heartbeat\?/],
    ...["abc", 0, -5, NaN, Infinity, null, {}, "Infinity"].map((heartbeat) =>
      [{ heartbeat }, /timing\.heartbeat .+ is no finite duration above 0/] as const
    ),
    [{ hostTimeout: 0 }, /timing\.hostTimeout 0 is no finite duration/],
    [{ claimTimeout: "0 seconds" }, /timing\.claimTimeout "0 seconds" is no finite duration/],
    [{ drainTimeout: -1 }, /timing\.drainTimeout -1 is no finite duration of 0 or more/],
    [{ drainTimeout: null }, /timing\.drainTimeout null is no finite duration of 0 or more/],
    [{ heartbeat: "4 seconds" }, /timing\.heartbeat, 4000 ms, is not shorter than timing\.brokerTimeout, 4000 ms/],
    [{ hostTimeout: 3000 }, /timing\.brokerTimeout, 4000 ms, is not shorter than timing\.hostTimeout, 3000 ms/]
  ]

  it.live("wrong options of a local fleet", () =>
    all<never>([
      ...[undefined, null, 5].map((given): Case<never> => [String(given), localWith(given), /options .+ is no object/]),
      ...ofHosts.map(([what, given, says]): Case<never> => [
        what,
        localWith({ ...options, ...given }),
        new RegExp(`Fleet\\.layerLocal: .*${says.source}`)
      ]),
      ...times.map(([timing, says]): Case<never> => [
        JSON.stringify(timing),
        localWith({ ...options, timing }),
        new RegExp(`Fleet\\.layerLocal: .*${says.source}`)
      ])
    ]))

  it.live("wrong options of a client, and shows no secret", () =>
    all<never>([
      ...[undefined, null, 5].map((
        given
      ): Case<never> => [String(given), clientWith(given), /options .+ is no object/]),
      [
        "a name",
        clientWith({ secert: secret }),
        /Fleet\.layerClient: there is no option "secert"\. Did you mean secret\?/
      ],
      ...["plain", undefined, Redacted.make(7)].map((secret): Case<never> => [
        "secret",
        clientWith({ secret }),
        /Fleet\.layerClient: secret is no Redacted text/
      ]),
      ["an empty secret", clientWith({ secret: Redacted.make("") }), /Fleet\.layerClient: secret is empty/],
      ...times.map(([timing, says]): Case<never> => [JSON.stringify(timing), clientWith({ secret, timing }), says])
    ]))

  it.live("wrong options of a host", () => {
    const given = { ...options, address, secret }
    return all<never>([
      ...[undefined, null, 5].map((given): Case<never> => [String(given), hostWith(given), /options .+ is no object/]),
      ...ofHosts.map(([what, options, says]): Case<never> => [
        what,
        hostWith({ ...given, ...options }),
        new RegExp(`Fleet\\.layerHost: .*${says.source}`)
      ]),
      ...times.map(([timing, says]): Case<never> => [JSON.stringify(timing), hostWith({ ...given, timing }), says]),
      ["no address", hostWith({ ...given, address: undefined }), /address undefined is no object/],
      ["address.host", hostWith({ ...given, address: { host: "", port: 1 } }), /address\.host "" is no text/],
      [
        "address.prot",
        hostWith({ ...given, address: { ...address, prot: 1 } }),
        /no option "prot" in address\. Did you mean port\?/
      ],
      ...["7101", -1, 1.5, 65_536, NaN, undefined].flatMap((port): ReadonlyArray<Case<never>> => [
        ["address.port", hostWith({ ...given, address: { host: "a", port } }), /address\.port .+ is no port/],
        ["listen.port", hostWith({ ...given, listen: { host: "a", port } }), /listen\.port .+ is no port/]
      ]),
      ["secret", hostWith({ ...given, secret: "plain" }), /Fleet\.layerHost: secret is no Redacted text/]
    ])
  })

  it.effect("wrong times", () =>
    Effect.gen(function*() {
      yield* all(times.map(([timing, says]): Case<never> => [
        JSON.stringify(timing),
        () => Timing.make(wrong(timing)),
        new RegExp(`Timing\\.make: .*${says.source}`)
      ]))
      const made = yield* Timing.make({ drainTimeout: 0, heartbeat: "1 seconds" })
      deepStrictEqual([made.drainTimeout, made.heartbeat], [0, 1000])
    }))
})
