// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/kernel_names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

#include "kernels/kernel_name.hpp"
#include "kernels/lexer.hpp"

namespace weir::gpu {
namespace {

using kernels::TokenizedSource;

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

constexpr std::string_view integers[] = {"bool", "char", "short", "int", "long", "unsigned", "signed"};
constexpr std::string_view floating[] = {"float", "double"};

bool is_open(std::string_view word) { return word == "(" || word == "[" || word == "{"; }

/// The parameters between two tokens of a demangled name: types alone, without names of parameters.
class ParameterReader {
 public:
  explicit ParameterReader(const TokenizedSource& source) : source_(source) {}

  detail::NumberKinds read(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last;) {
      const std::size_t end = comma(i, last);
      parameter(i, end);
      i = end + 1;
    }
    return kinds_;
  }

 private:
  std::string_view word(std::size_t i) const { return source_.spelling(i); }
  std::size_t after(std::size_t i) const { return std::max<std::size_t>(source_.tokens[i].match, i) + 1; }

  std::size_t comma(std::size_t i, std::size_t last) const {
    int angles = 0;
    for (; i < last; i = is_open(word(i)) ? after(i) : i + 1) {
      if (word(i) == "<") ++angles;
      if (word(i) == ">") --angles;
      if (word(i) == "," && angles == 0) return i;
    }
    return last;
  }

  void parameter(std::size_t i, std::size_t last) {
    bool is_integer = false, is_floating = false, is_pointer = false, is_other = false;
    // `float const*`, as against `float const**`
    bool is_const = false, has_const_elements = false;
    for (; i < last; i = is_open(word(i)) ? after(i) : i + 1) {
      const std::string_view w = word(i);
      if (w == "const") {
        is_const |= !is_pointer;
      } else if (is_one_of(w, integers)) {
        is_integer = true;
      } else if (is_one_of(w, floating)) {
        is_floating = true;
      } else if (w == "*") {
        has_const_elements = is_const && !is_pointer;
        is_pointer = true;
      } else {
        is_other = true;
        if (w == "<") break;  // what is between the brackets is about another type
      }
    }
    const std::uint64_t bit = index_ < 64 ? std::uint64_t{1} << index_ : 0;
    ++index_;
    if (is_pointer ? false : is_other || is_integer == is_floating) return;
    kinds_.known |= bit;
    if (is_floating && !is_pointer) kinds_.floating |= bit;
    if (has_const_elements) kinds_.constant |= bit;
  }

  const TokenizedSource& source_;
  detail::NumberKinds kinds_;
  std::size_t index_ = 0;
};

std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? std::string(text.get()) : std::string();
}

// Where the parameters of a demangled name begin, which are the last thing in it.
std::size_t parameters_of(std::string_view declaration) {
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
  std::string_view name = std::string_view(declaration).substr(0, parameters_of(declaration));
  if (name.starts_with("void ")) name.remove_prefix(5);  // told of templates alone
  constexpr std::string_view nameless = "(anonymous namespace)::";
  if (name.starts_with(nameless)) name.remove_prefix(nameless.size());
  return kernels::normalized_name(name);
}

detail::NumberKinds kinds_of(const std::string& symbol) {
  const std::string declaration = demangled(symbol);
  const std::string parameters = declaration.substr(parameters_of(declaration));
  const TokenizedSource source = kernels::tokenize(parameters);
  return source.tokens.size() < 2 ? detail::NumberKinds{} : ParameterReader(source).read(1, source.tokens.size() - 1);
}

}  // namespace weir::gpu
