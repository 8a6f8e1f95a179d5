import { exploreScenes } from "./explored.ts"

exploreScenes("leases")
