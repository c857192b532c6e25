// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/kernel_names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/kernel_name.hpp"
#include "kernels/lexer.hpp"

namespace weir::gpu {
namespace {

using kernels::Token;
using kernels::TokenizedSource;

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

constexpr std::string_view qualifiers[] = {"const", "volatile", "__restrict__", "__restrict", "__grid_constant__"};
constexpr std::string_view integers[] = {"bool",     "char",     "short",    "int",      "long",     "unsigned", "signed",
                                         "size_t",   "int8_t",   "int16_t",  "int32_t",  "int64_t",  "uint8_t",  "uint16_t",
                                         "uint32_t", "uint64_t", "intptr_t", "uintptr_t", "ptrdiff_t"};
constexpr std::string_view floating[] = {"float", "double"};

bool is_open(std::string_view word) { return word == "(" || word == "[" || word == "{"; }

/// The parameters between two tokens.
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
    bool is_integer = false, is_floating = false, is_pointer = false, is_other = false, has_name = false;
    bool is_const = false,
         has_const_elements = false;  // `const float* x`, as against `float* const x` and `const float** x`
    for (; i < last && word(i) != "="; i = is_open(word(i)) ? after(i) : i + 1) {
      const std::string_view w = word(i);
      is_const |= w == "const" && !is_pointer;
      if (is_one_of(w, qualifiers) || (w == "std" && i + 1 < last && word(i + 1) == "::") ||
          (w == "::" && !is_integer && !is_floating)) {
        continue;
      }
      if (is_one_of(w, integers)) {
        is_integer = true;
      } else if (is_one_of(w, floating)) {
        is_floating = true;
      } else if (w == "*" || w == "[") {
        has_const_elements = is_const && !is_pointer;
        is_pointer = true;
      } else if (source_.tokens[i].kind == Token::Kind::identifier && (is_integer || is_floating || is_pointer) &&
                 !has_name) {
        has_name = true;
      } else if (w == "<") {
        is_other = true;
        break;  // what is between the brackets is about another type
      } else {
        is_other = true;
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

std::map<std::string, detail::NumberKinds, std::less<>> kinds_in(std::string_view text) {
  std::map<std::string, detail::NumberKinds, std::less<>> kinds;
  if (text.size() > UINT32_MAX) return kinds;
  const TokenizedSource source = kernels::tokenize(text);
  const auto word = [&](std::size_t i) { return i < source.tokens.size() ? source.spelling(i) : std::string_view(); };
  for (std::size_t i = 0; i < source.tokens.size(); ++i) {
    if (word(i) != "__global__") continue;
    std::size_t name = 0;
    for (std::size_t k = i + 1; k < source.tokens.size() && name == 0;) {
      if (word(k) == ";" || word(k) == "{" || word(k) == "}" || word(k) == "#") break;
      const bool takes_parentheses = word(k) == "__launch_bounds__" || word(k) == "__attribute__" || word(k) == "alignas";
      if (source.tokens[k].kind == Token::Kind::identifier && word(k + 1) == "(" && !takes_parentheses) name = k;
      k = is_open(word(k)) ? std::max<std::size_t>(source.tokens[k].match, k) + 1 : k + 1;
    }
    const std::size_t close = name != 0 ? source.tokens[name + 1].match : 0;
    if (close <= name + 1) continue;
    const auto [there, is_new] = kinds.emplace(word(name), ParameterReader(source).read(name + 2, close));
    if (!is_new) there->second = {};
  }
  return kinds;
}

}  // namespace weir::gpu
