/**
 * The stack that an OpenCL compiler runs on. Compilers parse a source by recursion and end the process when their stack
 * is used up. So the library makes the stack large, and refuses sources that might still use it up.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import { deepest, type NestingCosts } from "../../../domain/kernel/SourceNesting.ts"

/** The main thread of a process has as much on most systems; koffi's calls on other threads have 128 KiB of their own. */
const wantedBytes = 8 * 2 ** 20

/** The function of npm `koffi` for the setting. */
type Koffi = Pick<typeof import("koffi"), "config">

/**
 * Makes koffi's asynchronous calls run on a large stack, and answers how large it is. The setting holds for all of the
 * program's own calls in this thread too, and koffi takes it only before the first library is loaded: a larger setting
 * of the program stays, and so does one that can no longer be changed.
 */
export const reserve = (koffi: Koffi): number => {
  const { async_stack_size: present = 0 } = koffi.config()
  if (present >= wantedBytes) return present
  try {
    koffi.config({ async_stack_size: wantedBytes })
    return wantedBytes
  } catch {
    return present
  }
}

/**
 * Bytes for each level, some twice of what clang was measured to need in PoCL 3.1 and Oclgrind 21.10, as built for x86-64:
 * 6.6 KiB for brackets and casts, 3.3 for operators before their operand, 1.6 for links of a chain of `else if`, 1.1 for
 * assignments, 0.3 for terms of a sum.
 */
const costs: NestingCosts = { bracket: 12 * 1024, operator: 2.5 * 1024, control: 4 * 1024 }

/** InvalidRequest where compiling a kernel's source may take more stack than there is, or `undefined`. */
export const problem = (kernel: string, source: string, stackBytes: number): GpuError | undefined => {
  const bytes = deepest(source, costs)
  return bytes <= stackBytes ? undefined : invalidRequest(
    `KernelCache.get, kernel "${kernel}"`,
    `the OpenCL C is nested too deeply: compiling it may take ${kib(bytes)} KiB of stack, and there are ${
      kib(stackBytes)
    }`,
    "Compute parts of long expressions in variables, and move inner statements into functions." +
      (stackBytes < wantedBytes
        ? ` koffi was in use before OpenCL was opened, or there would be ${kib(wantedBytes)}: ` +
          `open it first, or begin with koffi.config({ async_stack_size: ${wantedBytes} }).`
        : "")
  )
}

const kib = (bytes: number): number => Math.ceil(bytes / 1024)
