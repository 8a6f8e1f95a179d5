/**
 * Words that an argument or kernel cannot be called, because WGSL or OpenCL C keeps them for itself.
 *
 * A name that only one language forbids would be an error on one backend alone, so all are forbidden on every backend.
 *
 * @see https://www.w3.org/TR/WGSL/#keyword-summary
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html#_keywords
 * @internal
 */

const wgsl =
  "alias break case const const_assert continue continuing default diagnostic discard else enable false fn for if let " +
  "loop override requires return struct switch true var while " +
  "NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become cast catch class " +
  "co_await co_return co_yield coherent column_major common compile compile_fragment concept const_cast consteval " +
  "constexpr constinit crate debugger decltype delete demote demote_to_helper do dynamic_cast enum explicit export " +
  "extends extern external fallthrough filter final finally friend from fxgroup get goto groupshared highp impl " +
  "implements import inline instanceof interface layout lowp macro macro_rules match mediump meta mod module move mut " +
  "mutable namespace new nil noexcept noinline nointerpolation non_coherent noncoherent noperspective null nullptr of " +
  "operator package packoffset partial pass patch pixelfragment precise precision premerge priv protected pub public " +
  "readonly ref regardless register reinterpret_cast require resource restrict self set shared sizeof smooth snorm " +
  "static static_assert static_cast std subroutine super target template this thread_local throw trait try type typedef " +
  "typeid typename typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl where with writeonly " +
  "yield"

const openClC =
  "auto break case char const continue default do double else enum extern float for goto if inline int long register " +
  "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while " +
  "bool half uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t event_t sampler_t queue_t clk_event_t " +
  "ndrange_t reserve_id_t pipe global local constant private generic kernel read_only write_only read_write " +
  "image1d_t image1d_array_t image1d_buffer_t image2d_t image2d_array_t image3d_t"

const reserved: ReadonlySet<string> = new Set([...wgsl.split(" "), ...openClC.split(" ")])

/**
 * Whether some language keeps the word for itself.
 *
 * @internal
 */
export const isReserved = (word: string): boolean => reserved.has(word)
