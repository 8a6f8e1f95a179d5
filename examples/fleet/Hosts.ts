/** Hosts as processes of this machine. */
import { Console, Data, Deferred, Effect, type Redacted, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { fileURLToPath } from "node:url"
import { hasJoined } from "./Settings.ts"

export interface HostOptions {
  readonly name: string
  /** Bytes of its device. */
  readonly maxBytes: number
  readonly device: string
  readonly secret: Redacted.Redacted<string>
  /** The file where the processes find each other. */
  readonly storage: string
}

export class HostEnded extends Data.TaggedError("HostEnded")<{ readonly host: string }> {
  override get message(): string {
    return `host ${this.host} ended before it joined the fleet; it has written why`
  }
}

/** Starts a host and waits until it has joined the fleet. It ends with the scope, or when it is killed. */
export const start = Effect.fn("Hosts.start")(function*({ device, maxBytes, name, secret, storage }: HostOptions) {
  const main = fileURLToPath(new URL("host.ts", import.meta.url))
  const host = yield* ChildProcess.make(process.execPath, [...process.execArgv, main], {
    env: {
      FLEET_HOST: name,
      FLEET_ADDRESS: "127.0.0.1",
      // Any free one.
      FLEET_PORT: "0",
      FLEET_DEVICE: device,
      FLEET_MAX_BYTES: String(maxBytes),
      FLEET_SECRET: secret,
      FLEET_STORAGE: storage
    },
    extendEnv: true,
    stderr: "inherit"
  })
  const joined = yield* Deferred.make<void, HostEnded>()
  // To its end, so that the host can always write.
  yield* host.stdout.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.runForEach((line) => line === hasJoined(name) ? Deferred.succeed(joined, undefined) : Console.error(line)),
    Effect.ensuring(Deferred.fail(joined, new HostEnded({ host: name }))),
    Effect.forkScoped
  )
  yield* Deferred.await(joined)
  return { name, kill: host.kill({ killSignal: "SIGKILL" }) }
})
