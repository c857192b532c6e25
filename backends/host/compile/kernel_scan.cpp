// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compile/kernel_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace weir::host {
namespace {

using kernels::Token;
using kernels::TokenizedSource;

// Intrinsics that must not be fused with a neighbouring operation.
constexpr std::string_view rounded_alone[] = {"__fadd_rn", "__fsub_rn", "__fmul_rn", "__dadd_rn", "__dsub_rn", "__dmul_rn"};

constexpr std::string_view keywords[] = {"__global__",   "__device__",  "__shared__",
                                         "__constant__", "__managed__", "__host__"};

// Whether this word shows that the feature `block_cooperation` is needed.
bool is_cooperation(std::string_view word) {
  constexpr std::string_view alone[] = {"__shared__", "cooperative_groups", "__activemask", "__syncwarp"};
  constexpr std::string_view families[] = {"__syncthreads", "__shfl", "__ballot", "__any", "__all", "__match", "__reduce"};
  const auto of_family = [&](std::string_view begin) {
    return word.starts_with(begin) && (word.size() == begin.size() || word[begin.size()] == '_');
  };
  return std::find(std::begin(alone), std::end(alone), word) != std::end(alone) ||
         std::any_of(std::begin(families), std::end(families), of_family) ||
         (word.starts_with("atomic") && word.size() > 6 && word[6] >= 'A' && word[6] <= 'Z');
}

class Scanner {
 public:
  Scanner(const TokenizedSource& source, FrontEnd front_end, bool cooperation)
      : source_(source), cuda_(front_end == FrontEnd::cuda), cooperation_(cooperation) {}

  KernelScan run() {
    for (std::size_t i = 0; i < count(); ++i) {
      if (source_.tokens[i].kind == Token::Kind::identifier) visit_word(i);
      if (source_.tokens[i].kind == Token::Kind::punctuation) visit_punctuation(i);
    }
    // A declaration before the definition would declare another kernel of that name, so remove it.
    for (const Declaration& declaration : declarations_) {
      const auto defined = parameters_.find(declaration.kernel);
      if (defined != parameters_.end() && defined->second != declaration.parameters) {
        blank(declaration.first, declaration.end);
      } else {
        make_global(declaration.first, declaration.name, declaration.end);
      }
    }
    return std::move(scan_);
  }

 private:
  struct Scope {
    std::size_t end;
    std::string name;  // of a namespace: "image::", or "" for an unnamed one
    bool c_linkage;
  };

  // A bodiless declaration of a kernel that is not a template and has no C linkage.
  struct Declaration {
    std::string kernel, parameters;  // the qualified name, and the text in the parentheses
    std::size_t first, name, end;
  };

  const Token& token(std::size_t i) const { return source_.tokens[i]; }
  std::size_t count() const { return source_.tokens.size(); }
  std::string_view word(std::size_t i) const { return i < count() ? source_.spelling(i) : std::string_view(); }
  bool is(std::size_t i, std::string_view text) const { return word(i) == text; }
  template <class Texts>
  bool is_one_of(std::size_t i, const Texts& words) const {
    return std::find(std::begin(words), std::end(words), word(i)) != std::end(words);
  }
  bool is_identifier(std::size_t i) const { return i < count() && token(i).kind == Token::Kind::identifier; }
  bool opens(std::size_t i) const { return is(i, "(") || is(i, "[") || is(i, "{"); }
  bool ends_statement(std::size_t i) const { return is(i, ";") || is(i, "{") || is(i, "}"); }
  // The index of the token after `i`, or after the group that opens there.
  std::size_t after(std::size_t i) const { return std::max<std::size_t>(token(i).match, i) + 1; }
  std::size_t begin_of_statement(std::size_t i) const {
    while (i > 0 && !ends_statement(i - 1)) --i;
    return i;
  }

  void edit(std::size_t first, std::size_t last, std::string text) {
    scan_.edits.push_back({token(first).begin, token(last - 1).end, std::move(text)});
  }
  void insert_before(std::size_t i, std::string text) {
    scan_.edits.push_back({token(i).begin, token(i).begin, std::move(text)});
  }
  void insert_after(std::size_t i, std::string text) {
    scan_.edits.push_back({token(i).end, token(i).end, std::move(text)});
  }

  [[noreturn]] void throw_at(std::size_t i, std::string_view message,
                             RefusedSource::Reason reason = RefusedSource::Reason::wrong) const {
    const Token& at = token(i);
    throw RefusedSource(
        fmt::format("{}:{}:{}: error: {}", kernels::file_name(source_.files[at.file]), at.line, at.column + 1, message),
        reason);
  }

  void visit_punctuation(std::size_t i) {
    if (is(i, "<")) check_launch(i);
    if (!scopes_.empty() && scopes_.back().end == i) scopes_.pop_back();
    if (i < body_end_) return;
    if (is(i, "{") && !enter_scope(i)) body_end_ = token(i).match > i ? token(i).match : count();
    if (ends_statement(i)) declaration_ = i + 1;
  }

  // `kernel<<<blocks, threads>>>(…)`
  void check_launch(std::size_t i) const {
    if (!is(i + 1, "<") || !is(i + 2, "<") || token(i + 2).begin != token(i).begin + 2 || (i > 0 && is(i - 1, "operator")))
      return;
    throw_at(i,
             "a launch with <<<…>>>: the source contains only kernels, which Stream::launch launches; move other code to "
             "another file, or put it between #ifndef __WEIR_HOST__ and #endif. Kernels cannot launch kernels here");
  }

  // Whether the brace opens a namespace or a linkage.
  bool enter_scope(std::size_t brace) {
    const bool c_linkage = !scopes_.empty() && scopes_.back().c_linkage;
    if (brace >= 2 && is(brace - 2, "extern") && token(brace - 1).kind == Token::Kind::string) {
      scopes_.push_back({token(brace).match, "", is(brace - 1, "\"C\"")});
      return true;
    }
    std::string name;
    bool is_namespace = false;
    for (std::size_t i = declaration_; i < brace; i = opens(i) ? after(i) : i + 1) {
      if (is_namespace && is_identifier(i) && !is(i, "inline") && !is(i + 1, "(")) name.append(word(i)).append("::");
      is_namespace = is_namespace || is(i, "namespace");
    }
    if (is_namespace) scopes_.push_back({token(brace).match, std::move(name), c_linkage});
    return is_namespace;
  }

  void visit_word(std::size_t i) {
    const bool member = i > 0 && (is(i - 1, ".") || is(i - 1, "->"));
    if (!cooperation_ && !member && is_cooperation(word(i))) {
      throw_at(
          i,
          fmt::format("'{}' needs the feature block_cooperation; query device.supports(weir::Feature::block_cooperation), "
                      "and use a kernel with independent threads on this device",
                      word(i)),
          RefusedSource::Reason::needs_cooperation);
    }
    if (is_one_of(i, rounded_alone)) scan_.may_fuse = false;
    if (is_one_of(i, keywords)) attributes_first(i);
    if (is(i, "__global__")) kernel(i);
    if (is(i, "__shared__")) shared(i);
    if (is(i, "__host__") && cuda_) host_function(i);
  }

  // C++ attributes after a keyword must be moved to the start of the declaration.
  void attributes_first(std::size_t i) {
    std::size_t end = i + 1, first = i;
    while ((is(end, "alignas") && is(end + 1, "(")) || (is(end, "[") && is(end + 1, "["))) {
      end = after(is(end, "[") ? end : end + 1);
    }
    if (end == i + 1) return;
    constexpr std::string_view specifiers[] = {"extern", "static", "inline", "__forceinline__"};
    while (first > 0 && (is_one_of(first - 1, keywords) || is_one_of(first - 1, specifiers))) --first;
    insert_before(first, text_of(i + 1, end) + " ");
    edit(i + 1, end, " ");
  }

  void shared(std::size_t i) {
    const std::size_t begin = begin_of_statement(i);
    std::size_t end = begin;
    bool dynamic = false, array = false, of_class = false;
    for (; end < count() && !is(end, ";") && !is(end, "=") && (of_class || !is(end, "{"));) {
      dynamic = dynamic || is(end, "extern");
      array = array || is(end, "[");
      of_class = (of_class || is(end, "struct") || is(end, "union") || is(end, "class")) && !is(end, "{");
      end = opens(end) ? after(end) : end + 1;
    }
    if (!is(end, ";"))
      throw_at(i, "a __shared__ variable cannot have an initial value: let a thread assign it before a barrier");
    if (dynamic && !array) {
      throw_at(i, "an extern __shared__ variable is an array without a size: extern __shared__ float data[];");
    }
    if (dynamic) edit(i, i + 1, "weir_dynamic_shared_memory");
  }

  // A function for the host only is excluded from the functions that are device code by default.
  void host_function(std::size_t i) {
    const auto is_device = [&](std::size_t k) { return is(k, "__device__") || is(k, "__global__"); };
    const std::size_t begin = begin_of_statement(i);
    for (std::size_t k = begin; k < i; ++k) {
      if (is_device(k)) return;
    }
    std::size_t end = i;
    for (; end < count() && !ends_statement(end); end = is(end, "(") ? after(end) : end + 1) {
      if (is_device(end)) return;
    }
    if (end < count()) no_default_in(begin, after(end) - 1);
  }

  // Marks tokens that declare no device function, because unmarked functions are device code. The compiler reads the pragma
  // before the next token.
  void no_default_in(std::size_t begin, std::size_t last) {
    insert_before(begin, "_Pragma(\"clang force_cuda_host_device end\") ");
    insert_after(last, " _Pragma(\"clang force_cuda_host_device begin\")");
  }

  // --- Kernels

  // The index of the token after the template's parameters or arguments that begin at `open`; `open` itself if they do not
  // end.
  std::size_t behind_angle(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < count() && !is(i, ";") && !is(i, "}"); i = opens(i) ? after(i) : i + 1) {
      if (is(i, "<")) ++depth;
      if (is(i, ">") && --depth == 0) return i + 1;
    }
    return open;
  }

  void kernel(std::size_t global) {
    if (global < body_end_) throw_at(global, "a __global__ function must be at namespace scope");
    ScannedKernel kernel{
        ScannedKernel::Kind::function, "", "", !scopes_.empty() && scopes_.back().c_linkage, "", "", token(global)};
    for (const Scope& scope : scopes_) kernel.scope += scope.name;
    bool specialization = false, is_extern = false;
    std::size_t name = 0, open = 0;
    for (std::size_t i = declaration_; i < count() && name == 0 && !ends_statement(i) && !is(i, "=");) {
      if (is(i, "template") && i < global) {
        const std::size_t behind = is(i + 1, "<") ? behind_angle(i + 1) : i + 1;
        kernel.kind = behind == i + 1 ? ScannedKernel::Kind::instance : ScannedKernel::Kind::primary_template;
        specialization = behind == i + 3;
        kernel.parameters = text_of(i + 1, behind);
        i = behind;
        continue;
      }
      is_extern = is_extern || is(i, "extern");
      if (is(i, "extern") && is(i + 1, "\"C\"")) kernel.c_linkage = true;
      if (is(i, "__launch_bounds__") && is(i + 1, "(")) {
        kernel.bounds = first_argument(i + 1);
        // not a macro, because GCC would write line markers into it, which would lose the parentheses
        blank(i, after(i + 1));
      }
      constexpr std::string_view takes_parentheses[] = {"__launch_bounds__", "__attribute__", "alignas",
                                                        "decltype",          "requires",      "_Pragma"};
      if (is_identifier(i) && i > global && !is_one_of(i, takes_parentheses)) {
        open = is(i + 1, "<") ? behind_angle(i + 1) : i + 1;
        if (is(open, "(")) name = i;
      }
      i = opens(i) ? after(i) : i + 1;
    }
    if (name == 0 || token(open).match <= open) throw_at(global, "__global__ must precede a function");
    kernel.at = token(name);
    std::size_t end = after(open);
    while (end < count() && !is(end, "{") && !is(end, ";")) ++end;
    if (end == count()) throw_at(global, "__global__ must precede a function");
    if (kernel.kind == ScannedKernel::Kind::instance) {
      std::size_t first = name;  // `vllm::attention<float>`, outside of its namespace
      while (first > 1 && is(first - 1, "::") && is_identifier(first - 2)) first -= 2;
      kernel.name = text_of(first, open);
      if (open == name + 1) {
        throw_at(name, fmt::format("the instance of '{0}' needs its template arguments: {0}<float>(…)", kernel.name));
      }
      blank(declaration_, end);  // the kernel's record instantiates it
      if (!is_extern) scan_.kernels.push_back(std::move(kernel));
      return;
    }
    kernel.name = word(name);
    if (kernel.kind == ScannedKernel::Kind::function && !specialization) {
      std::string scoped = kernel.scope + kernel.name, parameters = text_of(open, after(open));
      if (is(end, ";") && !kernel.c_linkage) {
        declarations_.push_back({std::move(scoped), std::move(parameters), declaration_, name, end});
        return;
      }
      if (is(end, "{")) parameters_.insert_or_assign(std::move(scoped), std::move(parameters));
    }
    make_global(declaration_, name, end);
    // A template may be only declared, if its specializations are defined.
    const bool declared = kernel.kind == ScannedKernel::Kind::primary_template;
    if ((is(end, "{") || declared) && !specialization) scan_.kernels.push_back(std::move(kernel));
  }

  // Turns the declaration or definition of a function into a kernel.
  void make_global(std::size_t first, std::size_t name, std::size_t end) {
    if (cuda_) {
      no_default_in(first, end);
      return;
    }
    constexpr std::string_view inlines[] = {"inline", "__inline__", "__forceinline__"};
    for (std::size_t i = first; i < name; ++i) {
      if (is_one_of(i, inlines)) blank(i, i + 1);  // the replacement of __global__ is already inline
    }
    edit(name, name + 1, fmt::format("{}{}", cpp_kernel_prefix, word(name)));
  }

  void blank(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) edit(i, i + 1, std::string(token(i).end - token(i).begin, ' '));
  }

  std::string first_argument(std::size_t open) const {
    std::size_t end = open + 1;
    while (end < token(open).match && !is(end, ",")) end = opens(end) ? after(end) : end + 1;
    return text_of(open + 1, end);
  }

  // The tokens' text in one line.
  std::string text_of(std::size_t first, std::size_t last) const {
    std::string text;
    for (std::size_t i = first; i < last; ++i) {
      if (i > first && token(i - 1).end != token(i).begin) text += ' ';
      text.append(word(i));
    }
    return text;
  }

  const TokenizedSource& source_;
  KernelScan scan_;
  std::vector<Scope> scopes_;
  std::vector<Declaration> declarations_;
  std::map<std::string, std::string, std::less<>> parameters_;  // of each defined kernel, by its qualified name
  std::size_t declaration_ = 0;  // first token of the declaration, outside of functions and classes
  std::size_t body_end_ = 0;     // tokens before this one are in a function, a class or an initializer
  bool cuda_;
  bool cooperation_;
};

}  // namespace

KernelScan scan_kernels(const TokenizedSource& source, FrontEnd front_end, bool cooperation) {
  return Scanner(source, front_end, cooperation).run();
}

}  // namespace weir::host
