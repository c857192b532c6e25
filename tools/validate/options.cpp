// SPDX-License-Identifier: Apache-2.0
#include "tools/validate/options.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "tools/model/options.hpp"

namespace weir::validate {

Options read_options() {
  Options options;
  const std::pair<std::string_view, bool*> words[] = {
      {"throw", &options.throws}, {"go_on", &options.goes_on}, {"unwritten", &options.unwritten}, {"leaks", &options.leaks}};
  model::read_options("WEIR_VALIDATE", "is not throw, go_on, unwritten, leaks or status=NUMBER (0 to 255)",
                      [&](std::string_view key, std::string_view value) {
                        if (key == "status") return model::read_status(value, options.status);
                        const auto word = std::find_if(std::begin(words), std::end(words),
                                                       [&](const auto& each) { return each.first == key; });
                        return word != std::end(words) && value.empty() && (*word->second = true);
                      });
  return options;
}

}  // namespace weir::validate
