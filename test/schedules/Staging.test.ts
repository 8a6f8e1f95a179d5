import { exploreScenes } from "./explored.ts"

exploreScenes("staging")
