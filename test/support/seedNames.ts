/**
 * Every class, function, method, attribute, family of constants and environment variable named in the documents of
 * other memory tools, by library and document, in the documents' order. A constructor is listed under its class's name.
 */
export interface NamedDocument {
  /** The beginnings of the mapping table's headings that have its names. */
  readonly headings: ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
}

const members = (owner: string, ...names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.map((name) => `${owner}.${name}`)

const pyOpenCl = ["PyOpenCL", "OpenCL runtime"]

/** Of the document's page in its first language. */
const pyOpenClTools: NamedDocument = {
  headings: pyOpenCl,
  names: [
    "Buffer",
    "pyopencl.array.Array",
    "pyopencl.array.arange",
    "PooledBuffer",
    "DeferredAllocator",
    "mem_flags",
    "CLAllocator",
    "DeferredAllocator.__call__",
    "ImmediateAllocator",
    "ImmediateAllocator.__call__",
    "MemoryPool",
    ...members("MemoryPool", "held_blocks", "active_blocks", "allocate", "__call__", "free_held", "stop_holding"),
    "first_arg_dependent_memoize",
    "clear_first_arg_caches",
    "pytest_generate_tests_for_pyopencl",
    "ctx_factory",
    "device",
    "platform",
    "PYOPENCL_TEST",
    "pyopencl.characterize",
    // the members of that module, which the document lists by a directive
    "get_fast_inaccurate_build_options",
    "get_pocl_version",
    "get_simd_group_size",
    "has_amd_double_support",
    "has_coarse_grain_buffer_svm",
    "has_double_support",
    "has_fine_grain_buffer_svm",
    "has_fine_grain_buffer_svm_atomics",
    "has_fine_grain_system_svm",
    "has_fine_grain_system_svm_atomics",
    "has_src_build_cache",
    "has_struct_arg_count_bug",
    "local_memory_access_granularity",
    "local_memory_bank_count",
    "nv_compute_capability",
    "reasonable_work_group_size_multiple",
    "simultaneous_work_items_on_local_access",
    "usable_local_mem_size",
    "why_not_local_access_conflict_free"
  ]
}

/** A newer version of the same document. */
const pyOpenClToolsWithSvm: NamedDocument = {
  headings: pyOpenCl,
  names: [
    "PooledBuffer",
    "MemoryObject",
    "AllocatorBase",
    "AllocatorBase.__call__",
    "DeferredAllocator",
    "Context",
    "DeferredAllocator.__call__",
    "ImmediateAllocator",
    "ImmediateAllocator.__call__",
    "MemoryPool",
    "MemoryPool.leading_bits_in_bin_id",
    ...members("MemoryPool", "allocate", "__call__", "held_blocks", "active_blocks", "managed_bytes", "active_bytes"),
    ...members("MemoryPool", "free_held", "stop_holding"),
    "PooledSVM",
    "CommandQueue",
    "SVMPointer",
    "PooledSVM equality and hash",
    ...members("PooledSVM", "release", "enqueue_release", "bind_to_queue", "unbind_from_queue"),
    "SVMAllocation.enqueue_release",
    "SVMAllocator",
    ...members("SVMAllocator", "alignment", "flags", "queue"),
    "svm_mem_flags",
    "SVMAllocator.__call__",
    "SVMAllocation",
    "SVMPool",
    "SVMPool.leading_bits_in_bin_id",
    ...members("SVMPool", "__call__", "held_blocks", "active_blocks", "managed_bytes", "active_bytes"),
    ...members("SVMPool", "free_held", "stop_holding"),
    "pytest_generate_tests_for_pyopencl",
    "PYOPENCL_TEST",
    "VectorArg",
    "ScalarArg",
    "DtypedArgument",
    "get_fast_inaccurate_build_options",
    "get_simd_group_size",
    "has_struct_arg_count_bug",
    "nv_compute_capability",
    "Device",
    "simultaneous_work_items_on_local_access"
  ]
}

const openClMemory: NamedDocument = {
  headings: pyOpenCl,
  names: [
    "MemoryObject",
    ...members("MemoryObject", "info", "hostbuf", "get_info", "release", "get_host_array", "from_int_ptr", "int_ptr"),
    "mem_info",
    "comparable MemoryObject",
    "enqueue_migrate_mem_objects",
    "mem_migration_flags",
    "Buffer",
    "mem_flags",
    ...members("Buffer", "get_sub_region", "__getitem__"),
    "enqueue_fill_buffer",
    "SVM",
    "SVMMap",
    "svm_empty",
    "svm_empty_like",
    "csvm_empty",
    "csvm_empty_like",
    "fsvm_empty",
    "fsvm_empty_like",
    "enqueue_svm_memfill",
    "enqueue_svm_migratemem",
    "SVMAllocation",
    "ImageFormat",
    ...members(
      "ImageFormat",
      "channel_order",
      "channel_data_type",
      "channel_count",
      "dtype_size",
      "itemsize",
      "__repr__"
    ),
    "channel_order",
    "channel_type",
    "comparable ImageFormat",
    "get_supported_image_formats",
    "mem_object_type",
    "Image",
    ...members("Image", "pitches", "hostbuf", "is_array", "buffer"),
    ...members("Image", "info", "shape", "get_image_info", "release"),
    "image_info",
    "comparable Image",
    "image_from_array",
    "enqueue_fill_image",
    "enqueue_copy",
    "MemoryMap",
    "MemoryMap as base",
    "enqueue_map_buffer",
    "map_flags",
    "numpy.ndarray",
    "numpy.dtype",
    "wait_for=",
    "is_blocking=",
    "enqueue_map_image",
    "Sampler",
    "addressing_mode",
    "filter_mode",
    "sampler_properties",
    "clCreateSamplerWithProperties",
    ...members("Sampler", "info", "get_info", "from_int_ptr", "int_ptr"),
    "sampler_info",
    "comparable Sampler"
  ]
}

const pyCudaTools: NamedDocument = {
  headings: ["PyCUDA"],
  names: [
    "pycuda.autoinit",
    "make_default_context",
    "autoinit.device",
    "pycuda.driver.Device",
    "autoinit.context",
    "pycuda.driver.Context",
    "CUDA_DEVICE",
    "~/.cuda-device",
    "get_default_device",
    "context_dependent_memoize",
    "clear_context_caches",
    "mark_cuda_test",
    "DeviceData",
    "pycuda.driver.Device.get_attribute",
    "pycuda.driver.Context.get_device",
    ...members("DeviceData", "max_threads", "warp_size", "warps_per_mp", "thread_blocks_per_mp", "registers"),
    ...members("DeviceData", "shared_memory", "smem_granularity", "smem_alloc_granularity", "align_bytes", "align"),
    ...members("DeviceData", "align_words", "align_dtype", "make_valid_tex_channel_count"),
    "OccupancyRecord",
    ...members("OccupancyRecord", "tb_per_mp", "limited_by", "warps_per_mp", "occupancy"),
    "mem_alloc",
    "pagelocked_empty",
    "pycuda.gpuarray.GPUArray",
    "PooledDeviceAllocation",
    "int(PooledDeviceAllocation)",
    ...members("PooledDeviceAllocation", "free", "__len__"),
    "DeviceMemoryPool",
    ...members("DeviceMemoryPool", "held_blocks", "active_blocks", "allocate", "free_held", "stop_holding"),
    "PooledHostAllocation",
    ...members("PooledHostAllocation", "free", "__len__"),
    "PageLockedAllocator",
    "host_alloc_flags",
    "PageLockedMemoryPool",
    ...members("PageLockedMemoryPool", "held_blocks", "active_blocks", "allocate", "free_held", "stop_holding")
  ]
}

/** Of the memory of the host, in the document of its driver. */
const pyCudaHostMemory: NamedDocument = {
  headings: ["PyCUDA"],
  names: [
    "pagelocked_empty",
    "pagelocked_zeros",
    "pagelocked_empty_like",
    "pagelocked_zeros_like",
    "aligned_empty",
    "aligned_zeros",
    "managed_empty",
    "managed_zeros",
    "managed_empty_like",
    "managed_zeros_like",
    "register_host_memory",
    "host_alloc_flags",
    ...members("host_alloc_flags", "PORTABLE", "DEVICEMAP", "WRITECOMBINED")
  ]
}

const cuPyPool: NamedDocument = {
  headings: ["CuPy"],
  names: [
    "MemoryPool",
    "_malloc",
    "cudaMalloc",
    ...members("MemoryPool", "free_all_blocks", "free_all_free", "free_bytes", "malloc", "n_free_blocks"),
    ...members("MemoryPool", "total_bytes", "used_bytes"),
    "Stream",
    "MemoryPointer",
    "set_allocator",
    "malloc_managed"
  ]
}

/** Of CuPy's pages on memory management, hooks and pinned memory. */
const cuPyMemory: NamedDocument = {
  headings: ["CuPy"],
  names: [
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "get_allocator",
    "set_allocator",
    "using_allocator",
    "alloc",
    "BaseMemory",
    "Memory",
    "ManagedMemory",
    "UnownedMemory",
    "SystemMemory",
    "MemoryAsync",
    "MemoryPointer",
    "malloc_managed",
    "malloc_async",
    "malloc_system",
    "MemoryAsyncPool",
    "PythonFunctionAllocator",
    "CFunctionAllocator",
    "OutOfMemoryError",
    "chunks of a pool: an allocation that is split, and merged again",
    ...members("MemoryPool", "set_limit", "get_limit"),
    "CUPY_GPU_MEMORY_LIMIT",
    "MemoryHook",
    ...members("MemoryHook", "alloc_preprocess", "malloc_preprocess"),
    ...members("memory_hooks", "DebugPrintHook", "LineProfileHook"),
    "alloc_pinned_memory",
    "set_pinned_memory_allocator",
    "PinnedMemory",
    "PinnedMemoryPointer",
    "PinnedMemoryPool",
    ...members("PinnedMemoryPool", "malloc", "free", "free_all_blocks", "n_free_blocks")
  ]
}

export const seedNames: Readonly<Record<string, NamedDocument>> = {
  "PyOpenCL's tools": pyOpenClTools,
  "PyOpenCL's tools with SVM": pyOpenClToolsWithSvm,
  "the OpenCL runtime's memory": openClMemory,
  "PyCUDA's tools": pyCudaTools,
  "PyCUDA's memory of the host": pyCudaHostMemory,
  "CuPy's pool": cuPyPool,
  "CuPy's memory management": cuPyMemory
}
