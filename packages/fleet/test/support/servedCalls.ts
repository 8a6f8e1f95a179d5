/** A server of a host's sockets with calls of its own, and what peers do to it. */
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as Runners from "effect/cluster/Runners"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcClient from "effect/rpc/RpcClient"
import * as RpcGroup from "effect/rpc/RpcGroup"
import { RpcSerialization } from "effect/rpc/RpcSerialization"
import * as RpcServer from "effect/rpc/RpcServer"
import * as Schema from "effect/Schema"
import { SocketServer } from "effect/socket/SocketServer"
import * as Stream from "effect/Stream"
import * as net from "node:net"
import * as tls from "node:tls"
import * as Framing from "../../src/net/Framing.ts"
import * as Psk from "../../src/net/Psk.ts"
import * as TlsClient from "../../src/net/TlsClient.ts"
import * as TlsServer from "../../src/net/TlsServer.ts"

export const secret = Redacted.make("a secret of the tests")

/** `Echo` answers what it gets. `Hold` says 0, then nothing until it is interrupted; `Count` goes on as fast as it is read. */
export class Calls extends RpcGroup.make(
  Rpc.make("Echo", { payload: { bytes: Schema.Uint8Array }, success: Schema.Uint8Array }),
  Rpc.make("Hold", { success: Schema.Number, stream: true }),
  Rpc.make("Count", { success: Schema.Number, stream: true })
) {}

/** A server at this port, or at a free one. `held` counts the calls of `Hold` and `Count` under way. */
export const served = Effect.fnUntraced(function*(silence: number, port = 0) {
  const psk = yield* Psk.make("served", secret)
  const server = yield* TlsServer.make({
    operation: "served",
    listen: { host: "127.0.0.1", port },
    psk,
    silence
  })
  if (server.address._tag === "UnixPathAddress") throw new Error("it listens on a path")
  const state = { held: 0 }
  const counted = <A>(stream: Stream.Stream<A>): Stream.Stream<A> =>
    Stream.unwrap(Effect.as(
      Effect.acquireRelease(Effect.sync(() => void state.held++), () => Effect.sync(() => void state.held--)),
      stream
    ))
  const handlers = Calls.toLayer({
    Echo: ({ bytes }) => Effect.succeed(bytes),
    Hold: () => counted(Stream.concat(Stream.make(0), Stream.never)),
    Count: () => counted(Stream.iterate(0, (n) => n + 1))
  })
  const context = yield* Layer.build(
    RpcServer.layer(Calls, { disableFatalDefects: true }).pipe(
      Layer.provide(handlers),
      Layer.provideMerge(RpcServer.layerProtocolSocketServer),
      Layer.provide(Layer.succeed(SocketServer)(server)),
      Layer.provide(Framing.layer)
    )
  )
  const { clientIds } = Context.get(context, RpcServer.Protocol)
  return { port: server.address.port, connections: Effect.map(clientIds, ({ size }) => size), state }
})

/** A client of the library, with this secret. */
export const connected = Effect.fnUntraced(function*(
  port: number,
  options: { readonly secret?: Redacted.Redacted<string>; readonly heartbeat?: number; readonly silence?: number } = {}
) {
  const psk = yield* Psk.make("connected", options.secret ?? secret)
  const layer = TlsClient.layer({ psk, heartbeat: options.heartbeat ?? 1000, silence: options.silence ?? 60_000 }).pipe(
    Layer.provide(Framing.layer)
  )
  const protocols = Context.get(yield* Layer.build(layer), Runners.RpcClientProtocol)
  const protocol = yield* protocols.make(RunnerAddress.make("127.0.0.1", port))
  return yield* RpcClient.make(Calls).pipe(Effect.provideService(RpcClient.Protocol, protocol))
})

/** A socket of someone else, with what happens to it. It is destroyed when the scope closes. */
const watched = <S extends net.Socket>(open: () => S, ready: string) =>
  Effect.gen(function*() {
    let read = 0
    const socket = yield* Effect.acquireRelease(Effect.sync(open), (socket) => Effect.sync(() => void socket.destroy()))
    const errors: Array<string> = []
    const opens = new Promise<boolean>((resolve) => {
      socket.on("error", (error) => void errors.push(error.message))
      socket.once("close", () => resolve(false))
      socket.once(ready, () => resolve(true))
    })
    const closes = new Promise<void>((resolve) => void socket.once("close", () => resolve()))
    socket.on("data", (data) => void (read += data.length))
    return {
      socket,
      errors,
      /** Whether it was opened, for TLS: with a good handshake. */
      opens: Effect.promise(() => opens),
      closes: Effect.promise(() => closes),
      read: () => read
    }
  })

/** A connection without TLS. */
export const plain = (port: number) => watched(() => net.connect({ port, host: "127.0.0.1" }), "connect")

/** A connection with TLS, and these options. */
export const secured = (port: number, options: tls.ConnectionOptions) =>
  watched(() => tls.connect({ port, host: "127.0.0.1", ...options }), "secureConnect")

/** Made once, because a key takes 100 ms. */
let key: Psk.Psk | undefined

/** A connection of someone who has the secret. */
export const trusted = Effect.fnUntraced(function*(port: number) {
  key ??= yield* Psk.make("trusted", secret)
  return yield* secured(port, key.client)
})

/** What a client sends to call this, with a payload or without. */
export const framed = (tag: string, bytes?: Uint8Array): Effect.Effect<Buffer> =>
  Effect.map(Effect.provide(RpcSerialization, Framing.layer), (serialization) => {
    const payload = bytes === undefined
      ? Schema.encodeSync(serialization.codecFor(Schema.Void))(undefined)
      : Schema.encodeSync(serialization.codecFor(Schema.Struct({ bytes: Schema.Uint8Array })))({ bytes })
    return Buffer.from(serialization.makeUnsafe().encode({ _tag: "Request", id: "1", tag, payload, headers: [] }) ?? "")
  })

/** A frame that has another length than it says. */
export const withLength = (frame: Buffer, length: number): Buffer => {
  const digits: Array<number> = []
  let rest = length
  for (; rest >= 128; rest = Math.floor(rest / 128)) digits.push(128 + rest % 128)
  return Buffer.concat([Buffer.from([...digits, rest]), frame.subarray(1)])
}

/** Waits, event by event, until it holds. */
export const until = (holds: Effect.Effect<boolean>): Effect.Effect<void> =>
  Effect.flatMap(
    holds,
    (done) => done ? Effect.void : Effect.andThen(Effect.promise(() => new Promise(setImmediate)), until(holds))
  )
