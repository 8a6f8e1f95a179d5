/**
 * What `effect-gpu-pool doctor` prints. The JSON form is an interface for scripts: a field can be added, but none is removed or
 * changes its meaning without a new `version`.
 *
 * @internal
 */
import { line, list } from "effect-gpu-pool/Format"
import type { Style } from "../Output.ts"
import type { ProbedDevice } from "./ChildAnswer.ts"
import type { Diagnosis, Part } from "./Diagnosis.ts"
import type { Remedy } from "./InstallCommands.ts"
import type { Machine } from "./Machine.ts"

export interface Report {
  readonly version: 1
  /** Whether a device of a backend for GPUs can be used. */
  readonly works: boolean
  readonly machine: {
    readonly system: string
    readonly platform: string
    readonly arch: string
    readonly runtime: string
    readonly packageManager: string
    readonly gpus: ReadonlyArray<string>
  }
  readonly backends: ReadonlyArray<Diagnosis>
}

export const make = (machine: Machine, backends: ReadonlyArray<Diagnosis>): Report => {
  const { arch, gpus, packageManager, platform, runtime, system } = machine
  return {
    version: 1,
    works: backends.some(({ forGpus, works }) => forGpus && works),
    machine: { system, platform, arch, runtime, packageManager, gpus },
    backends
  }
}

export const text = ({ backends, machine, works }: Report, style: Style): string => {
  const gpus = machine.gpus.length === 0 ? "" : `, GPU by ${list(machine.gpus, " and ")}`
  return [
    `${list([machine.system, machine.arch, machine.runtime])}${gpus}`,
    ...backends.flatMap((diagnosis) => ["", ...backendLines(diagnosis, style)]),
    ...(works ? ["", "Programs can use a backend for GPUs."] : [])
  ].join("\n")
}

/** The error for stderr if no backend for GPUs works. */
export const unusable = "No backend for GPUs works: the host backend does, which computes in JavaScript."

const backendLines = (diagnosis: Diagnosis, style: Style): ReadonlyArray<string> => {
  const { backend, devices, parts, remedies, why, works } = diagnosis
  const working = devices.filter((device) => device.why === null)
  const head = works
    ? `${style.good("works")}  ${working.map(nameOf).join("; ")}`
    : `${style.bad("does not work")}  ${line(why ?? "no reason is known", 600)}`
  return [
    `${style.strong(line(backend).padEnd(8))}${head}`,
    ...(works ? devices.filter((device) => device.why !== null).map(brokenLine) : parts.map(partLine(style))),
    ...remedies.flatMap(remedyLines(style))
  ]
}

const indent = " ".repeat(8)

const nameOf = ({ name, selector, type }: ProbedDevice): string =>
  `${line(selector)} ${line(name)}${type === null ? "" : ` (${line(type)})`}`

const brokenLine = (device: ProbedDevice): string =>
  `${indent}${nameOf(device)}: ${line(device.why ?? "no reason is known", 400)}`

const partLine = (style: Style) => ({ detail, found, name }: Part): string =>
  `${indent}${found ? style.good("found  ") : style.bad("missing")} ${line(name)}: ${line(detail)}`

const remedyLines = (style: Style) => ({ advice, commands, why }: Remedy): ReadonlyArray<string> => [
  `${indent}${line(why, 400)}`,
  ...(advice === undefined ? [] : [`${indent}${line(advice, 400)}`]),
  ...commands.map((command) => `${indent}  ${style.strong(line(command, 1000))}`)
]
