/** Statuses of a fleet. */
import type { FleetModel } from "@effect-gpu-pool/fleet"

type Host = FleetModel.HostStatus
type Device = Host["devices"][number]

export const deviceOf = (name: string, reservedBytes: number, change: Partial<Device> = {}): Device => ({
  name,
  backend: "webgpu",
  description: "llvmpipe",
  capacity: 1000,
  labels: {},
  facts: {},
  reservedBytes,
  reservations: reservedBytes === 0 ? 0 : 1,
  ...change
})

export const hostOf = (
  name: string,
  devices: ReadonlyArray<Device>,
  change: Partial<Host> = {}
): Host => ({
  name,
  address: { host: "127.0.0.1", port: 7101 },
  epoch: 1,
  state: "current",
  silentMillis: 0,
  devices,
  ...change
})

export const statusOf = (
  hosts: ReadonlyArray<Host>,
  change: Partial<FleetModel.FleetStatus> = {}
): FleetModel.FleetStatus => ({ hosts, waiters: 0, waiting: [], placed: 0, ended: 0, lost: 0, ...change })
