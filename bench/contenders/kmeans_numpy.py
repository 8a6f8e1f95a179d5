"""k-means in plain NumPy, on the data of examples/kmeans/Points.ts.

Takes one JSON argument, {"points", "clusters", "dimensions", "rounds", "samples"}, and prints the marked line that ChildProgram.ts
reads: milliseconds of a round by the clock and of all processors, in each sample, and the last centres. There are several ways to find
the nearest centres and to add up clusters; the fastest of each on these data is taken.
"""

import json
import sys
import time

MARKER = "effect-gpu-pool:bench "
WARM_UP = 2
TRIALS = 5
BLOCK = 8192


def answer(value):
    print(MARKER + json.dumps(value), flush=True)
    sys.exit(0)


try:
    import numpy as np
except ImportError as error:
    answer({"_tag": "Missing", "why": f"NumPy: {error}"})


def numbers(seed, count):
    """Numbers between 0 and 1: those of a linear congruential generator, as in Points.ts."""
    factor, summand = 1664525, 1013904223
    found = np.array([(seed * factor + summand) % 2**32], dtype=np.uint32)
    while found.size < count:
        found = np.concatenate([found, found * np.uint32(factor) + np.uint32(summand)])
        # As many steps at once as there are numbers.
        factor, summand = factor * factor % 2**32, (factor * summand + summand) % 2**32
    return found[:count] / 2.0**32


def data_of(points, clusters, dimensions):
    places = (10 * numbers(7, clusters * dimensions)).reshape(clusters, dimensions)
    two = numbers(11, 2 * points * dimensions).reshape(points, dimensions, 2)
    around = places[np.arange(points) % clusters] + two[..., 0] + two[..., 1] - 1
    first = places + numbers(13, clusters * dimensions).reshape(clusters, dimensions) - 0.5
    return np.ascontiguousarray(around.T.astype(np.float32)), first.astype(np.float32)


class KMeans:
    """Points by rows of one coordinate, and by rows of one point, of which each way takes what is faster."""

    def __init__(self, points, clusters):
        self.points, self.rows, self.clusters = points, np.ascontiguousarray(points.T), clusters

    # Nearest centres: the square of a point is the same for all of them, and left out.

    def by_rows(self, centres):
        distances = self.rows @ (-2 * centres.T)
        distances += (centres * centres).sum(1)
        return distances.argmin(1)

    def by_columns(self, centres):
        distances = (-2 * centres) @ self.points
        distances += (centres * centres).sum(1)[:, None]
        return distances.argmin(0)

    def one_by_one(self, centres):
        return self.within(self.points, centres)

    def in_blocks(self, centres):
        count = self.points.shape[1]
        blocks = [self.within(self.points[:, at:at + BLOCK], centres) for at in range(0, count, BLOCK)]
        return np.concatenate(blocks)

    def within(self, points, centres):
        squares = (centres * centres).sum(1)
        least = (-2 * centres[0]) @ points + squares[0]
        labels = np.zeros(points.shape[1], np.uint8 if self.clusters <= 256 else np.uint32)
        for cluster in range(1, self.clusters):
            distance = (-2 * centres[cluster]) @ points
            distance += squares[cluster]
            np.copyto(labels, cluster, where=distance < least)
            np.minimum(least, distance, out=least)
        return labels

    # Sums and numbers of the points of each cluster.

    def by_bincount(self, labels):
        labels = labels.astype(np.intp, copy=False)
        sums = [np.bincount(labels, row, self.clusters) for row in self.points]
        return np.stack(sums, 1), np.bincount(labels, minlength=self.clusters)

    def by_product(self, labels):
        is_in = labels == np.arange(self.clusters, dtype=labels.dtype)[:, None]
        return is_in.astype(np.float32) @ self.rows, is_in.sum(1)

    def round(self, nearest, add_up, centres):
        sums, counts = add_up(nearest(centres))
        counts = counts[:, None]
        return np.where(counts > 0, sums / np.maximum(counts, 1), centres).astype(np.float32)


def fastest(ways, *args):
    def least(way):
        times = []
        for _ in range(TRIALS):
            start = time.perf_counter()
            way(*args)
            times.append(time.perf_counter() - start)
        return min(times)

    return min(ways, key=least)


def main():
    request = json.loads(sys.argv[1])
    points, first = data_of(request["points"], request["clusters"], request["dimensions"])
    means = KMeans(points, request["clusters"])
    nearest = fastest([means.by_rows, means.by_columns, means.one_by_one, means.in_blocks], first)
    add_up = fastest([means.by_bincount, means.by_product], nearest(first))
    rounds, wall, processors = request["rounds"], [], []
    for _ in range(WARM_UP + request["samples"]):
        start, start_processors = time.perf_counter(), time.process_time()
        centres = first
        for _ in range(rounds):
            centres = means.round(nearest, add_up, centres)
        processors.append((time.process_time() - start_processors) * 1e3 / rounds)
        wall.append((time.perf_counter() - start) * 1e3 / rounds)
    figures = {"wall": wall[WARM_UP:], "processors": processors[WARM_UP:], "centres": centres.ravel().tolist()}
    answer({"_tag": "Measured", "figures": figures})


main()
