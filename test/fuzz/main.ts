/**
 * `npm run fuzz`: calls entry points with all kinds of arguments until a time is over, and prints what broke.
 *
 *   --backend=opencl   one backend, all of them without it
 *   --minutes=10       how long in all, 1 without it
 *   --seed=7           where the random numbers begin; a seed of the day's time without it
 *   --epoch=3          one epoch alone, as a finding names it
 *   --only=4,17        of that epoch only these calls
 *   --match=Svm.       only entry points whose name begins so
 */
import { parseArgs } from "node:util"
import { type Backend, backends, isBackend } from "./Backends.ts"
import * as Campaign from "./Campaign.ts"

const { values } = parseArgs({
  options: {
    backend: { type: "string" },
    minutes: { type: "string", default: "1" },
    seed: { type: "string" },
    epoch: { type: "string" },
    only: { type: "string" },
    match: { type: "string" }
  }
})

const chosen = (): ReadonlyArray<Backend> => {
  if (values.backend === undefined) return backends
  if (isBackend(values.backend)) return [values.backend]
  throw new Error(`there is no backend ${values.backend}: ${backends.join(", ")}`)
}

const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
const { match } = values

const show = async (findings: ReadonlyArray<Campaign.Finding>, shrinks: boolean): Promise<void> => {
  for (const finding of findings) {
    console.log(Campaign.format(shrinks ? await Campaign.shrink(finding) : finding))
    process.exitCode = 1
  }
}

const epochsAtATime = 5

if (values.epoch !== undefined) {
  const epoch = Number(values.epoch)
  const only = values.only?.split(",").map(Number)
  for (const backend of chosen()) {
    const { findings } = await Campaign.run({ backend, seed, from: epoch, to: epoch + 1, only, match })
    await show(findings, only === undefined)
  }
} else {
  const until = Date.now() + Number(values.minutes) * 60_000
  const known = new Set<string>()
  let calls = 0
  for (let from = 0; Date.now() < until; from += epochsAtATime) {
    for (const backend of chosen()) {
      const outcome = await Campaign.run({ backend, seed, from, to: from + epochsAtATime, match })
      calls += outcome.calls
      const fresh = outcome.findings.filter(({ breach, id }) => {
        const key = `${id} ${breach.kind} ${breach.place}`
        return !known.has(key) && known.add(key)
      })
      await show(fresh, true)
    }
  }
  console.log(`${calls} calls from seed ${seed}, ${known.size} findings`)
}
