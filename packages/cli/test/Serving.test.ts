/** Which clients `top` and `view --serve` answer, by one rule for both, and their limits. */
import { WebSocket } from "@effect/platform-node/NodeWS"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as DevToolsSchema from "effect/devtools/DevToolsSchema"
import * as Schema from "effect/Schema"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { request } from "node:http"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { commandTests, type Going } from "../../../test/support/command.ts"
import { recordedFrames } from "../../../test/support/recordedFrames.ts"
import { mostBytes, mostConnections } from "../src/LocalServer.ts"

const { home, start } = commandTests()

const recording = join(home, "short.jsonl")
writeFileSync(recording, await recordedFrames(1))

type Headers = Readonly<Record<string, string>>

interface Asked {
  readonly status: number
  readonly body: string
}

const get = (address: string, headers: Headers): Promise<Asked> =>
  new Promise((resolve, reject) => {
    request(address, { headers, agent: false }, (response) => {
      void text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }))
    }).once("error", reject).end()
  })

/** Opens a WebSocket as a browser does, and returns the status: 101 if it is open. */
const upgrade = (address: string, headers: Headers): Promise<Asked> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(address, { headers })
    socket.once("open", () => {
      socket.terminate()
      resolve({ status: 101, body: "" })
    })
    socket.once("unexpected-response", (_, response) => {
      void text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }))
    })
    socket.once("error", reject)
  })

/** A listening command, and how to send it a request. */
interface Listening {
  readonly going: Going
  readonly ask: (headers: Headers) => Promise<Asked>
  readonly address: string
  readonly welcomes: number
}

const top = async (...args: ReadonlyArray<string>): Promise<Listening> => {
  const going = start(["top", "--port", "0", ...args])
  const address = /ws:\/\/[^\s]+:\d+/.exec(String((await going.stderr.next()).value))?.[0]
  assert(address !== undefined)
  return { going, address, ask: (headers) => upgrade(address, headers), welcomes: 101 }
}

const view = async (): Promise<Listening> => {
  const going = start(["view", recording, "--serve"])
  const address = String((await going.stdout.next()).value)
  return { going, address, ask: (headers) => get(address, headers), welcomes: 200 }
}

const end = async ({ going }: Listening): Promise<void> => {
  going.child.kill("SIGINT")
  strictEqual(await going.ended, 130)
}

const elsewhere = "http://elsewhere.example"

/** The headers of a request, and the reason if it is refused. */
const requests: ReadonlyArray<readonly [headers: Headers, why: string | undefined]> = [
  [{}, undefined],
  [{ host: "localhost:1" }, undefined],
  [{ host: "LOCALHOST" }, undefined],
  [{ host: "127.0.0.1" }, undefined],
  [{ host: "[::1]:80" }, undefined],
  [{ host: "elsewhere.example" }, "a request to elsewhere.example, which is no name of this machine"],
  [{ host: "localhost.elsewhere.example" }, "a request to localhost.elsewhere.example"],
  [{ host: "127.0.0.1.elsewhere.example:80" }, "a request to 127.0.0.1.elsewhere.example"],
  [{ origin: "http://localhost:5173" }, undefined],
  [{ origin: "https://127.0.0.1" }, undefined],
  [{ origin: "http://[::1]:8080" }, undefined],
  [{ origin: elsewhere }, "a page of http://elsewhere.example"],
  [{ origin: "https://localhost.elsewhere.example" }, "a page of https://localhost.elsewhere.example"],
  [{ origin: "https://elsewhere.example/localhost" }, "a page of https://elsewhere.example/localhost"],
  // Browsers send "null" for a sandboxed frame and for a local file; any page can make such a frame.
  [{ origin: "null" }, "a page of null"],
  [{ origin: "" }, "a page of "],
  [{ origin: "http://localhost, http://elsewhere.example" }, "a page of http://localhost, http://elsewhere.example"],
  [{ "sec-fetch-site": "cross-site", "sec-fetch-dest": "image" }, "a page of another machine"],
  [{ "sec-fetch-site": "cross-site", "sec-fetch-dest": "document" }, undefined],
  [{ "sec-fetch-site": "none", "sec-fetch-dest": "document" }, undefined]
]

describe.each([["top", top], ["view --serve", view]] as const)("%s", (_, listen) => {
  it.concurrent("answers programs and pages of this machine, and says whom it refuses", async () => {
    const listening = await listen()
    for (const [headers, why] of requests) {
      const { body, status } = await listening.ask(headers)
      strictEqual(status, why === undefined ? listening.welcomes : 403, JSON.stringify(headers))
      if (why !== undefined) assert.include(body, `Refused: ${why}`)
    }
    await end(listening)
  })

  it.concurrent("has no more connections than it can bear, and goes on", async () => {
    const listening = await listen()
    const { hostname, port } = new URL(listening.address)
    const opened = (): Promise<Socket> =>
      new Promise((resolve, reject) => {
        const socket = connect(Number(port), hostname.replace(/[[\]]/g, ""), () => resolve(socket))
        socket.on("error", reject)
      })
    const sockets: Array<Socket> = []
    for (let count = 0; count < mostConnections; count++) sockets.push(await opened())
    const oneMore = await opened()
    // The connection may be reset during the request.
    const closed = new Promise((resolve) => oneMore.once("close", resolve))
    oneMore.write("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    let received = 0
    oneMore.on("data", ({ length }: Buffer) => received += length)
    await closed
    strictEqual(received, 0)
    await Promise.all(sockets.map((socket) => once(socket.resume().destroy(), "close")))
    // The server may notice the closed connections only after the next request.
    let status = 0
    while (status === 0) ({ status } = await listening.ask({}).catch(() => ({ status: 0 })))
    strictEqual(status, listening.welcomes)
    await end(listening)
  })
})

const encode = Schema.encodeSync(Schema.toCodecJson(DevToolsSchema.Request))

/** The message of a program with so many pools, as DevTools writes it. */
const snapshot = (pools: number): string => {
  const metrics = Array.from({ length: pools }, (_, at): DevToolsSchema.Metric => ({
    id: "gpu_pool_managed_bytes",
    type: "Gauge",
    description: undefined,
    attributes: { memory: `pool ${at}` },
    state: { value: at }
  }))
  return `${JSON.stringify(encode({ _tag: "MetricsSnapshot", metrics }))}\n`
}

/** A program as `top` sees it: it sends `text` at every request. */
const program = async (address: string, text: string): Promise<WebSocket> => {
  const socket = new WebSocket(address)
  socket.on("message", () => socket.send(text))
  await once(socket, "open")
  return socket
}

describe("what top takes", () => {
  it.concurrent("lets pages of other origins connect where its user says so, and says once how", async () => {
    // Browsers write origins in small letters, and without the usual port.
    const listening = await top(
      "--origin",
      elsewhere,
      "--origin",
      "https://Other.example:8080",
      "--origin",
      "https://usual.example:443"
    )
    strictEqual((await listening.ask({ origin: "https://usual.example" })).status, 101)
    strictEqual((await listening.ask({ origin: elsewhere })).status, 101)
    strictEqual((await listening.ask({ origin: "https://other.example:8080" })).status, 101)
    for (let time = 0; time < 3; time++) {
      strictEqual((await listening.ask({ origin: "https://other.example" })).status, 403)
    }
    const { value } = await listening.going.stderr.next()
    strictEqual(value, "Refused: a page of https://other.example. --origin lets pages of another origin connect.")
    await end(listening)
    strictEqual((await listening.going.stderr.next()).done, true)
  })

  it.concurrent("notes few of the many names by which a page may ask", async () => {
    const listening = await top()
    for (let at = 0; at < 40; at++) {
      strictEqual((await listening.ask({ origin: `https://${at}.example` })).status, 403)
    }
    await end(listening)
    let notes = 0
    while ((await listening.going.stderr.next()).done !== true) notes++
    strictEqual(notes, 16)
  })

  it.concurrent("answers under any name where other machines may connect, and refuses their pages", async () => {
    const listening = await top("--host", "0.0.0.0")
    const { port } = new URL(listening.address)
    const address = `ws://127.0.0.1:${port}`
    strictEqual((await upgrade(address, { host: "gpu-box.local" })).status, 101)
    strictEqual((await upgrade(address, { origin: "http://gpu-box.local" })).status, 403)
    await end(listening)
  })

  it.concurrent.each([
    // before it is read, as the protocol has it
    ["a message", 1009, (socket: WebSocket) => socket.send("x".repeat(mostBytes + 1))],
    ["a line in many messages", 1011, (socket: WebSocket) => {
      for (let sent = 0; sent <= mostBytes; sent += 2 ** 20) socket.send("x".repeat(2 ** 20))
    }]
  ])("ends the connection of a program that sends too much as %s, and serves others", async (_, code, send) => {
    const listening = await top("--json", "--every", "0.05")
    const rude = new WebSocket(listening.address)
    rude.on("error", () => {})
    await once(rude, "open")
    send(rude)
    strictEqual((await once(rude, "close"))[0], code)
    assert.match(
      String((await listening.going.stderr.next()).value),
      /^Refused: a program, as it sent more than 8 MiB at once, or did not read\.$/
    )
    const other = await program(listening.address, snapshot(1))
    const { memories } = JSON.parse(String((await listening.going.stdout.next()).value)) as {
      readonly memories: ReadonlyArray<unknown>
    }
    strictEqual(memories.length, 1)
    other.terminate()
    await end(listening)
  })

  it.concurrent("says which program speaks another protocol, and serves others", async () => {
    const listening = await top("--once", "--json")
    const stranger = await program(listening.address, `{"_tag":"Hello"}\n`)
    strictEqual(
      (await listening.going.stderr.next()).value,
      "Refused: a program, as it speaks another protocol than DevTools.layer() of Effect 4.1."
    )
    const other = await program(listening.address, snapshot(1))
    strictEqual((await listening.going.stdout.next()).done, false)
    strictEqual(await listening.going.ended, 0)
    stranger.terminate()
    other.terminate()
  })

  it.concurrent("receives what it has asked for, and no flood of answers", async () => {
    const listening = await top("--json", "--every", "1000")
    const flood = new WebSocket(listening.address)
    const received = new Promise<void>((resolve) =>
      flood.on("message", (data) => String(data).includes("Pong") ? resolve() : undefined)
    )
    await once(flood, "open")
    for (let at = 0; at < 1000; at++) flood.send(snapshot(1))
    flood.send(`{"_tag":"Ping"}\n`)
    await received
    const other = await program(listening.address, snapshot(1))
    const lines: Array<number> = []
    while (!lines.includes(2)) {
      const { value } = await listening.going.stdout.next()
      lines.push((JSON.parse(String(value)) as { readonly program: number }).program)
    }
    // The requested line, and one that a program may send at its end.
    assert.isAtMost(lines.length, 3)
    flood.terminate()
    other.terminate()
    await end(listening)
  })

  it.concurrent("ends by an interrupt while a program has more pools than any screen", async () => {
    const listening = await top("--every", "0.001")
    const big = await program(listening.address, snapshot(50_000))
    const lines: Array<string> = []
    while (!lines.some((line) => line.startsWith("and "))) {
      const next = await listening.going.stdout.next()
      assert(next.done !== true)
      lines.push(next.value)
    }
    assert.include(lines.at(-1), "and 49,900 smaller ones, which --json has too")
    deepStrictEqual(lines.filter((line) => line.includes("pool 49999")).length, 1)
    await end(listening)
    big.terminate()
  })
})
