/** Pages of recordings: a file, or a server that makes a new page for each request. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { commandTests, type Going } from "../../../test/support/command.ts"
import { recordedFrames } from "../../../test/support/recordedFrames.ts"
import { decompressed, unpack } from "../../observability/src/viewer/Packing.ts"
import { commandInProcess } from "./inProcess.ts"

const { home, run } = commandInProcess()
const { run: runAlone, start } = commandTests()

const short = await recordedFrames(1)
const long = await recordedFrames(10)

const file = (name: string, content: string): string => {
  const path = join(home, name)
  writeFileSync(path, content)
  return path
}

/** Whether the page of these recordings is one of hosts, and how many recordings it has. */
const pageOf = async (...names: ReadonlyArray<string>) => {
  const output = join(home, `${names.join("-")}.html`)
  const { code, stderr } = await run(["view", ...names.map((name) => join(home, name)), "-o", output])
  strictEqual(code, 0, stderr)
  const page = readFileSync(output, "utf8")
  return [page.includes(`<main id="app" data-fleet></main>`), page.split("data-recording>").length - 1]
}

describe("effect-gpu-pool view", () => {
  it.concurrent("writes a page beside, named as the recording", async () => {
    const { code, stderr, stdout } = await run(["view", file("frames.jsonl", short)])
    strictEqual(code, 0, stderr)
    strictEqual(stdout.trim(), join(home, "frames.html"))
    const page = readFileSync(join(home, "frames.html"), "utf8")
    assert.match(page, /^<!doctype html>/i)
    assert.include(page, "<title>frames.jsonl</title>")
  })

  it.concurrent("writes two runs over each other, with a title, where the flag says", async () => {
    const [one, other] = [file("one.jsonl", short), file("other.jsonl", long)]
    const output = join(home, "both.html")
    const { code, stderr } = await run(["view", one, other, "--output", output, "--title", "A & B"])
    strictEqual(code, 0, stderr)
    const page = readFileSync(output, "utf8")
    assert.include(page, "<title>A &amp; B</title>")
    const alone = await run(["view", one, "-o", join(home, "alone.html")])
    strictEqual(alone.code, 0)
    assert.isAbove(page.length, readFileSync(join(home, "alone.html"), "utf8").length)
  })

  it.concurrent("writes a lane for each host: of two that are different hosts, and of more in any case", async () => {
    for (const host of ["a", "b"]) file(`${host}.jsonl`, long.replace(`"reason":`, `"host":"${host}","reason":`))
    for (const name of ["third.jsonl", "fourth.jsonl"]) file(name, short)
    deepStrictEqual(await pageOf("a.jsonl", "b.jsonl"), [true, 2])
    deepStrictEqual(await pageOf("a.jsonl", "a.jsonl"), [false, 2])
    deepStrictEqual(await pageOf("a.jsonl", "third.jsonl"), [false, 2])
    deepStrictEqual(await pageOf("third.jsonl", "a.jsonl", "fourth.jsonl", "b.jsonl"), [true, 4])
  })

  it.concurrent("names the page of a fleet, and writes over no recording of it", async () => {
    const folder = join(home, "hosts")
    mkdirSync(folder)
    const inputs = ["fleet.html", "two", "three"].map((name) => file(join("hosts", name), short))
    const refused = await run(["view", ...inputs, "-o", inputs[2]!, "--overwrite"])
    deepStrictEqual([refused.code, refused.stdout], [1, ""])
    assert.include(refused.stderr, "three is the recording itself.")
    const { code, stdout } = await run(["view", ...inputs])
    deepStrictEqual([code, stdout.trim()], [0, join(home, "fleet.html")])
    assert.include(readFileSync(join(home, "fleet.html"), "utf8"), "<title>A fleet</title>")
  })

  it.concurrent("writes its own pages anew, and never over another file unasked", async () => {
    const recording = file("again.jsonl", short)
    const mine = join(home, "again.html")
    writeFileSync(mine, "<p>my notes</p>")
    const first = await run(["view", recording])
    deepStrictEqual([first.code, first.stdout.trim()], [0, join(home, "again-2.html")])
    assert.include(first.stderr, "again.html is a file of yours: --overwrite would replace it.")
    const before = readFileSync(join(home, "again-2.html"), "utf8")
    writeFileSync(recording, long)
    const second = await run(["view", recording])
    strictEqual(second.stdout.trim(), join(home, "again-2.html"))
    assert.isAbove(readFileSync(join(home, "again-2.html"), "utf8").length, before.length)
    const named = await run(["view", recording, "--output", mine])
    deepStrictEqual([named.code, named.stdout], [1, ""])
    assert.include(named.stderr, "again.html exists, and this command did not write it.")
    strictEqual(readFileSync(mine, "utf8"), "<p>my notes</p>")
    const replaced = await run(["view", recording, "--overwrite"])
    deepStrictEqual([replaced.code, replaced.stderr, replaced.stdout.trim()], [0, "", mine])
    assert.match(readFileSync(mine, "utf8"), /^<!doctype html>/i)
  })

  it.concurrent("never writes over its input, whatever it is told", async () => {
    const recording = file("kept.html", short)
    for (const args of [[recording], [recording, "--overwrite"], [recording, "-o", "kept.html", "--overwrite"]]) {
      const { code, stderr } = await run(["view", ...args])
      strictEqual(code, 1)
      assert.include(stderr, "kept.html is the recording itself.")
    }
    strictEqual(readFileSync(recording, "utf8"), short)
  })

  it.concurrent("writes to standard output", async () => {
    const { code, stderr, stdout } = await runAlone(["view", file("out.jsonl", short), "-o", "-"])
    deepStrictEqual([code, stderr], [0, ""])
    assert.match(stdout, /^<!doctype html>[^]*<\/html>\n$/)
  })

  it.concurrent("reads standard input, and running programs", async () => {
    const piped = await run(["view", "-", "-o", join(home, "piped.html")], short)
    strictEqual(piped.code, 0, piped.stderr)
    const server = createServer((_, response) => void response.end(long)).listen(0, "127.0.0.1")
    try {
      await new Promise((resolve) => server.once("listening", resolve))
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/recording`
      const fetched = await run(["view", address])
      strictEqual(fetched.code, 0, fetched.stderr)
      strictEqual(existsSync(join(home, "recording.html")), true)
    } finally {
      server.close()
    }
  })

  it.concurrent.each([
    ["nowhere.jsonl", undefined, /nowhere\.jsonl cannot be read: ENOENT/],
    [".", undefined, /\. cannot be read: EISDIR/],
    ["empty.jsonl", "", /empty\.jsonl: .*the file is empty/],
    ["cut.jsonl", long.slice(0, -40), /cut\.jsonl: .*line \d+/],
    ["http://127.0.0.1:1/recording", undefined, /http:\/\/127\.0\.0\.1:1\/recording cannot be read: /]
  ])("refuses %s with the reason", async (input, content, message) => {
    if (content !== undefined) file(input, content)
    const { code, stderr, stdout } = await run(["view", input, "-o", join(home, `${encodeURIComponent(input)}.html`)])
    deepStrictEqual([code, stdout], [1, ""])
    assert.match(stderr, message)
    assert.notMatch(stderr, /\n +at /)
    strictEqual(existsSync(join(home, `${encodeURIComponent(input)}.html`)), false)
  })

  it.concurrent("says where it cannot write", async () => {
    const { code, stderr } = await run(["view", file("fine.jsonl", short), "-o", join(home, "no/such/folder.html")])
    strictEqual(code, 1)
    assert.match(stderr, /folder\.html cannot be written: ENOENT/)
  })
})

const addressOf = async ({ stdout }: Going): Promise<string> => String((await stdout.next()).value)

describe("effect-gpu-pool view --serve", () => {
  it.concurrent("makes the page anew for each look, until an interrupt", async () => {
    const recording = file("live.jsonl", short)
    const going = start(["view", recording, "--serve"])
    const address = await addressOf(going)
    const first = await fetch(address)
    deepStrictEqual([first.status, first.headers.get("cache-control")], [200, "no-store"])
    const page = await first.text()
    assert.include(page, "<title>live.jsonl</title>")
    assert.include(page, `<main id="app"></main>`)
    writeFileSync(recording, long)
    assert.notStrictEqual(await (await fetch(address)).text(), page)
    writeFileSync(recording, "no recording")
    const broken = await fetch(address)
    strictEqual(broken.status, 502)
    assert.include(await broken.text(), "live.jsonl: ")
    strictEqual((await fetch(new URL("/other", address))).status, 404)
    going.child.kill("SIGINT")
    strictEqual(await going.ended, 130)
  })

  it.concurrent("sends the page of a fleet what each host has", async () => {
    const [one, other] = [file("host-1.jsonl", short), file("host-2.jsonl", long)]
    const going = start(["view", one, other, one, "--serve", "--refresh", "2"])
    const address = await addressOf(going)
    assert.include(
      await (await fetch(address)).text(),
      `<main id="app" data-fleet data-live="data" data-refresh="2000"></main>`
    )
    const eventsOf = async (path: string) =>
      unpack(await decompressed(new Uint8Array(await (await fetch(new URL(path, address))).arrayBuffer()))).times.length
    const [first, second, third] = await Promise.all(["data/0", "data/1", "data/2"].map(eventsOf))
    deepStrictEqual([first, first], [third, await eventsOf("data")])
    assert.isAbove(second!, first!)
    strictEqual((await fetch(new URL("data/3", address))).status, 404)
    going.child.kill("SIGTERM")
    strictEqual(await going.ended, 130)
  })

  it.concurrent("sends a page what a running program has now, and what a file has if it is to", async () => {
    let now = short
    const server = createServer((_, response) => void response.end(now)).listen(0, "127.0.0.1")
    await new Promise((resolve) => server.once("listening", resolve))
    const program = `http://127.0.0.1:${(server.address() as AddressInfo).port}/recording`
    const recording = file("growing.jsonl", short)
    const change = (text: string) => {
      now = text
      writeFileSync(recording, text)
    }
    const cases = [
      { args: [program], refresh: 1000 },
      { args: [recording, "--refresh", "0.5"], refresh: 500 }
    ]
    try {
      for (const { args, refresh } of cases) {
        change(short)
        const going = start(["view", "--serve", ...args])
        const address = await addressOf(going)
        assert.include(
          await (await fetch(address)).text(),
          `<main id="app" data-live="data" data-refresh="${refresh}"></main>`
        )
        const data = () => fetch(new URL("data", address))
        const events = async () =>
          unpack(await decompressed(new Uint8Array(await (await data()).arrayBuffer()))).times.length
        const before = await events()
        change(long)
        assert.isAbove(await events(), before)
        change("no recording")
        strictEqual((await data()).status, 502)
        going.child.kill("SIGTERM")
        strictEqual(await going.ended, 130)
      }
    } finally {
      server.close()
    }
  })

  it.concurrent.each([
    [["r.jsonl", "--port", "8080"], "--port: this is for a page that is served. Add --serve, or leave it out."],
    [
      ["r.jsonl", "--refresh", "5", "--port", "0"],
      "--port, --refresh: this is for a page that is served. Add --serve, or leave it out."
    ],
    [["r.jsonl", "--serve", "--overwrite"], "--overwrite: --serve writes no file. Leave one of them out."],
    [["r.jsonl", "--serve", "-o", "x"], "--output: --serve writes no file. Leave one of them out."],
    [["-", "--serve"], "Standard input can be read once, and --serve reads again. Give it a file or an address."]
  ])("refuses %j", async (args, message) => {
    const { code, stderr, stdout } = await run(["view", ...args], short)
    deepStrictEqual([code, stdout], [1, ""])
    assert.include(stderr, message)
  })

  it.concurrent("says where another one is served", async () => {
    const going = start(["view", file("own.jsonl", short), "--serve"])
    const { port } = new URL(await addressOf(going))
    const taken = await runAlone(["view", join(home, "own.jsonl"), "--serve", "--port", port])
    strictEqual(taken.code, 1)
    assert.match(taken.stderr, /the page cannot be served at port \d+: .*EADDRINUSE/)
    going.child.kill("SIGTERM")
    strictEqual(await going.ended, 130)
  })
})
