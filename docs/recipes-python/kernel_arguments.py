# SPDX-License-Identifier: Apache-2.0
#
# How do I pass arguments to a kernel from Python?
#
# With a signature (`@weir.kernel`, or `get_kernel(name, types)`) numbers become the parameter's type, and a number that
# does not fit raises `ValueError`. Without one, numpy's scalars are passed unchanged. A structure is a numpy scalar of
# its type. Pointers take buffers, arrays of CuPy or PyTorch, an address, or None.
import numpy as np
import weir

SOURCE = r"""
struct Line { float slope, offset; };
extern "C" __global__ void apply(unsigned int n, Line line, const float* x, float* y) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = line.slope * x[i] + line.offset;
}
extern "C" __global__ void raise_to(int exponent, float* x) { x[threadIdx.x] = powf(x[threadIdx.x], exponent); }
"""
Line = np.dtype([("slope", np.float32), ("offset", np.float32)])

device = weir.Device()
module = weir.compile(SOURCE, device)
numbers = np.arange(1000, dtype=np.float32)
with device.create_stream() as stream:
    x = device.allocate(1000, weir.float32).copy_from(numbers)
    y = device.allocate(1000, weir.float32)
    weir.launch(stream, weir.grid_for(1000), module["apply"], np.uint32(1000), np.array((3, 1), Line)[()], x, y)
    assert (y.get() == 3 * numbers + 1).all()

    raise_to = module.get_kernel("raise_to", types=(weir.int32, weir.ptr[weir.float32]))
    weir.launch(stream, weir.LaunchConfig(1, 8), raise_to, 2, x)
    assert (x.get()[:8] == numbers[:8] ** 2).all()
    for wrong in (2.5, 1 << 40):
        try:
            weir.launch(stream, weir.LaunchConfig(1, 8), raise_to, wrong, x)
        except (TypeError, ValueError) as error:
            print(error)
        else:
            raise AssertionError
