/** The documented starts of the example on many machines: hosts read what these files give them, and find each other by it. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted, Result, Schema } from "effect"
import { Yaml } from "effect/encoding"
import { existsSync, readFileSync } from "node:fs"
import { join, normalize } from "node:path"
import * as Settings from "../../examples/fleet/Settings.ts"
import * as Timing from "../../packages/fleet/src/protocol/Timing.ts"
import { root } from "../support/packages.ts"

const folder = join(root, "examples/fleet/deploy")
const textOf = (file: string): string => readFileSync(join(folder, file), "utf8")

type Env = Readonly<Record<string, string>>

/** What a host makes of its environment. */
const hostOf = (env: Env) =>
  Effect.all({ shared: Settings.shared, host: Settings.host }).pipe(
    Effect.map(({ host, shared }) => ({
      ...host,
      secret: Redacted.value(shared.secret),
      storage: new URL(Redacted.value(shared.storage))
    })),
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))),
    Effect.result,
    Effect.runSync
  )

const settingsOf = (env: Env) => Result.getOrThrow(hostOf(env))

/** The variables that change nothing for a host when they are left out. */
const unread = (env: Env): ReadonlyArray<string> =>
  Object.keys(env).filter((name) => {
    const { [name]: _, ...others } = env
    const without = hostOf(others)
    return Result.isSuccess(without) && JSON.stringify(without.success) === JSON.stringify(settingsOf(env))
  })

const graceSeconds = Effect.runSync(Timing.make()).drainTimeout / 1000

describe("compose.yaml", () => {
  const Service = Schema.Struct({
    build: Schema.optionalKey(Schema.Struct({ context: Schema.String, dockerfile: Schema.String })),
    command: Schema.optionalKey(Schema.Array(Schema.String)),
    environment: Schema.Record(Schema.String, Schema.String),
    stop_grace_period: Schema.optionalKey(Schema.String)
  })
  const given: Env = { FLEET_SECRET: "a secret", POSTGRES_PASSWORD: "abc123" }
  const text = textOf("compose.yaml").replace(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => given[name]!)
  const { services } = Schema.decodeUnknownSync(Schema.Struct({ services: Schema.Record(Schema.String, Service) }))(
    Yaml.parse(text)
  )
  const hosts = Object.entries(services).filter(([name]) => name.startsWith("host-"))

  it("has three hosts of different names and capacities", () => {
    const settings = hosts.map(([, { environment }]) => settingsOf(environment))
    assert.deepStrictEqual(settings.map(({ name }) => name), ["a", "b", "c"])
    assert.strictEqual(new Set(settings.map(({ maxBytes }) => maxBytes)).size, 3)
  })

  it.each(hosts)("gives %s what it reads", (service, { build, environment, stop_grace_period = "" }) => {
    const { address, port, secret, storage } = settingsOf(environment)
    assert.deepStrictEqual(unread(environment), [])
    assert.deepStrictEqual([address, secret], [service, "a secret"])
    assert.include(textOf("Dockerfile"), `EXPOSE ${port}\n`)
    const { POSTGRES_DB, POSTGRES_PASSWORD, POSTGRES_USER } = services[storage.hostname]!.environment
    assert.deepStrictEqual(
      [storage.username, storage.password, storage.pathname],
      [POSTGRES_USER, POSTGRES_PASSWORD, `/${POSTGRES_DB}`]
    )
    assert.isAbove(Number(/^(\d+)s$/.exec(stop_grace_period)?.[1]), graceSeconds)
    const context = join(folder, build!.context)
    assert.strictEqual(normalize(`${context}/`), normalize(`${root}/`))
    assert.isTrue(existsSync(join(context, build!.dockerfile)))
  })

  it("gives the client what it reads, and programs that are there", () => {
    const { command = [], environment } = services["client"]!
    assert.deepStrictEqual(unread({ ...environment, ...hosts[0]![1].environment }), [])
    const [, started = ""] = /CMD \["([^"]+)"\]/.exec(textOf("Dockerfile")) ?? []
    for (const program of [command[0] ?? "", started]) assert.isTrue(existsSync(join(root, program)), program)
  })

  it("would notice a variable that no host reads, and one that is missing", () => {
    const [, { environment }] = hosts[0]!
    assert.deepStrictEqual(unread({ ...environment, FLEET_PROT: "7100" }), ["FLEET_PROT"])
    const { FLEET_PORT: _, ...others } = environment
    assert.isTrue(Result.isFailure(hostOf(others)))
  })
})

describe("kubernetes.yaml", () => {
  const Labels = Schema.Record(Schema.String, Schema.String)
  const Variable = Schema.Struct({
    name: Schema.String,
    value: Schema.optionalKey(Schema.String),
    valueFrom: Schema.optionalKey(Schema.Union([
      Schema.Struct({ fieldRef: Schema.Struct({ fieldPath: Schema.Literal("metadata.name") }) }),
      Schema.Struct({ secretKeyRef: Schema.Struct({ name: Schema.Literal("fleet"), key: Schema.String }) })
    ]))
  })
  const Container = Schema.Struct({
    env: Schema.Array(Variable),
    ports: Schema.Tuple([Schema.Struct({ name: Schema.String, containerPort: Schema.Int })]),
    readinessProbe: Schema.Struct({ tcpSocket: Schema.optionalKey(Schema.Struct({ port: Schema.String })) })
  })
  const Service = Schema.Struct({
    kind: Schema.Literal("Service"),
    metadata: Schema.Struct({ name: Schema.String }),
    spec: Schema.Struct({
      clusterIP: Schema.optionalKey(Schema.String),
      publishNotReadyAddresses: Schema.optionalKey(Schema.Boolean),
      selector: Labels,
      ports: Schema.Tuple([Schema.Struct({ port: Schema.Int })])
    })
  })
  const StatefulSet = Schema.Struct({
    kind: Schema.Literal("StatefulSet"),
    metadata: Schema.Struct({ name: Schema.String }),
    spec: Schema.Struct({
      serviceName: Schema.String,
      selector: Schema.Struct({ matchLabels: Labels }),
      template: Schema.Struct({
        metadata: Schema.Struct({ labels: Labels }),
        spec: Schema.Struct({
          terminationGracePeriodSeconds: Schema.optionalKey(Schema.Int),
          containers: Schema.Tuple([Container])
        })
      })
    })
  })
  const text = textOf("kubernetes.yaml")
  const documents = text.split(/^---$/m).map((document) =>
    Schema.decodeUnknownSync(Schema.Union([Service, StatefulSet]))(Yaml.parse(document))
  )
  const services = documents.filter((document) => document.kind === "Service")
  const sets = documents.filter((document) => document.kind === "StatefulSet")
  const serviceOf = (name: string) => services.find(({ metadata }) => metadata.name === name)!.spec

  /** The environment of the first pod of a set. */
  const envOf = ({ metadata, spec }: typeof StatefulSet.Type): Env => {
    const env: Record<string, string> = {}
    for (const { name, value = "", valueFrom } of spec.template.spec.containers[0].env) {
      env[name] = valueFrom === undefined
        // Only variables before it can be named in a value.
        ? value.replace(/\$\((\w+)\)/g, (whole, other: string) => env[other] ?? whole)
        : "fieldRef" in valueFrom
        ? `${metadata.name}-0`
        : `the ${valueFrom.secretKeyRef.key}`
    }
    return env
  }

  it.each(sets.map((set) => [set.metadata.name, set] as const))("%s is behind its Service", (_, { spec }) => {
    const service = serviceOf(spec.serviceName)
    const { metadata, spec: { containers: [{ ports }] } } = spec.template
    assert.deepStrictEqual([service.selector, spec.selector.matchLabels], [metadata.labels, metadata.labels])
    assert.strictEqual(service.ports[0].port, ports[0].containerPort)
  })

  it("gives hosts what they read", () => {
    const [hosts, postgres] = sets as [typeof StatefulSet.Type, typeof StatefulSet.Type]
    const env = envOf(hosts)
    const settings = settingsOf(env)
    // Only FLEET_STORAGE has the password.
    assert.deepStrictEqual(unread(env), ["POSTGRES_PASSWORD"])
    assert.strictEqual(settings.secret, "the secret")
    const { clusterIP, publishNotReadyAddresses } = serviceOf(hosts.spec.serviceName)
    assert.deepStrictEqual([clusterIP, publishNotReadyAddresses], ["None", true])
    assert.deepStrictEqual(
      [settings.name, settings.address],
      [`${hosts.metadata.name}-0`, `${hosts.metadata.name}-0.${hosts.spec.serviceName}`]
    )
    const { containers: [{ ports: [port], readinessProbe }], terminationGracePeriodSeconds } = hosts.spec.template.spec
    assert.deepStrictEqual([port.containerPort, readinessProbe.tcpSocket?.port], [settings.port, port.name])
    assert.isAbove(terminationGracePeriodSeconds ?? 0, graceSeconds)
    const { POSTGRES_DB, POSTGRES_PASSWORD = "", POSTGRES_USER } = envOf(postgres)
    const { hostname, password, pathname, port: storagePort, username } = settings.storage
    assert.deepStrictEqual(
      [username, decodeURIComponent(password), pathname],
      [POSTGRES_USER, POSTGRES_PASSWORD, `/${POSTGRES_DB}`]
    )
    assert.strictEqual(serviceOf(hostname).ports[0].port, Number(storagePort))
  })

  it("names programs that are there", () => {
    const [, program = ""] = /exec fleet-host-0 -- node (\S+)/.exec(text) ?? []
    assert.isTrue(existsSync(join(root, program)), program)
  })
})
