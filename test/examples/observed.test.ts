/** An observed service: its metrics for Prometheus, and what an OpenTelemetry collector receives. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { Effect, Queue, Schema } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { json } from "node:stream/consumers"
import { prometheus } from "../../scripts/backends.ts"
import { type Family, parse } from "../support/exposition.ts"
import { describeWith } from "../support/required.ts"

const main = join(import.meta.dirname, "../../examples/observed/main.ts")

const Attribute = Schema.Struct({
  key: Schema.String,
  value: Schema.Record(Schema.String, Schema.Unknown)
})
const Attributes = Schema.Array(Attribute)

/** The members of metrics and spans in OTLP/JSON that are read here. Times are nanoseconds as text. */
const Metrics = Schema.Struct({
  resourceMetrics: Schema.Array(Schema.Struct({
    resource: Schema.Struct({ attributes: Attributes }),
    scopeMetrics: Schema.Array(Schema.Struct({
      metrics: Schema.Array(Schema.Struct({
        name: Schema.String,
        unit: Schema.String,
        description: Schema.optionalKey(Schema.String),
        gauge: Schema.optionalKey(Schema.Struct({
          dataPoints: Schema.Array(
            Schema.Struct({ attributes: Attributes, asDouble: Schema.optionalKey(Schema.Finite) })
          )
        })),
        sum: Schema.optionalKey(Schema.Struct({
          isMonotonic: Schema.Boolean,
          aggregationTemporality: Schema.Literal(2),
          dataPoints: Schema.Array(
            Schema.Struct({ attributes: Attributes, asDouble: Schema.optionalKey(Schema.Finite) })
          )
        })),
        histogram: Schema.optionalKey(Schema.Struct({
          aggregationTemporality: Schema.Literal(2),
          dataPoints: Schema.Array(Schema.Struct({
            attributes: Attributes,
            count: Schema.Finite,
            sum: Schema.Finite,
            bucketCounts: Schema.Array(Schema.Finite),
            explicitBounds: Schema.Array(Schema.Finite)
          }))
        }))
      }))
    }))
  }))
})

const Traces = Schema.Struct({
  resourceSpans: Schema.Array(Schema.Struct({
    scopeSpans: Schema.Array(Schema.Struct({
      spans: Schema.Array(Schema.Struct({
        traceId: Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/)),
        spanId: Schema.String.check(Schema.isPattern(/^[0-9a-f]{16}$/)),
        parentSpanId: Schema.optionalKey(Schema.String),
        name: Schema.String,
        startTimeUnixNano: Schema.String.check(Schema.isPattern(/^\d+$/)),
        endTimeUnixNano: Schema.String.check(Schema.isPattern(/^\d+$/)),
        attributes: Attributes
      }))
    }))
  }))
})

const valueOf = (attributes: typeof Attributes.Type, name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0]

/** A server of this process, until the scope closes. */
const listening = (handle: RequestListener) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(handle).listen(0, "127.0.0.1")
      await once(server, "listening")
      const { port } = server.address() as AddressInfo
      return { server, url: `http://127.0.0.1:${port}` }
    }),
    ({ server }) =>
      Effect.promise(async () => {
        server.closeAllConnections()
        server.close()
        await once(server, "close")
      })
  )

/** A collector that keeps what it is sent, by path. */
const collector = Effect.suspend(() => {
  const received = new Map<string, Array<unknown>>()
  return listening((request, response) => {
    const path = request.url ?? ""
    const keep = async () => {
      received.set(path, [...received.get(path) ?? [], await json(request)])
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    }
    void keep()
  }).pipe(Effect.map(({ url }) => ({ received, url })))
})

/** A process that prints its address on `stream`, and runs until the scope ends it. */
const started = (
  program: string,
  args: ReadonlyArray<string>,
  stream: "stdout" | "stderr",
  where: RegExp
) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] })
      const said: Array<string> = []
      const closed = once(child, "close")
      for (const other of [child.stdout, child.stderr]) {
        if (other !== child[stream]) other.on("data", (part) => said.push(String(part)))
      }
      let url: string | undefined
      for await (const line of createInterface({ input: child[stream] })) {
        said.push(line)
        url = where.exec(line)?.[1]
        if (url !== undefined) break
      }
      child[stream].resume()
      if (url === undefined) throw new Error(said.join("\n"))
      const end = async () => {
        child.kill("SIGTERM")
        await closed
      }
      return { url, end }
    }),
    ({ end }) => Effect.promise(end)
  )

/** The service, which runs until the scope ends it. */
const service = (args: ReadonlyArray<string>) =>
  started(
    process.execPath,
    ["--conditions=effect-gpu-pool:source", main, "--port=0", ...args],
    "stdout",
    /Listening on (http:\S+)/
  )

const get = (url: string) =>
  Effect.promise(async () => {
    const response = await fetch(url, { headers: { connection: "close" } })
    return { status: response.status, type: response.headers.get("content-type"), body: await response.text() }
  })

const samples = 4096
const bytes = 4 * samples

/** The pool's metrics after three requests in sequence. */
const expected: Readonly<Record<string, number>> = {
  gpu_pool_misses_total: 1,
  gpu_pool_hits_total: 2,
  gpu_pool_evictions_total: 0,
  gpu_pool_out_of_memory_total: 0,
  gpu_pool_managed_bytes: bytes,
  gpu_pool_held_bytes: bytes,
  gpu_pool_active_bytes: 0,
  gpu_pool_peak_active_bytes: bytes,
  gpu_pool_pending_bytes: 0,
  gpu_pool_reserved_bytes: 0,
  gpu_pool_held_blocks: 1,
  gpu_pool_waiters: 0,
  gpu_pool_limit_bytes: 1_000_000
}

const checkPage = (families: ReadonlyMap<string, Family>): void => {
  for (const [name, value] of Object.entries(expected)) {
    const family = families.get(name)
    strictEqual(family?.type, name.endsWith("_total") ? "counter" : "gauge", name)
    assert.match(family?.help ?? "", /^[A-Z].*\.$/)
    const [sample, ...others] = family?.samples.get(name) ?? []
    strictEqual(sample?.value, value, name)
    deepStrictEqual(Object.keys(sample?.labels ?? {}), ["memory", "number", "device"])
    strictEqual(sample?.labels["memory"], "waves")
    strictEqual(others.length, 0)
  }
  const misses = checkHistogram(families, "gpu_pool_miss_duration_seconds", 1)
  deepStrictEqual([misses["pool"], misses["outcome"]], ["BufferPool", "made"])
  strictEqual(checkHistogram(families, kernelTime, 3)["kernel"], "fill_wave")
}

const kernelTime = "gpu_kernel_duration_seconds"

/** Checks the count of the only series, and returns its labels. */
const checkHistogram = (families: ReadonlyMap<string, Family>, name: string, count: number) => {
  const family = families.get(name)
  strictEqual(family?.type, "histogram")
  const buckets = family?.samples.get(`${name}_bucket`) ?? []
  const ends = buckets.map(({ labels }) => labels["le"] === "+Inf" ? Infinity : Number(labels["le"]))
  deepStrictEqual(ends, [...ends].sort((one, other) => one - other))
  strictEqual(ends.at(-1), Infinity)
  const counts = buckets.map(({ value }) => value)
  deepStrictEqual(counts, [...counts].sort((one, other) => one - other))
  const [counted, ...others] = family?.samples.get(`${name}_count`) ?? []
  deepStrictEqual([counted?.value, counts.at(-1), others.length], [count, count, 0])
  assert.isAbove(family?.samples.get(`${name}_sum`)?.[0]?.value ?? 0, 0)
  return counted?.labels ?? {}
}

/** A driver may tell how long a kernel took after its results were read. */
const isMeasured = ({ body }: { readonly body: string }): boolean =>
  (parse(body).get(kernelTime)?.samples.get(`${kernelTime}_count`) ?? []).some(({ value }) => value === 3)

/** Three requests; the page for Prometheus. */
const served = (url: string) =>
  Effect.gen(function*() {
    for (let request = 0; request < 3; request++) {
      const { body, status } = yield* get(`${url}/wave?samples=${samples}&periods=3`)
      strictEqual(status, 200, body)
      const answer = JSON.parse(body) as { readonly samples: number; readonly loudness: number }
      strictEqual(answer.samples, samples)
      assert.approximately(answer.loudness, Math.SQRT1_2, 1e-3)
    }
    const { body, status, type } = yield* Effect.repeat(get(`${url}/metrics`), { until: isMeasured })
    strictEqual(status, 200)
    assert.match(type ?? "", /^text\/plain; version=0\.0\.4/)
    return body
  })

const limit = "--max-bytes=1000000"

const observed = (backend: string) =>
  Effect.gen(function*() {
    const { url } = yield* service([limit, `--backend=${backend}`])
    checkPage(parse(yield* served(url)))
  })

const programOf = (name: string): string => join(prometheus() ?? "", name)

/** What Prometheus answers to a query: one sample of each series. */
const Answer = Schema.Struct({
  status: Schema.Literal("success"),
  data: Schema.Struct({
    resultType: Schema.Literal("vector"),
    result: Schema.Array(Schema.Struct({
      metric: Schema.Record(Schema.String, Schema.String),
      value: Schema.Tuple([Schema.Finite, Schema.String])
    }))
  })
})

/** A Prometheus that reads a page again and again. `scrapes` has a number each time it begins to. */
const scraping = (page: string) =>
  Effect.gen(function*() {
    const scrapes = yield* Queue.unbounded<number>()
    const target = yield* listening((_request, response) => {
      void get(page).pipe(Effect.runPromise).then(({ body, status, type }) =>
        response.writeHead(status, { "content-type": type ?? "" }).end(body)
      )
      Queue.offerUnsafe(scrapes, 1)
    })
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-gpu-pool-prometheus-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    )
    const config = join(folder, "prometheus.yml")
    writeFileSync(
      config,
      JSON.stringify({
        global: { scrape_interval: "1s", scrape_timeout: "1s" },
        scrape_configs: [{ job_name: "waves", static_configs: [{ targets: [new URL(target.url).host] }] }]
      })
    )
    const { url } = yield* started(
      programOf("prometheus"),
      [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, "data")}`, "--web.listen-address=127.0.0.1:0"],
      "stderr",
      /msg="Listening on" address=(\S+)/
    )
    const ask = (query: string) =>
      get(`http://${url}/api/v1/query?${new URLSearchParams({ query })}`).pipe(
        Effect.map(({ body }) => Schema.decodeUnknownSync(Schema.fromJsonString(Answer))(body).data.result)
      )
    return { ask, scrapes }
  })

/** The series that Prometheus has stored. It has stored a page when it reads the next one, and a read may fail. */
const scraped = Effect.fnUntraced(
  function*(ask: (query: string) => Effect.Effect<typeof Answer.Type.data.result>, scrapes: Queue.Dequeue<number>) {
    for (let read = 1; read <= 30; read++) {
      yield* Queue.take(scrapes)
      const numbers = yield* ask(`{job="waves"}`)
      if (numbers.some(({ metric }) => metric["__name__"] === "gpu_pool_limit_bytes")) return numbers
    }
    return []
  }
)

describe("npm run observed", () => {
  it.live("gives Prometheus the counters of its requests' pool, and how long kernels take", () => observed("host"))

  it.live("sends metrics and traces to a collector, the last numbers among them", () =>
    Effect.gen(function*() {
      const { received, url: to } = yield* collector
      const { end, url } = yield* service([limit, `--collector=${to}`])
      yield* served(url)
      yield* Effect.promise(end)
      const bodies = (path: string) => received.get(path) ?? []
      const last = Schema.decodeUnknownSync(Metrics)(bodies("/v1/metrics").at(-1))
      const [resource] = last.resourceMetrics
      strictEqual(valueOf(resource!.resource.attributes, "service.name"), "waves")
      const metrics = new Map(resource!.scopeMetrics.flatMap(({ metrics }) => metrics).map((one) => [one.name, one]))
      for (const [name, value] of Object.entries(expected)) {
        const metric = metrics.get(name)
        assert.isDefined(metric, name)
        const [point, ...others] = (metric!.sum ?? metric!.gauge)?.dataPoints ?? []
        strictEqual(point?.asDouble, value, name)
        strictEqual(others.length, 0)
        strictEqual(metric!.sum?.isMonotonic, name.endsWith("_total") ? true : undefined)
        if (name.endsWith("_bytes")) strictEqual(metric!.unit, "By")
        strictEqual(valueOf(point!.attributes, "memory"), "waves")
        assert.isString(valueOf(point!.attributes, "device"))
      }
      const misses = metrics.get("gpu_pool_miss_duration_seconds")
      const [miss] = misses?.histogram?.dataPoints ?? []
      deepStrictEqual([misses?.unit, miss?.count], ["s", 1])
      strictEqual(miss?.bucketCounts.length, (miss?.explicitBounds.length ?? 0) + 1)
      const kernels = metrics.get(kernelTime)
      const [fill] = kernels?.histogram?.dataPoints ?? []
      deepStrictEqual([kernels?.unit, fill?.count], ["s", 3])
      strictEqual(valueOf(fill!.attributes, "kernel"), "fill_wave")
      const spans = bodies("/v1/traces").map((body) => Schema.decodeUnknownSync(Traces)(body)).flatMap((
        { resourceSpans }
      ) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)))
      const named = (name: string) => spans.filter((span) => span.name === name)
      deepStrictEqual(
        ["gpu.pool.miss", "gpu.pool.wait", "gpu.kernel.compile", "gpu.read"].map((name) => named(name).length),
        [1, 0, 1, 3]
      )
      const [asked] = named("gpu.pool.miss")
      strictEqual(valueOf(asked!.attributes, "gpu.memory.label"), "waves")
      strictEqual(valueOf(asked!.attributes, "gpu.request.label"), "wave")
      strictEqual(Number(valueOf(asked!.attributes, "gpu.request.size")), bytes)
      strictEqual(Number(valueOf(asked!.attributes, "gpu.block.size")), bytes)
      assert.isAtLeast(Number(BigInt(asked!.endTimeUnixNano) - BigInt(asked!.startTimeUnixNano)), 0)
      const work = named("Waves.compute").map(({ spanId }) => spanId)
      strictEqual(work.length, 3)
      for (const span of spans.filter(({ name }) => name.startsWith("gpu."))) assert.include(work, span.parentSpanId)
    }))

  it.live("refuses requests that make no sense, and says why", () =>
    Effect.gen(function*() {
      const { url } = yield* service(["--max-bytes=4096"])
      for (const query of ["", "?samples=0&periods=1", "?samples=x&periods=1", "?samples=8&periods=1.5"]) {
        const { body, status } = yield* get(`${url}/wave${query}`)
        strictEqual(status, 400, query)
        assert.include(body, "error")
      }
      const { body, status } = yield* get(`${url}/wave?samples=4096&periods=1`)
      strictEqual(status, 503)
      assert.include(body, "16384")
    }))
})

describeWith(["prometheus"], "npm run observed, read by Prometheus", () => {
  it.live("passes the check of promtool", () =>
    Effect.gen(function*() {
      const { url } = yield* service([limit])
      const page = yield* served(url)
      const { output, status } = spawnSync(programOf("promtool"), ["check", "metrics"], {
        input: page,
        encoding: "utf8"
      })
      strictEqual(status, 0, output.join(""))
    }))

  it.live("gives a Prometheus server the numbers of the pool", () =>
    Effect.gen(function*() {
      const { url } = yield* service([limit])
      yield* served(url)
      const { ask, scrapes } = yield* scraping(`${url}/metrics`)
      const numbers = yield* scraped(ask, scrapes)
      for (const [name, value] of Object.entries(expected)) {
        const [sample, ...others] = numbers.filter(({ metric }) => metric["__name__"] === name)
        strictEqual(Number(sample?.value[1]), value, name)
        strictEqual(sample?.metric["memory"], "waves", name)
        strictEqual(others.length, 0, name)
      }
      const [median] = yield* ask("histogram_quantile(0.5, gpu_pool_miss_duration_seconds_bucket)")
      assert.isAbove(Number(median?.value[1]), 0)
      const [hitRate] = yield* ask("gpu_pool_hits_total / (gpu_pool_hits_total + gpu_pool_misses_total)")
      strictEqual(Number(hitRate?.value[1]), 2 / 3)
    }))
})

describeWith(["webgpu"], "npm run observed on WebGPU", () => {
  it.live("gives Prometheus the counters of its requests' pool, and how long kernels take", () => observed("webgpu"))
})

describeWith(["opencl"], "npm run observed on OpenCL", () => {
  it.live("gives Prometheus the counters of its requests' pool, and how long kernels take", () => observed("opencl"))
})
