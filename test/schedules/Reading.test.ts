import { exploreScenes } from "./explored.ts"

exploreScenes("reading")
