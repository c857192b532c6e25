// SPDX-License-Identifier: Apache-2.0
#pragma once

// The headers that the library and the plugins share, compiled once. Each file must still include its own headers, because a
// build without precompiled headers (CMAKE_DISABLE_PRECOMPILE_HEADERS) must work.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/weir.hpp"
