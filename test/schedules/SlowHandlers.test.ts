import { exploreScenes } from "./explored.ts"

exploreScenes("slowHandlers")
