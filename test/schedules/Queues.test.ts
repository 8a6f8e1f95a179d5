import { exploreScenes } from "./explored.ts"

exploreScenes("queues")
