import { exploreScenes } from "./explored.ts"

exploreScenes("waiting")
