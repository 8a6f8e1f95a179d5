import { exploreScenes } from "./explored.ts"

exploreScenes("oneLimit")
