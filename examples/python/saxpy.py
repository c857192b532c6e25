# SPDX-License-Identifier: Apache-2.0
"""y = a x + y: a kernel, a graph, a host function, an error."""

import numpy as np

import weir

SOURCE = r"""
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""


@weir.kernel(SOURCE)
def saxpy(n: weir.int32, a: weir.float32, x: weir.ptr[weir.float32], y: weir.ptr[weir.float32]) -> None:
    """y = a x + y, for n elements."""


def main() -> None:
    n = 1 << 20
    device = weir.Device()  # an NVIDIA GPU, or else an AMD GPU, or else the CPU
    with device.create_stream() as stream:
        host_x, host_y = np.random.rand(n).astype(np.float32), np.ones(n, np.float32)
        x = device.allocate(n, weir.float32).copy_from(host_x)
        y = device.allocate(n, weir.float32).copy_from(host_y)
        weir.launch(stream, weir.grid_for(n), saxpy, n, 2, x, y)
        np.testing.assert_allclose(y.get(), 2 * host_x + 1, rtol=1e-6)

        # Do the same three times, as a graph that includes a Python function.
        done: list[str] = []
        with weir.capture() as captured:
            weir.launch(captured.stream, weir.grid_for(n), saxpy, n, 1, x, y)
            captured.stream.launch_host_func(done.append, "run")
        for _ in range(3):
            captured.graph.launch(stream)
        np.testing.assert_allclose(y.get(), 5 * host_x + 1, rtol=1e-5)
        assert len(done) == 3

        try:
            weir.launch(stream, weir.grid_for(n), saxpy, n, 2, x)  # type: ignore  # mypy and pyright find this, too
        except TypeError as error:
            print(error)
    print(f"right on {device} ({device.name})")


if __name__ == "__main__":
    main()
