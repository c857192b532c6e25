// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All of Weir but the interop headers, which need a vendor's.
#include "weir/backend.hpp"
#include "weir/capture.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/event.hpp"
#include "weir/feature.hpp"
#include "weir/graph.hpp"
#include "weir/memory.hpp"
#include "weir/module.hpp"
#include "weir/ptr.hpp"
#include "weir/registry.hpp"
#include "weir/span.hpp"
#include "weir/stream.hpp"
#include "weir/stream_attributes.hpp"
#include "weir/stream_memory.hpp"
#include "weir/stream_pool.hpp"
#include "weir/stream_scope.hpp"
#include "weir/unique_function.hpp"
#include "weir/version.hpp"
