/** How long kernels run on Oclgrind, by its own report. */
import { OpenCl } from "effect-gpu-pool/opencl"
import { tellsTimes } from "../../../test/support/kernelTimes.ts"
import { useOclgrind } from "../../../test/support/oclgrind.ts"
import { describeWith } from "../../../test/support/required.ts"

useOclgrind()

describeWith(["oclgrind"], "on Oclgrind", () => {
  tellsTimes(OpenCl.layer({ platform: "oclgrind" }))
})
