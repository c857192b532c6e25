// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/kernel_names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>

#include "kernels/kernel_name.hpp"

namespace weir::gpu {
namespace {

constexpr std::string_view nameless = "(anonymous namespace)::";
constexpr std::string_view integers[] = {"bool", "char", "short", "int", "long", "unsigned", "signed"};
constexpr std::string_view floating[] = {"float", "double"};

/// Parses one parameter type of a demangled name, such as "float const*".
Parameter parameter_of(std::string_view type) {
  // Text in brackets describes another type, or the arguments of a function type.
  const std::string_view plain = type.substr(0, type.find_first_of("<([{"));
  const std::size_t star = std::min(plain.find('*'), plain.size());
  bool is_const = false, is_integer = false, is_floating = false, is_other = plain.size() != type.size();
  for (std::string_view rest = plain.substr(0, star); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const auto is_one_of = [&](const auto& words) { return std::ranges::find(words, word) != std::end(words); };
    if (word == "const") {
      is_const = true;
    } else if (is_one_of(integers)) {
      is_integer = true;
    } else if (is_one_of(floating)) {
      is_floating = true;
    } else if (!word.empty()) {
      is_other = true;
    }
  }
  if (star != plain.size()) {
    const bool is_of_pointers = plain.find('*', star + 1) != plain.npos;
    return {0, ParameterKind::address, is_const && !is_of_pointers ? AccessKind::read : AccessKind::read_write};
  }
  if (is_other || is_integer == is_floating) return {};
  return {0, is_integer ? ParameterKind::integer : ParameterKind::floating};
}

std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? std::string(text.get()) : std::string();
}

// The offset of the parameter list in a demangled name. The list is the last part of the name.
std::size_t begin_of_parameters(std::string_view declaration) {
  int depth = 0;
  for (std::size_t i = declaration.size(); i-- > 0;) {
    if (declaration[i] == ')') ++depth;
    if (declaration[i] == '(' && --depth == 0) return i;
  }
  return declaration.size();
}

}  // namespace

std::string declaration_of(const std::string& symbol) {
  std::string text = demangled(symbol);
  return text.empty() ? symbol : text;
}

std::string name_of(const std::string& symbol) {
  const std::string declaration = demangled(symbol);
  if (declaration.empty()) return kernels::normalized_name(symbol);
  std::string_view name = std::string_view(declaration).substr(0, begin_of_parameters(declaration));
  if (name.starts_with("void ")) name.remove_prefix(5);  // only demangled templates include their result type
  if (name.starts_with(nameless)) name.remove_prefix(nameless.size());
  return kernels::normalized_name(name);
}

std::vector<Parameter> parameters_of(const std::string& symbol) {
  std::string declaration = demangled(symbol);
  const std::size_t first = begin_of_parameters(declaration) + 1;
  for (std::size_t at; (at = declaration.find(nameless, first)) != std::string::npos;)
    declaration.erase(at, nameless.size());
  std::vector<Parameter> parameters;
  int depth = 0;
  for (std::size_t i = first, begin = first; i < declaration.size(); ++i) {
    const char c = declaration[i];
    const bool is_end = depth == 0 && (c == ',' || c == ')');
    if (std::string_view("<([{").find(c) != std::string_view::npos) ++depth;
    if (std::string_view(">)]}").find(c) != std::string_view::npos) --depth;
    if (!is_end) continue;
    if (i != begin) parameters.push_back(parameter_of(std::string_view(declaration).substr(begin, i - begin)));
    begin = i + 1;
  }
  return parameters;
}

}  // namespace weir::gpu
