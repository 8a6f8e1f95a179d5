import { exploreScenes } from "./explored.ts"

exploreScenes("closing")
