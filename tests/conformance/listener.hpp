// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

/// What doctest tells of its cases, for a `Sink` and for queries.
namespace conformance {

enum class Query { none, list, count };

/// Prints the cases with the rows that they show, and which rows are shown at all; or counts the cases that pass the filters
/// among doctest's `arguments`, and returns how many. Runs none.
int run_query(Query kind, std::vector<const char*> arguments);

}  // namespace conformance
