import { exploreScenes } from "./explored.ts"

exploreScenes("limitedAllocators")
