/**
 * How the lanes of a part combine their states in workgroup memory: neighbours first, so that elements keep their order.
 *
 * @internal
 */
import type { LocalArg } from "effect-gpu-pool/KernelArgument"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import * as Expr from "../Expr.ts"
import { Statements } from "../expression/Statements.ts"
import type { Sharing } from "./Lane.ts"
import * as State from "./State.ts"

/** Statements after which the first lane of each part has its state. `item` are statements before. */
export const write = (
  writer: LanguageWriter,
  { other, steps, takes }: Sharing,
  item: Statements,
  shared: ReadonlyArray<LocalArg>,
  state: ReadonlyArray<State.Component>,
  combine: State.Combine
): ReadonlyArray<string> => {
  const { groups } = writer
  if (groups === undefined) throw new Error(`The writer of ${writer.language.name} writes no kernels for workgroups`)
  const [begin, step, times] = [0, 1, steps].map((value) => item.value(Expr.constant("u32", value)))
  const position = "step__"
  const inStep = new Statements(writer, {
    index: position,
    indexVaries: true,
    variables: { local_index: false },
    prefix: "s"
  })
  const [isTaking, from] = [inStep.value(takes), inStep.value(other)]
  const share = shared.map(({ dtype, name }, index) =>
    groups.store(name, "local_index", State.variableOf(index), dtype)
  )
  const next = combine(State.gathered(state), State.gathered(state, "Other"))
  return [
    ...inStep.before,
    ...share,
    ...writer.walk({ position, begin: begin!, step: step!, times: times! }, [
      groups.barrier,
      ...inStep.inside,
      ...writer.when(isTaking, [
        ...shared.map(({ dtype, name }, index) =>
          writer.declare(State.variableOf(index, "Other"), dtype, groups.load(name, from, dtype))
        ),
        ...State.combining(writer, next, "taken"),
        ...share
      ])
    ])
  ]
}
