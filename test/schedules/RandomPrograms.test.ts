import { exploreScenes } from "./explored.ts"

exploreScenes("randomPrograms")
