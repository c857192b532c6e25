// SPDX-License-Identifier: Apache-2.0
#include "kernels/split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/emitter.hpp"
#include "kernels/function.hpp"
#include "kernels/rows.hpp"
#include "kernels/unit.hpp"
#include "kernels/vocabulary.hpp"

namespace weir::kernels {
namespace {

// `loops_in_step`: whether the loops between the meetings of a kernel may be taken in step.
Function understood(const Unit& unit, const FunctionPlace& place, bool loops_in_step = false) {
  Function f = read_function(unit, place);
  if (!place.has_body) return f;
  put_volatile_in_step(f, unit);
  const bool strides = put_strides_in_step(f, unit);
  if (place.cooperates) {
    if (loops_in_step && keeps_plain_values(f, unit)) put_loops_in_step(f, unit);
  } else if (!put_loops_in_step(f, unit) && !strides) {
    enclose_behind_returns(f);
  }
  extract_meetings(f, unit);
  resolve_names(f);
  follow_members(f, unit);
  place_variables(f, unit);
  refer_in_lambdas(f);
  return f;
}

// Returns whether there are rows of threads in it that compilers take together only if it is split.
bool split_kernel(const Unit& unit, const FunctionPlace& place, SplitSource& result, bool loops_in_step = true) try {
  if (!place.has_body) return false;
  Function f = understood(unit, place, loops_in_step);
  Emitter emitter(f, unit);
  std::string body = emitter.kernel_body();
  result.kernels.insert(place.name_token);
  for (const Parameter& p : f.parameters) {
    if (p.variable == no_variable || f.variable(p.variable).place == Variable::Place::uniform) continue;
    result.replacements.push_back({p.name.token, p.name.token + 1, "weir_in_" + p.name.text});
  }
  result.replacements.push_back({place.body, place.end, std::move(body)});
  result.sets_thread_variables = result.sets_thread_variables || emitter.sets_thread_variables();
  return emitter.takes_rows();
} catch (const Refused&) {
  // What lives across the turns of a loop is refused more than what lives in one.
  if (!place.cooperates || !loops_in_step) throw;
  return split_kernel(unit, place, result, false);
}

// Whether threads of a row are told apart by their number in the row of the grid alone.
bool tells_threads_by_row(const Function& f) {
  bool by_row = true;
  for (const Statement& top : f.body) {
    for_all(top, [&](const Statement& s) {
      for_own_words(s, [&](const Words& words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
          const bool of_thread = words[i].is("threadIdx") || words[i].is("blockIdx");
          const bool of_row =
              of_thread && is_at(words, i + 1, ".") && (is_at(words, i + 2, "y") || is_at(words, i + 2, "z"));
          by_row = by_row && (!of_thread || of_row) && !words[i].text.starts_with("weir_this_");
        }
      });
    });
  }
  return by_row;
}

// Whether threads of different rows do different things.
bool names_columns(const Function& f) {
  bool found = false;
  for (const Statement& top : f.body) {
    for_all(top, [&](const Statement& s) {
      for_own_words(s, [&](const Words& words) {
        for (std::size_t i = 0; i < words.size(); ++i)
          found = found || (words[i].is("threadIdx") && (is_at(words, i + 2, "y") || is_at(words, i + 2, "z")));
      });
    });
  }
  return found;
}

// Whether a block may wait for what another one wrote, or use memory of its own that the kernel's text does not show. Blocks
// that run as one neither come one after the other nor have memory of their own.
bool needs_blocks_apart(const Unit& unit, const FunctionPlace& place, const Function& f) {
  if (!unit.lone_shared().empty()) return true;
  for (std::uint32_t i = place.name_token; i < place.end; ++i) {
    const std::string_view word = unit.source().spelling(i);
    if (word == "volatile" || word.starts_with("atomic") || word.starts_with("__threadfence")) return true;
  }
  bool waits = false;
  for (const Statement& top : f.body) {
    for_all(top, [&](const Statement& s) {
      const bool turns = s.is(Statement::Kind::loop) && s.loop != Statement::Loop::for_loop && !is_at(s.words, 0, "false");
      waits = waits || turns;
      for_own_words(s, [&](const Words& words) { waits = waits || contains(words, "while"); });
    });
  }
  return waits;
}

// A kernel in which no threads meet is split for its loops' or its rows' sake alone, if nothing is against it. Of several
// kernels of one name, which are a template's specializations or stand in namespaces, either all are split or none.
void split_for_speed(const Unit& unit, const FunctionPlace& place, SplitSource& result) {
  if (!place.has_body || !place.is_kernel) return;
  const auto same_name = [&](const FunctionPlace& f) { return f.is_kernel && f.has_body && f.name == place.name; };
  if (std::count_if(unit.functions().begin(), unit.functions().end(), same_name) > 1) return;
  try {
    Function f = read_function(unit, place);
    const bool strides = put_strides_in_step(f, unit), loops = put_loops_in_step(f, unit);
    if (!keeps_plain_values(f, unit)) return;
    SplitSource alone;
    const bool rows = split_kernel(unit, place, alone);
    if (!(strides || loops || rows)) return;
    result.replacements.insert(result.replacements.end(), alone.replacements.begin(), alone.replacements.end());
    result.kernels.insert(alone.kernels.begin(), alone.kernels.end());
    // In two dimensions a block is a tile that fits the caches, unless a loop runs along its row.
    const bool tile = !strides && !loops && names_columns(f);
    if (!tile && tells_threads_by_row(f) && !needs_blocks_apart(unit, place, f)) result.flat.insert(place.name_token);
    result.sets_thread_variables = result.sets_thread_variables || alone.sets_thread_variables;
  } catch (const Refused&) {  // it runs thread by thread
  }
}

// A call of itself would need a mask for each depth.
void refuse_recursion(const Unit& unit) {
  const TokenizedSource& source = unit.source();
  std::map<std::string, std::set<std::string>> calls;
  const auto key = [](const std::string& name, bool member) { return member ? "." + name : name; };
  for (const FunctionPlace& f : unit.functions()) {
    if (!f.has_body || !f.cooperates) continue;
    for (std::uint32_t i = f.body; i < f.end; ++i) {
      const auto word = [&](std::uint32_t k) { return k < source.tokens.size() ? source.spelling(k) : std::string_view(); };
      const std::string name(word(i));
      const Unit::Callee called = unit.callee(word(i - 2), word(i - 1), name, word(i + 1), f.of_class, i);
      if (called == Unit::Callee::none) continue;
      // Of several functions of a name, one may call another.
      const bool member = called == Unit::Callee::member;
      const bool one_of_several = f.overload >= 0 || (member && unit.find_cooperating(name, true).size() > 1);
      if (name != f.name || member != (f.of_class >= 0) || !one_of_several)
        calls[key(f.name, f.of_class >= 0)].insert(key(name, member));
    }
  }
  for (const FunctionPlace& f : unit.functions()) {
    const std::string own = key(f.name, f.of_class >= 0);
    std::set<std::string> reached = calls[own];
    for (std::size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const std::string& name : std::set<std::string>(reached)) reached.insert(calls[name].begin(), calls[name].end());
    }
    if (f.cooperates && reached.count(own) != 0) {
      throw Refused(f.name_token, fmt::format("threads of a block work together in '{}', which calls itself", f.name));
    }
  }
}

// Whether the token stands in a function, and not at namespace scope.
bool in_a_function(const TokenizedSource& source, std::uint32_t token) {
  for (std::uint32_t i = token; i-- > 0;) {
    if (source.spelling(i) == "}" && source.tokens[i].match < i)
      i = source.tokens[i].match;
    else if (source.spelling(i) == "{")
      return i > 0 && (source.spelling(i - 1) == ")" || source.spelling(i - 1) == "const");
  }
  return false;
}

// `using a::f;` outside of functions that are split.
void replace_using(const Unit& unit, SplitSource& result) {
  const TokenizedSource& source = unit.source();
  const std::vector<Replacement> functions = result.replacements;
  for (std::uint32_t i = 0; i < source.tokens.size(); ++i) {
    const auto has = [&](const Replacement& r) { return r.first <= i && i < r.last; };
    if (source.spelling(i) != "using" || std::any_of(functions.begin(), functions.end(), has)) continue;
    std::uint32_t end = i;
    while (end < source.tokens.size() && source.spelling(end) != ";") ++end;
    const std::string text = using_of_split(unit, words_of(source, i, end));
    if (!text.empty()) result.replacements.push_back({i, end + 1, text});
  }
}

// `__shared__` where no thread waits: at namespace scope, and in functions that only use the memory.
void replace_lone_shared(const Unit& unit, SplitSource& result) {
  const TokenizedSource& source = unit.source();
  for (const std::uint32_t at : unit.lone_shared()) {
    const auto boundary = [&](std::uint32_t i) {
      const std::string_view word = source.spelling(i);
      return word == ";" || word == "{" || word == "}" || word == ")";
    };
    std::uint32_t first = at, last = at;
    while (first > 0 && !boundary(first - 1)) --first;
    while (last < source.tokens.size() && source.spelling(last) != ";") ++last;
    Statement s;
    const Words words = words_of(source, first, last);
    if (!parse_declaration(words, s)) throw Refused(at, "this declaration of shared memory is not understood");
    std::string text;
    for (const Declarator& d : s.declarators) {
      if (d.form != Declarator::Form::none)
        throw Refused(at, "a shared variable with an initializer; shared memory begins undefined");
      std::string type;
      bool dynamic = false;
      for (std::size_t i = 0; i < s.specifiers.size(); ++i) {
        const Word& word = s.specifiers[i];
        if (word.is("alignas") || word.is("__align__") || word.is("__attribute__")) {
          i = closing(s.specifiers, i + 1);
          continue;
        }
        dynamic = dynamic || word.is("extern");
        if (!word.is("extern") && !word.is("static") && !word.is("__shared__") && !word.is("__device__"))
          type += word.text + " ";
      }
      for (const Word& word : d.pointer) type += word.text + " ";
      std::string dimensions;
      for (const Words& dimension : d.dimensions) {
        dimensions += "[";
        for (const Word& word : dimension) dimensions += " " + word.text;
        dimensions += "]";
      }
      if (dynamic && dimensions != "[]") throw Refused(at, "dynamic shared memory is declared as an array without a size");
      result.uses_dynamic_array = result.uses_dynamic_array || dynamic;
      text += dynamic && in_a_function(source, first)
                  ? fmt::format("{}* const {} = reinterpret_cast<{}*>(::weir_host::thread_dynamic_shared);", type,
                                d.name.text, type)
              : dynamic ? fmt::format("static constexpr ::weir_host::dynamic_array<{}> {}{{}};", type, d.name.text)
                        : fmt::format("alignas(64) static thread_local {} {}{};", type, d.name.text, dimensions);
    }
    result.replacements.push_back({first, last + 1, text});
  }
}

}  // namespace

std::string using_of_split(const Unit& unit, const Words& words) {
  std::size_t name = words.size();
  while (name > 0 && !words[name - 1].is_identifier()) --name;
  if (name < 3 || !words[0].is("using") || !words[name - 2].is("::") || !words[1].is_identifier()) return {};
  const auto functions = unit.find_cooperating(words[name - 1].text);
  if (functions.empty()) return {};
  const std::string path = text_of(slice(words, 0, name));
  std::string text = path + "_weir;";
  if (functions[0]->overload >= 0) text += path + "_weir_choice;";
  const auto has_types = [&](const FunctionPlace* place) {
    const Function one = read_function(unit, *place);
    return std::any_of(one.parameters.begin(), one.parameters.end(), [&](const Parameter& p) { return converts(one, p); });
  };
  if (std::any_of(functions.begin(), functions.end(), has_types)) text += path + "_weir_types;";
  return text;
}

SplitSource split_functions(const TokenizedSource& source) {
  SplitSource result;
  const Unit unit(source);
  refuse_recursion(unit);
  const bool one_by_one = may_wait(source);
  for (const FunctionPlace& place : unit.functions()) {
    if (!place.cooperates) {
      if (!one_by_one) split_for_speed(unit, place, result);
    } else if (place.is_kernel) {
      split_kernel(unit, place, result);
    } else {
      Function f = understood(unit, place);
      Emitter emitter(f, unit);
      const std::string text = emitter.function();
      result.replacements.push_back({place.first, place.end, place.of_class < 0 ? "extern \"C++\" { " + text + " }" : text});
      result.sets_thread_variables = result.sets_thread_variables || emitter.sets_thread_variables();
    }
  }
  replace_using(unit, result);
  replace_lone_shared(unit, result);
  std::sort(result.replacements.begin(), result.replacements.end(),
            [](const Replacement& a, const Replacement& b) { return a.first < b.first; });
  return result;
}

}  // namespace weir::kernels
