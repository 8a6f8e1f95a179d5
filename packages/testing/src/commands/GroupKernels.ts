/**
 * Kernels of the conformance suite that are written for workgroups, with a body for every backend.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import * as GroupKernel from "effect-gpu-pool/GroupKernel"
import { LocalArg, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type * as Workgroup from "effect-gpu-pool/Workgroup"

/** Words that {@link places} writes for each item. */
export const placeWords = 4

/** Each item within the range writes where it is, and adds 1 to the last word, so that one that ran twice shows. */
export const places = (workgroupSize: Workgroup.Size) =>
  GroupKernel.make({
    name: `places${[workgroupSize].flat().join("x")}`,
    args: [VectorArg("u32", "y")],
    workgroupSize,
    body: {
      wgsl: `
        if (global_id.x < range.x && global_id.y < range.y && global_id.z < range.z) {
          let at = 4u * ((global_id.z * range.y + global_id.y) * range.x + global_id.x);
          y[at] = local_index + 1000u * (local_id.x + 1000u * (local_id.y + 10u * local_id.z));
          y[at + 1u] = group_id.x + 1000u * (group_id.y + 1000u * group_id.z);
          y[at + 2u] = group_count.x + group_size.x + 1000u * (group_count.y + group_size.y
            + 1000u * (group_count.z + group_size.z));
          y[at + 3u] = y[at + 3u] + 1u;
        }`,
      opencl: `
        if (global_id.x < range.x && global_id.y < range.y && global_id.z < range.z) {
          const uint at = 4 * ((global_id.z * range.y + global_id.y) * range.x + global_id.x);
          y[at] = local_index + 1000 * (local_id.x + 1000 * (local_id.y + 10 * local_id.z));
          y[at + 1] = group_id.x + 1000 * (group_id.y + 1000 * group_id.z);
          y[at + 2] = group_count.x + group_size.x + 1000 * (group_count.y + group_size.y
            + 1000 * (group_count.z + group_size.z));
          y[at + 3] = y[at + 3] + 1;
        }`,
      host: ({ groupCount, groupId, groupSize, items, range }, { y }) => {
        items(({ globalId, localId, localIndex }) => {
          if (globalId.x >= range.x || globalId.y >= range.y || globalId.z >= range.z) return
          const at = 4 * ((globalId.z * range.y + globalId.y) * range.x + globalId.x)
          y[at] = localIndex + 1000 * (localId.x + 1000 * (localId.y + 10 * localId.z))
          y[at + 1] = groupId.x + 1000 * (groupId.y + 1000 * groupId.z)
          y[at + 2] = groupCount.x + groupSize.x +
            1000 * (groupCount.y + groupSize.y + 1000 * (groupCount.z + groupSize.z))
          y[at + 3]! += 1
        })
      }
    }
  })

/** A transpose through tiles of 8 x 8: what an item writes, another item of its workgroup has read. */
export const transpose = GroupKernel.make({
  name: "transpose",
  args: [
    VectorArg("u32", "x", { access: "read" }),
    VectorArg("u32", "y", { access: "write" }),
    LocalArg("u32", "tile", 64)
  ],
  workgroupSize: [8, 8],
  body: {
    wgsl: `
      if (global_id.x < range.x && global_id.y < range.y) {
        tile[8u * local_id.y + local_id.x] = x[global_id.y * range.x + global_id.x];
      }
      workgroupBarrier();
      let column = 8u * group_id.x + local_id.y;
      let row = 8u * group_id.y + local_id.x;
      if (column < range.x && row < range.y) { y[column * range.y + row] = tile[8u * local_id.x + local_id.y]; }`,
    opencl: `
      if (global_id.x < range.x && global_id.y < range.y)
        tile[8 * local_id.y + local_id.x] = x[global_id.y * range.x + global_id.x];
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint column = 8 * group_id.x + local_id.y;
      const uint row = 8 * group_id.y + local_id.x;
      if (column < range.x && row < range.y) y[column * range.y + row] = tile[8 * local_id.x + local_id.y];`,
    host: ({ groupId, items, range }, { tile, x, y }) => {
      items(({ globalId, localId }) => {
        if (globalId.x >= range.x || globalId.y >= range.y) return
        tile[8 * localId.y + localId.x] = x[globalId.y * range.x + globalId.x]!
      })
      items(({ localId }) => {
        const [column, row] = [8 * groupId.x + localId.y, 8 * groupId.y + localId.x]
        if (column < range.x && row < range.y) y[column * range.y + row] = tile[8 * localId.x + localId.y]!
      })
    }
  }
})

/** Each workgroup of 8 reverses its elements, of any type that languages have without packing, through its memory. */
export const reverse = (dtype: DType) =>
  GroupKernel.make({
    name: `reverse_${dtype}`,
    args: [VectorArg(dtype, "x"), LocalArg(dtype, "part", 8)],
    workgroupSize: 8,
    body: {
      wgsl: `
        if (global_id.x < range.x) { part[local_index] = x[global_id.x]; }
        workgroupBarrier();
        if (global_id.x < range.x) { x[global_id.x] = part[7u - local_index]; }`,
      opencl: `
        if (global_id.x < range.x) part[local_index] = x[global_id.x];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (global_id.x < range.x) x[global_id.x] = part[7 - local_index];`,
      host: ({ items, range }, { part, x }) => {
        items(({ globalId, localIndex }) => {
          if (globalId.x < range.x) part[localIndex] = x[globalId.x]!
        })
        items(({ globalId, localIndex }) => {
          if (globalId.x < range.x) x[globalId.x] = part[7 - localIndex]!
        })
      }
    }
  })

/** The sum of each workgroup's elements, halving the items that add between barriers in a loop. */
export const groupSums = GroupKernel.make({
  name: "group_sums",
  args: [
    VectorArg("u32", "x", { access: "read" }),
    VectorArg("u32", "sums", { access: "write" }),
    LocalArg("u32", "part", 32)
  ],
  workgroupSize: 32,
  body: {
    wgsl: `
      part[local_index] = 0u;
      if (global_id.x < range.x) { part[local_index] = x[global_id.x]; }
      for (var half = 16u; half > 0u; half = half / 2u) {
        workgroupBarrier();
        if (local_index < half) { part[local_index] = part[local_index] + part[local_index + half]; }
      }
      if (local_index == 0u) { sums[group_id.x] = part[0]; }`,
    opencl: `
      part[local_index] = global_id.x < range.x ? x[global_id.x] : 0;
      for (uint half_of = 16; half_of > 0; half_of /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (local_index < half_of) part[local_index] += part[local_index + half_of];
      }
      if (local_index == 0) sums[group_id.x] = part[0];`,
    host: ({ groupId, items, range }, { part, sums, x }) => {
      items(({ globalId, localIndex }) => {
        part[localIndex] = globalId.x < range.x ? x[globalId.x]! : 0
      })
      for (let half = 16; half >= 1; half /= 2) {
        items(({ localIndex }) => {
          if (localIndex < half) part[localIndex]! += part[localIndex + half]!
        })
      }
      items(({ localIndex }) => {
        if (localIndex === 0) sums[groupId.x] = part[0]!
      })
    }
  }
})

/** Bins of {@link histogram}. */
export const bins = 24

/** Counts values by their remainder: each workgroup counts in its local memory, and adds its counts to all. */
export const histogram = GroupKernel.make({
  name: "histogram",
  args: [
    VectorArg("u32", "x", { access: "read" }),
    VectorArg("u32", "counts", { atomic: true }),
    LocalArg("u32", "own", bins, { atomic: true })
  ],
  workgroupSize: 16,
  body: {
    wgsl: `
      for (var bin = local_index; bin < ${bins}u; bin += 16u) { atomicStore(&own[bin], 0u); }
      workgroupBarrier();
      if (global_id.x < range.x) { atomicAdd(&own[x[global_id.x] % ${bins}u], 1u); }
      workgroupBarrier();
      for (var bin = local_index; bin < ${bins}u; bin += 16u) {
        atomicAdd(&counts[bin], atomicLoad(&own[bin]));
      }`,
    opencl: `
      for (uint bin = local_index; bin < ${bins}; bin += 16) own[bin] = 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (global_id.x < range.x) atomic_inc(&own[x[global_id.x] % ${bins}]);
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint bin = local_index; bin < ${bins}; bin += 16) atomic_add(&counts[bin], own[bin]);`,
    // A backend may send the text of a function elsewhere, so it may use only its arguments: 24 bins.
    host: ({ items, range }, { counts, own, x }) => {
      own.fill(0)
      items(({ globalId }) => {
        if (globalId.x < range.x) own[x[globalId.x]! % 24]! += 1
      })
      items(({ localIndex }) => {
        for (let bin = localIndex; bin < 24; bin += 16) counts[bin]! += own[bin]!
      })
    }
  }
})

/** A product of matrices, c = a b, through tiles of 4 x 4; a has `inner` columns. The range is that of c. */
export const product = GroupKernel.make({
  name: "tiled_product",
  args: [
    VectorArg("f32", "a", { access: "read" }),
    VectorArg("f32", "b", { access: "read" }),
    VectorArg("f32", "c", { access: "write" }),
    LocalArg("f32", "tileA", 16),
    LocalArg("f32", "tileB", 16),
    ScalarArg("u32", "inner")
  ],
  workgroupSize: [4, 4],
  itemwise: ["c"],
  workPerItem: "inner",
  body: {
    wgsl: `
      let column = global_id.x;
      let row = global_id.y;
      var sum = 0.0;
      for (var first = 0u; first < inner; first += 4u) {
        tileA[local_index] = 0.0;
        tileB[local_index] = 0.0;
        if (row < range.y && first + local_id.x < inner) { tileA[local_index] = a[row * inner + first + local_id.x]; }
        if (column < range.x && first + local_id.y < inner) {
          tileB[local_index] = b[(first + local_id.y) * range.x + column];
        }
        workgroupBarrier();
        for (var k = 0u; k < 4u; k++) { sum += tileA[4u * local_id.y + k] * tileB[4u * k + local_id.x]; }
        workgroupBarrier();
      }
      if (column < range.x && row < range.y) { c[row * range.x + column] = sum; }`,
    opencl: `
      const uint column = global_id.x;
      const uint row = global_id.y;
      float sum = 0;
      for (uint first = 0; first < inner; first += 4) {
        tileA[local_index] = row < range.y && first + local_id.x < inner ? a[row * inner + first + local_id.x] : 0;
        tileB[local_index] =
          column < range.x && first + local_id.y < inner ? b[(first + local_id.y) * range.x + column] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < 4; k++) sum += tileA[4 * local_id.y + k] * tileB[4 * k + local_id.x];
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (column < range.x && row < range.y) c[row * range.x + column] = sum;`,
    host: ({ items, range }, { a, b, c, inner, tileA, tileB }) => {
      const sums = new Float32Array(16)
      for (let first = 0; first < inner; first += 4) {
        items(({ globalId, localId, localIndex }) => {
          const [column, row] = [globalId.x, globalId.y]
          const [acrossA, downB] = [first + localId.x, first + localId.y]
          tileA[localIndex] = row < range.y && acrossA < inner ? a[row * inner + acrossA]! : 0
          tileB[localIndex] = column < range.x && downB < inner ? b[downB * range.x + column]! : 0
        })
        items(({ localId, localIndex }) => {
          for (let k = 0; k < 4; k++) sums[localIndex]! += tileA[4 * localId.y + k]! * tileB[4 * k + localId.x]!
        })
      }
      items(({ globalId, localIndex }) => {
        if (globalId.x < range.x && globalId.y < range.y) c[globalId.y * range.x + globalId.x] = sums[localIndex]!
      })
    }
  }
})
