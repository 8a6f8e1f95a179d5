import { exploreScenes } from "./explored.ts"

exploreScenes("handlers")
