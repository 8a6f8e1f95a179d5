/** The network between a host and the others, which a test can cut, or let hang. */
import * as Effect from "effect/Effect"
import * as net from "node:net"

export interface Proxy {
  readonly port: number
  /** Connections end, and no new ones come about. */
  readonly cut: () => void
  /** Nothing arrives any more, though all connections stay. */
  readonly stall: () => void
  /** All is well again. What was sent to a stalled connection arrives. */
  readonly mend: () => void
}

/** Ports that are free at this moment. */
export const freePorts = (count: number): Effect.Effect<ReadonlyArray<number>> =>
  Effect.promise(async () => {
    const servers = Array.from({ length: count }, () => net.createServer())
    const ports = await Promise.all(servers.map((server) =>
      new Promise<number>((resolve) =>
        server.listen(0, "127.0.0.1", () => resolve((server.address() as net.AddressInfo).port))
      )
    ))
    await Promise.all(servers.map((server) =>
      new Promise((resolve) => server.close(resolve))
    ))
    return ports
  })

/** Nothing between this port and the others. */
export const none = (port: number): Proxy => ({ port, cut: () => {}, stall: () => {}, mend: () => {} })

/** Between any free port and this one. */
export const make = (target: number) =>
  Effect.acquireRelease(
    Effect.callback<Proxy & { readonly close: () => void }>((resume) => {
      const sockets = new Set<net.Socket>()
      let state: "cut" | "stalled" | "well" = "well"
      const server = net.createServer((near) => {
        if (state === "cut") return near.destroy()
        const far = net.connect(target, "127.0.0.1")
        for (const [socket, other] of [[near, far], [far, near]] as const) {
          sockets.add(socket)
          socket.setNoDelay(true)
          socket.on("data", (data) => void other.write(data))
          socket.on("error", () => undefined)
          socket.on("close", () => {
            sockets.delete(socket)
            // Who is behind a stalled network does not see the other's end.
            if (state !== "stalled") other.destroy()
          })
          if (state === "stalled") socket.pause()
        }
        return undefined
      })
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed({
          port: (server.address() as net.AddressInfo).port,
          cut: () => {
            state = "cut"
            for (const socket of sockets) socket.destroy()
          },
          stall: () => {
            state = "stalled"
            for (const socket of sockets) socket.pause()
          },
          mend: () => {
            state = "well"
            for (const socket of sockets) socket.resume()
          },
          close: () => {
            for (const socket of sockets) socket.destroy()
            server.close()
          }
        })))
    }),
    ({ close }) => Effect.sync(close)
  )
