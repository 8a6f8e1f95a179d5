import { exploreScenes } from "./explored.ts"

exploreScenes("sharedMemory")
