import { exploreScenes } from "./explored.ts"

exploreScenes("scratchHandlers")
