import { exploreScenes } from "./explored.ts"

exploreScenes("arrays")
