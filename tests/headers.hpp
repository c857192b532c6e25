// SPDX-License-Identifier: Apache-2.0
#pragma once

// Headers that are precompiled once for all test programs. Files must still include the headers that they need, because a
// build without precompiled headers (CMAKE_DISABLE_PRECOMPILE_HEADERS) must work. Then only the conformance suite prints the
// names of enumerators.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/enumerators.hpp"
#include "weir/weir.hpp"
