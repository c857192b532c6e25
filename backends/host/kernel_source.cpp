// SPDX-License-Identifier: Apache-2.0
#include "backends/host/kernel_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "backends/host/kernel_prelude.hpp"
#include "backends/host/kernel_prelude_division.hpp"
#include "backends/host/kernel_prelude_math.hpp"
#include "backends/host/kernel_prelude_packed.hpp"
#include "kernels/kernel_name.hpp"
#include "kernels/lexer.hpp"
#include "kernels/runtime.hpp"
#include "kernels/runtime_atomics.hpp"
#include "kernels/runtime_warps.hpp"
#include "kernels/split.hpp"
#include "kernels/vocabulary.hpp"
#include "kernels/words.hpp"

namespace weir::host {
namespace {

using kernels::file_name;
using kernels::prelude_file_name;
using kernels::SplitSource;
using kernels::Token;
using kernels::tokenize;
using kernels::TokenizedSource;

// What the source may not define as macros of its own, as headers do for compilers that know no kernels: a `__shared__` that
// stands for nothing would give each thread a variable of its own.
constexpr std::string_view keywords[] = {"__global__", "__device__", "__shared__", "__constant__"};

// What promises that it is not fused with a neighbour.
constexpr std::string_view rounded_alone[] = {"__fadd_rn", "__fsub_rn", "__fmul_rn", "__dadd_rn", "__dsub_rn", "__dmul_rn"};

// What may stand before and after a sum without taking it apart.
constexpr std::string_view loose_before[] = {"=", "(", ",", "[", "{", ";", "}", "return", "<", ">", "?", ":", "&", "|", "^"};
constexpr std::string_view loose_after[] = {")", ",", "]", "}", ";", "<", ">", "?", ":", "&", "|", "^", "=", "!", "+", "-"};

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// What stands behind a kernel: @ is the function, ^ the kernel's name, ~ its bounds, $ whether it is flat, % a number. Each
// line is made to read as if it stood where the kernel's name does.
constexpr std::string_view record[] = {
    "static_assert(::weir_host::rules<decltype(&@)>::returns_void, "
    "\"a __global__ function returns void, and is neither noexcept nor variadic\");",
    "static_assert(::weir_host::rules<decltype(&@)>::by_value, "
    "\"a __global__ function takes its parameters by value or by pointer, not by reference\");",
    "static_assert(::weir_host::rules<decltype(&@)>::copyable, "
    "\"a __global__ function's parameters are passed as bytes: they must be trivially copyable\");",
    "static const ::weir_host::kernel_record weir_record_% = "
    "::weir_host::recorder<decltype(&@), &@, $>::record(\"^\", ~);",
    "__attribute__((used, section(\"weir_kernels\"))) "
    "static const ::weir_host::kernel_record* weir_entry_% = &weir_record_%;"};

// Not "quoted": the library has a function of that name for strings, and would be found first.
std::string in_quotes(std::string_view name) {
  std::string text = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

bool fits_a_line(std::string_view text) {
  return text.find_first_of(std::string_view("\n\r\0", 3)) == std::string_view::npos;
}

/// A change of the preprocessed text.
struct Edit {
  std::uint32_t begin;
  std::uint32_t end;
  std::string text;
  // Where the user's text goes on.
  std::uint32_t line;
  std::uint32_t column;
  std::uint32_t file;
};

class Rewriter {
 public:
  Rewriter(std::string_view text, bool optimize, bool cooperation, std::span<const std::string> names)
      : source_(tokenize(text)), names_(names), optimize_(optimize), cooperation_(cooperation) {}

  RewrittenUnit run() {
    check_keywords();
    for (std::size_t i = 0; i + 2 < count(); ++i) check_launch(i);
    if (cooperation_) split();
    auto replacement = split_.replacements.begin();
    for (std::size_t i = 0; i < source_.tokens.size(); ++i) {
      while (replacement != split_.replacements.end() && replacement->last <= i) ++replacement;
      if (replacement != split_.replacements.end() && replacement->first <= i) {
        visit_split(i);
      } else {
        visit(i);
      }
    }
    std::string text = render();
    for (const std::string& name : names_) text += named_record(name) + "\n";
    return {std::move(text), may_fuse_};
  }

 private:
  enum class Scope : std::uint8_t { outer, c_linkage, inner };  // outer: a namespace, or C++ linkage
  struct OpenScope {
    Scope kind;
    std::size_t end;
    std::string name;  // of a namespace: "image::", or "" for one without a name
  };

  const Token& token(std::size_t i) const { return source_.tokens[i]; }
  std::size_t count() const { return source_.tokens.size(); }
  std::string_view word(std::size_t i) const { return i < count() ? source_.spelling(i) : std::string_view(); }
  bool is(std::size_t i, std::string_view text) const { return word(i) == text; }
  bool is_identifier(std::size_t i) const { return i < count() && token(i).kind == Token::Kind::identifier; }
  bool at_namespace_scope() const { return scopes_.empty() || scopes_.back().kind != Scope::inner; }
  // The token behind the group that opens at `i`, or behind `i`.
  std::size_t after(std::size_t i) const { return std::max<std::size_t>(token(i).match, i) + 1; }

  [[noreturn]] void refuse(std::size_t i, std::string_view message,
                           RefusedSource::Reason reason = RefusedSource::Reason::wrong) const {
    throw RefusedSource(fmt::format("{}:{}: error: {}", file_name(source_.files[token(i).file]), token(i).line, message),
                        reason);
  }

  // `weir_keywords[sizeof("__global__" "__device__" …)]` stands at the end of the unit.
  void check_keywords() const {
    std::size_t i = count();
    while (i > 0 && !is(i - 1, "weir_keywords")) --i;
    if (i == 0) return;
    while (i < count() && token(i).kind != Token::Kind::string) ++i;
    for (const std::string_view keyword : keywords) {
      if (is(i++, in_quotes(keyword))) continue;
      throw RefusedSource(
          fmt::format("<source>: error: the source defines the keyword '{}' as a macro; let its condition ask for "
                      "__WEIR_HOST__, too, where it asks for __CUDACC__ or __HIPCC__",
                      keyword),
          RefusedSource::Reason::wrong);
    }
  }

  // `kernel<<<blocks, threads>>>(…)`
  void check_launch(std::size_t i) const {
    const bool adjacent = is(i, "<") && is(i + 1, "<") && is(i + 2, "<") && token(i + 1).begin == token(i).begin + 1 &&
                          token(i + 2).begin == token(i).begin + 2;
    if (!adjacent) return;
    refuse(i,
           "a launch by <<<…>>>: the source has the kernels alone, and Stream::launch launches them; keep other code in a "
           "file of its own or behind #ifndef __WEIR_HOST__. Kernels cannot launch kernels here");
  }

  // Puts what the splitter made in the place of functions whose threads work together.
  void split() {
    try {
      split_ = kernels::split_functions(source_);
    } catch (const kernels::Refused& refused) {
      const std::size_t at = std::min<std::size_t>(refused.token, count() == 0 ? 0 : count() - 1);
      refuse(at, refused.what(), RefusedSource::Reason::not_understood);
    }
    for (const kernels::Replacement& r : split_.replacements) {
      const Token& last = token(r.last - 1);
      edit({token(r.first).begin, last.end, r.text, last.line, last.column + (last.end - last.begin), last.file});
    }
  }

  // A token that the splitter has replaced.
  void visit_split(std::size_t i) {
    while (!scopes_.empty() && scopes_.back().end == i) scopes_.pop_back();
    if (is_one_of(word(i), rounded_alone)) may_fuse_ = false;
    if (is(i, ";") || is(i, "}")) declaration_ = i + 1;
  }

  void visit(std::size_t i) {
    while (!scopes_.empty() && scopes_.back().end == i) scopes_.pop_back();
    const Token& t = token(i);
    if (t.kind == Token::Kind::identifier) return visit_word(i);
    if (t.kind != Token::Kind::punctuation) return;
    if (is(i, "{")) {
      const bool inner = !at_namespace_scope();
      scopes_.push_back({inner ? Scope::inner : scope_at(i), t.match > i ? t.match : count(), inner ? "" : namespace_at(i)});
    }
    if (at_namespace_scope() && (is(i, "{") || is(i, "}") || is(i, ";"))) declaration_ = i + 1;
  }

  // What kind of scope the brace opens, which stands where a declaration may.
  Scope scope_at(std::size_t brace) const {
    if (brace >= 2 && is(brace - 2, "extern") && token(brace - 1).kind == Token::Kind::string) {
      return is(brace - 1, "\"C\"") ? Scope::c_linkage : Scope::outer;
    }
    for (std::size_t i = declaration_; i < brace; ++i) {
      if (is(i, "namespace")) return scopes_.empty() ? Scope::outer : scopes_.back().kind;
    }
    return Scope::inner;
  }

  // The name of the namespace that the brace opens, if it does: "image::filters::".
  std::string namespace_at(std::size_t brace) const {
    std::string name;
    bool is_namespace = false;
    for (std::size_t i = declaration_; i < brace; ++i) {
      if (is_namespace && is_identifier(i) && !is(i, "inline") && !is(i + 1, "(")) name.append(word(i)).append("::");
      is_namespace = is_namespace || is(i, "namespace");
    }
    return name;
  }

  std::string qualified(std::string_view name) const {
    std::string text;
    for (const OpenScope& scope : scopes_) text += scope.name;
    return text.append(name);
  }

  void visit_word(std::size_t i) {
    const std::string_view w = word(i);
    if (i < handled_) return;  // part of a kernel's head
    const bool member = i > 0 && (is(i - 1, ".") || is(i - 1, "->"));
    if (kernels::is_built_in_variable(w)) {
      if (member) return;
      if (i >= own_end_) thread_variables_ = true;
      return global_x(i);
    }
    if (!cooperation_ && !member && (kernels::is_cooperation(w) || w == "cooperative_groups")) {
      refuse(
          i,
          fmt::format("'{}' needs the feature block_cooperation; ask device.supports(weir::Feature::block_cooperation), and "
                      "give this device a kernel in which each thread works for itself",
                      w),
          RefusedSource::Reason::needs_cooperation);
    }
    if (is_one_of(w, rounded_alone)) may_fuse_ = false;
    if (w == "__global__") return kernel(i);
    if (w == "__device__" || w == "__constant__" || w == "__managed__") return visible(i);
    if (w == "__host__" || w == "__grid_constant__") return blank(i);
    if (w == "__launch_bounds__") return blank_with_parentheses(i);
    if (w == "__forceinline__") {
      return replace(i, says_inline(i) ? "__attribute__((always_inline))" : "inline __attribute__((always_inline))");
    }
    if (w == "__noinline__" && !(i > 0 && (is(i - 1, "(") || is(i - 1, ",")))) replace(i, "__attribute__((noinline))");
  }

  // Whether the declaration that the token is in says `inline` by itself.
  bool says_inline(std::size_t i) const {
    const auto boundary = [&](std::size_t k) { return is(k, ";") || is(k, "{") || is(k, "}"); };
    const auto inlined = [&](std::size_t k) { return is(k, "inline") || is(k, "__inline__") || is(k, "__inline"); };
    for (std::size_t k = i; k > 0 && !boundary(k - 1); --k) {
      if (inlined(k - 1)) return true;
    }
    for (std::size_t k = i + 1; k < count() && !boundary(k) && !is(k, "("); ++k) {
      if (inlined(k)) return true;
    }
    return false;
  }

  // A variable that Module::global finds by its symbol. Inside functions and classes the word says nothing.
  void visible(std::size_t i) {
    std::size_t next = i + 1;
    while (is(next, "__host__") || is(next, "__device__")) ++next;
    const bool lambda = is(next, "(") || is(next, "{");
    bool internal = !at_namespace_scope() || lambda;
    for (std::size_t k = declaration_; k < count() && !internal && !is(k, "(") && !is(k, ";") && !is(k, "{"); ++k) {
      internal = is(k, "static");
    }
    if (internal) {
      blank(i);
    } else {
      replace(i, "__attribute__((visibility(\"default\")))");
    }
  }

  // `blockIdx.x * blockDim.x + threadIdx.x`, in any order, where no neighbour binds tighter: the same number, which the
  // launcher counts in a way that compilers see through.
  void global_x(std::size_t i) {
    const std::size_t end = end_of_global_x(i);
    if (end == i) return;
    replace(i, "weir_global_x");
    for (std::size_t k = i + 1; k < end; ++k) blank(k);
    handled_ = end;
  }

  // The token behind such a sum, or `i` if none begins there.
  std::size_t end_of_global_x(std::size_t i) const {
    const auto is_x = [&](std::size_t k, std::string_view variable) {
      return is(k, variable) && is(k + 1, ".") && is(k + 2, "x");
    };
    const auto is_product = [&](std::size_t k) {
      return is(k + 3, "*") &&
             ((is_x(k, "blockIdx") && is_x(k + 4, "blockDim")) || (is_x(k, "blockDim") && is_x(k + 4, "blockIdx")));
    };
    const bool matches = (is_product(i) && is(i + 7, "+") && is_x(i + 8, "threadIdx")) ||
                         (is_x(i, "threadIdx") && is(i + 3, "+") && is_product(i + 4));
    const std::size_t end = i + 11;
    return matches && i > 0 && is_one_of(word(i - 1), loose_before) && is_one_of(word(end), loose_after) ? end : i;
  }

  // Whether a kernel's body uses threadIdx and blockIdx in that sum alone.
  bool is_flat(std::size_t body) const {
    for (std::size_t i = body; i < token(body).match;) {
      const std::size_t end = end_of_global_x(i);
      if (end == i && (is(i, "threadIdx") || is(i, "blockIdx")) && !is(i - 1, ".") && !is(i - 1, "->")) return false;
      i = std::max(end, i + 1);
    }
    return true;
  }

  // The parts of a kernel's declaration. Positions are tokens.
  struct Head {
    enum class Kind : std::uint8_t { function, primary_template, specialization, instantiation } kind = Kind::function;
    std::size_t name = 0;
    std::size_t open = 0;                                 // the parenthesis of the parameters
    std::size_t first_parameter = 0, last_parameter = 0;  // of a template, its brackets included
    std::string bounds = "0";
    bool c_linkage = false;
    bool is_extern = false;
  };

  // The token behind the template's parameters or arguments that begin at `open`; that one itself if they do not end.
  std::size_t behind_angle(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < count() && !is(i, ";") && !is(i, "}");) {
      if (is(i, "<")) ++depth;
      if (is(i, ">") && --depth == 0) return i + 1;
      i = is(i, "(") || is(i, "[") || is(i, "{") ? after(i) : i + 1;
    }
    return open;
  }

  Head read_head(std::size_t global) const {
    Head head;
    head.c_linkage = !scopes_.empty() && scopes_.back().kind == Scope::c_linkage;
    for (std::size_t i = declaration_; i < count() && head.name == 0;) {
      if (is(i, ";") || is(i, "{") || is(i, "}") || is(i, "=")) break;
      if (is(i, "template") && i < global) {
        const std::size_t behind = is(i + 1, "<") ? behind_angle(i + 1) : i + 1;
        head.kind = behind == i + 1   ? Head::Kind::instantiation
                    : behind == i + 3 ? Head::Kind::specialization
                                      : Head::Kind::primary_template;
        head.first_parameter = i + 1;
        head.last_parameter = i = behind;
        continue;
      }
      if (is(i, "extern")) head.is_extern = true;
      if (is(i, "extern") && is(i + 1, "\"C\"")) head.c_linkage = true;
      if (is(i, "__launch_bounds__") && is(i + 1, "(")) head.bounds = first_argument(i + 1);
      constexpr std::string_view takes_parentheses[] = {"__launch_bounds__", "__attribute__", "alignas", "decltype",
                                                        "requires"};
      if (is_identifier(i) && i > global && !is_one_of(word(i), takes_parentheses)) {
        const std::size_t open = is(i + 1, "<") ? behind_angle(i + 1) : i + 1;
        if (is(open, "(")) {
          head.name = i;
          head.open = open;
        }
      }
      i = is(i, "(") || is(i, "[") ? after(i) : i + 1;
    }
    return head;
  }

  void kernel(std::size_t global) {
    if (!at_namespace_scope()) refuse(global, "a __global__ function must stand at namespace scope");
    const Head head = read_head(global);
    const std::size_t name = head.name, open = head.open;
    if (name == 0 || token(open).match <= open) refuse(global, "__global__ belongs to a function, and none follows");
    if (head.kind == Head::Kind::instantiation) return instantiation(head);
    kernels_.emplace(word(name));
    specifiers(global, name);
    const std::size_t close = token(open).match;
    std::size_t body = close + 1;
    while (body < count() && !is(body, "{") && !is(body, ";")) ++body;
    const bool definition = is(body, "{") && token(body).match > body;
    const bool in_blocks = is_split(name);
    const auto is_body = [&](const kernels::Replacement& r) { return r.first == body; };
    if (in_blocks && definition && std::none_of(split_.replacements.begin(), split_.replacements.end(), is_body)) {
      refuse(name,
             fmt::format("threads work together in a kernel '{}', and this is another one of that name; rename one of them",
                         word(name)),
             RefusedSource::Reason::not_understood);
    }
    const bool shadow = !in_blocks && (!definition || !hides_parameters(body));
    const bool empty = close == open + 1 || (close == open + 2 && is(open + 1, "void"));
    if (empty && close == open + 2) blank(open + 1);
    insert_before(open + 1, (in_blocks ? "::weir_host::block& weir_b" : parameters(shadow)) + (empty ? "" : ", "));
    if (!definition) return;
    if (shadow || in_blocks) own_end_ = token(body).match;
    const bool flat = in_blocks ? split_.flat.count(static_cast<std::uint32_t>(name)) != 0 : shadow && is_flat(body);
    const std::string qualified_name = qualified(word(name));
    std::string text;
    if (head.kind == Head::Kind::function) {
      if (!defined_.insert(qualified_name).second) {
        refuse(name, fmt::format("there are several kernels '{}'; give each a name of its own", qualified_name));
      }
      text = record_of(name, fmt::format("weir_kernel_{}", word(name)),
                       head.c_linkage ? std::string(word(name)) : qualified_name, head.bounds, flat);
    }
    if (!flat) not_flat_.insert(qualified_name);
    if (head.kind == Head::Kind::primary_template && head.bounds != "0") {
      bounded_templates_.insert(qualified_name);
      text = resume(token(name).line, token(name).column, token(name).file) + "template ";
      for (std::size_t i = head.first_parameter; i < head.last_parameter; ++i) text.append(word(i)).append(" ");
      text += fmt::format("constexpr unsigned int weir_bounds_{} = {};", word(name), head.bounds);
    }
    insert_after(token(body).match, std::move(text));
  }

  // `template __global__ void blur<float, 3>(const float*, float*);` is a record of that instance, and nothing else.
  void instantiation(const Head& head) {
    std::size_t end = token(head.open).match + 1;
    while (end < count() && !is(end, ";")) ++end;
    std::string instance;
    std::size_t first = head.name;  // `vllm::attention<float>`, outside of the namespace
    while (first > 1 && is(first - 1, "::") && is_identifier(first - 2)) first -= 2;
    for (std::size_t i = first; i < head.open; ++i) instance.append(word(i)).append(i + 1 < head.open ? " " : "");
    if (head.open == head.name + 1) {
      refuse(head.name,
             fmt::format("the instance of '{}' is not named; write its arguments: {}<float>(…)", instance, instance));
    }
    for (std::size_t i = declaration_; i < end; ++i) blank(i);
    handled_ = end;
    if (head.is_extern) return;
    insert_before(end, instance_record(head.name, qualified(instance)));
  }

  // The record of one of `CompileOptions::kernels`.
  std::string named_record(const std::string& expression) {
    const std::string name = kernels::normalized_name(expression);
    const std::string function = name.substr(0, name.find('<'));
    const std::size_t colons = function.rfind("::");
    if (kernels_.count(colons == std::string::npos ? function : function.substr(colons + 2)) == 0) {
      throw RefusedSource(
          fmt::format("<kernels>: error: the source has no __global__ function '{}', which CompileOptions::kernels names",
                      function),
          RefusedSource::Reason::wrong);
    }
    if (defined_.count(name) != 0) return "";  // no template: it has a record
    return instance_record(count(), name);
  }

  // The record of a kernel that is named by an expression, to stand behind its template.
  std::string instance_record(std::size_t at, const std::string& expression) {
    const std::string name = kernels::normalized_name(expression);
    const std::size_t end = std::min(name.find('<'), name.size());
    const std::size_t colons = name.rfind("::", end);
    const std::size_t begin = colons == std::string::npos ? 0 : colons + 2;
    const auto with_prefix = [&](const char* prefix) { return "::" + name.substr(0, begin) + prefix + name.substr(begin); };
    return record_of(at, with_prefix("weir_kernel_"), name,
                     bounded_templates_.count(name.substr(0, end)) != 0 ? with_prefix("weir_bounds_") : std::string("0"),
                     not_flat_.count(name.substr(0, end)) == 0);
  }

  std::string record_of(std::size_t at, const std::string& function, const std::string& name, const std::string& bounds,
                        bool flat) {
    std::string text;
    const std::string number = fmt::format("{}", ++records_);
    for (const std::string_view line : record) {
      text += at < count() ? resume(token(at).line, token(at).column, token(at).file) : "\n# 1 \"<kernels>\"\n";
      for (const char c : line) {
        text += c == '@'   ? function
                : c == '^' ? name
                : c == '~' ? bounds
                : c == '%' ? number
                : c == '$' ? (flat ? "true" : "false")
                           : std::string(1, c);
      }
    }
    return text;
  }

  // Whether the kernel of that name, of which there may be declarations, too, runs a block at once.
  bool is_split(std::size_t name) const {
    return std::any_of(split_.kernels.begin(), split_.kernels.end(), [&](std::uint32_t k) { return word(k) == word(name); });
  }

  // The specifiers and the name.
  void specifiers(std::size_t global, std::size_t name) {
    for (std::size_t i = declaration_; i < name; ++i) {
      if (is(i, "__global__") && i != global) blank(i);
      if (is(i, "__host__")) blank(i);
      if (is(i, "__launch_bounds__")) blank_with_parentheses(i);
      if (is(i, "__forceinline__") || is(i, "inline")) blank(i);
    }
    replace(global, optimize_ ? "inline __attribute__((always_inline))" : "inline");
    replace(name, fmt::format("weir_kernel_{}", word(name)));
    handled_ = name + 1;
  }

  static std::string parameters(bool shadow) {
    return shadow ? "const unsigned int weir_global_x, const ::uint3 threadIdx, const ::uint3 blockIdx, const ::dim3 "
                    "blockDim, const ::dim3 gridDim"
                  : "unsigned int, ::uint3, ::uint3, ::dim3, ::dim3";
  }

  std::string first_argument(std::size_t open) const {
    std::string text;
    for (std::size_t i = open + 1; i < token(open).match && !is(i, ",");) {
      const std::size_t end = is(i, "(") || is(i, "[") || is(i, "{") ? after(i) : i + 1;
      for (; i < end; ++i) text.append(word(i)).append(" ");
    }
    return text.empty() ? "0" : text;
  }

  // Whether something in a kernel's body uses threadIdx and its like where a parameter of the kernel cannot be named: a
  // class, or a lambda that captures by a list.
  bool hides_parameters(std::size_t body) const {
    const std::size_t end = token(body).match;
    for (std::size_t i = body + 1; i < end; ++i) {
      const bool a_class = is(i, "struct") || is(i, "class") || is(i, "union");
      if (!a_class && !begins_closed_lambda(i)) continue;
      std::size_t brace = i + 1;
      while (brace < end && !is(brace, "{") && !is(brace, ";"))
        brace = is(brace, "(") || is(brace, "[") ? after(brace) : brace + 1;
      if (!is(brace, "{")) continue;
      for (std::size_t k = brace; k < token(brace).match; ++k) {
        if (kernels::is_built_in_variable(word(k)) && !is(k - 1, ".") && !is(k - 1, "->")) return true;
      }
    }
    return false;
  }

  bool begins_closed_lambda(std::size_t i) const {
    if (!is(i, "[") || is(i + 1, "[") || is(i - 1, "[")) return false;
    const bool subscript = (is_identifier(i - 1) && !is(i - 1, "return")) || is(i - 1, ")") || is(i - 1, "]");
    const bool by_default = is(i + 1, "=") || (is(i + 1, "&") && (is(i + 2, "]") || is(i + 2, ",")));
    return !subscript && !by_default;
  }

  // --- Edits

  // The last word on a token counts.
  void edit(Edit&& e) { edits_.insert_or_assign({e.begin, e.end != e.begin}, std::move(e)); }
  void blank(std::size_t i) { edit({token(i).begin, token(i).end, {}, 0, 0, 0}); }
  void blank_with_parentheses(std::size_t i) {
    const std::size_t end = is(i + 1, "(") ? after(i + 1) : i + 1;
    for (handled_ = std::max(handled_, end); i < end; ++i) blank(i);
  }
  void replace(std::size_t i, std::string text) {
    const Token& t = token(i);
    edit({t.begin, t.end, std::move(text), t.line, t.column + (t.end - t.begin), t.file});
  }
  void insert_before(std::size_t i, std::string text) {
    const Token& t = token(i);
    edit({t.begin, t.begin, std::move(text), t.line, t.column, t.file});
  }
  void insert_after(std::size_t i, std::string text) {
    const Token& t = token(i);
    edit({t.end, t.end, std::move(text), t.line, t.column + (t.end - t.begin), t.file});
  }

  // A line end, behind which the text counts as that line from that column on.
  std::string resume(std::uint32_t line, std::uint32_t column, std::uint32_t file) const {
    return fmt::format("\n# {} {}\n{:{}}", line, source_.files[file], "", column);
  }

  std::string render() {
    std::string out =
        fmt::format("namespace weir_host {{ constexpr bool sets_thread_variables = {}, uses_dynamic_array = {}; }}\n",
                    thread_variables_ || split_.sets_thread_variables, split_.uses_dynamic_array);
    std::uint32_t position = 0;
    for (const auto& [where, edit] : edits_) {
      out.append(source_.text.substr(position, edit.begin - position));
      position = edit.end;
      if (edit.text.empty()) {
        out.append(edit.end - edit.begin, ' ');
        continue;
      }
      out.append(edit.text).append(resume(edit.line, edit.column, edit.file));
    }
    out.append(source_.text.substr(position));
    return out;
  }

  TokenizedSource source_;
  std::span<const std::string> names_;
  std::set<std::string> kernels_, defined_, bounded_templates_;
  // Kernels and templates of which a definition, be it of a specialization, is not flat; an instance may be of that one.
  std::set<std::string> not_flat_;
  int records_ = 0;
  SplitSource split_;
  std::map<std::pair<std::uint32_t, bool>, Edit> edits_;  // by offset; an insertion stands before a replacement
  std::vector<OpenScope> scopes_;
  std::size_t declaration_ = 0;  // the first token of the declaration, at namespace scope
  std::size_t handled_ = 0;      // tokens before this one were seen by `kernel`
  std::size_t own_end_ = 0;      // up to here threadIdx is a kernel's own parameter
  bool thread_variables_ = false;
  bool may_fuse_ = true;
  bool optimize_;
  bool cooperation_;
};

}  // namespace

std::string compose_unit(std::string_view source, const CompileOptions& options, int warp_size) {
  if (!fits_a_line(options.name)) throw std::invalid_argument("the name of the source contains a line end");
  std::string unit = fmt::format("#line 1 {}\n{}#define WEIR_WARP_SIZE {}\n{}{}{}{}{}{}{}", in_quotes(prelude_file_name),
                                 prelude_division, warp_size, prelude_types, prelude_math, prelude_packed,
                                 kernels::runtime_block, kernels::runtime_warps, kernels::runtime_atomics, prelude_launcher);
  if (!options.defines.empty()) unit += "#line 1 \"<defines>\"\n";
  for (const auto& [macro, value] : options.defines) {
    if (!fits_a_line(macro) || !fits_a_line(value)) {
      throw std::invalid_argument(
          fmt::format("the macro '{}' contains a line end", macro.substr(0, macro.find_first_of("\n\r"))));
    }
    fmt::format_to(std::back_inserter(unit), "#define {} {}\n", macro, value);
  }
  // Editors begin a file with this mark; in the middle of a unit it would be a word of the source's.
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (source.starts_with(byte_order_mark)) source.remove_prefix(byte_order_mark.size());
  fmt::format_to(std::back_inserter(unit), "#line 1 {}\n{}\n", in_quotes(options.name), source);
  unit += "#line 1 \"<keywords>\"\nextern const char weir_keywords[sizeof(";
  for (const std::string_view keyword : keywords) fmt::format_to(std::back_inserter(unit), "WEIR_QUOTED({}) ", keyword);
  unit += ")];\n";
  return unit;
}

RewrittenUnit rewrite_kernels(std::string_view preprocessed, bool optimize, bool cooperation,
                              std::span<const std::string> names) {
  return Rewriter(preprocessed, optimize, cooperation, names).run();
}

std::string lines_of(std::string_view preprocessed, std::string_view name) {
  std::vector<std::string> lines;
  const TokenizedSource source = tokenize(preprocessed);
  for (const Token& token : source.tokens) {
    if (file_name(source.files[token.file]) != name) continue;
    if (lines.size() < token.line) lines.resize(token.line);
    std::string& line = lines[token.line - 1];
    const std::string_view spelling = source.spelling(token);
    if (line.size() < token.column) line.resize(token.column, ' ');
    line.replace(token.column, std::string::npos, spelling.substr(0, spelling.find('\n')));
  }
  std::string text;
  for (const std::string& line : lines) text.append(line).append("\n");
  return text;
}

}  // namespace weir::host
