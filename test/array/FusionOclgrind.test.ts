import * as Layer from "effect/Layer"
import { OpenCl } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { useOclgrind } from "../support/oclgrind.ts"
import { describeWith } from "../support/required.ts"
import { fusionLaws } from "./FusionLaws.ts"

useOclgrind()

const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer({ platform: "oclgrind" })))

describeWith(["oclgrind"], "on a second OpenCL platform", () => {
  // a simulator that checks every access takes its time
  fusionLaws(gpu, { iterations: 100 })
})
