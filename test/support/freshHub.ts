/**
 * Run before each test file whose process is shared: what records the whole program finds no memory that a file before has left open.
 */
import * as Context from "effect/Context"
import { CurrentHub } from "../../src/services/pool/EventHub.ts"

Context.get(Context.empty(), CurrentHub).memories.clear()
