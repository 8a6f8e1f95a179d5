/** How long kernels run on Oclgrind, as it tells. */
import { OpenCl } from "../../src/opencl.ts"
import { tellsTimes } from "../support/kernelTimes.ts"
import { useOclgrind } from "../support/oclgrind.ts"
import { describeWith } from "../support/required.ts"

useOclgrind()

describeWith(["oclgrind"], "on Oclgrind", () => {
  tellsTimes(OpenCl.layer({ platform: "oclgrind" }))
})
