// SPDX-License-Identifier: Apache-2.0
#pragma once

// The headers that most files of the extension include, for precompilation. Each file must still include the headers that it
// needs, because the build must also work without precompiled headers (CMAKE_DISABLE_PRECOMPILE_HEADERS).
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "weir/weir.hpp"
