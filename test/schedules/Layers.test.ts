import { exploreScenes } from "./explored.ts"

exploreScenes("layers")
