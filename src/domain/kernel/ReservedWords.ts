/**
 * Words that an argument or kernel cannot be called, because WGSL or OpenCL C keeps them for itself, or because the
 * generated code needs them.
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
  "image1d_t image1d_array_t image1d_buffer_t image2d_t image2d_array_t image3d_t image2d_depth_t " +
  "image2d_array_depth_t image2d_msaa_t image2d_array_msaa_t image2d_msaa_depth_t image2d_array_msaa_depth_t"

/**
 * What the generated WGSL says around a body. A body may declare these names itself. But a buffer, an image or a
 * sampler with such a name would hide it from the generated declarations too.
 */
const generated = "array storage uniform read write read_write f32 i32 u32 f16 vec3 sampler " +
  "texture_1d texture_2d texture_2d_array texture_3d " +
  "texture_storage_1d texture_storage_2d texture_storage_2d_array texture_storage_3d"

const texelTypes = "8unorm 8snorm 8uint 8sint 16unorm 16snorm 16uint 16sint 16float 32uint 32sint 32float".split(" ")

/** As `rgba8unorm`: a storage texture names one. */
const texelFormats: ReadonlyArray<string> = [
  ...["r", "rg", "rgba"].flatMap((channels) => texelTypes.map((type) => channels + type)),
  "bgra8unorm",
  "rgb10a2unorm",
  "rgb10a2uint",
  "rg11b10ufloat"
]

const ofWgsl: ReadonlySet<string> = new Set(wgsl.split(" "))
const ofOpenClC: ReadonlySet<string> = new Set(openClC.split(" "))
const ofGenerated: ReadonlySet<string> = new Set([...generated.split(" "), ...texelFormats])

/** What keeps a word for itself, as the beginning of a clause, or `undefined`. */
export const reservedBy = (word: string): string | undefined => {
  if (ofWgsl.has(word)) return ofOpenClC.has(word) ? "WGSL and OpenCL C reserve" : "WGSL reserves"
  if (ofOpenClC.has(word)) return "OpenCL C reserves"
  return ofGenerated.has(word) ? "the generated WGSL uses" : undefined
}
