/**
 * Who has the secret of a fleet talks to its hosts, and nobody else. Whatever others do to a host's port, its clients notice nothing,
 * and nothing stays open.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as net from "node:net"
import * as tls from "node:tls"
import * as Psk from "../../src/net/Psk.ts"
import * as TlsServer from "../../src/net/TlsServer.ts"
import {
  connected,
  framed,
  plain,
  secret,
  secured,
  served,
  trusted,
  until,
  withLength
} from "../support/servedCalls.ts"

const minute = 60_000
/** The frame of a call of `Echo` with two bytes. */
const request = Effect.runSync(framed("Echo", new Uint8Array([1, 2])))
/** Of a ClientHello, whose record says that 512 bytes come. */
const beginning = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
const bytes = new Uint8Array([1, 2, 3])

const turn = Effect.promise(() => new Promise(setImmediate))

describe("a client with the secret", () => {
  it.live("is served, and leaves nothing behind", () =>
    Effect.gen(function*() {
      const { connections, port, state } = yield* served(minute)
      yield* Effect.scoped(Effect.gen(function*() {
        const client = yield* connected(port)
        deepStrictEqual([...yield* client.Echo({ bytes })], [...bytes])
        const large = new Uint8Array(2 ** 20).fill(7)
        strictEqual(Buffer.compare(yield* client.Echo({ bytes: large }), large), 0)
        strictEqual(yield* connections, 1)
        const held = yield* Effect.forkChild(Stream.runDrain(client.Hold()), { startImmediately: true })
        yield* until(Effect.sync(() => state.held === 1))
        yield* Fiber.interrupt(held)
        yield* until(Effect.sync(() => state.held === 0))
        yield* Effect.forkChild(Stream.runDrain(client.Hold()), { startImmediately: true })
        yield* until(Effect.sync(() => state.held === 1))
      }))
      yield* until(Effect.map(connections, (count) => count === 0 && state.held === 0))
    }))

  it.live("talks over a cipher with forward secrecy", () =>
    Effect.gen(function*() {
      const { port } = yield* served(minute)
      const { opens, socket } = yield* trusted(port)
      strictEqual(yield* opens, true)
      deepStrictEqual([socket.getProtocol(), socket.getCipher().standardName], [
        "TLSv1.2",
        "TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256"
      ])
    }))

  it.live("of other code cannot come with less", () =>
    Effect.gen(function*() {
      const { port } = yield* served(minute)
      const { client } = yield* Psk.make("test", secret)
      for (const ciphers of ["PSK-AES256-GCM-SHA384", "DHE-PSK-AES128-CBC-SHA"]) {
        strictEqual(yield* (yield* secured(port, { ...client, ciphers })).opens, false)
      }
      strictEqual(yield* (yield* secured(port, { ...client, ciphers: "ECDHE-PSK-CHACHA20-POLY1305" })).opens, true)
    }))

  it.live("makes many calls at once, and Node warns of nothing", () =>
    Effect.gen(function*() {
      const warnings: Array<string> = []
      const warned = (warning: Error) => void warnings.push(warning.message)
      yield* Effect.acquireRelease(
        Effect.sync(() => process.on("warning", warned)),
        () => Effect.sync(() => process.off("warning", warned))
      )
      const client = yield* connected((yield* served(minute)).port)
      const large = new Uint8Array(2 ** 18).fill(7)
      const echoes = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => Effect.map(client.Echo({ bytes: large }), ({ length }) => length),
        { concurrency: "unbounded" }
      )
      deepStrictEqual(new Set(echoes), new Set([large.length]))
      // Node warns in a later turn.
      yield* turn
      deepStrictEqual(warnings, [])
    }))

  it.live("whose host has gone learns it at once, and finds it again", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const first = yield* Scope.provide(served(minute), scope)
      const client = yield* connected(first.port, { heartbeat: 10 })
      const call = yield* Effect.forkChild(Effect.exit(Stream.runDrain(client.Hold())), { startImmediately: true })
      yield* until(Effect.sync(() => first.state.held === 1))
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(call)))
      strictEqual((yield* Effect.flip(client.Echo({ bytes })))._tag, "RpcClientError")
      yield* served(minute, first.port)
      yield* until(Effect.isSuccess(client.Echo({ bytes })))
    }))
})

/** What peers do, each until its connection has been closed. */
const attacks: Record<string, (port: number) => Effect.Effect<void, unknown, Scope.Scope>> = {
  "has another secret": Effect.fnUntraced(function*(port) {
    const logged: Array<string> = []
    yield* Effect.gen(function*() {
      const client = yield* connected(port, { secret: Redacted.make("another"), heartbeat: 1 })
      for (let call = 0; call < 3; call++) {
        strictEqual((yield* Effect.flip(client.Echo({ bytes })))._tag, "RpcClientError")
      }
    }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])))
    // Once, though it tries again and again.
    strictEqual(logged.length, 1)
    assert.match(logged[0]!, new RegExp(`The host at 127.0.0.1:${port} .* do not trust each other .*the same secret`))
    const { client: wrong } = yield* Psk.make("test", Redacted.make("another"))
    const { opens } = yield* secured(port, wrong)
    strictEqual(yield* opens, false)
  }),
  "has the secret, and another name for it": Effect.fnUntraced(function*(port) {
    const { client } = yield* Psk.make("test", secret)
    const { psk } = client.pskCallback!(null)!
    const { opens } = yield* secured(port, { ...client, pskCallback: () => ({ psk, identity: "someone" }) })
    strictEqual(yield* opens, false)
  }),
  "comes with TLS and no secret": Effect.fnUntraced(function*(port) {
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      const { errors, opens } = yield* secured(port, { rejectUnauthorized: false, maxVersion })
      strictEqual(yield* opens, false)
      assert.match(errors.join(), /handshake failure|alert|protocol version/)
    }
  }),
  "comes without TLS": Effect.fnUntraced(function*(port) {
    const { closes, socket } = yield* plain(port)
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    yield* closes
  }),
  "sends a call without TLS": Effect.fnUntraced(function*(port) {
    const { closes, socket } = yield* plain(port)
    socket.write(request)
    yield* closes
  }),
  "goes away within the handshake": Effect.fnUntraced(function*(port) {
    const { opens, socket } = yield* plain(port)
    yield* opens
    socket.write(beginning)
    socket.destroy()
  }),
  "is trusted, and sends noise": Effect.fnUntraced(function*(port) {
    for (let seed = 1; seed < 30; seed++) {
      const { closes, opens, socket } = yield* trusted(port)
      strictEqual(yield* opens, true)
      // A frame of 50 bytes, so that it is complete.
      socket.write(
        Buffer.from(Array.from({ length: 200 }, (_, at) => at === 0 ? 50 : (seed * 31 + at * seed * 7) % 256))
      )
      yield* closes
    }
  }),
  "is trusted, and announces a frame of a gibibyte": Effect.fnUntraced(function*(port) {
    for (const length of [2 ** 30, 2 ** 32 - 1]) {
      const { closes, opens, socket } = yield* trusted(port)
      strictEqual(yield* opens, true)
      const before = process.memoryUsage().arrayBuffers
      socket.write(withLength(request, length))
      yield* closes
      assert.isBelow(process.memoryUsage().arrayBuffers - before, 2 ** 28)
    }
  }),
  "is trusted, and calls what is not there": Effect.fnUntraced(function*(port) {
    const { opens, read, socket } = yield* trusted(port)
    strictEqual(yield* opens, true)
    // The second has no payload.
    for (const call of [yield* framed("Nothing", bytes), yield* framed("Echo")]) {
      const before = read()
      socket.write(call)
      yield* until(Effect.sync(() => read() > before))
    }
  }),
  "is trusted, and goes away within a frame": Effect.fnUntraced(function*(port) {
    const { closes, opens, socket } = yield* trusted(port)
    strictEqual(yield* opens, true)
    socket.end(request.subarray(0, request.length - 3))
    yield* closes
    const cut = yield* trusted(port)
    strictEqual(yield* cut.opens, true)
    cut.socket.write(request.subarray(0, 5))
    cut.socket.destroy()
    yield* cut.closes
  })
}

describe("a peer that", () => {
  for (const [title, attack] of Object.entries(attacks)) {
    it.live(`${title} disturbs nobody`, () =>
      Effect.gen(function*() {
        const logged: Array<unknown> = []
        const { connections, port, state } = yield* Effect.provide(
          served(minute),
          Logger.layer([Logger.make(({ message }) => void logged.push(message))])
        )
        const client = yield* connected(port)
        const held = yield* Effect.forkChild(Stream.runDrain(client.Hold()), { startImmediately: true })
        yield* until(Effect.sync(() => state.held === 1))
        yield* Effect.scoped(attack(port))
        yield* until(Effect.map(connections, (count) => count === 1))
        deepStrictEqual([...yield* client.Echo({ bytes })], [...bytes])
        deepStrictEqual([held.pollUnsafe(), state.held, logged], [undefined, 1, []])
      }))
  }
})

/** Short, because the tests wait for it. */
const soon = 100

describe("a peer on whose connection nothing happens", () => {
  it.live("loses it before, within and after the handshake", () =>
    Effect.gen(function*() {
      const { connections, port } = yield* served(soon)
      const before = yield* plain(port)
      const within = yield* plain(port)
      within.socket.write(beginning)
      const after = yield* trusted(port)
      strictEqual(yield* after.opens, true)
      yield* Effect.all([before.closes, within.closes, after.closes])
      yield* until(Effect.map(connections, (count) => count === 0))
    }))

  it.live("loses what it has at the host", () =>
    Effect.gen(function*() {
      const { connections, port, state } = yield* served(soon)
      const holding = yield* trusted(port)
      strictEqual(yield* holding.opens, true)
      holding.socket.write(yield* framed("Hold"))
      // It neither acknowledges what it gets, nor reads it.
      const counting = yield* trusted(port)
      strictEqual(yield* counting.opens, true)
      counting.socket.pause()
      counting.socket.write(yield* framed("Count"))
      yield* until(Effect.sync(() => state.held === 2))
      yield* Effect.all([holding.closes, until(Effect.sync(() => state.held === 0))])
      yield* until(Effect.map(connections, (count) => count === 0))
    }))
})

/** A server that is none: it takes connections, with TLS or without, and says nothing. */
const mute = (listening: () => net.Server) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly server: net.Server; readonly sockets: Set<net.Socket> }>((resume) => {
        const sockets = new Set<net.Socket>()
        const server = listening()
        server.on("connection", (socket) => void sockets.add(socket))
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, sockets })))
      }),
      ({ server, sockets }) =>
        Effect.sync(() => {
          for (const socket of sockets) socket.destroy()
          server.close()
        })
    ),
    ({ server }) => (server.address() as net.AddressInfo).port
  )

describe("a client whose host hangs", () => {
  it.live("fails its calls", () =>
    Effect.gen(function*() {
      const psk = yield* Psk.make("test", secret)
      for (const listening of [() => net.createServer(), () => tls.createServer(psk.server)]) {
        const client = yield* connected(yield* mute(listening), { heartbeat: 10, silence: soon })
        strictEqual((yield* Effect.flip(client.Echo({ bytes })))._tag, "RpcClientError")
        strictEqual((yield* Effect.flip(Stream.runDrain(client.Hold())))._tag, "RpcClientError")
      }
    }))
})

describe("a server that closes", () => {
  it.live("ends the connections that have just begun, however far their handshakes are", () =>
    Effect.gen(function*() {
      for (let turns = 0; turns < 12; turns++) {
        const scope = yield* Scope.make()
        const { port } = yield* Scope.provide(served(minute), scope)
        const peers = yield* Effect.replicateEffect(trusted(port), 8)
        yield* Effect.replicateEffect(turn, turns, { discard: true })
        yield* Scope.close(scope, Exit.void)
        yield* Effect.forEach(peers, ({ closes }) => closes, { discard: true })
      }
    }))
})

const failing = (host: string, port: number) =>
  Effect.gen(function*() {
    const psk = yield* Psk.make("test", secret)
    const error = yield* Effect.flip(
      TlsServer.make({ operation: "Fleet.layerHost", listen: { host, port }, psk, silence: minute })
    )
    strictEqual(error.reason._tag, "InvalidRequest")
    return error.message
  })

describe("a server that cannot listen", () => {
  it.live("says why, and what to do", () =>
    Effect.gen(function*() {
      const { port } = yield* served(minute)
      assert.match(
        yield* failing("127.0.0.1", port),
        new RegExp(`Fleet.layerHost: it cannot listen on port ${port} of 127.0.0.1: .*EADDRINUSE.*take another port`)
      )
      assert.match(yield* failing("192.0.2.1", 0), /EADDRNOTAVAIL.*listen on one of its own/)
    }))
})

const keyOf = (text: string) =>
  Effect.map(
    Psk.make("test", Redacted.make(text)),
    ({ client }) => Buffer.from(client.pskCallback!(null)!.psk as Uint8Array).toString("hex")
  )

describe("a secret", () => {
  it.live("that is empty is refused", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Psk.make("Fleet.layerClient", Redacted.make("")))
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.match(error.message, /Fleet.layerClient: secret is empty. Give all processes/)
    }))

  it.live("makes the same key in every process, and another one another", () =>
    Effect.gen(function*() {
      // So that processes of two versions of the library understand each other.
      strictEqual(yield* keyOf("secret"), "842eb6587c7f79a7791407076927f8e40f2312f6207f78c4ac7e33e5ab2fee40")
      assert.notStrictEqual(yield* keyOf("secret"), yield* keyOf("secret "))
      // One text may come in two forms of Unicode.
      strictEqual(yield* keyOf("caf\u00e9"), yield* keyOf("cafe\u0301"))
    }))
})
