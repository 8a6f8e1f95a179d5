import { onEveryBackend } from "../ArrayBackends.ts"
import { fusionLaws } from "./FusionLaws.ts"

onEveryBackend((gpu) => fusionLaws(gpu, { iterations: 1000 }))
