// SPDX-License-Identifier: Apache-2.0
#pragma once

// The headers that the library and the plugins share, for precompilation. Each file must still include the headers that it
// needs, because the build must also work without precompiled headers (CMAKE_DISABLE_PRECOMPILE_HEADERS).
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
