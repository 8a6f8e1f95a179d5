/**
 * How much the tests explore, by one setting: `EFFECT_GPU_POOL_EXPLORE`. With 1, which it is unless set, they try a tenth of what
 * `.ci/run` tries with 10; with 100 ten times as much. What is not random is tried whole from 10 on.
 */
const setting = Number(process.env.EFFECT_GPU_POOL_EXPLORE ?? 1)
if (!(setting > 0 && setting < Infinity)) throw new Error("EFFECT_GPU_POOL_EXPLORE is no positive number")

/** Of what `.ci/run` explores. */
export const portion = setting / 10

/** Everything that can be listed is tried: each test on each kind of device, each step of a program. */
export const isWhole = portion >= 1

/** The part of their work that heavy conformance tests do. */
export const workScale = Math.min(1, Math.max(0.1, portion))

/** How many random programs, schedules or operations to try, where `.ci/run` tries so many. */
export const runs = (often: number, least = Math.min(often, 20)): number => Math.max(least, Math.ceil(often * portion))

/** How far the n-th of a list is from the front of those that are tried first, from 0 to 1, so that any number of them is spread over the list. */
const lateness = (n: number): number => (n * 0.6180339887498949) % 1

/** The part of a list to try, in its order: all of it in `.ci/run`, and otherwise ones from everywhere in it. */
export const some = <A>(all: ReadonlyArray<A>, least = 1): ReadonlyArray<A> => {
  const last = all.map((_, n) => lateness(n)).sort((a, b) => a - b)[Math.min(all.length, runs(all.length, least)) - 1]
  return last === undefined ? [] : all.filter((_, n) => lateness(n) <= last)
}

let tried = 0

/**
 * The step of a program to try after the k-th: the next one in `.ci/run`, and otherwise one that is some steps further. It is another
 * number of steps each time, so that programs that are alike are each tried at other steps.
 */
export const stepAfter = (k: number): number => k + (isWhole ? 1 : 1 + Math.floor(lateness(++tried) * 2 / portion))
