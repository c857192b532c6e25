// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/words.hpp"

/// The inside of an expression, as far as it decides whether a part of it is computed.
namespace weir::kernels {

/// `a && b`, `a || b` or `a ? b : c`, of which the part behind the operator is computed under a condition.
struct Condition {
  enum class Kind : unsigned char { none, both, either, choice } kind = Kind::none;  ///< `&&`, `||`, `?:`
  std::size_t first = 0;  ///< of the whole
  std::size_t op = 0;     ///< the operator; of a choice, the `?`
  std::size_t colon = 0;  ///< of a choice
  std::size_t last = 0;   ///< one past the end of the whole
};

/// The outermost condition under which the word at `at` is computed. `none` if it always is. Throws Refused.
Condition condition_around(const Words& words, std::size_t at);

/// `[captures](parameters) -> type { body }`. Positions are those of the brackets; of parameters that are not written, 0.
struct Lambda {
  std::size_t first = 0, parameters = 0, body = 0;  ///< body: 0 if it is no lambda
};

/// The lambda that begins at `i`, if one does.
Lambda lambda_at(const Words& words, std::size_t i);
/// The outermost lambda in whose body the word at `at` stands, if one does.
Lambda lambda_around(const Words& words, std::size_t at);

}  // namespace weir::kernels
