// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compile/kernel_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "backends/host/compile/messages.hpp"
#include "kernels/device_default.hpp"
#include "kernels/device_entries.hpp"
#include "kernels/device_threads.hpp"
#include "kernels/fiber_threads.hpp"
#include "kernels/kernel_abi.hpp"
#include "kernels/kernel_name.hpp"
#include "kernels/kernel_prelude.hpp"
#include "kernels/kernel_prelude_cuda.hpp"
#include "kernels/kernel_prelude_groups.hpp"
#include "kernels/kernel_prelude_math.hpp"
#include "kernels/kernel_prelude_packed.hpp"
#include "kernels/lane_functions.hpp"
#include "kernels/lexer.hpp"
#include "kernels/runtime_atomics.hpp"

namespace weir::host {
namespace {

using kernels::file_name;
using kernels::prelude_file_name;
using kernels::Token;
using kernels::tokenize;
using kernels::TokenizedSource;

// Keywords that the source may not define as macros, as headers do for compilers without kernels: an empty `__shared__`
// would give each thread its own variable.
constexpr std::string_view checked_keywords[] = {"__global__", "__device__", "__shared__", "__constant__"};

// A line marker before each piece of the prelude, so that the preprocessor counts the piece as a system header.
constexpr const char* marker = "# 1 \"{}\" 3\n";
constexpr std::string_view packed_file_name = "<weir prelude>: packed";

// Not named "quoted", because argument-dependent lookup would find std::quoted first.
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

// The text of a kernel's record: {0} is the function, {1} its name, {2} its bounds, {3} a number.
constexpr const char* rules[] = {
    "static_assert(::weir_host::rules<decltype(&{0})>::returns_void, "
    "\"a __global__ function returns void, and is neither noexcept nor variadic\");",
    "static_assert(::weir_host::rules<decltype(&{0})>::by_value, "
    "\"a __global__ function takes its parameters by value or by pointer, not by reference\");",
    "static_assert(::weir_host::rules<decltype(&{0})>::copyable, "
    "\"a __global__ function's parameters are passed as bytes: they must be trivially copyable\");"};
constexpr const char* cpp_record =
    "static const ::weir_host::kernel_record weir_record_{3} = "
    "::weir_host::recorder<decltype(&{0}), &{0}>::record(\"{1}\", {2}); "
    "__attribute__((used, section(\"weir_kernels\"))) "
    "static const ::weir_host::kernel_record* weir_entry_{3} = &weir_record_{3};";
// In CUDA a template argument cannot be a kernel, so the record calls it through a constant with its address.
constexpr const char* cuda_record =
    "static constexpr WEIR_DEVICE decltype(&{0}) weir_pointer_{3} = &{0}; "
    "static constexpr WEIR_DEVICE ::weir_host::kernel_record weir_record_{3} = "
    "::weir_host::recorder<decltype(&{0}), &weir_pointer_{3}>::record(\"{1}\", {2}); "
    "static WEIR_DEVICE __attribute__((used, section(\"weir_kernels\"))) "
    "const ::weir_host::kernel_record* weir_entry_{3} = &weir_record_{3};";
// The record of a name that several kernels share: {0} is the name, {1} a number, {2} WEIR_DEVICE in CUDA.
constexpr const char* overloaded_record =
    "static constexpr {2} ::weir_host::kernel_record weir_record_{1} = ::weir_host::overloaded(\"{0}\"); "
    "static {2} __attribute__((used, section(\"weir_kernels\"))) "
    "const ::weir_host::kernel_record* weir_entry_{1} = &weir_record_{1};";

// For the scope "a::b::": the text that opens these namespaces, and the text that closes them.
std::pair<std::string, std::string> namespaces(std::string_view scope) {
  std::pair<std::string, std::string> text;
  for (std::size_t colons; (colons = scope.find("::")) != scope.npos; scope.remove_prefix(colons + 2)) {
    text.first += fmt::format("namespace {} {{ ", scope.substr(0, colons));
    text.second += "}";
  }
  return text;
}

// Writes the records of a source's kernels, in the scopes of the kernels.
class RecordWriter {
 public:
  RecordWriter(const TokenizedSource& source, FrontEnd front_end)
      : source_(source), cuda_(front_end == FrontEnd::cuda), prefix_(cuda_ ? "" : cpp_kernel_prefix) {}

  void add(std::span<const ScannedKernel> kernels) {
    std::map<std::string, int> functions;
    for (const ScannedKernel& kernel : kernels) {
      if (kernel.kind == ScannedKernel::Kind::function && ++functions[name_of(kernel)] == 2) {
        overloaded_.insert(name_of(kernel));
      }
    }
    for (const ScannedKernel& kernel : kernels) add(kernel);
  }

  void add(const ScannedKernel& kernel) {
    const std::string name = name_of(kernel);
    const auto [begin, end] = namespaces(kernel.scope);
    if (kernel.kind == ScannedKernel::Kind::instance) return add_instance(name, &kernel.at);
    known_.insert(kernel.name);
    const std::string bounds = kernel.bounds.empty() ? "0" : kernel.bounds;
    if (kernel.kind == ScannedKernel::Kind::primary_template) {
      if (kernel.bounds.empty() || !bounded_.insert(name).second) return;
      add_line(&kernel.at, fmt::format("{}template {} constexpr unsigned int weir_bounds_{} = {};{}", begin,
                                       kernel.parameters, kernel.name, bounds, end));
      return;
    }
    const bool is_first = recorded_.insert(name).second;
    if (overloaded_.count(name) != 0) {
      const std::string_view device = cuda_ ? "WEIR_DEVICE" : "";
      if (is_first) add_line(&kernel.at, fmt::format(fmt::runtime(overloaded_record), name, ++count_, device));
      return;
    }
    add_record(&kernel.at, begin, fmt::format("::{}{}{}", kernel.scope, prefix_, kernel.name),
               kernel.c_linkage ? kernel.name : name, bounds, end);
  }

  // Adds the record of one expression in `CompileOptions::kernels`.
  void add_named(const std::string& expression) {
    const std::string name = kernels::normalized_name(expression);
    const std::string function = name.substr(0, name.find('<'));
    const std::size_t colons = function.rfind("::");
    if (known_.count(colons == std::string::npos ? function : function.substr(colons + 2)) == 0) {
      throw RefusedSource(
          fmt::format("<kernels>: error: the source has no __global__ function '{}', of which an instance was asked for by "
                      "name (CompileOptions::kernels; KERNELS in weir_add_kernels, which every file of the call must have); "
                      "correct the name, or leave it out for this source",
                      function),
          RefusedSource::Reason::wrong);
    }
    if (recorded_.count(name) == 0) add_instance(name, nullptr);  // a template itself has no record
  }

  std::string text() && { return std::move(text_); }

 private:
  static std::string name_of(const ScannedKernel& kernel) { return kernels::normalized_name(kernel.scope + kernel.name); }

  void add_instance(const std::string& name, const Token* at) {
    const std::size_t arguments = std::min(name.find('<'), name.size());
    const std::size_t colons = name.rfind("::", arguments);
    const std::size_t begin = colons == std::string::npos ? 0 : colons + 2;
    const auto with_prefix = [&](std::string_view prefix) {
      return fmt::format("::{}{}{}", name.substr(0, begin), prefix, name.substr(begin));
    };
    add_record(at, "", with_prefix(prefix_), name,
               bounded_.count(name.substr(0, arguments)) != 0 ? with_prefix("weir_bounds_") : "0", "");
  }

  void add_record(const Token* at, const std::string& begin, const std::string& function, const std::string& name,
                  const std::string& bounds, const std::string& end) {
    for (const char* const rule : rules) add_line(at, fmt::format(fmt::runtime(rule), function));
    const std::string number = fmt::format("{}", ++count_);
    add_line(at, begin + fmt::format(fmt::runtime(cuda_ ? cuda_record : cpp_record), function, name, bounds, number) + end);
  }

  void add_line(const Token* at, std::string_view text) {
    text_ += at == nullptr ? fmt::format("\n# 1 \"{}<kernels>\"\n", generated_mark)
                           : fmt::format("\n# {} \"{}{}\n{:{}}", at->line, generated_mark,
                                         std::string_view(source_.files[at->file]).substr(1), "", at->column);
    text_ += text;
  }

  const TokenizedSource& source_;
  bool cuda_;
  std::string_view prefix_;
  std::string text_;
  // Names of all kernels and templates, then qualified names: of kernels with a record, of templates with bounds, and of
  // kernels that share a name.
  std::set<std::string> known_, recorded_, bounded_, overloaded_;
  int count_ = 0;
};

// Removes `prelude_packed` from a source that uses none of its functions, because that text takes a third of the prelude's
// compile time. `names`: the names of instances, whose template arguments may also be such functions.
void drop_packed(std::string& preprocessed, std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (name.find("__") != name.npos || name.find("cyl_") != name.npos) return;
  }
  const std::size_t begin = preprocessed.find(fmt::format(marker, packed_file_name));
  const std::size_t end = preprocessed.find(fmt::format(marker, prelude_file_name), begin);
  if (begin == std::string::npos || end == std::string::npos) return;
  const std::string_view packed = std::string_view(preprocessed).substr(begin, end - begin);
  const TokenizedSource source = tokenize(preprocessed);
  for (const Token& token : source.tokens) {
    const std::string_view word = source.spelling(token);
    if (word.ends_with("__") || !(word.starts_with("__") || word.starts_with("cyl_"))) continue;
    if (packed.find(fmt::format(" {}(", word)) != packed.npos || packed.find(fmt::format(" {} (", word)) != packed.npos)
      return;
  }
  preprocessed.erase(begin, end - begin);
}

// Applies the edits. If an edit moves the rest of its line, a line marker after it restores the next token's column.
std::string edited(const TokenizedSource& source, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string out;
  std::uint32_t position = 0;
  bool moved = false;
  const auto copy_until = [&](std::uint32_t end) {
    const auto next = std::partition_point(source.tokens.begin(), source.tokens.end(),
                                           [&](const Token& token) { return token.begin < position; });
    if (moved && next != source.tokens.end() && next->begin < end) {
      const std::string_view gap = source.text.substr(position, next->begin - position);
      if (gap.find('\n') == gap.npos) {
        out += fmt::format("\n# {} {}\n{:{}}", next->line, source.files[next->file], "", next->column);
        position = next->begin;
      }
      moved = false;
    }
    out.append(source.text.substr(position, end - position));
  };
  for (const Edit& edit : edits) {
    if (edit.begin < position) continue;  // inside a piece that is replaced as a whole
    copy_until(edit.begin);
    out.append(edit.text);
    moved = moved || edit.text.size() != edit.end - edit.begin;
    position = edit.end;
  }
  copy_until(static_cast<std::uint32_t>(source.text.size()));
  return out;
}

}  // namespace

std::string compose_unit(std::string_view source, const CompileOptions& options, int warp_size, Tier tier,
                         FrontEnd front_end) {
  if (!fits_a_line(options.name)) throw std::invalid_argument("the name of the source contains a line end");
  const bool cuda = front_end == FrontEnd::cuda, groups = tier == Tier::groups;
  const std::string_view begin = cuda ? both_begin : "", end = cuda ? both_end : "";
  std::string unit = fmt::format(marker, prelude_file_name) + fmt::format("#define WEIR_WARP_SIZE {}\n", warp_size);
  unit += groups ? "#define WEIR_ENTRY WEIR_DEVICE\n#define WEIR_PURE __attribute__((const))\n"
                   "#define WEIR_CONVERGENT __attribute__((convergent))\n#define WEIR_SPIN() ((void)0)\n"
                   "#define WEIR_SET_PLACE(name, file, line, number) ((void)0)\n"
                   "#define WEIR_FIBER(name) __weir_fiber_##name\n"
                   "#define WEIR_FIBER_ENTRY WEIR_DEVICE WEIR_KEPT WEIR_ALWAYS_INLINE\n"
                   "#define WEIR_TIER tier_workgroup\n"
                 : "#define WEIR_ENTRY WEIR_DEVICE WEIR_ALWAYS_INLINE\n#define WEIR_PURE\n#define WEIR_CONVERGENT\n"
                   "#define WEIR_SPIN() weir_host::spin()\n"
                   "#define WEIR_FIBER(name) __weir_##name\n"
                   "#define WEIR_FIBER_ENTRY WEIR_DEVICE WEIR_ALWAYS_INLINE\n"
                   "#define WEIR_TIER tier_fibers\n";
  if (options.debug) unit += "#define WEIR_FOR_DEBUGGER 1\n";  // for debuggers: threadIdx becomes a variable
  unit.append(cuda ? prelude_cuda_library : prelude_c_library)
      .append(prelude_types)
      .append(begin)
      .append(kernels::device_entries)
      .append(prelude_variables)
      .append(prelude_launches)
      .append(kernels::fiber_threads)
      .append(kernels::lane_functions)
      .append(kernels::device_threads)
      .append(end)
      .append(prelude_math)
      .append(fmt::format(marker, packed_file_name))
      .append(prelude_packed)
      .append(fmt::format(marker, prelude_file_name))
      .append(begin)
      .append(kernels::runtime_atomics)
      .append(groups ? prelude_groups : prelude_fibers)
      .append(end)
      .append(prelude_module);
  if (!options.defines.empty()) unit += "# 1 \"<defines>\"\n";
  for (const auto& [macro, value] : options.defines) {
    if (!fits_a_line(macro) || !fits_a_line(value)) {
      throw std::invalid_argument(
          fmt::format("the macro '{}' contains a line end", macro.substr(0, macro.find_first_of("\n\r"))));
    }
    fmt::format_to(std::back_inserter(unit), "#define {} {}\n", macro, value);
  }
  // Editors write this mark at the start of a file; inside a unit it would be an invalid token.
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (source.starts_with(byte_order_mark)) source.remove_prefix(byte_order_mark.size());
  // Makes variables visible, because `Module::global` finds them by their symbols.
  if (!cuda) unit += "#pragma GCC visibility push(default)\n";
  fmt::format_to(std::back_inserter(unit), "# 1 {}\n{}\n", in_quotes(options.name), source);
  if (!cuda) unit += "#pragma GCC visibility pop\n";
  unit += fmt::format("# 1 \"{}\"\n", keywords_file_name);
  for (const std::string_view keyword : checked_keywords) {
    fmt::format_to(
        std::back_inserter(unit),
        "static_assert(__builtin_strcmp(WEIR_QUOTED({0}), {1}) == 0, \"the source defines the keyword '\" {1} \"' "
        "as a macro; let its condition ask for __CUDACC__, as for NVIDIA's compilers\");\n",
        keyword, in_quotes(keyword));
  }
  return unit;
}

bool mentions_volatile(std::string_view preprocessed) {
  const TokenizedSource source = tokenize(preprocessed);
  return std::any_of(source.tokens.begin(), source.tokens.end(), [&](const Token& t) {
    return t.kind == Token::Kind::identifier && source.spelling(t).find("volatile") != std::string_view::npos;
  });
}

CompilableUnit complete_unit(std::string_view preprocessed, Tier tier, FrontEnd front_end, bool cooperation,
                             std::span<const std::string> names) {
  const bool cuda = front_end == FrontEnd::cuda;
  std::string with_default = cuda ? with_device_as_default(preprocessed) : std::string(preprocessed);
  drop_packed(with_default, names);
  const TokenizedSource source = tokenize(with_default);
  KernelScan scan = scan_kernels(source, front_end, cooperation);
  RecordWriter records(source, front_end);
  records.add(scan.kernels);
  for (const std::string& name : names) records.add_named(name);

  const std::string prelude_line = fmt::format("\n# 1 {} 3\n", in_quotes(prelude_file_name));
  std::string text = prelude_line.substr(1);
  // Compilers assume that the sanitizer's functions do not change the module's variables. They do here, so variables are
  // hidden from the optimizer.
  text += tier == Tier::lockstep ? "#define WEIR_VISIBLE() __asm__ volatile(\"\" ::: \"memory\")\n"
                                 : "#define WEIR_VISIBLE() ((void)0)\n";
  // `__restrict__` constrains one thread. Compilers also assume that no other thread's writes become visible at a barrier,
  // which is wrong here.
  if (tier != Tier::groups) text += "#define __restrict__\n#define __restrict\n";
  text.append(cuda ? cuda_keywords : cpp_keywords)
      .append(edited(source, std::move(scan.edits)))
      .append(std::move(records).text())
      .append(prelude_line);
  if (tier == Tier::lockstep) {
    text.append(cuda ? both_begin : "").append(kernels::fiber_steps).append(cuda ? both_end : "");
  }
  return {std::move(text), scan.may_fuse};
}

std::string define_dynamic_memory(std::span<const std::string> symbols) {
  std::string text = ".section .tbss,\"awT\",%nobits\n.balign 128\n";
  for (const std::string& symbol : symbols) {
    text += fmt::format(".globl \"{0}\"\n.hidden \"{0}\"\n.type \"{0}\", %tls_object\n\"{0}\":\n", symbol);
  }
  return text + fmt::format(".zero {}\n.section .note.GNU-stack,\"\",%progbits\n", most_shared_bytes);
}

std::vector<PlacedToken> tokens_at(const TokenizedSource& source, std::string_view name, std::size_t line) {
  std::vector<PlacedToken> placed;
  for (const Token& token : source.tokens) {
    if (token.line == line && file_name(source.files[token.file]) == name)
      placed.push_back({token.column, std::string(source.spelling(token))});
  }
  return placed;
}

}  // namespace weir::host
