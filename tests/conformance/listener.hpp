// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

/// Reports doctest's test cases to a `Sink`, and answers queries about them.
namespace conformance {

enum class Query { none, list, count };

/// `list`: prints the cases with the rows that they test, and which rows have cases. `count`: returns the number of cases
/// that pass the filters in doctest's `arguments`. Runs no case.
int run_query(Query kind, std::vector<const char*> arguments);

}  // namespace conformance
