# SPDX-License-Identifier: Apache-2.0
"""Tests modules, kernels, their signatures and launches."""

import ctypes
import enum
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import weir

SOURCE = r"""
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void numbers(signed char b, unsigned long long u, double d, bool yes, double* out) {
  out[0] = b, out[1] = u, out[2] = d, out[3] = yes;
}
__device__ int counter;
extern "C" __global__ void count() { atomicAdd(&counter, 1); }
template <class T, int N> __global__ void put(T* out) { *out = N; }
"""


@pytest.fixture(scope="module")
def module():
    return weir.compile(SOURCE, name_expressions=["put<float, 3>"])


@weir.kernel(SOURCE)
def saxpy(n: weir.int32, a: weir.float32, x: weir.ptr[weir.float32], y: weir.ptr) -> None:
    """y = a x + y"""


@weir.kernel(SOURCE)
def numbers(b: weir.int8, u: weir.uint64, d: weir.float64, yes: weir.bool_, out: weir.ptr) -> None: ...


def arrays(stream, n=1000):
    x, y = (stream.device.allocate(n, weir.float32) for _ in range(2))
    x.copy_from(np.arange(n, dtype=np.float32), stream=stream)
    y.copy_from(np.ones(n, np.float32), stream=stream)
    return x, y


@pytest.mark.parametrize(
    "arguments",
    [(1000, 2.0), (np.int32(1000), np.float32(2)), (ctypes.c_int(1000), ctypes.c_float(2)), (weir.int32(1000), weir.float32(2))],
)
def test_arguments_of_every_kind(module, arguments):
    stream = weir.Device().create_stream()
    x, y = arrays(stream)
    untyped = module.get_kernel("saxpy")
    # Plain numbers cannot be converted if the driver does not report parameter sizes.
    for kernel in (untyped if untyped.num_arguments or arguments != (1000, 2.0) else saxpy, saxpy):
        weir.launch(stream, weir.grid_for(1000), kernel, *arguments, x, y)
    assert (y.get(stream=stream) == 4 * np.arange(1000) + 1).all()


def test_called_as_cupy_does(module):
    with weir.Device().create_stream() as stream:
        x, y = arrays(stream)
        module["saxpy"]((4,), (256,), (weir.int32(1000), weir.float32(2), x, y))
        saxpy(4, 256, (1000, 2, x.handle, y))
        assert (y.get() == 4 * np.arange(1000) + 1).all()
        assert saxpy.__doc__ == "y = a x + y"


def test_annotations_convert():
    stream = weir.Device().create_stream()
    out = stream.allocate(4, weir.float64)
    weir.launch(stream, weir.LaunchConfig(1, 1), numbers, np.int64(-3), 2**64 - 1, 2, [1], out)
    assert list(out.get(stream=stream)) == [-3, float(2**64 - 1), 2, 1]


def test_what_a_parameter_cannot_take(module):
    stream = weir.Device().create_stream()
    x, y = arrays(stream)
    one = weir.LaunchConfig(1, 1)
    kernel = module.get_kernel("saxpy")
    if kernel.num_arguments is None:
        pytest.skip("the driver does not tell the sizes of parameters")
    for error, arguments in [
        (TypeError, (1, 2.0, x)),
        (TypeError, (1, 2.0, np.zeros(3, np.float32), y)),
        ((TypeError, weir.InvalidArgumentError), (1, x, x, y)),  # a GPU driver reports only the size
        (ValueError, (2**32, 2.0, x, y)),
        (weir.InvalidArgumentError, (np.int64(1), np.float32(2), x, y)),
    ]:
        with pytest.raises(error):
            weir.launch(stream, one, kernel, *arguments)
    if stream.device.backend == "host":  # it knows that the parameter is an integer
        with pytest.raises(TypeError):
            weir.launch(stream, one, kernel, 2.5, 2.0, x, y)
    with pytest.raises(TypeError, match="float64"):
        weir.launch(stream, one, saxpy, 1, 2, stream.allocate(4, "f8"), y)
    with pytest.raises(ValueError, match="int8"):
        weir.launch(stream, one, numbers, 128, 1, 1, 1, y)
    with pytest.raises(TypeError):
        weir.launch(stream, one, saxpy, "1", 2, x, y)


def test_a_signature_that_is_not_the_kernels(module):
    if module["saxpy"].num_arguments is not None:
        with pytest.raises(weir.InvalidArgumentError):
            module.get_kernel("saxpy", (weir.int32, weir.float64, weir.ptr, weir.ptr))
    with pytest.raises(TypeError, match="has no type"):
        weir.kernel(SOURCE)(lambda n: None)


def test_modules(module):
    stream = weir.Device().create_stream()
    config = weir.LaunchConfig(grid=(2, 3), block=(4, 1, 2))
    assert (config.grid, config.block) == ((2, 3, 1), (4, 1, 2))
    assert (config.cluster, config.programmatic_stream_serialization, config.priority) == (None, False, None)
    weir.launch(stream, config, module["count"])
    counter = module.get_global("counter").get(stream=stream).view(np.int32)
    assert counter[0] == 48
    out = stream.allocate(1, weir.float32)
    weir.launch(stream, weir.LaunchConfig(1, 1), module["put<float, 3>"], out)
    assert out.get(stream=stream)[0] == 3
    assert module["saxpy"].num_arguments in (4, None)
    assert module["saxpy"].attributes["max_threads_per_block"] >= 1024
    with pytest.raises(weir.KernelNotFoundError) as caught:
        module["sixpy"]
    assert isinstance(caught.value, LookupError) and "sixpy" in str(caught.value)


@pytest.mark.parametrize(
    ("feature", "attributes"),
    [
        ("cluster_launch", {"cluster": (2, 1)}),
        ("programmatic_launch", {"programmatic_stream_serialization": True}),
        ("launch_priority", {"priority": 0}),
    ],
)
def test_launch_attributes(module, feature, attributes):
    stream = weir.Device().create_stream()
    x, y = arrays(stream)
    config = weir.LaunchConfig(4, 256, **attributes)
    for name, value in attributes.items():
        assert getattr(config, name) == ((2, 1, 1) if name == "cluster" else value)
        assert f"{name}=" in repr(config)
    if not stream.device.supports(feature):
        with pytest.raises(weir.UnsupportedError, match=feature.split("_")[0]):
            weir.launch(stream, config, saxpy, 1000, 2, x, y)
        return
    weir.launch(stream, config, saxpy, 1000, 2, x, y)
    assert (y.get(stream=stream) == 2 * np.arange(1000) + 1).all()


def test_what_does_not_compile():
    with pytest.raises(weir.CompilationFailedError, match="nonsense"):
        weir.compile("nonsense")
    with pytest.raises(TypeError, match="no option"):
        weir.compile("", fastmath=True)


def test_no_compiler_names_the_package(tmp_path):
    code = "import weir\ntry: weir.compile('extern \"C\" __global__ void k() {}')\nexcept weir.Error as e: print(e)"
    environment = {**os.environ, "PATH": str(tmp_path), "WEIR_BACKEND": "host", "XDG_CACHE_HOME": str(tmp_path)}
    text = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
    assert "install" in text


WRONG_BACKEND = """if True:
    import numpy as np, weir
    @weir.kernel('extern "C" __global__ void put(int* x) { *x = 1; }')
    def put(x: weir.ptr[weir.int32]) -> None: ...
    gpu, host = weir.Device("hip"), weir.Device("host")
    with gpu.create_stream() as stream:
        for stream_of, buffer in ((gpu, weir.from_dlpack(np.zeros(4, np.int32))), (host, gpu.allocate(4, weir.int32))):
            kernel = weir.compile('extern "C" __global__ void put(int* x) { *x = 1; }', stream_of)["put"]
            for launched in (kernel, put):
                try:
                    weir.launch(stream_of.create_stream(), weir.LaunchConfig(1, 1), launched, buffer)
                except weir.WrongDeviceError as error:
                    print("argument 1" in str(error), "register_host" in str(error))
"""


def test_memory_of_another_backend_is_refused():
    settings = dict(pair.split("=", 1) for pair in os.environ.get("WEIR_TEST_HIP_ON_CPU", "WEIR_HIP_RUNTIME=").split(","))
    if not os.path.exists(settings["WEIR_HIP_RUNTIME"]):
        pytest.skip("the HIP backend over the CPU is not built")
    run = subprocess.run([sys.executable, "-c", WRONG_BACKEND], env={**os.environ, **settings}, capture_output=True, text=True, timeout=300)
    assert run.stdout == "True True\n" * 4, run.stderr


def test_a_number_of_the_wrong_type_names_kernel_and_argument(module):
    class Color(enum.Enum):
        red = 1

    stream = weir.Device().create_stream()
    x, y = arrays(stream)[:2]
    for wrong in (256.0, Color.red, "7", None):
        with pytest.raises(TypeError, match="'saxpy', argument 1: .*int32"):
            weir.launch(stream, weir.grid_for(1), saxpy, wrong, 2, x, y)
    with pytest.raises(TypeError, match="'numbers', argument 4: .*bool"):
        weir.launch(stream, weir.grid_for(1), numbers, 1, 1, 1, "False", y)


@pytest.mark.parametrize("dtype, most, more", [("float32", 3.4028235e38, 3.5e38), ("float16", 65519.0, 65520.0), ("bfloat16", 3.39e38, 3.4e38)])
def test_a_float_that_does_not_fit_is_refused(dtype, most, more):
    stream = weir.Device().create_stream()
    buffer = stream.device.allocate(1, dtype)
    for fits in (most, -most, float("inf"), float("nan")):
        buffer.fill(fits, stream=stream)
    for value in (more, -more, 1e300):
        with pytest.raises(ValueError, match=f"fill: .* {dtype}"):
            buffer.fill(value, stream=stream)
    with pytest.raises(ValueError, match="'saxpy', argument 2"):
        weir.launch(stream, weir.grid_for(1), saxpy, 1, 1e300, None, None)
    for part in (3.5e38, 3.5e38j):
        with pytest.raises(ValueError, match="complex64"):
            stream.device.allocate(1, weir.complex64).fill(part, stream=stream)


SLOW = """
import weir
stream = weir.Device("host").create_stream()
x = stream.device.allocate(1, weir.int32)
for i in range(2):
    module = weir.compile('extern "C" __global__ void f(int* x) { __syncthreads(); *x = %d; }' % i, stream.device)
    weir.launch(stream, weir.LaunchConfig(1, 64), module.get_kernel("f"), x)
stream.sync()
"""


def test_slow_kernels_are_warned_of_once():
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++, which never has the pass")
    environment = {**os.environ, "WEIR_HOST_CXX": os.path.realpath(compiler)}
    run = subprocess.run([sys.executable, "-c", SLOW], env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0 and run.stderr.count("wait on fibers") == 1, run.stderr
    info = subprocess.run([sys.executable, "-m", "weir", "info"], env=environment, capture_output=True, text=True, timeout=60)
    assert "run on fibers" in info.stdout
