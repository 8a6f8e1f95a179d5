/**
 * Run before each test file. The search for deadlocks is loaded when a request has waited for `deadlockTimeout`, and that takes real time:
 * a test clock that goes on meanwhile would pass the next look, and the test would wait for ever.
 */
import * as Effect from "effect/Effect"
import { deadlockSearch } from "../../src/services/pool/DeadlockWatch.ts"

await Effect.runPromise(deadlockSearch.use(() => Effect.void))
