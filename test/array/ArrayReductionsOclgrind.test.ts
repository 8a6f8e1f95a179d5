import * as Layer from "effect/Layer"
import { OpenCl } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { useOclgrind } from "../support/oclgrind.ts"
import { describeWith } from "../support/required.ts"
import { arrayReductionLaws } from "./ArrayReductionLaws.ts"

useOclgrind()

const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer({ platform: "oclgrind" })))

describeWith(["oclgrind"], "on a second OpenCL platform", () => {
  // a simulator that checks every access takes its time
  arrayReductionLaws(gpu, { trials: 12, longest: 3000 })
})
