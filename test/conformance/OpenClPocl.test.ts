import { Conformance } from "@effect-gpu-pool/testing"
import { OpenCl } from "effect-gpu-pool/opencl"
import { describeWith } from "../support/required.ts"
import { conforms, conformsToo } from "./conforms.ts"

// a small cache, so that filling it does not take hundreds of compilations
const layer = OpenCl.layer({ kernelCacheCapacity: 4 })

describeWith(["opencl"], "OpenCL conforms", () => {
  conforms(layer, Conformance.suite(layer))
})

const byteGranular = OpenCl.layer({ byteGranular: true, kernelCacheCapacity: 4 })
const byteGroups = ["transfers", "copies and fills", "rectangles", "alignment", "random commands", "regions"]

describeWith(["opencl"], "OpenCL conforms with commands at any byte", () => {
  const suite = Conformance.tests.filter(({ group }) => byteGroups.includes(group))
  conformsToo(byteGranular, suite)
})
