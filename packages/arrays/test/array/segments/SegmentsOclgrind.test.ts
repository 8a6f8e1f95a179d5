import * as BufferPool from "effect-gpu-pool/BufferPool"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { useOclgrind } from "../../../../../test/support/oclgrind.ts"
import { describeWith } from "../../../../../test/support/required.ts"
import { asGpu } from "../../kernels/ReductionModel.ts"
import { segmentsLaws } from "./SegmentsLaws.ts"

useOclgrind()

const device = OpenCl.layer({ platform: "oclgrind" })

describeWith(["oclgrind"], "segments on a second OpenCL platform", () => {
  // A simulator that checks every access takes its time.
  segmentsLaws(BufferPool.layer().pipe(Layer.provideMerge(device)), 12, 1000)
  segmentsLaws(BufferPool.layer().pipe(Layer.provideMerge(asGpu(device))), 12, 1000)
})
