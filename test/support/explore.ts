/**
 * How much the tests explore, by one setting: `EFFECT_GPU_POOL_EXPLORE`. With 1, the default, they try a tenth of what
 * `.ci/run` tries with 10; with 100 ten times as much. Tests that are not random run completely from 10 on.
 */
const setting = Number(process.env.EFFECT_GPU_POOL_EXPLORE ?? 1)
if (!(setting > 0 && setting < Infinity)) throw new Error("EFFECT_GPU_POOL_EXPLORE is no positive number")

/** The part of what `.ci/run` explores. */
export const portion = setting / 10

/** Whether everything that can be enumerated is tried: each test on each kind of device, each step of a program. */
export const isWhole = portion >= 1

/** The part of their work that heavy conformance tests do. */
export const workScale = Math.min(1, Math.max(0.1, portion))

/** How many random programs, schedules or operations to try, if `.ci/run` tries `often`. */
export const runs = (often: number, least = Math.min(often, 20)): number => Math.max(least, Math.ceil(often * portion))

/**
 * The priority of the n-th element, from 0 (first) to 1: the elements of any first few are spread evenly over the list.
 */
const lateness = (n: number): number => (n * 0.6180339887498949) % 1

/** The part of a list to try, in its order: all of it in `.ci/run`, otherwise some elements spread over it. */
export const some = <A>(all: ReadonlyArray<A>, least = 1): ReadonlyArray<A> => {
  const last = all.map((_, n) => lateness(n)).sort((a, b) => a - b)[Math.min(all.length, runs(all.length, least)) - 1]
  return last === undefined ? [] : all.filter((_, n) => lateness(n) <= last)
}

let tried = 0

/**
 * The step of a program to try after the k-th: the next one in `.ci/run`, otherwise one some steps later. The distance
 * varies, so that similar programs are tried at different steps.
 */
export const stepAfter = (k: number): number => k + (isWhole ? 1 : 1 + Math.floor(lateness(++tried) * 2 / portion))
