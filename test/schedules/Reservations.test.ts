import { exploreScenes } from "./explored.ts"

exploreScenes("reservations")
