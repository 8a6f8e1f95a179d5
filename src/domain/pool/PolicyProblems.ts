/**
 * What is wrong with the policies of a pool.
 *
 * @internal
 */
import { formatted } from "../arguments/Format.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import type { EvictionOrder, EvictionPolicy } from "./EvictionPolicy.ts"
import type { ReusePolicy } from "./ReusePolicy.ts"

const orders: ReadonlyArray<string> = ["byNeed", "largestFirst", "oldestFirst", "leastRecentlyUsed"] satisfies Array<
  EvictionOrder
>

/**
 * Whether a policy uses an order.
 */
export const asksFor = ({ whenKnown, whenUnknown }: EvictionPolicy, order: EvictionOrder): boolean =>
  whenKnown === order || whenUnknown === order

/**
 * The error for an option `eviction` that is no eviction policy.
 */
export const evictionProblem = (
  operation: string,
  policy: Partial<EvictionPolicy> | null | undefined
): GpuError | undefined => {
  if (policy === undefined) return undefined
  const wrong = (["whenKnown", "whenUnknown"] as const).find((name) =>
    !orders.some((order) => order === policy?.[name])
  )
  return wrong === undefined ? undefined : invalidRequest(
    operation,
    `the eviction policy's ${wrong}, ${formatted(policy?.[wrong])}, is no order`,
    `Pass one of EvictionPolicy, as EvictionPolicy.byNeed, or an object with name, whenKnown and whenUnknown, each of the last two one of ${
      orders.map((order) => `"${order}"`).join(", ")
    }.`
  )
}

const all: ReadonlyArray<string> = ["never", "afterEvents", "whenEnded"] satisfies Array<
  ReusePolicy["ofOtherQueues"]
>

/**
 * The error for an option `reuse` that is no reuse policy.
 */
export const reuseProblem = (
  operation: string,
  policy: Partial<ReusePolicy> | null | undefined
): GpuError | undefined =>
  policy === undefined || all.some((one) => one === policy?.ofOtherQueues) ? undefined : invalidRequest(
    operation,
    `the reuse policy's ofOtherQueues, ${formatted(policy?.ofOtherQueues)}, is none`,
    "Pass one of ReusePolicy, as ReusePolicy.afterEvents."
  )
