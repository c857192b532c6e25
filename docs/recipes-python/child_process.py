# SPDX-License-Identifier: Apache-2.0
#
# How do I use Weir with multiprocessing?
#
# With the method `spawn`, as for PyTorch and CuPy. A child of `fork` cannot use a driver that its parent opened: its
# first call raises `ForkedProcessError`.
import multiprocessing

import weir


def work(value: int) -> int:
    device = weir.Device()
    with device.create_stream():
        x = device.allocate(1000, weir.int32)
        x.fill(value)
        return int(x.get().sum())


if __name__ == "__main__":
    weir.Device()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(work, range(4)) == [1000 * value for value in range(4)]
