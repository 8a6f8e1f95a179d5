import { Conformance } from "@effect-gpu-pool/testing"
import { describe } from "@effect/vitest"
import { Host } from "effect-gpu-pool/host"
import { conforms, conformsToo } from "./conforms.ts"

// a binding limit below the largest buffer, so that both limits can be told apart
const layer = Host.layer({ maxBindingSize: 128 * 1024 * 1024 })

describe("the host conforms", () => {
  conforms(layer, Conformance.suite(layer))
})

/**
 * Behaves as a device that frees memory late, has block sizes in multiples of 4 and a large alignment of sub-regions,
 * and runs a kernel in many turns of the event loop.
 */
const strict = Host.layer({
  granularity: 4,
  regionAlignment: 4096,
  lateFree: true,
  rangeItems: 100,
  maxBindingSize: 128 * 1024 * 1024
})

describe("the host conforms with late memory and short ranges", () => {
  conformsToo(strict, Conformance.suite(strict))
})

/** A device that answers some turns of the event loop later. */
const slow = Host.layer({ latency: "1 millis" })

describe("the host conforms with latency", () => {
  const suite = Conformance.tests.filter(({ group }) => group === "ended leases")
  conformsToo(slow, [...suite, ...Conformance.openings(slow)])
})

/** The groups that test commands at any byte offset. */
const byteGroups = [
  "transfers",
  "copies and fills",
  "rectangles",
  "alignment",
  "random commands",
  "regions",
  "mappings"
]
const wrongGroups = ["wrong ranges", "wrong rectangles", "wrong data"]

const byteGranular = Host.layer({ byteGranular: true })

describe("the host conforms with commands at any byte", () => {
  const suite = Conformance.tests.filter(({ group }) => [...byteGroups, ...wrongGroups].includes(group))
  conformsToo(byteGranular, suite)
})
