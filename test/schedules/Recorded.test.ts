import { exploreScenes } from "./explored.ts"

exploreScenes("recorded")
