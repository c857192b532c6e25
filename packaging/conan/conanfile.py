# SPDX-License-Identifier: Apache-2.0
"""Weir as a Conan 2 package, made from this checkout: conan create packaging/conan.

shared=True (the default) has a plugin for each backend; shared=False has them built in. The vendors' headers are no packages of
Conan's: the CUDA and HIP backends are built where the system has them, or where cuda_include and hip_include name them.
"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

root = os.path.join(os.path.dirname(__file__), "..", "..")


class WeirConan(ConanFile):
    name = "weir"
    description = "One Stream for NVIDIA GPUs, AMD GPUs and the CPU"
    license = "Apache-2.0"
    topics = ("cuda", "hip", "gpu", "streams")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "host": [True, False],
        "cuda": [True, False],
        "hip": [True, False],
        "cuda_include": [None, "ANY"],
        "hip_include": [None, "ANY"],
        "tools": [True, False],
        # Packages of the system instead of Conan's, found as CMake finds them.
        "system_packages": [True, False],
    }
    default_options = {
        "shared": True,
        "fPIC": True,
        "host": True,
        "cuda": True,
        "hip": True,
        "cuda_include": None,
        "hip_include": None,
        "tools": False,
        "system_packages": False,
    }

    def set_version(self):
        header = load(self, os.path.join(root, "include", "weir", "version.hpp"))
        self.version = ".".join(re.findall(r"#define WEIR_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        for folder in ("backends", "c", "cmake", "collectives", "core", "docs", "examples", "include", "kernels", "tools"):
            copy(self, f"{folder}/*", root, self.export_sources_folder)
        for file in ("CHANGELOG.md", "CMakeLists.txt", "LICENSE", "README.md"):
            copy(self, file, root, self.export_sources_folder)

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        if self.options.system_packages:
            return
        self.requires("fmt/[>=9 <13]", visible=False)
        self.requires("asio/[>=1.22]", visible=False)
        if self.options.host:
            self.requires("onetbb/[>=2021.8]")
        if self.options.host or self.options.cuda or self.options.hip:
            self.requires("xxhash/[>=0.8]", visible=False)
        if self.options.hip or self.options.tools:
            self.requires("nlohmann_json/[>=3.11]", visible=False)
        if self.options.tools:
            self.requires("cli11/[>=2.1]", visible=False)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        variables = toolchain.cache_variables
        variables["BUILD_SHARED_LIBS"] = bool(self.options.shared)
        for backend in ("host", "cuda", "hip"):
            variables[f"WEIR_BACKEND_{backend.upper()}"] = bool(self.options.get_safe(backend))
        for vendor in ("cuda", "hip"):
            include = self.options.get_safe(f"{vendor}_include")
            if include:
                variables[f"WEIR_{vendor.upper()}_INCLUDE_DIR"] = str(include)
        for part in ("TESTS", "EXAMPLES", "BENCH"):
            variables[f"WEIR_BUILD_{part}"] = False
        variables["WEIR_GLOO"] = False  # it has no stable ABI
        variables["WEIR_BUILD_TOOLS"] = bool(self.options.tools)
        if "asio" in self.dependencies:
            variables["WEIR_ASIO_INCLUDE_DIR"] = self.dependencies["asio"].cpp_info.includedirs[0]
        if "xxhash" in self.dependencies:
            variables["WEIR_XXHASH_INCLUDE_DIR"] = self.dependencies["xxhash"].cpp_info.includedirs[0]
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # Use Weir's own CMake package: unlike a generated one, it has components and the folder of the plugins.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "weir")]
        self.cpp_info.set_property("pkg_config_name", "weir")
        self.cpp_info.libs = ["weir"]
        if not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "dl"] + (["tbb"] if self.options.system_packages else [])
