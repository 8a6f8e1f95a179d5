import * as BufferPool from "effect-gpu-pool/BufferPool"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { useOclgrind } from "../../../../test/support/oclgrind.ts"
import { describeWith } from "../../../../test/support/required.ts"
import { integerLaws } from "./IntegerLaws.ts"
import { reductionLaws } from "./ReductionLaws.ts"
import { scanLaws } from "./ScanLaws.ts"

useOclgrind()

const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer({ platform: "oclgrind" })))

/** A simulator that checks every access takes its time: long enough for three kernels in a row. */
const longest = 65_537

describeWith(["oclgrind"], "on a second OpenCL platform", () => {
  reductionLaws(gpu, longest)
  scanLaws(gpu, longest)
  integerLaws(gpu, 300)
})
