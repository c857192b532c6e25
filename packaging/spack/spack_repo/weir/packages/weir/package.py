# SPDX-License-Identifier: Apache-2.0
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Weir(CMakePackage):
    """One Stream for NVIDIA GPUs, AMD GPUs and the CPU. Vendors' drivers are opened at run time: only the headers of their
    packages are needed."""

    # For Spack 1.0 and later: spack repo add packaging/spack/spack_repo/weir, then spack install weir. That builds the last commit
    # of main in this checkout. To build uncommitted changes, run spack dev-build weir@main in the checkout.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 6))

    license("Apache-2.0")

    version("main", branch="main")

    variant("shared", default=True, description="A shared library with plugins; otherwise static, with its backends built in")
    variant("host", default=True, description="The backend that runs streams on the CPU")
    variant("cuda", default=False, description="The CUDA backend")
    variant("rocm", default=False, description="The HIP backend")
    variant("tools", default=True, description="The command weir")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("fmt@8.1:")
    depends_on("asio@1.22:", type="build")
    depends_on("tbb", when="+host")
    for provider in ("intel-tbb", "intel-oneapi-tbb"):
        depends_on(f"{provider}@2021.8:", when=f"+host %tbb={provider}")
    for backend in ("host", "cuda", "rocm"):
        depends_on("xxhash@0.8:", when=f"+{backend}", type="build")
    depends_on("cuda@12:", when="+cuda", type="build")
    depends_on("hip@5.2:", when="+rocm", type="build")
    for user in ("rocm", "tools"):
        depends_on("nlohmann-json@3.11:", when=f"+{user}", type="build")
    depends_on("cli11@2.1:", when="+tools", type="build")

    conflicts("%gcc@:11", msg="Weir is C++20: GCC 12 or Clang 14 and later")
    conflicts("%clang@:13", msg="Weir is C++20: GCC 12 or Clang 14 and later")
    conflicts("platform=darwin")
    conflicts("platform=windows")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("WEIR_BACKEND_HOST", "host"),
            self.define_from_variant("WEIR_BACKEND_CUDA", "cuda"),
            self.define_from_variant("WEIR_BACKEND_HIP", "rocm"),
            self.define_from_variant("WEIR_BUILD_TOOLS", "tools"),
            self.define("WEIR_BUILD_TESTS", False),
            self.define("WEIR_BUILD_EXAMPLES", False),
            self.define("WEIR_BUILD_BENCH", False),
            self.define("WEIR_GLOO", False),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("WEIR_CUDA_INCLUDE_DIR", self.spec["cuda"].prefix.include))
        if self.spec.satisfies("+rocm"):
            args.append(self.define("WEIR_HIP_INCLUDE_DIR", self.spec["hip"].prefix.include))
        return args
