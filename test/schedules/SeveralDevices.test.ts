import { exploreScenes } from "./explored.ts"

exploreScenes("severalDevices")
