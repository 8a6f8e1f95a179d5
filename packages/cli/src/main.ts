#!/usr/bin/env node
/**
 * Runs the command with the arguments of this process, and ends the process.
 *
 * @internal
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { whileWritable } from "./Output.ts"
import { program } from "./Program.ts"

program.pipe(
  whileWritable,
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({
    // Threads of drivers would keep the process alive.
    teardown: (exit) => Runtime.defaultTeardown(exit, process.exit)
  })
)
