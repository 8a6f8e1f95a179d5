/**
 * Which devices a reservation may be on.
 *
 * @internal
 */
import type { OfferedDevice, Where } from "../protocol/FleetModel.ts"

type Entries<A> = Readonly<Record<string, A>> | undefined

const sorted = <A>(record: Entries<A>): ReadonlyArray<readonly [string, A]> =>
  Object.entries(record ?? {}).sort(([a], [b]) => a < b ? -1 : 1)

/** One text for all that name the same devices in the same words. */
export const textOf = ({ atLeast, backend, device, host, labels }: Where): string =>
  JSON.stringify([host ?? null, device ?? null, backend ?? null, sorted(labels), sorted(atLeast)])

/** The same for people, as `host "a", label zone "x"`. */
export const described = ({ atLeast, backend, device, host, labels }: Where): string => {
  const parts = [
    ...(host === undefined ? [] : [`host ${JSON.stringify(host)}`]),
    ...(device === undefined ? [] : [`device ${JSON.stringify(device)}`]),
    ...(backend === undefined ? [] : [`backend ${JSON.stringify(backend)}`]),
    ...sorted(labels).map(([name, value]) => `label ${name} ${JSON.stringify(value)}`),
    ...sorted(atLeast).map(([name, least]) => `${name} at least ${least}`)
  ]
  return parts.length === 0 ? "any device" : parts.join(", ")
}

const every = <A, B>(wanted: Entries<A>, has: Readonly<Record<string, B>>, fits: (b: B, a: A) => boolean): boolean =>
  Object.entries(wanted ?? {}).every(([name, value]) => Object.hasOwn(has, name) && fits(has[name]!, value))

/** Whether a device of a host is one of them. */
export const matches = (where: Where, host: string, device: OfferedDevice): boolean =>
  (where.host === undefined || where.host === host) &&
  (where.device === undefined || where.device === device.name) &&
  (where.backend === undefined || where.backend === device.backend) &&
  every(where.labels, device.labels, (label, wanted) => label === wanted) &&
  every(where.atLeast, device.facts, (fact, least) => fact >= least)
