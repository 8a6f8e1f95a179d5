/** All sections, in the order in which they run. */
import * as Allocation from "./sections/Allocation.ts"
import * as Arena from "./sections/Arena.ts"
import * as Arrays from "./sections/Arrays.ts"
import * as Clear from "./sections/Clear.ts"
import * as Contention from "./sections/Contention.ts"
import * as Copies from "./sections/Copies.ts"
import * as Core from "./sections/Core.ts"
import * as Deadlocks from "./sections/Deadlocks.ts"
import * as Fleet from "./sections/Fleet.ts"
import * as Footprint from "./sections/Footprint.ts"
import * as Frames from "./sections/Frames.ts"
import * as Hit from "./sections/Hit.ts"
import * as Installed from "./sections/Installed.ts"
import * as Lease from "./sections/Lease.ts"
import * as Machine from "./sections/Machine.ts"
import * as Memory from "./sections/Memory.ts"
import * as Observing from "./sections/Observing.ts"
import * as Peers from "./sections/Peers.ts"
import * as Policies from "./sections/Policies.ts"
import * as Queues from "./sections/Queues.ts"
import * as Recordings from "./sections/Recordings.ts"
import * as SharedMemory from "./sections/SharedMemory.ts"
import * as Staging from "./sections/Staging.ts"
import * as TouchedWorkload from "./sections/TouchedWorkload.ts"

export const all = [
  Core.section,
  Machine.section,
  Lease.section,
  Hit.section,
  Arena.section,
  Copies.section,
  Contention.section,
  Deadlocks.section,
  TouchedWorkload.section,
  Footprint.section,
  Allocation.section,
  SharedMemory.section,
  Memory.section,
  Clear.section,
  Staging.section,
  Queues.section,
  Arrays.section,
  Policies.section,
  Fleet.section,
  Recordings.section,
  Installed.section,
  Observing.section,
  Peers.section,
  Frames.section
]
