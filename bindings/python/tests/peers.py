#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests streams and arrays that Weir and other libraries share, under load: peers.py [PEER…] [--repeats=10].

For each installed library, in both directions: work of one side after a slow kernel, then a hand-over, then work of the
other side. The hand-over includes a wait; without it, the other side would read old values. The last two columns show that:
they count how often the values were old without the wait. If not always, the other columns prove nothing. Prints a table.
The exit status is 1 unless each cell contains "10 of 10", or "-" for a feature that the library lacks.

It needs CUDA; test_arrays.py has arrays of libraries on the CPU.
"""
import argparse
import importlib
import importlib.util
import sys
import traceback

import numpy as np

import weir
from weir import interop

N = 1 << 16
DELAY_NS = 20_000_000
SOURCE = r"""
extern "C" __global__ void hold(unsigned long long ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - begin < ns);
}
extern "C" __global__ void fill(int* x, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value;
}
extern "C" __global__ void add(int* y, const int* x, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + value;
}
"""
GRID = (N + 255) // 256


class Weir:
    """The operations of Weir that the matrix uses."""

    def __init__(self, device):
        self.device = device
        module = weir.compile(SOURCE, device=device)
        types = {"hold": (weir.uint64,), "fill": (weir.ptr, weir.int32, weir.int32),
                 "add": (weir.ptr, weir.ptr, weir.int32, weir.int32)}
        self.kernels = {name: module.get_kernel(name, of) for name, of in types.items()}
        self.shape = weir.LaunchConfig(GRID, 256)
        for name, arguments in (("hold", (0,)), ("fill", (device.allocate(N, "int32"), 0, N))):
            weir.launch(device.default_stream, self.shape, self.kernels[name], *arguments)  # load them
        device.sync()

    def hold(self, stream):
        weir.launch(stream, weir.LaunchConfig(1, 1), self.kernels["hold"], DELAY_NS)

    def fill(self, stream, buffer, value):
        weir.launch(stream, self.shape, self.kernels["fill"], buffer, value, N)

    def add(self, stream, to, source, value):
        weir.launch(stream, self.shape, self.kernels["add"], to, source, value, N)

    def buffer(self, value=-1):
        buffer = self.device.allocate(N, "int32")
        self.fill(self.device.default_stream, buffer, value)
        self.device.sync()
        return buffer


class Torch:
    def __init__(self):
        self.torch = importlib.import_module("torch")
        self.version = self.torch.__version__
        self.torch.zeros(N, dtype=self.torch.int32, device="cuda").fill_(1).add_(1)

    def stream(self):
        return self.torch.cuda.Stream()

    def array(self, value=-1):
        array = self.torch.full((N,), value, dtype=self.torch.int32, device="cuda")
        self.torch.cuda.synchronize()
        return array

    def fill(self, stream, array, value):
        with self.torch.cuda.stream(stream):
            array.fill_(value)

    def plus(self, stream, array):
        with self.torch.cuda.stream(stream):
            return array + 1

    def read(self, stream, array):
        stream.synchronize()
        with self.torch.cuda.stream(stream):
            return array.cpu().numpy()

    def take(self, stream, buffer):
        with self.torch.cuda.stream(stream):
            return self.torch.from_dlpack(buffer)

    def give(self, stream, array, within):
        with self.torch.cuda.stream(stream):  # PyTorch orders its current stream before Weir's
            return weir.from_dlpack(array, stream=within)

    ours = staticmethod(interop.as_torch)


class Jax:
    """JAX has no streams for programs: only arrays are exchanged, and JAX's work is made slow by a loop."""

    def __init__(self):
        self.jax = importlib.import_module("jax")
        self.version = self.jax.__version__
        assert self.jax.default_backend() == "gpu", "JAX has no GPU"
        lax, jnp = self.jax.lax, self.jax.numpy
        matrix = jnp.full((2048, 2048), 1e-4, "float32")

        def slow(value):
            product = lax.fori_loop(0, 200, lambda _, x: x @ matrix, matrix)
            return jnp.full(N, value, "int32") + jnp.isnan(product[0, 0]).astype("int32")

        self.slow = self.jax.jit(slow)
        self.plus = self.jax.jit(lambda x: x + 1)
        self.plus(self.slow(0)).block_until_ready()

    def arrays_in(self, ours, value):
        array, stream, out = self.slow(value), ours.device.create_stream(), ours.buffer()
        ours.add(stream, out, weir.from_dlpack(array, stream=stream), 0)
        stream.sync()
        return (out.get() == value).all()

    def arrays_out(self, ours, value):
        buffer = ours.buffer()
        with ours.device.create_stream() as stream:
            ours.hold(stream)
            ours.fill(stream, buffer, value)
            result = self.plus(self.jax.dlpack.from_dlpack(buffer))
        right = (np.asarray(result) == value + 1).all()
        ours.device.sync()
        return right

    def arguments(self, ours, value):
        array, stream, out = self.slow(value), ours.device.create_stream(), ours.buffer()
        array.block_until_ready()  # Weir's stream does not wait for the work that writes an argument
        ours.add(stream, out, array, 1)
        stream.sync()
        return (out.get() == value + 1).all()


class CuPy:
    def __init__(self):
        self.cupy = importlib.import_module("cupy")
        self.version = self.cupy.__version__
        (self.cupy.zeros(N, dtype="int32") + 1).fill(2)

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def array(self, value=-1):
        array = self.cupy.full(N, value, dtype="int32")
        self.cupy.cuda.Device().synchronize()
        return array

    def fill(self, stream, array, value):
        with stream:
            array.fill(value)

    def plus(self, stream, array):
        with stream:
            return array + 1

    def read(self, stream, array):
        stream.synchronize()
        return self.cupy.asnumpy(array)

    def take(self, stream, buffer):
        with stream:
            return self.cupy.from_dlpack(buffer)

    def give(self, stream, array, within):
        with stream:
            return weir.from_dlpack(array, stream=within)

    ours = staticmethod(interop.as_cupy)


class Numba:
    def __init__(self):
        self.cuda = importlib.import_module("numba.cuda")
        self.version = getattr(importlib.import_module("numba_cuda"), "__version__", "") if importlib.util.find_spec(
            "numba_cuda") else importlib.import_module("numba").__version__
        cuda = self.cuda

        @cuda.jit
        def fill(x, value):
            i = cuda.grid(1)
            if i < x.size:
                x[i] = value

        @cuda.jit
        def plus(y, x):
            i = cuda.grid(1)
            if i < x.size:
                y[i] = x[i] + 1

        self.fill_kernel, self.plus_kernel = fill, plus
        x = self.array()
        self.plus(self.stream(), x)
        cuda.synchronize()

    def stream(self):
        return self.cuda.stream()

    def array(self, value=-1, stream=0):
        array = self.cuda.device_array(N, dtype=np.int32, stream=stream)
        self.fill_kernel[GRID, 256](array, np.int32(value))
        self.cuda.synchronize()
        return array

    def array_of(self, stream, value=-1):
        """An array whose interface names its stream."""
        return self.array(value, stream)

    def fill(self, stream, array, value):
        self.fill_kernel[GRID, 256, stream](array, np.int32(value))

    def plus(self, stream, array):
        out = self.cuda.device_array(N, dtype=np.int32)
        self.plus_kernel[GRID, 256, stream](out, array)
        return out

    def read(self, stream, array):
        stream.synchronize()
        return array.copy_to_host()

    def take(self, stream, buffer):
        return self.cuda.as_cuda_array(buffer)

    def give(self, stream, array, within):
        return weir.from_dlpack(array, stream=within)

    ours = staticmethod(interop.as_numba)


class CudaCore:
    """cuda.core. Its buffers have no stream, so the code that passes a buffer must order the work."""

    def __init__(self):
        core = importlib.import_module("cuda.core")
        if not hasattr(core, "Device"):
            core = importlib.import_module("cuda.core.experimental")
        self.core, self.version = core, core.__version__
        self.device = core.Device(0)
        self.device.set_current()
        arch = "sm_" + "".join(str(part) for part in self.device.compute_capability)
        program = core.Program(SOURCE, code_type="c++", options=core.ProgramOptions(arch=arch))
        compiled = program.compile("cubin")
        self.fill_kernel, self.add_kernel = compiled.get_kernel("fill"), compiled.get_kernel("add")
        self.shape = core.LaunchConfig(grid=GRID, block=256)

    def stream(self):
        return self.device.create_stream()

    def array(self, value=-1):
        stream = self.stream()
        array = self.device.allocate(4 * N, stream=stream)
        self.fill(stream, array, value)
        self.device.sync()
        return array

    @staticmethod
    def argument(array):
        return array if hasattr(array, "copy_from") and not isinstance(array, weir.Buffer) else int(array)

    def fill(self, stream, array, value):
        self.core.launch(stream, self.shape, self.fill_kernel, self.argument(array), np.int32(value), np.int32(N))

    def plus(self, stream, array):
        out = self.device.allocate(4 * N, stream=stream)
        self.core.launch(stream, self.shape, self.add_kernel, out, self.argument(array), np.int32(1), np.int32(N))
        return out

    def read(self, stream, array):
        stream.sync()
        self.device.sync()
        return weir.from_dlpack(array).view("int32").get()

    def take(self, stream, buffer):
        utils = importlib.import_module(self.core.__name__ + ".utils")
        make = getattr(utils.StridedMemoryView, "from_any_interface", utils.StridedMemoryView)
        view = make(buffer, stream_ptr=int(stream.handle))
        self.kept = view
        return view.ptr

    def give(self, stream, array, within):
        within.wait(stream)
        return weir.from_dlpack(array, stream=within)

    ours = staticmethod(interop.as_cuda_core)


class Rmm:
    """RMM has memory, streams and copies, but no kernels: where other peers add 1, it copies."""

    adds = 0
    looks_at_streams = False

    def __init__(self):
        self.rmm = importlib.import_module("rmm")
        self.version = self.rmm.__version__
        self.new_stream = importlib.import_module("rmm.pylibrmm.stream").Stream

    def stream(self):
        return self.new_stream()

    def array(self, value=-1):
        stream = self.stream()
        array = self.rmm.DeviceBuffer(size=4 * N, stream=stream)
        self.fill(stream, array, value)
        stream.synchronize()
        return array

    def fill(self, stream, array, value):
        array.copy_from_host(np.full(N, value, np.int32).view(np.uint8), stream=stream)

    def plus(self, stream, array):
        out = self.rmm.DeviceBuffer(size=4 * N, stream=stream)
        out.copy_from_device(array, stream=stream)
        return out

    def read(self, stream, array):
        stream.synchronize()
        return array.copy_to_host().view(np.int32)

    def take(self, stream, buffer):
        weir.Stream.wrap(stream, buffer.device).wait(weir.get_current_stream(buffer.device))  # the peer ignores streams
        return buffer.view("uint8")

    def give(self, stream, array, within):
        within.wait(stream)
        return weir.from_dlpack(array, stream=within)

    ours = staticmethod(interop.as_rmm)


class Warp:
    def __init__(self):
        self.warp = importlib.import_module("warp")
        self.version = self.warp.__version__
        self.warp.init()
        if not self.warp.is_cuda_available():
            raise RuntimeError("it has no CUDA here")

    def stream(self):
        return self.warp.Stream("cuda:0")

    def array(self, value=-1):
        array = self.warp.full(N, value, dtype=self.warp.int32, device="cuda:0")
        self.warp.synchronize_device("cuda:0")
        return array

    def fill(self, stream, array, value):
        with self.warp.ScopedStream(stream):
            array.fill_(value)

    def plus(self, stream, array):
        with self.warp.ScopedStream(stream):
            return array + 1

    def read(self, stream, array):
        self.warp.synchronize_stream(stream)
        return array.numpy()

    def take(self, stream, buffer):
        with self.warp.ScopedStream(stream):
            return self.warp.from_dlpack(buffer)

    def give(self, stream, array, within):
        with self.warp.ScopedStream(stream):
            return weir.from_dlpack(array, stream=within)

    ours = staticmethod(interop.as_warp)


# --- The matrix -------------------------------------------------------------------------------------------------------


def streams_in(ours, peer, value, waits=True):
    """The peer's work on its stream; Weir's stream waits for that stream."""
    theirs, stream = peer.stream(), ours.device.create_stream()
    array, out = peer.array(), ours.buffer()
    ours.hold(weir.Stream.wrap(theirs, ours.device))
    peer.fill(theirs, array, value)
    if waits:
        stream.wait(theirs)
    ours.add(stream, out, address(array), 0)
    stream.sync()
    right = (out.get() == value).all()
    ours.device.sync()
    return right


def streams_out(ours, peer, value):
    """Weir's stream used by the peer: one order for both sides' work."""
    stream = ours.device.create_stream()
    theirs = peer.ours(stream)
    array, out = peer.array(), ours.buffer()
    ours.hold(stream)
    peer.fill(theirs, array, value)
    ours.add(stream, out, address(array), 0)
    result = peer.plus(theirs, array)
    stream.sync()
    return (out.get() == value).all() and (peer.read(theirs, result) == value + getattr(peer, "adds", 1)).all()


def arrays_in(ours, peer, value):
    """An array that the peer's stream has not written yet."""
    theirs, stream = peer.stream(), ours.device.create_stream()
    array, out = peer.array_of(theirs) if hasattr(peer, "array_of") else peer.array(), ours.buffer()
    ours.hold(weir.Stream.wrap(theirs, ours.device))
    peer.fill(theirs, array, value)
    buffer = peer.give(theirs, array, stream)
    ours.add(stream, out, buffer.view("int32"), 0)
    stream.sync()
    return buffer.handle == address(array) and (out.get() == value).all()


def arrays_out(ours, peer, value, given=lambda buffer: buffer):
    """A buffer that Weir's current stream has not written yet."""
    theirs, buffer = peer.stream(), ours.buffer()
    with ours.device.create_stream() as stream:
        ours.hold(stream)
        ours.fill(stream, buffer, value)
        array = peer.take(theirs, given(buffer))
        result = peer.plus(theirs, array)
    right = (peer.read(theirs, result) == value + getattr(peer, "adds", 1)).all()
    ours.device.sync()
    return right


def arguments(ours, peer, value):
    """The peer's array as an argument of Weir's kernel, on the peer's stream."""
    theirs, array = peer.stream(), peer.array()
    stream = weir.Stream.wrap(theirs, ours.device)
    out = ours.buffer()
    ours.hold(stream)
    peer.fill(theirs, array, value)
    ours.add(stream, out, array, 1)
    stream.sync()
    return (out.get() == value + 1).all()


def stream_unawaited(ours, peer, value):
    return not streams_in(ours, peer, value, waits=False)


class Unawaited:
    """A buffer that tells consumers that they need not wait."""

    def __init__(self, buffer):
        self.buffer = buffer
        self.device = buffer.device
        self.__cuda_array_interface__ = {**buffer.__cuda_array_interface__, "stream": None}

    def __dlpack_device__(self):
        return self.buffer.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **options):
        return self.buffer.__dlpack__(stream=-1, **options)


def array_unawaited(ours, peer, value):
    if not getattr(peer, "looks_at_streams", True):
        return None
    return not arrays_out(ours, peer, value, Unawaited)


def address(array):
    for name in ("data_ptr", "ptr", "handle"):
        found = getattr(array, name, None)
        if found is not None:
            return int(found() if callable(found) else found)
    return array.__cuda_array_interface__["data"][0]


PEERS = {"torch": Torch, "jax": Jax, "cupy": CuPy, "cuda.core": CudaCore,
         "numba-cuda": Numba, "rmm": Rmm, "warp": Warp}
CELLS = {"streams in": streams_in, "streams out": streams_out, "arrays in": arrays_in, "arrays out": arrays_out,
         "argument": arguments, "stream unawaited": stream_unawaited, "array unawaited": array_unawaited}


def run(cell, ours, peer, repeats, failures, name):
    right = 0
    for value in range(1, repeats + 1):
        try:
            own = getattr(peer, cell.__name__, None)
            if own is None and not hasattr(peer, "stream"):
                return "-"
            result = cell(ours, peer, 1000 + value) if own is None else own(ours, 1000 + value)
        except Exception as error:
            failures.append(f"{name}: {traceback.format_exc(limit=-3)}")
            return f"{type(error).__name__}"
        if result is None:
            return "-"
        right += bool(result)
    return f"{right} of {repeats}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peers", nargs="*")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    ours = Weir(weir.Device("cuda:0"))
    rows, failures = [["peer", "version", *CELLS]], []
    for name, make in PEERS.items():
        if options.peers and name not in options.peers:
            continue
        try:
            peer = make()
        except Exception as error:
            rows.append([name, f"absent: {type(error).__name__}: {error}".splitlines()[0][:60], *("-" for _ in CELLS)])
            continue
        row = [name, str(peer.version)]
        row += [run(cell, ours, peer, options.repeats, failures, f"{name}, {title}") for title, cell in CELLS.items()]
        rows.append(row)
        print("  ".join(row), file=sys.stderr, flush=True)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print(f"Weir {weir.__version__} on {ours.device}: {ours.device.name}")
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    for failure in failures:
        print("\n" + failure)
    wanted = {"-", f"{options.repeats} of {options.repeats}"}
    sys.exit(any(cell not in wanted for row in rows[1:] for cell in row[2:]))


if __name__ == "__main__":
    main()
