import { exploreScenes } from "./explored.ts"

exploreScenes("images")
