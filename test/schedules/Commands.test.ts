import { exploreScenes } from "./explored.ts"

exploreScenes("commands")
