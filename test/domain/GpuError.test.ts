import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Rpc from "effect/rpc/Rpc"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import { shownBytes } from "../../src/domain/arguments/Format.ts"
import * as GpuError from "../../src/domain/GpuError.ts"
import type { HolderGroup } from "../../src/domain/pool/HolderSums.ts"

type Tag = GpuError.Reason["_tag"]

interface Case {
  readonly reason: GpuError.Reason
  /** What the message must show. */
  readonly values: ReadonlyArray<string | number>
  /** What to do next. */
  readonly next: RegExp
}

const word = fc.stringMatching(/^[a-z]{3,12}$/)
const bytes = fc.maxSafeNat()
const label = fc.option(word, { nil: undefined })
const given = (...values: ReadonlyArray<string | number | undefined>): ReadonlyArray<string | number> =>
  values.filter((value) => value !== undefined)

const holder: fc.Arbitrary<GpuError.Holder> = fc.record({
  label,
  size: bytes,
  capacity: bytes,
  age: fc.nat(),
  callSite: fc.option(word, { nil: undefined })
}, { requiredKeys: ["label", "size", "capacity", "age"] })
const shared = fc.record({ maxBytes: bytes, bytesOfOthers: fc.constant(0) })
const waitingJob: fc.Arbitrary<GpuError.WaitingJob> = fc.record({
  label,
  requested: bytes,
  holdsBytes: bytes,
  holds: fc.array(fc.record({ label, size: bytes }), { maxLength: 3 })
})
const group: fc.Arbitrary<HolderGroup> = fc.record({
  label,
  callSite: fc.option(word, { nil: undefined }),
  leases: fc.integer({ min: 1, max: 1e6 }),
  bytes
})
const stepsTried = fc.subarray<GpuError.FallbackStep>(["bin", "driver", "reclaim", "evict", "exact"], { minLength: 1 })

const evidence = fc.record({
  requested: bytes,
  blockSize: bytes,
  pooled: fc.constant(true),
  limitName: fc.constantFrom("maxBytes" as const, "budget" as const),
  limitLabel: label,
  limit: fc.oneof(bytes, fc.constant(Infinity)),
  activeBytes: fc.oneof(bytes, fc.constant(0)),
  heldBytes: bytes,
  managedBytes: bytes,
  pendingBytes: fc.oneof(bytes, fc.constant(0)),
  reservedBytes: fc.oneof(bytes, fc.constant(0)),
  largestHeldBytes: bytes,
  shared: fc.option(shared, { nil: undefined }),
  stepsTried,
  waitedMillis: fc.option(fc.nat(), { nil: undefined }),
  deadlock: fc.constant([]),
  holders: fc.array(holder, { maxLength: 3 }),
  holderGroups: fc.array(group, { maxLength: 3 })
})

const outOfMemory = evidence.map((fields): Case => ({
  reason: new GpuError.OutOfMemory(fields),
  values: [
    fields.requested,
    fields.blockSize,
    ...(fields.limit === Infinity
      ? ["no byte limit"]
      : given(fields.limitName, fields.limitLabel, `${fields.limit} B`)),
    fields.activeBytes,
    fields.heldBytes,
    fields.managedBytes,
    fields.pendingBytes,
    fields.largestHeldBytes,
    ...fields.stepsTried,
    ...(fields.waitedMillis === undefined ? [] : [`waited ${fields.waitedMillis} ms`]),
    ...fields.holderGroups.flatMap(({ bytes, callSite, label, leases }) =>
      given(label ?? "(no label)", callSite, leases, shownBytes(bytes))
    )
  ],
  next: fields.shared === undefined && (fields.limit === Infinity || fields.stepsTried.includes("driver"))
    ? /Release leases and retry \(isRetryable is true\)\.|ask for less, or choose/
    : /Release leases and retry .* or raise (maxBytes|the budget)|ask for less, raise (maxBytes|the budget)/
}))

const ownerKind = fc.constantFrom("device" as const, "pool" as const, "budget" as const, "allocator" as const)
const limitExceeded = fc.record({
  operation: word,
  requested: bytes,
  limitName: word,
  limit: bytes,
  unit: fc.option(fc.constant("items"), { nil: undefined }),
  owner: fc.option(fc.record({ kind: ownerKind, name: label }), { nil: undefined })
}).map(
  (fields): Case => ({
    reason: new GpuError.LimitExceeded(fields),
    values: [
      fields.operation,
      `${fields.requested} ${fields.unit ?? "bytes"} are over`,
      `, ${fields.limit} ${fields.unit ?? "bytes"}, so`,
      ...(fields.owner?.kind === "budget" ? [] : [fields.limitName]),
      ...(fields.owner === undefined ? [] : given(fields.owner.kind, fields.owner.name))
    ],
    next: /Ask for less, split the work, or (raise|choose a device)/
  })
)

const invalidRequest = fc.record({ operation: word, problem: word, hint: word }).map((fields): Case => ({
  reason: new GpuError.InvalidRequest(fields),
  values: Object.values(fields),
  next: new RegExp(fields.hint)
}))

const tried = fc.record({ backend: word, device: word, why: word })
const deviceUnavailable = fc.record({ tried: fc.array(tried, { maxLength: 3 }), hint: word }).map((fields): Case => ({
  reason: new GpuError.DeviceUnavailable(fields),
  values: fields.tried.length === 0
    ? ["nothing was tried"]
    : fields.tried.flatMap(({ backend, device, why }) => [backend, device, why]),
  next: new RegExp(fields.hint)
}))

const deviceLost = fc.record({ backend: word, detail: word }).map((fields): Case => ({
  reason: new GpuError.DeviceLost(fields),
  values: Object.values(fields),
  next: /build the device layer again/
}))

const hostLost = fc.record({ host: word, epoch: fc.nat(), detail: word, mayHaveRun: fc.boolean() }).map((
  fields
): Case => ({
  reason: new GpuError.HostLost(fields),
  values: given(fields.host, fields.epoch, fields.detail),
  next: fields.mayHaveRun ? /run it again if it is idempotent/ : /try again \(isRetryable is true\)/
}))

const whys = ["released", "scopeClosed", "poolClosed"] as const
const ends = {
  released: /Use it inside the scope that acquired it/,
  scopeClosed: /Allocate or transfer before the scope closes/,
  poolClosed: /Keep the pool's layer alive/
}
const bufferReleased = fc.record({ operation: word, label, size: bytes, why: fc.constantFrom(...whys) }).map(
  (fields): Case => ({
    reason: new GpuError.Released(fields),
    values: given(fields.operation, fields.label, fields.size),
    next: ends[fields.why]
  })
)

const foreignBuffer = fc.record({ operation: word, label, owner: word, expected: word }).map((fields): Case => ({
  reason: new GpuError.ForeignDevice(fields),
  values: given(fields.operation, fields.label, fields.owner, fields.expected),
  next: /Read it on its own device/
}))

const secondOpening = fc.record({ operation: word, label, owner: word }).map((fields): Case => ({
  reason: new GpuError.ForeignDevice({ ...fields, expected: `another opening of ${fields.owner}` }),
  values: given(fields.operation, fields.label, fields.owner, "another opening"),
  next:
    /a layer was built twice.*Keep one in a constant.*provideMerge\(gpu\)\)\. If there are to be two, read it on its own device/
}))

const unsupported = fc.record({ operation: word, backend: word, feature: word, hint: word }).map((fields): Case => ({
  reason: new GpuError.Unsupported(fields),
  values: Object.values(fields),
  next: new RegExp(fields.hint)
}))

const driverError = fc.record({
  backend: word,
  call: word,
  codeName: fc.option(word, { nil: undefined }),
  code: fc.option(fc.integer(), { nil: undefined }),
  log: word,
  commands: fc.array(word, { maxLength: 3 }),
  hint: word
}).map((fields): Case => ({
  reason: new GpuError.DriverError(fields),
  values: given(fields.backend, fields.call, fields.codeName, fields.code, fields.log, ...fields.commands),
  next: new RegExp(`${fields.hint}$`)
}))

const cases: Readonly<Record<Tag, fc.Arbitrary<Case>>> = {
  OutOfMemory: outOfMemory,
  LimitExceeded: limitExceeded,
  InvalidRequest: invalidRequest,
  DeviceUnavailable: deviceUnavailable,
  DeviceLost: deviceLost,
  HostLost: hostLost,
  Released: bufferReleased,
  ForeignDevice: fc.oneof(foreignBuffer, secondOpening),
  Unsupported: unsupported,
  DriverError: driverError
}
const tags = Object.keys(cases) as ReadonlyArray<Tag>
const anyCase = fc.oneof(...Object.values(cases))

/** Reasons with fields that no case above has. */
const anyReason = fc.oneof(
  anyCase.map(({ reason }) => reason),
  evidence.chain((fields) =>
    fc.array(waitingJob, { maxLength: 3 }).map((deadlock) => new GpuError.OutOfMemory({ ...fields, deadlock }))
  ),
  fc.record({ operation: word, problem: word, hint: word, position: fc.nat() }).map((fields) =>
    new GpuError.InvalidRequest(fields)
  ),
  fc.record({ operation: word, label, size: bytes, what: fc.constantFrom("image" as const, "queue" as const) }).map(
    (fields) => new GpuError.Released({ ...fields, why: "parentReleased" })
  ),
  fc.record({
    call: word,
    log: fc.string({ unit: "binary" }),
    code: fc.double().map((code) => code + 0),
    source: word
  })
    .map((fields) => new GpuError.DriverError({ ...fields, backend: "b", codeName: "C", commands: [], hint: "h" }))
)

const answer = (reason: GpuError.Reason) =>
  Effect.fail(GpuError.make(reason)).pipe(
    Effect.catchReasons("GpuError", {
      OutOfMemory: ({ requested }) => Effect.succeed(`memory ${requested}`),
      DeviceLost: ({ detail }) => Effect.succeed(`lost ${detail}`)
    }),
    Effect.catchTag("GpuError", ({ reason }) => Effect.succeed(reason._tag)),
    Effect.runSync
  )

const messageOf = (log: string) =>
  new GpuError.DriverError({
    backend: "b",
    call: "c",
    codeName: undefined,
    code: undefined,
    log,
    commands: ["fill x"],
    hint: "Do this."
  }).message

describe("GpuError", () => {
  it.each(tags)("%s has its tag, and a message with every value and what to do next", (tag) => {
    fc.assert(fc.property(cases[tag], ({ next, reason, values }) => {
      assert.strictEqual(reason._tag, tag)
      const error = GpuError.make(reason)
      assert.strictEqual(error.message, reason.message)
      assert.match(error.message, next)
      for (const value of values) assert.include(error.message, String(value))
      assert.notMatch(error.message, /undefined|NaN|\[object|\.\./)
    }))
  })

  it.each(tags)("%s is caught by its name, and by no other", (tag) => {
    const [{ reason }] = fc.sample(cases[tag], { numRuns: 1, seed: 1 }) as [Case]
    for (const name of tags) {
      const caught = Effect.fail(GpuError.make(reason)).pipe(
        Effect.as("never" as const),
        Effect.catchReason("GpuError", name, (caught) => Effect.succeed(caught)),
        Effect.catchTag("GpuError", () => Effect.succeed("passed on" as const)),
        Effect.runSync
      )
      assert.strictEqual(caught, name === tag ? reason : "passed on")
    }
  })

  it("several reasons are caught at once, the rest in one place", () => {
    assert.strictEqual(answer(GpuError.outOfMemory(64).reason), "memory 64")
    assert.strictEqual(answer(new GpuError.DeviceLost({ backend: "host", detail: "unplugged" })), "lost unplugged")
    assert.strictEqual(answer(GpuError.invalidRequest("o", "p", "h").reason), "InvalidRequest")
  })

  it("is retryable exactly when others have the memory that is lacking, or nothing has run on a lost host", () => {
    fc.assert(fc.property(anyCase, ({ reason }) => {
      const { isRetryable } = GpuError.make(reason)
      const expected = reason._tag === "HostLost"
        ? !reason.mayHaveRun
        : reason._tag === "OutOfMemory" && reason.activeBytes + reason.pendingBytes + reason.reservedBytes > 0
      assert.strictEqual(isRetryable, expected)
    }))
  })

  it.each([[0, 0, 0, false], [1, 0, 0, true], [0, 1, 0, true], [0, 0, 1, true], [1, 1, 1, true]] as const)(
    "OutOfMemory with %i active, %i pending and %i reserved bytes is retryable: %s",
    (activeBytes, pendingBytes, reservedBytes, expected) => {
      fc.assert(fc.property(evidence, (fields) => {
        const error = GpuError.make(new GpuError.OutOfMemory({ ...fields, activeBytes, pendingBytes, reservedBytes }))
        assert.strictEqual(error.isRetryable, expected)
        assert.strictEqual(error.message.includes("Release leases and retry"), expected)
      }))
    }
  )

  it("isGpuError knows every reason's error, and nothing else", () => {
    fc.assert(fc.property(anyCase, ({ reason }) => {
      assert.isTrue(GpuError.isGpuError(GpuError.make(reason)))
      assert.isFalse(GpuError.isGpuError(reason))
    }))
    fc.assert(fc.property(fc.anything(), (value) => assert.isFalse(GpuError.isGpuError(value))))
    assert.isFalse(GpuError.isGpuError(new Error("GpuError")))
  })

  it("has a reason that shows its tag and its message as a text", () => {
    fc.assert(fc.property(anyCase, ({ reason }) => {
      assert.strictEqual(String(reason), `${reason._tag}: ${reason.message}`)
      assert.strictEqual(`${GpuError.make(reason).reason}`, String(reason))
    }))
  })

  it("is an Error that shows its message and keeps its reason", () => {
    fc.assert(fc.property(anyCase, ({ reason }) => {
      const error = GpuError.make(reason)
      assert.instanceOf(error, Error)
      assert.strictEqual(error._tag, "GpuError")
      assert.strictEqual(error.reason, reason)
      assert.include(String(error), reason.message)
      assert.strictEqual(Effect.runSync(Effect.flip(error)), error)
    }))
  })
})

describe("GpuError's codec", () => {
  /** The ways to send an error, and the error that the receiver makes of it. */
  const sent: Readonly<Record<string, (error: GpuError.GpuError) => unknown>> = {
    "as JSON": (error) => {
      const json = Schema.toCodecJson(GpuError.GpuError)
      const text = JSON.stringify(Schema.encodeUnknownSync(json)(error))
      return Schema.decodeUnknownSync(json)(JSON.parse(text))
    },
    "as a message to a worker": (error) =>
      Schema.decodeUnknownSync(GpuError.GpuError)(structuredClone(Schema.encodeUnknownSync(GpuError.GpuError)(error))),
    "as the answer of a remote procedure": (error) => {
      const rpc = Rpc.make("allocate", { error: GpuError.GpuError })
      const exits = Schema.toCodecJson(Rpc.exitSchema(rpc))
      const text = JSON.stringify(Schema.encodeUnknownSync(exits)(Exit.fail(error)))
      return Effect.runSync(Effect.flip(Schema.decodeUnknownSync(exits)(JSON.parse(text))))
    }
  }

  it.each(Object.keys(sent))("brings every error back equal, %s", (way) => {
    fc.assert(fc.property(anyReason, (reason) => {
      const error = GpuError.make(reason)
      const back = sent[way]!(error)
      assert.isTrue(GpuError.isGpuError(back))
      const found = back as GpuError.GpuError
      assert.notStrictEqual(found, error)
      assert.instanceOf(found, Error)
      assert.isTrue(Equal.equals(found, error))
      assert.deepStrictEqual({ ...found.reason }, { ...reason })
      assert.strictEqual(String(found), String(error))
      assert.strictEqual(found.isRetryable, error.isRetryable)
    }))
  })

  it("refuses what is no error of the library", () => {
    const decode = Schema.decodeUnknownExit(Schema.toCodecJson(GpuError.GpuError))
    const { reason } = GpuError.invalidRequest("o", "p", "h")
    assert.isTrue(Exit.isSuccess(decode({ _tag: "GpuError", reason: { ...reason } })))
    for (const wrong of [{ ...reason, hint: 1 }, { ...reason, _tag: "Other" }, { _tag: "InvalidRequest" }, undefined]) {
      assert.isTrue(Exit.isFailure(decode({ _tag: "GpuError", reason: wrong })))
    }
  })
})

describe("GpuError's constructors", () => {
  it("invalidRequest keeps its three parts", () => {
    fc.assert(fc.property(word, word, word, (operation, problem, hint) => {
      const { message, reason } = GpuError.invalidRequest(operation, problem, hint)
      assert.deepStrictEqual<object>({ ...reason }, { _tag: "InvalidRequest", operation, problem, hint })
      assert.strictEqual(message, `${operation}: ${problem}. ${hint}`)
    }))
  })

  it("a driver's log ends with one full stop, however it was punctuated", () => {
    for (const log of ["it broke", "it broke.", "it broke. \n"]) {
      assert.strictEqual(messageOf(log), "b: c failed: it broke. Commands: fill x. Do this.")
    }
    assert.strictEqual(messageOf("why?"), "b: c failed: why? Commands: fill x. Do this.")
  })

  it("outOfMemory names the bytes, claims nothing of a pool, and cannot be retried into success", () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (requested) => {
      const error = GpuError.outOfMemory(requested)
      assert.strictEqual(error.reason._tag, "OutOfMemory")
      assert.include(error.message, `${requested} bytes`)
      assert.notMatch(error.message, /held|managed|reserved|holders|Infinity|maxBytes/)
      assert.match(error.message, /Ask for less/)
      assert.isFalse(error.isRetryable)
    }))
  })
})
