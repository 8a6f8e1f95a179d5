/**
 * Traces an effect: its commands are checked and noted, not recorded, on placeholders for memory.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import { BufferPool } from "../../buffers/BufferPool.ts"
import type { PooledBuffer } from "../../buffers/PooledBuffer.ts"
import { validated } from "../../calls/Validated.ts"
import * as LeaseHolder from "../../lease/LeaseHolder.ts"
import { CheckedQueue, type Drivers, driversOf } from "../CheckedQueue.ts"
import { CommandQueue, type Queue } from "../CommandQueue.ts"
import type { ArgumentValue, OffsetBuffer } from "../DispatchArguments.ts"
import type { Dispatches } from "../Dispatches.ts"
import { Placeholders, type Slot } from "./Placeholders.ts"
import { Replay } from "./Replay.ts"
import { notReplayed, TracedCommands } from "./TracedCommands.ts"

type Inputs = ReadonlyArray<PooledBuffer>

type Traced<A, E, R> = Effect.Effect<
  Replay<A>,
  E | GpuError,
  Exclude<R, CommandQueue | BufferPool | Scope.Scope> | BufferPool | CommandQueue
>

export const trace = <A, E, R>(
  inputs: Inputs,
  f: (inputs: Inputs) => Effect.Effect<A, E, R>
): Traced<A, E, R> =>
  Effect.flatMap(CommandQueue, (queue) => {
    const drivers = driversOf(queue)
    return drivers === undefined
      ? notReplayed("CommandList.trace", "a trace")
      : drivers.dispatches.use((dispatches) => traceOn(drivers, dispatches, inputs, f))
  })

const traceOn = <A, E, R>(
  parts: Drivers,
  dispatches: Dispatches,
  inputs: Inputs,
  f: (inputs: Inputs) => Effect.Effect<A, E, R>
): Traced<A, E, R> =>
  validated("CommandList.trace", (operation, fiber): Traced<A, E, R> => {
    const placeholders = new Placeholders(parts.device.info)
    const noted = new TracedCommands(parts.driver, dispatches, placeholders)
    const queue = queueOf(parts, placeholders, noted)
    const pool = Context.getUnsafe(fiber.context as Context.Context<BufferPool>, BufferPool)
    const scope = Scope.makeUnsafe()
    const services = Context.make(CommandQueue, queue).pipe(
      Context.add(BufferPool, placeholders.poolOf(pool)),
      Context.add(Scope.Scope, scope)
    )
    const stand = inputs.map((lease, number) => placeholders.input(lease, number))
    const traced = Effect.flatMap(
      Effect.suspend(() => f(stand)),
      (traced): Effect.Effect<Replay<A>, GpuError> => {
        const results: Array<Slot | PooledBuffer> = []
        const leases = LeaseHolder.leases(traced)
        for (const lease of leases) {
          const slot = placeholders.slotOf(operation, lease)
          if (isGpuError(slot)) return slot
          results.push(slot ?? lease as PooledBuffer)
        }
        placeholders.effectReturned([...leases])
        const memory = { slots: placeholders.slots, results, inputs: inputs.length, moved: placeholders.ownedBy(scope) }
        return Exit.succeed(new Replay(parts, dispatches, traced, noted.commands, memory))
      }
    )
    return Effect.provideContext(traced, services).pipe(
      Effect.catchDefect((defect) => isGpuError(defect) ? defect : Effect.die(defect)),
      Effect.onExit((exit) =>
        Effect.flatMap(Effect.exit(Scope.close(scope, exit)), (closed) => placeholders.refusal ?? closed)
      ),
      Effect.tap(() => placeholders.lateEndProblem(operation) ?? placeholders.outlivingProblem(operation) ?? Exit.void),
      Effect.ensuring(Effect.sync(() => placeholders.end()))
    )
  })

const refuse = (name: string) => () => notReplayed(`CommandQueue.${name}`, `a command as ${name}`)

/** For functions that have no error of this library in their types: the trace makes one of the defect. */
const refuseAsDefect = (name: string) => Effect.die(refuse(name)())

/** The queue as the effect sees it: each command has a placeholder for each lease of the program. */
const queueOf = (
  { commands, device, dispatches }: Drivers,
  placeholders: Placeholders,
  noted: TracedCommands
): Queue => {
  const own = { ...device, info: placeholders.deviceInfo }
  const checked = new CheckedQueue({
    driver: noted.driver,
    device: own,
    commands,
    dispatches: dispatches.map((real) => real.on(noted.driver, own)),
    further: undefined,
    services: () => Context.empty() as never
  })
  const standIn = <B>(name: string, buffer: B, next: (buffer: B | PooledBuffer) => Effect.Effect<void, GpuError>) =>
    validated(`CommandQueue.${name}`, (operation) => next(placeholders.standIn(operation, buffer)))
  const standsIn = <B, C>(
    name: string,
    one: B,
    other: C,
    next: (one: B | PooledBuffer, other: C | PooledBuffer) => Effect.Effect<void, GpuError>
  ) => standIn(name, one, (one) => standIn(name, other, (other) => next(one, other)))
  return {
    info: device.info,
    write: (target, data, options) => standIn("write", target, (target) => checked.write(target, data, options)),
    writeRect: (target, data, options) =>
      standIn("writeRect", target, (target) => checked.writeRect(target, data, options)),
    fill: (target, pattern, options) => standIn("fill", target, (target) => checked.fill(target, pattern, options)),
    copy: (source, target, options) =>
      standsIn("copy", source, target, (source, target) => checked.copy(source, target, options)),
    copyRect: (source, target, options) =>
      standsIn("copyRect", source, target, (source, target) => checked.copyRect(source, target, options)),
    dispatch: (kernel, args, items) =>
      validated("CommandQueue.dispatch", (operation) => {
        const given: Readonly<Record<string, ArgumentValue>> = args
        const standing = Object.fromEntries(
          Object.entries(given).map(([name, value]) => [name, argumentOf(operation, placeholders, value)])
        )
        return checked.dispatch(kernel, standing as typeof args, items)
      }),
    read: refuse("read"),
    readInto: refuse("readInto"),
    readView: refuse("readView"),
    readRect: refuse("readRect"),
    readRectInto: refuse("readRectInto"),
    open: refuse("open"),
    flush: refuse("flush")(),
    finish: refuse("finish")(),
    event: refuseAsDefect("event"),
    on: () => refuseAsDefect("on")
  }
}

const isWithOffset = (value: ArgumentValue): value is OffsetBuffer =>
  typeof value === "object" && value !== null && "buffer" in value && "offset" in value

const argumentOf = (operation: string, placeholders: Placeholders, value: ArgumentValue): ArgumentValue =>
  isWithOffset(value)
    ? { buffer: placeholders.standIn(operation, value.buffer), offset: value.offset }
    : placeholders.standIn(operation, value)
