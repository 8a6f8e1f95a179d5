import { exploreScenes } from "./explored.ts"

exploreScenes("lostDevices")
