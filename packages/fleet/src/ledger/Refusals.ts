/**
 * Why a reservation gets no place, and why a host may not join.
 *
 * @internal
 */
import {
  deviceUnavailable,
  type GpuError,
  invalidRequest,
  limitExceeded,
  make as makeError,
  OutOfMemory
} from "effect-gpu-pool/GpuError"
import type { Join, Place } from "../protocol/BrokerRpcs.ts"
import type { Grant } from "../protocol/FleetModel.ts"
import type { DeviceAccount } from "./DeviceAccount.ts"
import type { WaitingRequest } from "./WaitingRequest.ts"
import { described } from "./Where.ts"

const operation = "Fleet.reserve"
const joining = "Fleet.layerHost"

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value > 0

/** InvalidRequest for an ill-formed request. */
export const placeProblem = ({ bytes, id, refused, since, waitAtMost }: Place): GpuError | undefined => {
  if (id === "") return invalidRequest(operation, "the identifier is empty", "Pass one that no other reservation has.")
  if (!isCount(bytes)) {
    return invalidRequest(
      operation,
      `${bytes} is no whole number of bytes from 1 to 2^53 - 1`,
      "Pass a number of bytes, as 64 * 1024 * 1024 for 64 MiB."
    )
  }
  if (!Number.isFinite(since)) {
    return invalidRequest(operation, `the time ${since} is no number of milliseconds`, "Pass Date.now().")
  }
  if (!(waitAtMost >= 0)) {
    return invalidRequest(
      operation,
      `${waitAtMost} ms is no time to wait`,
      "Pass 0 or more milliseconds, or Infinity to wait without an end."
    )
  }
  if (refused !== undefined && !(refused.freeBytes >= 0)) {
    return invalidRequest(operation, `a host has ${refused.freeBytes} bytes free`, "Pass 0 or more bytes.")
  }
  return undefined
}

/** Whether a grant that a host reports is well-formed. */
export const isGrant = ({ bytes, id }: Grant): boolean => isCount(bytes) && id !== ""

/** InvalidRequest for an ill-formed offer. */
export const joinProblem = ({ devices, epoch, grants, host, incarnation }: Join): GpuError | undefined => {
  if (host === "") return invalidRequest(joining, "the name of the host is empty", "Name each host of a fleet.")
  if (incarnation === "") {
    return invalidRequest(joining, `the host "${host}" has no incarnation`, "Pass one that no other process has.")
  }
  if (epoch !== undefined && !isCount(epoch)) {
    return invalidRequest(joining, `the epoch ${epoch} of the host "${host}" is none`, "Join without an epoch.")
  }
  const names = new Set<string>()
  for (const { capacity, name } of devices) {
    if (name === "" || names.has(name)) {
      return invalidRequest(joining, `the host "${host}" offers two devices "${name}"`, "Name each device of a host.")
    }
    names.add(name)
    if (!Number.isSafeInteger(capacity) || capacity < 0) {
      return invalidRequest(
        joining,
        `the capacity ${capacity} of "${host}/${name}" is no whole number of bytes from 0 to 2^53 - 1`,
        "Give the device maxBytes, or a budget, and round it down with Math.floor."
      )
    }
  }
  for (const grant of grants) {
    if (isGrant(grant) && names.has(grant.device)) continue
    return invalidRequest(
      joining,
      `the host "${host}" has a reservation "${grant.id}" of ${grant.bytes} bytes on a device "${grant.device}", which it does not offer`,
      "Offer every device that has reservations, and name only reservations of 1 byte or more."
    )
  }
  return undefined
}

/** InvalidRequest for a host with the name of another one. */
export const nameTaken = (host: string, address: Join["address"], silentMillis: number): GpuError =>
  invalidRequest(
    joining,
    `another process has the name "${host}": the one at ${address.host}:${address.port}, heard of ${silentMillis} ms ago`,
    "Give each host of a fleet a name of its own, or end the other process first."
  )

/** InvalidRequest for a host without an epoch that joins while those with one may still come. */
export const recovering = (host: string, millis: number): GpuError =>
  invalidRequest(
    joining,
    `the fleet has a new broker, which first waits for the hosts that have reservations: for another ${millis} ms`,
    `Let the host "${host}" join again after that.`
  )

/** LimitExceeded for a request that is larger than each device that it names. */
export const neverFits = ({ bytes }: WaitingRequest, largest: DeviceAccount): GpuError =>
  limitExceeded({
    operation,
    requested: bytes,
    limitName: "capacity",
    limit: largest.limit,
    owner: { kind: "device", name: largest.name }
  })

/** DeviceUnavailable for a request that names no device of the fleet. */
export const noDevice = (
  { where }: WaitingRequest,
  known: ReadonlyArray<DeviceAccount>,
  waitedMillis: number | undefined
): GpuError =>
  deviceUnavailable(
    known.map(({ name, offered }) => ({ backend: offered.backend, device: name, why: "it does not match" })),
    `${operation}: no device of the fleet is what it asks for (${described(where)})${
      waitedMillis === undefined ? "" : `, and it waited ${waitedMillis} ms`
    }. Ask for others in \`where\`, or let a host join that offers such a device.`
  )

/** OutOfMemory with the figures of the device that has the most room. */
export const noRoom = (
  { bytes }: WaitingRequest,
  devices: ReadonlyArray<DeviceAccount>,
  waitedMillis: number | undefined
): GpuError => {
  const device = devices.reduce((most, one) => one.room > most.room ? one : most)
  const { chargedBytes, limit, name, room } = device
  return makeError(
    new OutOfMemory({
      requested: bytes,
      blockSize: bytes,
      pooled: true,
      limitName: "maxBytes",
      limitLabel: name,
      limit,
      activeBytes: 0,
      heldBytes: 0,
      managedBytes: 0,
      // What its host does not give though the ledger knows no reservation that has it: it drains, or has refused one.
      pendingBytes: Math.max(0, limit - chargedBytes - room),
      reservedBytes: chargedBytes,
      largestHeldBytes: 0,
      stepsTried: waitedMillis === undefined ? [] : ["wait"],
      waitedMillis,
      deadlock: [],
      holders: [],
      holderGroups: []
    })
  )
}
