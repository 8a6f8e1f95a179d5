import { onEveryBackend } from "../ArrayBackends.ts"
import { arrayReductionLaws } from "./ArrayReductionLaws.ts"

onEveryBackend((gpu) => arrayReductionLaws(gpu, { trials: 40, longest: Infinity }))
