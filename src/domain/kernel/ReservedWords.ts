/**
 * Names that no argument of a kernel can have: words that kernel languages reserve, and words that the generated code
 * around a body uses. A word that one language reserves is refused on every backend, so that a kernel that runs on one
 * runs on all. A body may declare some of these names itself, but a buffer, an image or a sampler with such a name
 * would hide it from the generated declarations too.
 *
 * @see https://www.w3.org/TR/WGSL/#keyword-summary
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html#_keywords
 * @since 0.1.0
 */

const words = [
  "abstract active alias alignas alignof array as asm asm_fragment async attribute auto await become bool break",
  "case cast catch char class clk_event_t co_await co_return co_yield coherent column_major common compile",
  "compile_fragment concept const const_assert const_cast constant consteval constexpr constinit continue",
  "continuing crate debugger decltype default delete demote demote_to_helper diagnostic discard do double",
  "dynamic_cast else enable enum event_t explicit export extends extern external f16 f32 fallthrough false filter",
  "final finally float fn for friend from fxgroup generic get global goto groupshared half highp i32 if",
  "image1d_array_t image1d_buffer_t image1d_t image2d_array_depth_t image2d_array_msaa_depth_t image2d_array_msaa_t",
  "image2d_array_t image2d_depth_t image2d_msaa_depth_t image2d_msaa_t image2d_t image3d_t impl implements import",
  "inline instanceof int interface intptr_t kernel layout let local long loop lowp macro macro_rules match mediump",
  "meta mod module move mut mutable namespace ndrange_t new nil noexcept noinline nointerpolation non_coherent",
  "noncoherent noperspective NULL null nullptr of operator override package packoffset partial pass patch pipe",
  "pixelfragment precise precision premerge priv private protected ptrdiff_t pub public queue_t read read_only",
  "read_write readonly ref regardless register reinterpret_cast require requires reserve_id_t resource restrict",
  "return sampler sampler_t Self self set shared short signed size_t sizeof smooth snorm static static_assert",
  "static_cast std storage struct subroutine super switch target template texture_1d texture_2d texture_2d_array",
  "texture_3d texture_storage_1d texture_storage_2d texture_storage_2d_array texture_storage_3d this thread_local",
  "throw trait true try type typedef typeid typename typeof u32 uchar uint uintptr_t ulong uniform union unless",
  "unorm unsafe unsigned unsized use ushort using var varying vec3 virtual void volatile wgsl where while with",
  "write write_only writeonly yield"
] as const

const texelTypes = "8unorm 8snorm 8uint 8sint 16unorm 16snorm 16uint 16sint 16float 32uint 32sint 32float"

const otherTexels = "bgra8unorm rgb10a2unorm rgb10a2uint rg11b10ufloat"

/** As `rgba8unorm`: a storage texture names one. */
const texelFormats = ["r", "rg", "rgba"].flatMap((channels) => texelTypes.split(" ").map((type) => channels + type))

const reserved: ReadonlySet<string> = new Set([...`${words.join(" ")} ${otherTexels}`.split(" "), ...texelFormats])

type Split<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Split<Rest> : Text

/**
 * A name that no argument of a kernel can have.
 *
 * @category models
 * @since 0.1.0
 */
export type ReservedWord =
  | Split<typeof words[number] | typeof otherTexels>
  | `${"r" | "rg" | "rgba"}${Split<typeof texelTypes>}`

/** Whether a kernel language or the generated code reserves a word. @internal */
export const isReserved = (word: string): boolean => reserved.has(word)
