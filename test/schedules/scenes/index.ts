/** Every scene. A new one is an entry of one of these lists, a new list has its own test file. */
import type { Scene } from "../Stage.ts"
import { arrays } from "./Arrays.ts"
import { closing } from "./Closing.ts"
import { commands } from "./Commands.ts"
import { handlers } from "./Handlers.ts"
import { images } from "./Images.ts"
import { layers } from "./Layers.ts"
import { leases } from "./Leases.ts"
import { limitedAllocators } from "./LimitedAllocators.ts"
import { lostDevices } from "./LostDevices.ts"
import { oneLimit } from "./OneLimit.ts"
import { queues } from "./Queues.ts"
import { randomPrograms } from "./RandomPrograms.ts"
import { reading } from "./Reading.ts"
import { recorded } from "./Recorded.ts"
import { reservations } from "./Reservations.ts"
import { scratchHandlers } from "./ScratchHandlers.ts"
import { severalDevices } from "./SeveralDevices.ts"
import { sharedMemory } from "./SharedMemory.ts"
import { slowHandlers } from "./SlowHandlers.ts"
import { staging } from "./Staging.ts"
import { waiting } from "./Waiting.ts"

export const scenes = {
  arrays,
  closing,
  commands,
  handlers,
  images,
  layers,
  leases,
  limitedAllocators,
  lostDevices,
  oneLimit,
  queues,
  randomPrograms,
  reading,
  recorded,
  reservations,
  scratchHandlers,
  severalDevices,
  sharedMemory,
  slowHandlers,
  staging,
  waiting
} satisfies Readonly<Record<string, ReadonlyArray<Scene>>>
