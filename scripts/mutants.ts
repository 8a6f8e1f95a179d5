/**
 * Plants mistakes of rounding, of the ledger and of what comes back in copies of the sources: `node scripts/mutants.ts`.
 * The laws of the short run, with `EFFECT_GPU_POOL_EXPLORE=1`, must find each of them, and nothing in the sources as they are.
 */
import { execFileSync } from "node:child_process"
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { dirname, join } from "node:path"
import { inspect } from "node:util"
import { createVitest, type Vitest } from "vitest/node"

interface Mutant {
  readonly file: string
  /** Text that is there once. */
  readonly text: string
  readonly instead: string
  /** Where it must be found. */
  readonly tests: ReadonlyArray<string>
}

const mutantsOf = (
  file: string,
  tests: ReadonlyArray<string>,
  texts: ReadonlyArray<readonly [text: string, instead: string]>
): ReadonlyArray<Mutant> => texts.map(([text, instead]) => ({ file, text, instead, tests }))

const mutants: ReadonlyArray<Mutant> = [
  ...mutantsOf("src/domain/pool/SizePolicy.ts", ["test/domain/SizePolicy.test.ts"], [
    ["Math.floor(size / step) * step + (step - 1)", "Math.round(size / step) * step + (step - 1)"],
    ["fillLowBits(request - 1, bits) + 1", "fillLowBits(request, bits) + 1"],
    ["Math.ceil(n / granularity) * granularity", "Math.floor(n / granularity) * granularity"],
    ["if (sorted[middle]! < request)", "if (sorted[middle]! <= request)"],
    ["Math.floor(limit) : maxBytes", "Math.ceil(limit) : maxBytes"]
  ]),
  ...mutantsOf("src/domain/pool/PoolCore.ts", ["test/domain/PoolCore.model.test.ts"], [
    ["this.managedBytes -= own.capacity", "this.managedBytes -= own.request"],
    ["this.activeBytes -= own.request", "this.activeBytes -= own.capacity"],
    ["this.pendingBytes -= bytes", "this.pendingBytes -= request"],
    ["this.heldBytes -= bin.size", "this.heldBytes -= block.request"],
    ["block.below = bin.top\n    if (bin.top", "if (bin.top"],
    ["bin.top = block.below\n    block.below = undefined", "bin.top = undefined\n    block.below = undefined"],
    ["this.keepsAll && bin !== undefined ?", "bin !== undefined ?"]
  ]),
  ...mutantsOf("src/domain/pool/PoolCore.ts", ["test/domain/PoolCore.limits.test.ts"], [
    ["if (bytes > this.availableBytes()) return false", "if (bytes > this.availableBytes() + 1) return false"]
  ]),
  ...mutantsOf("src/domain/pool/arena/ArenaCore.ts", ["test/domain/ArenaCore.test.ts"], [
    // A merge that leaves the neighbour before, and a split without the rest.
    [
      `if (before === undefined || before.state !== "held") return chunk`,
      `if (before?.state !== "held" || after !== undefined) return chunk`
    ],
    [
      "chunk.units - units, chunk.capacity - bytes",
      "chunk.units - units - 1, chunk.capacity - bytes - this.unit"
    ]
  ]),
  ...mutantsOf("src/domain/pool/machine/Request.ts", ["test/services/Pool.reserve.law.test.ts"], [
    // A lease of a reservation in a slab that others share.
    ["return this.partSize < Infinity && this.from !== undefined", "return false"]
  ]),
  ...mutantsOf("src/services/buffers/SlabSource.ts", ["test/services/Pool.reserve.law.test.ts"], [
    // Requests that count in whole units.
    [
      "{ ...options, sizePolicy: slabs.sizePolicy }",
      "{ ...options, sizePolicy: slabs.sizePolicy, limits: { ...options.limits, granularity: slabs.unit } }"
    ]
  ]),
  ...mutantsOf("src/domain/pool/arena/SlabCore.ts", ["test/domain/ArenaCore.test.ts"], [
    // Free chunks that an eviction is to free.
    ["return this.core.heldBytes", `return Reflect.get(this, "heldBytes")`]
  ]),
  ...mutantsOf("src/domain/pool/machine/MemoryAccount.ts", ["test/services/BufferPool.deferred.test.ts"], [
    ["block.value.recyclable ? core.release(block) : core.discard(block)", "core.release(block)"]
  ]),
  ...mutantsOf("src/domain/pool/machine/MemoryAccount.ts", ["test/domain/PoolMachine.test.ts"], [
    [`this.free(gone, "notKept")`, "core.freed(gone)"]
  ]),
  ...mutantsOf("src/domain/pool/machine/Charge.ts", ["test/domain/PoolMachine.test.ts"], [
    ["budget.charge(-this.#cost(budget, this.bytes))", "budget.charge(0)"]
  ]),
  ...mutantsOf("src/domain/pool/machine/WaitQueue.ts", ["test/services/BufferPool.waiting.test.ts"], [
    ["this.#maxBypasses - request.bypasses", "Infinity"],
    ["        bypassesLeft--\n", ""]
  ]),
  ...mutantsOf("packages/fleet/src/ledger/FairQueue.ts", ["packages/fleet/test/ledger"], [
    // Devices that are closed for an earlier request, before and after it is served or gone.
    ["if (!this.#isClosed(device, request)) best = device", "best = device"],
    [
      "if (this.#serveOn(first.request, group, first.device)) look(group.devices)",
      "this.#serveOn(first.request, group, first.device)"
    ],
    ["this.serve(closed ? group.devices : [])", "this.serve([])"],
    ["    for (const [group, count] of left) this.#reveal(group, count)\n", ""]
  ]),
  ...mutantsOf("packages/fleet/src/ledger/WaitGroup.ts", ["packages/fleet/test/ledger"], [
    // Bypasses that no request before the first counts any more, and those of requests that hosts group anew.
    ["while (this.#bypasses.length > 0 && isBefore(this.#bypasses[0]!, first)) this.#bypasses.shift()", ""],
    ["for (; most < bypasses; most++) this.#bypasses.unshift(request)", "most = bypasses"]
  ]),
  ...mutantsOf("packages/fleet/src/ledger/DeviceAccount.ts", ["packages/fleet/test/ledger"], [
    ["    this.#ceiling -= bytes\n", ""]
  ]),
  ...mutantsOf("packages/fleet/src/ledger/Ledger.ts", ["packages/fleet/test/ledger"], [
    // A late report that brings back what has ended, an epoch that comes twice, and claims after the grant.
    ["    if (known === undefined && host.hasEnded(id)) return\n", ""],
    ["this.#lastEpoch + 1, (join.epoch", "this.#lastEpoch, (join.epoch"],
    ["      known.isGranted = true\n      this.#claims.delete(known)\n", "      known.isGranted = true\n"]
  ]),
  ...mutantsOf("src/services/lease/LeaseTable.ts", ["test/services/BufferPool.test.ts"], [
    [`this.endAll("scopeClosed")`, ""]
  ]),
  ...mutantsOf("packages/arrays/src/kernels/reduction/Walk.ts", [
    "packages/arrays/test/array/cumulative/Cumulative.test.ts"
  ], [
    ["Expr.multiply(Expr.subtract(scalar(names.length), 1), width)", "Expr.multiply(scalar(names.length), width)"]
  ]),
  ...mutantsOf("packages/arrays/src/array/segments/SegmentKernel.ts", [
    "packages/arrays/test/array/segments/Segments.test.ts"
  ], [
    ["Walk.multiplyAdd(beside, segment, width)", "Walk.multiplyAdd(beside, segment, one)"],
    ["Expr.add(Walk.quotient(before, step), one)", "Walk.quotient(before, step)"]
  ]),
  ...mutantsOf("packages/arrays/src/array/indexing/Scatter.ts", ["packages/arrays/test/array/writing/Put.test.ts"], [
    // Values that the same command overwrites, and the elements between those of a view.
    [
      "leaf !== target.leaf && vectors[vector]!.lease === lease",
      "false && vectors[vector]!.lease === lease && leaf > 0"
    ],
    ["args[strideName(of)] = views.strides[of]! >>> 0", "args[strideName(of)] = 1"]
  ]),
  ...mutantsOf(
    "packages/arrays/src/array/joining/PadKernel.ts",
    ["packages/arrays/test/array/joining/Padding.test.ts"],
    [
      ["Math.ceil(before / period) * period - before", "Math.floor(before / period) * period + period - before - 1"],
      [`mode === "symmetric" ? period - 1 : 2 * length - 2`, `mode === "symmetric" ? period - 1 : 2 * length - 1`]
    ]
  ),
  ...mutantsOf("packages/arrays/src/array/fusion/Copying.ts", ["packages/arrays/test/array/joining/Joining.test.ts"], [
    ["from.pitch >= bytes && to.pitch >= bytes", "true"],
    ["pitch: of.length === 2 ? of[0]! * size : bytes", "pitch: bytes"]
  ]),
  // Use after the end of a lease, behind its end, and what was in its memory before.
  ...mutantsOf("packages/interop/src/install/Slot.ts", ["packages/interop/test/Install.test.ts"], [
    ["offset + bytes > this.size ?", "offset + bytes > this.capacity ?"],
    ["Math.max(0, this.size - offset)", "Math.max(0, this.capacity - offset)"]
  ]),
  ...mutantsOf("packages/interop/src/install/Recording.ts", ["packages/interop/test/Install.test.ts"], [
    ["if (slot.lease !== lease || lease % 2 === 0) return true", "if (slot.lease !== lease) return true"],
    ["if (part.isStale) return true", "if (part.#isMixed) return true"]
  ]),
  ...mutantsOf("packages/interop/src/install/Clears.ts", ["packages/interop/test/InstallPrograms.test.ts"], [
    ["encoder.clearBuffer(buffer, 0, slot.size)", "encoder.clearBuffer(buffer, 0, 4)"]
  ]),
  ...mutantsOf("packages/interop/src/install/Calls.ts", ["packages/interop/test/InstallPrograms.test.ts"], [
    ["bytes === slot.size && !slot.isMappable", "bytes > 0 && !slot.isMappable"]
  ])
]

const root = join(import.meta.dirname, "..")
mkdirSync(join(root, "test-results"), { recursive: true })

/** A copy of the sources, within the repository, so that packages are found. */
const copySources = (): string => {
  const copy = mkdtempSync(join(root, "test-results/mutants-"))
  const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n")
  for (const file of files.filter((file) => /^(?:src|test|scripts|packages|docs)\/|^package\.json$/.test(file))) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    linkSync(join(root, file), join(copy, file))
  }
  return copy
}

/** A copy, and the vitest that runs its tests again and again: to start one takes longer than most of these tests. */
interface Lane {
  readonly copy: string
  readonly vitest: Vitest
}

const openLane = async (): Promise<Lane> => {
  const copy = copySources()
  const resolve = { conditions: ["effect-gpu-pool:source"] }
  const vitest = await createVitest(
    {
      root: copy,
      config: false,
      watch: false,
      bail: 1,
      isolate: false,
      // A lane is for one core. With several workers, a run of several files never ends when it bails out.
      maxWorkers: 1,
      testTimeout: 60_000,
      reporters: [{}]
    },
    { resolve, ssr: { resolve } }
  )
  return { copy, vitest }
}

const closeLane = async ({ copy, vitest }: Lane): Promise<void> => {
  await vitest.close()
  rmSync(copy, { recursive: true })
}

const test = async ({ vitest }: Lane, files: ReadonlyArray<string>) => {
  const specifications = await vitest.globTestSpecifications([...files])
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  const ran = testModules.filter(({ moduleId }) =>
    specifications.some((specification) => specification.moduleId === moduleId)
  )
  const failed = ran.flatMap((module) => [...module.children.allTests("failed")])
  const errors = [
    ...unhandledErrors,
    ...ran.flatMap((module) => module.errors()),
    ...failed.flatMap((test) => test.result().errors ?? [])
  ]
  // Tests must have run: a mutant that does not load shows nothing of them.
  return {
    passed: specifications.length > 0 && ran.length === specifications.length && ran.every((module) => module.ok()) &&
      errors.length === 0,
    failed: failed.length > 0,
    output: inspect(errors)
  }
}

/** Why the tests do not find a mistake in the copy, if they do not. */
const problemOf = async (lane: Lane, { file, instead, tests, text }: Mutant): Promise<string | undefined> => {
  const code = readFileSync(join(root, file), "utf8")
  if (code.split(text).length !== 2) return `${file} has not once: ${text}`
  const target = join(lane.copy, file)
  // It is a link to the source: what is written must not be written there.
  rmSync(target)
  writeFileSync(target, code.replace(text, () => instead))
  lane.vitest.invalidateFile(target)
  const { failed, output, passed } = await test(lane, tests)
  rmSync(target)
  linkSync(join(root, file), target)
  lane.vitest.invalidateFile(target)
  const what = `${file}: ${JSON.stringify(text)} as ${JSON.stringify(instead)}`
  console.log(`${failed ? "found" : "NOT FOUND"}: ${what}`)
  return failed ? undefined : `${tests.join(" ")} ${passed ? "passes" : `did not run:\n${output}`} with ${what}`
}

/** Why the sources as they are do not pass, if they do not. */
const problemOfSources = async (lane: Lane): Promise<string | undefined> => {
  const { output, passed } = await test(lane, [...new Set(mutants.flatMap((mutant) => mutant.tests))])
  return passed ? undefined : `the sources as they are do not pass:\n${output}`
}

const problems: Array<string> = []
const waiting = [problemOfSources, ...mutants.map((mutant) => (lane: Lane) => problemOf(lane, mutant))]

/** Takes one task after the other into a copy of its own. */
const work = async (): Promise<void> => {
  const lane = await openLane()
  try {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const problem = await next(lane)
      if (problem !== undefined) problems.push(problem)
    }
  } finally {
    await closeLane(lane)
  }
}

process.env.EFFECT_GPU_POOL_EXPLORE = "1"
await Promise.all(Array.from({ length: availableParallelism() }, work))
for (const problem of problems) console.error(problem)
if (problems.length === 0) console.log(`${mutants.length} planted mistakes were found`)
// vitest has set another one, for tests that failed as they should
process.exitCode = problems.length === 0 ? 0 : 1
