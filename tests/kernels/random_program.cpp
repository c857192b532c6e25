// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/random_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string_view>
#include <vector>

#include "tests/kernels/random_program_calls.hpp"
#include "tests/kernels/random_program_library.hpp"

namespace weir::test {
namespace {

/// The threads that have the same value of a variable or expression, or that reach a statement together.
enum class Level : std::uint8_t { block, warp, thread };

enum class Type : std::uint8_t { u32, i32, u64, u16, u8, boolean, pair, array, converted };

struct Variable {
  std::string name;
  Type type;
  Level level;
  bool writable;
  bool is_reference = false;
};

/// A lambda or function of the program that takes two values, and is called where its level of threads come together.
struct Callable {
  std::string call;  ///< with {0} for a value of the block, {1} for one of the thread
  Level needs;       ///< block: it has barriers
};

struct Place {
  Level level = Level::block;  ///< who comes here together
  std::string mask = "all";    ///< the expression for the lanes that come here; empty if it is not known
  int depth = 0;
  bool in_loop = false, in_switch = false;
  bool in_divergent_loop = false;
  Level loop = Level::block;  ///< whose turns of the innermost loop are the same
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), is_wild_(seed % 2 == 1) {}

  std::string program(unsigned kernels) {
    text_ = program_library(pick(256) | 1, pick(64));
    for (const std::string_view part : {program_calls_library, program_meetings_library, program_lanes_library})
      text_ += part;
    if (is_wild_) text_.append(program_indirect_calls).append(program_wild_library);
    for (unsigned i = 0; i < 2; ++i) device_function(i, true);
    for (unsigned i = 0; i < 2; ++i) device_function(i, false);
    const std::vector<Callable> functions = callables_;
    for (unsigned i = 0; i < kernels; ++i) {
      callables_ = functions;
      kernel(i);
    }
    return text_;
  }

 private:
  // --- Chance

  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool chance(unsigned percent) { return pick(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[pick(static_cast<unsigned>(list.size()))];
  }
  std::string any(std::initializer_list<const char*> list) { return one_of(list); }
  template <std::size_t n, class... Values>
  std::string any_of(const char* const (&formats)[n], const Values&... values) {
    return fmt::format(fmt::runtime(formats[pick(n)]), values...);
  }

  // --- Text

  void line(const Place& at, const std::string& words) {
    text_.append(static_cast<std::size_t>(2 * (at.depth + 1)), ' ').append(words).append("\n");
  }

  // --- Variables

  /// Those whose name means them here, by a predicate.
  template <class Wanted>
  std::vector<const Variable*> visible(Wanted&& wanted) const {
    std::vector<const Variable*> found;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const auto hides = [&](const Variable& later) { return later.name == variables_[i].name; };
      if (std::any_of(variables_.begin() + static_cast<long>(i) + 1, variables_.end(), hides)) continue;
      if (wanted(variables_[i])) found.push_back(&variables_[i]);
    }
    return found;
  }
  /// A variable that may be written at a place, whose value is one of `most` at least. Null if there is none.
  const Variable* writable(const Place& at, Level least = Level::block) {
    const auto found = visible([&](const Variable& v) {
      return v.writable && v.level >= std::max(at.level, least) && v.type != Type::pair && v.type != Type::array;
    });
    return found.empty() ? nullptr : found[pick(static_cast<unsigned>(found.size()))];
  }
  /// A name for a new variable that `initializer` does not use. Often one that hides another.
  std::string new_name(const std::string& initializer, std::size_t scope) {
    static constexpr const char* names[] = {"x", "y", "t", "lane", "block", "mask", "row", "value", "i", "acc", "T"};
    std::string name = names[pick(std::size(names))];
    const bool taken = std::any_of(variables_.begin() + static_cast<long>(scope), variables_.end(),
                                   [&](const Variable& v) { return v.name == name; });
    if (taken || initializer.find(name) != std::string::npos || chance(40)) name += std::to_string(++names_);
    return name;
  }

  // --- Expressions: of type unsigned, in parentheses or a primary; the same for all threads of a level `most`

  std::string read(const Variable& v) {
    switch (v.type) {
      case Type::u32: return v.name;
      case Type::i32: return fmt::format("unsigned({})", v.name);
      case Type::u64: return fmt::format("unsigned({0} ^ ({0} >> 32))", v.name);
      case Type::u16:
      case Type::u8:
      case Type::boolean: return chance(50) ? fmt::format("unsigned({})", v.name) : fmt::format("(0U + {})", v.name);
      case Type::pair: return v.name + any({".first", ".second"});
      case Type::array: return fmt::format("{}[{}]", v.name, pick(4));
      case Type::converted: return fmt::format("static_cast<unsigned>({})", v.name);
    }
    return "0U";
  }

  std::string leaf(Level most) {
    const auto found = visible([&](const Variable& v) { return v.level <= most; });
    if (!found.empty() && chance(65)) return read(*found[pick(static_cast<unsigned>(found.size()))]);
    if (most == Level::thread && chance(50)) {
      return any({"threadIdx.x", "rank()", "(threadIdx.y * 7U + threadIdx.x)", "b::column()", "Block::thread_rank()",
                  "::lane()", "(origin + 3U)", "unsigned(lane_t(2))", "unsigned(Ticks::now)", "LANE"});
    }
    if (most >= Level::warp && chance(20)) return "(rank() / 32U)";
    if (in_kernel_ && chance(10)) return any({"config.first", "fold64(config.second)", "unsigned(config.parts[1])"});
    if (chance(40))
      return any({"blockIdx.x", "blockDim.x", "n", "(0U + column)", "static_cast<unsigned>(a::Axis::column)", "WEIGHTS"});
    return fmt::format("{}U", one_of({0U, 1U, 2U, 3U, 5U, 31U, 32U, 77U, 255U, 65537U, 0x9e3779b9U, pick(1000)}));
  }

  std::string value(Level most, int depth = 3) {
    if (depth <= 0 || chance(20)) return leaf(most);
    const auto operand = [&] { return value(most, depth - 1); };
    switch (pick(28)) {
      case 0: return fmt::format("({} + {})", operand(), operand());
      case 1: return fmt::format("({} - {})", operand(), operand());
      case 2: return fmt::format("({} * {})", operand(), operand());
      case 3: return fmt::format("({} ^ {})", operand(), operand());
      case 4: return fmt::format("({} {} ({} & 31U))", operand(), any({"<<", ">>"}), operand());
      case 5: return fmt::format("({} {} ({} | 1U))", operand(), any({"/", "%"}), operand());
      case 6: return fmt::format("({} ? {} : {})", condition(most, depth - 1), operand(), operand());
      case 7: return fmt::format("in[{} & 255U]", operand());
      case 8: return fmt::format("unsigned({})", condition(most, depth - 1));
      case 9: return fmt::format("~{}", operand());
      case 10: return fmt::format("static_cast<unsigned>(int({}) >> {})", operand(), pick(31));
      case 11: return fmt::format("mix{}({}, {})", any({"", "<unsigned>", "<unsigned, 3>"}), operand(), operand());
      case 12: return fmt::format("sum({}, {}, {})", operand(), operand(), operand());
      case 13:
        return fmt::format(
            "{}({})",
            most == Level::thread && chance(30) ? "apply<a::column_of>" : any({"apply<twice>", "::twice", "(twice)"}),
            operand());
      case 14: return fmt::format("call([&](unsigned q) {{ return q * 5U + {}; }}, {})", leaf(most), operand());
      case 15:
        return fmt::format("kind({}({}))", any({"int", "unsigned", "(unsigned long long)", "(unsigned char)"}), operand());
      case 16: return fmt::format("unsigned(Wide({}) + {})", operand(), operand());
      case 17: return fmt::format("power<{}>({})", pick(5), operand());
      case 18: return fmt::format("TABLE[{} & 7U]", operand());
      case 19: return fmt::format("unsigned(__popc({}))", operand());
      case 20:
        if (most != Level::thread || !is_wild_) return operand();
        if (chance(20)) return fmt::format("through_volatile({})", operand());
        return fmt::format("{}({} & 3U, {})", any({"down", "shape_of"}), operand(), operand());
      case 21:
      case 22:
      case 23:
      case 24:
      case 25: return any_of(program_calls, operand(), operand(), operand());
      case 26: return fmt::format("chosen({}, {})", operand(), operand());
      default:
        if (most != Level::thread || callables_.empty()) return operand();
        for (const Callable& c : callables_) {
          if (c.needs == Level::thread && chance(40)) return called(c, most, depth - 1);
        }
        return operand();
    }
  }
  std::string called(const Callable& c, Level most, int depth) {
    return fmt::format(fmt::runtime(c.call), value(Level::block, depth), value(most, depth));
  }

  std::string condition(Level most, int depth = 2) {
    const auto operand = [&] { return value(most, depth - 1); };
    switch (pick(6)) {
      case 0: return fmt::format("({} < {})", operand(), operand());
      case 1: return fmt::format("(({} & {}U) != 0)", operand(), 1 + pick(15));
      case 2:
        return fmt::format("({} {} {})", condition_or_leaf(most, depth), any({"&&", "||"}), condition_or_leaf(most, depth));
      case 3: return fmt::format("!({} % {}U)", operand(), 2 + pick(5));
      case 4: return fmt::format("(({} & 31U) {} {}U)", operand(), any({"<", ">=", "==", "!="}), pick(32));
      default: return fmt::format("(int({}) < int({}))", operand(), operand());
    }
  }
  std::string condition_or_leaf(Level most, int depth) {
    return depth > 0 ? condition(most, depth - 1) : fmt::format("({} > 3U)", leaf(most));
  }

  // --- Statements

  void declare(const Place& at) {
    Level level = at.level;
    if (level != Level::thread && chance(50)) level = Level::thread;
    if (level == Level::block && chance(20)) level = Level::warp;
    const std::string e = value(level), other = value(level, 1);
    const std::string name = new_name(e + other, scope_);
    Variable v{name, Type::u32, level, true};
    const auto plain = [&](Type type, const char* spelled) {
      v.type = type;
      line(at, fmt::format("{} {} = {};", spelled, name, e));
    };
    switch (pick(16)) {
      case 0: plain(Type::i32, "int"); break;
      case 1: plain(Type::u64, "unsigned long long"); break;
      case 2: plain(Type::u16, "unsigned short"); break;
      case 3: plain(Type::u8, "unsigned char"); break;
      case 4: plain(Type::boolean, "bool"); break;
      case 5: line(at, fmt::format("auto {} = {};", name, e)); break;
      case 6: line(at, fmt::format("decltype(0U) {} = {};", name, e)); break;
      case 7: line(at, fmt::format("[[maybe_unused]] a::Number {}{{{}}};", name, e)); break;
      case 8:
        v.type = Type::pair;
        v.writable = false;
        line(at, fmt::format("Pair {}{{{}, {}}};", name, e, other));
        break;
      case 9: {
        // Lambdas of C++17 do not capture structured bindings.
        v.name = fmt::format("pair{}", ++names_);
        line(at, fmt::format("auto [{0}_1, {0}_2] = Pair{{{1}, {2}}};", v.name, e, other));
        line(at, fmt::format("unsigned {0} = {0}_1 ^ {0}_2;", v.name));
        break;
      }
      case 10:
        v.type = Type::array;
        v.writable = false;
        line(at, fmt::format("unsigned {}[4] = {{{}, {}, 3U}};", name, e, other));
        line(at, fmt::format("for (unsigned q = 1; q < 4; ++q) {0}[q] += {0}[q - 1] * {1}U;", name, 1 + pick(9)));
        break;
      case 11:
        v.type = Type::converted;
        line(at, fmt::format("Wide {} = {};", name, e));
        break;
      case 12:
        v.writable = false;
        line(at, fmt::format("const unsigned {}(+{});", name, e));
        break;
      default: line(at, fmt::format("unsigned {} = {};", name, e));
    }
    variables_.push_back(v);
  }

  /// Another name for a variable of type unsigned, in one of the ways that C++ has.
  void declare_reference(const Place& at) {
    const auto found = visible([&](const Variable& v) { return v.type == Type::u32 && v.writable && !v.is_reference; });
    if (found.empty()) return declare(at);
    const Variable of = *found[pick(static_cast<unsigned>(found.size()))];
    const std::string name = fmt::format("{}{}", any({"r", "ref", "p", "h"}), ++names_);
    Variable v{name, Type::u32, of.level, true, true};
    switch (pick(8)) {
      case 0: line(at, fmt::format("unsigned& {} = {};", name, of.name)); break;
      case 1: line(at, fmt::format("a::Ref {} = {};", name, of.name)); break;
      case 2: line(at, fmt::format("Id<unsigned&>::type {} = {};", name, of.name)); break;
      case 3: line(at, fmt::format("decltype(({0})) {1} = {0};", of.name, name)); break;
      case 4: line(at, fmt::format("auto&& {} = {};", name, of.name)); break;
      case 5:
        line(at, fmt::format("unsigned* const {} = &{};", name, of.name));
        v.name = fmt::format("(*{})", name);
        break;
      case 6:
        line(at, fmt::format("Holder<unsigned&> {}{{{}}};", name, of.name));
        v.name = name + ".held";
        break;
      default: line(at, fmt::format("using R{0} = unsigned&; R{0} {1} = {2};", names_, name, of.name));
    }
    variables_.push_back(v);
  }

  void assign(const Place& at) {
    const Variable* const v = writable(at);
    if (v == nullptr) return declare(at);
    const Level level = v->level;
    const std::string e = value(level);
    const std::string n = v->name;
    if (v->type == Type::u32) {
      switch (pick(12)) {
        case 0: return line(at, fmt::format("{} += {};", n, e));
        case 1: return line(at, fmt::format("{} ^= {};", n, e));
        case 2: return line(at, fmt::format("++{};", n));
        case 3: return line(at, fmt::format("{}--;", n));
        case 4: return line(at, fmt::format("set<unsigned&>({}, {});", n, e));
        case 5: return line(at, fmt::format("store({}, {});", n, e));
        case 6: return line(at, fmt::format("a::put({}, {});", n, e));
        case 7: return line(at, fmt::format("*address_of({}) = {};", n, e));
        case 8: return line(at, fmt::format("[&] {{ {} = {}; }}();", n, e));
        case 9: return line(at, fmt::format("exchange_values({}, Pair{{{}, {}}});", n, e, value(level)));
        case 10: return line(at, fmt::format("(void)({} && (store({}, {}), true));", condition(level), n, e));
        default: break;
      }
    }
    line(at, fmt::format("{} = {};", n, e));
  }

  /// Statements in braces, where the place is `inner`.
  void body(const Place& inner, unsigned most = 4) {
    const std::size_t outer = variables_.size(), outer_scope = scope_, lambdas = callables_.size();
    scope_ = outer;
    for (unsigned i = 1 + pick(most); i > 0; --i) statement(inner);
    variables_.resize(outer);
    callables_.resize(lambdas);
    scope_ = outer_scope;
  }
  static Place inside(const Place& at, Level level) {
    Place inner = at;
    ++inner.depth;
    if (level > inner.level) inner.level = level;
    if (level == Level::thread) inner.mask.clear();
    return inner;
  }
  Level level_of_condition(const Place& at) {
    return std::max(at.level, one_of({Level::block, Level::warp, Level::thread, Level::thread}));
  }

  void if_else(const Place& at) {
    const Level level = level_of_condition(at);
    const std::string c = condition(level);
    const std::string likely = any({"", "", "", " [[likely]]", " [[unlikely]]"});
    // The lanes that come are counted before the branch, so that they may meet in it.
    if (level == Level::thread && !at.mask.empty() && chance(60)) {
      const unsigned number = ++names_;
      line(at, fmt::format("const bool go{} = {};", number, c));
      line(at,
           fmt::format("const unsigned here{0} = __ballot_sync({1}, go{0}), else{0} = {1} & ~here{0};", number, at.mask));
      Place inner = inside(at, level);
      inner.mask = fmt::format("here{}", number);
      line(at, fmt::format("if (go{}){} {{", number, likely));
      body(inner);
      inner.mask = fmt::format("else{}", number);
      line(at, "} else {");
      body(inner);
      return line(at, "}");
    }
    const Place inner = inside(at, level);
    line(at, fmt::format("{}({}){} {{", any({"if ", "IF", "if "}), c, likely));
    body(inner);
    if (chance(50)) {
      line(at, "} else {");
      body(inner);
    }
    line(at, "}");
  }

  void loop(const Place& at) {
    const Level level = level_of_condition(at);
    const std::string turns = fmt::format("({} & 3U)", value(level, 2)), counter = fmt::format("k{}", ++names_);
    Place inner = inside(at, level);
    inner.in_loop = true;
    inner.in_switch = false;
    inner.loop = inner.level;
    inner.in_divergent_loop |= level == Level::thread;
    if (level != Level::thread && chance(10)) {
      inner.loop = inner.level = Level::thread;
      inner.mask.clear();
      inner.in_divergent_loop = true;
    }
    const Variable of{counter, Type::u32, inner.level, false};
    switch (pick(4)) {
      case 0: line(at, fmt::format("for (unsigned {0} = 0, end = {1}; {0} <= end; ++{0}) {{", counter, turns)); break;
      case 1: line(at, fmt::format("for (unsigned {0} = {1} + 1; {0}-- > 0;) {{", counter, turns)); break;
      case 2:
        line(at, fmt::format("unsigned {} = {};", counter, turns));
        line(at, fmt::format("while ({}++ < 4U) {{", counter));
        break;
      default: {
        line(at, fmt::format("unsigned {} = {};", counter, turns));
        line(at, "do {");
        variables_.push_back(of);
        body(inner);
        variables_.pop_back();
        return line(at, fmt::format("}} while (++{} < 3U);", counter));
      }
    }
    variables_.push_back(of);
    body(inner);
    variables_.pop_back();
    line(at, "}");
  }

  /// A loop that lanes leave one by one, while those that are left still meet.
  void leaving_loop(const Place& at) {
    if (at.mask.empty() || !is_wild_) return loop(at);
    const unsigned number = ++names_;
    line(at, fmt::format("for (unsigned k{0} = 0, m{0} = {1};; ++k{0}) {{", number, at.mask));
    Place inner = inside(at, Level::thread);
    inner.in_loop = inner.in_switch = false;  // nobody else leaves it, or begins another turn
    inner.mask = fmt::format("m{}", number);
    line(inner, fmt::format("const bool stays = k{} < ({} & 3U);", number, value(Level::thread, 2)));
    line(inner, fmt::format("m{0} = __ballot_sync(m{0}, stays);", number));
    line(inner, "if (!stays) break;");
    body(inner);
    line(at, "}");
  }

  void switch_case(const Place& at) {
    const Level level = level_of_condition(at);
    Place inner = inside(at, level);
    inner.in_switch = true;
    line(at, fmt::format("switch ({} & 3U) {{", value(level, 2)));
    for (const char* label : {"case 0:", "case 2:", "default:"}) {
      line(inner, fmt::format("{} {{", label));
      Place block = inner;
      ++block.depth;
      body(block, 2);
      line(inner, fmt::format("}} {}", chance(60)                              ? "break;"
                                       : std::string_view(label) == "default:" ? ""
                                                                               : "[[fallthrough]];"));
    }
    line(at, "}");
  }

  void jump(const Place& at) {
    if (!at.in_loop || at.in_switch || at.level > at.loop) return if_else(at);
    // A loop whose turns differ between threads: nobody may count on who comes after this.
    if (at.loop == Level::thread && !at.mask.empty()) return if_else(at);
    line(at, fmt::format("if ({}) {};", condition(at.loop), any({"break", "continue"})));
  }

  void go_to(const Place& at) {
    const unsigned number = ++names_;
    const Level level = level_of_condition(at);
    line(at, fmt::format("if ({}) goto skip{};", condition(level), number));
    line(at, "{");
    Place inner = inside(at, level);
    inner.in_loop = inner.in_switch = false;
    body(inner, 2);
    line(at, fmt::format("}} skip{}:;", number));
  }

  void lambda(const Place& at) {
    const unsigned number = ++names_;
    const Level needs = at.level == Level::block && chance(40) ? Level::block : Level::thread;
    line(at, fmt::format("auto f{} = [&](unsigned u, unsigned v) {{", number));
    const std::size_t outer = variables_.size();
    // What it writes is of threads, since they call it wherever they are.
    std::vector<bool> was;
    for (Variable& v : variables_) {
      was.push_back(v.writable);
      if (needs == Level::thread) v.writable = false;
    }
    variables_.push_back({"u", Type::u32, needs == Level::block ? Level::block : Level::thread, true});
    variables_.push_back({"v", Type::u32, Level::thread, true});
    Place inner;
    inner.level = needs;
    inner.mask = needs == Level::block ? "all" : "";
    inner.depth = at.depth + 1;
    const std::vector<Callable> before = callables_;
    if (needs == Level::thread) std::erase_if(callables_, [](const Callable& c) { return c.needs != Level::thread; });
    line(inner, "{");
    Place block = inner;
    ++block.depth;
    body(block, 3);
    line(inner, "}");
    callables_ = before;
    line(inner, fmt::format("return {};", value(Level::thread)));
    variables_.resize(outer);
    for (std::size_t i = 0; i < outer; ++i) variables_[i].writable = was[i];
    line(at, "};");
    callables_.push_back({fmt::format("f{}({{}}, {{}})", number), needs});
  }

  /// All threads of the block come.
  void meet(const Place& at) {
    const std::string number = std::to_string(++names_), v = value(Level::thread, 2);
    const auto declares = [&](Level level, const std::string& e) {
      line(at, fmt::format("unsigned m{} = {};", number, e));
      variables_.push_back({"m" + number, Type::u32, level, true});
    };
    switch (pick(15)) {
      case 0: return line(at, any({"__syncthreads();", "MEET();", "a::meet();"}));
      case 1: return declares(Level::thread, fmt::format("neighbour(s, {}, {}U)", v, pick(40)));
      case 2: return declares(Level::block, fmt::format("block_sum<{}>(s, {})", any({"Add", "Xor"}), v));
      case 3:
        return declares(Level::block, fmt::format("unsigned(__syncthreads_{}({}))", any({"count", "or", "and"}),
                                                  condition(Level::thread)));
      case 4: return declares(Level::thread, fmt::format("prefix(s, {})", v));
      case 5: return declares(Level::thread, fmt::format("Tile{{s}}.{}({}, {}U)", any({"turn", "operator()"}), v, pick(9)));
      case 6: return declares(Level::block, fmt::format("reduce_by<{}>(s, {})", any({"add", "a::larger"}), v));
      case 7: return declares(Level::thread, fmt::format("Meeting(s, {}).result", v));
      case 8: {
        line(at, "__syncthreads();");
        line(at, fmt::format("s[rank()] = {};", v));
        line(at, "__syncthreads();");
        declares(Level::thread, fmt::format("s[(rank() * {}U + {}U) % THREADS]", 1 + 2 * pick(4), pick(64)));
        return line(at, "__syncthreads();");
      }
      case 9: {
        const std::string e = condition(Level::block);
        return declares(Level::thread, fmt::format("({} ? neighbour(s, {}, 1U) : {})", e, v, value(Level::thread, 1)));
      }
      case 10:
      case 11: return declares(Level::thread, any_of(program_meetings, v, value(Level::block, 1)));
      case 12: return declares(Level::block, any_of(program_votes, v));
      default:
        for (const Callable& c : callables_) {
          if (c.needs == Level::block && chance(50)) return declares(Level::thread, called(c, Level::thread, 1));
        }
        return line(at, "__syncthreads();");
    }
  }

  /// The lanes in `at.mask` come.
  void meet_lanes(const Place& at) {
    const std::string number = std::to_string(++names_), v = value(Level::thread, 2), m = at.mask;
    const Level whole = at.level <= Level::warp ? Level::warp : Level::thread;
    const auto declares = [&](Level level, const std::string& e) {
      line(at, fmt::format("unsigned w{} = {};", number, e));
      variables_.push_back({"w" + number, Type::u32, level, true});
    };
    switch (pick(12)) {
      case 0: return declares(whole, fmt::format("__ballot_sync({}, {})", m, condition(Level::thread)));
      case 1:
        return declares(whole, fmt::format("unsigned(__{}_sync({}, {}))", any({"any", "all"}), m, condition(Level::thread)));
      case 2: return declares(whole, fmt::format("__shfl_sync({0}, {1}, __ffs({0}) - 1)", m, v));
      case 3:
        return declares(Level::thread, fmt::format("__shfl_sync({0}, {1}, nth({0}, {2}))", m, v, value(Level::thread, 1)));
      case 4: return declares(whole, fmt::format("warp_sum({}, {})", m, v));
      case 5:
        return declares(Level::thread, fmt::format("({0} == ~0U ? __shfl_{1}_sync({0}, {2}, {3}) : {4})", m,
                                                   any({"xor", "down", "up"}), v, 1 + pick(16), value(Level::thread, 1)));
      case 6:
        return declares(Level::thread, fmt::format("({0} == ~0U ? __shfl_{1}_sync({0}, {2}, {3}, {4}) : 9U)", m,
                                                   any({"xor", "down", "up"}), v, 1 + pick(3), one_of({4, 8, 16})));
      case 7: return declares(Level::thread, fmt::format("__popc({} & ((1U << (rank() % 32U)) - 1U))", m));
      case 8: return declares(whole, any_of(program_lane_calls, m, v));
      case 9: return declares(Level::thread, any_of(program_lane_calls_apart, m, v));
      default: return line(at, fmt::format("__syncwarp({});", m));
    }
  }

  void atomic(const Place& at) {
    if (is_wild_ && chance(15)) {
      return line(at, fmt::format("add_by_swaps(&sums[{} & 15U], {});", value(Level::thread, 1), value(Level::thread, 2)));
    }
    // One operation for each range of elements, or their order would show.
    const auto [name, first] = one_of<std::pair<const char*, unsigned>>(
        {{"atomicAdd", 0U}, {"atomicXor", 16U}, {"atomicMax", 32U}, {"atomicOr", 48U}});
    const std::string where = fmt::format("sums[{}U + ({} & 15U)]", first, value(Level::thread, 1));
    line(at, fmt::format("{}(&{}, {});", name, where, value(Level::thread, 2)));
  }

  void statement(const Place& at) {
    const bool deep = at.depth > 4 || text_.size() - begin_ > 6000;
    if (at.level == Level::block && chance(22)) return meet(at);
    if (!at.mask.empty() && chance(16)) return meet_lanes(at);
    switch (pick(deep ? 6 : 14)) {
      case 0:
      case 1: return declare(at);
      case 2: return declare_reference(at);
      case 3:
      case 4: return assign(at);
      case 5: return at.in_loop ? jump(at) : in_kernel_ && (is_wild_ || !at.in_divergent_loop) ? atomic(at) : assign(at);
      case 6:
      case 7: return if_else(at);
      case 8:
      case 9: return loop(at);
      case 10: return leaving_loop(at);
      case 11: return switch_case(at);
      case 12: return go_to(at);
      default: return lambda(at);
    }
  }

  // --- Functions

  void device_function(unsigned number, bool waits) {
    begin_ = text_.size() + 3000;
    variables_ = {{"u", Type::u32, waits ? Level::block : Level::thread, true}, {"v", Type::u32, Level::thread, true}};
    scope_ = 0;
    in_kernel_ = false;
    Place at;
    if (!waits) at = {Level::thread, ""};
    const std::string name = fmt::format("{}{}", waits ? "waits" : "plain", number);
    text_ +=
        fmt::format("{} __device__ unsigned {}(unsigned* s, const unsigned* in, unsigned n, unsigned u, unsigned v) {{\n",
                    any({"", "static", "inline", "__noinline__", "__forceinline__"}), name);
    if (waits) line(at, "const unsigned all = lanes_here();");
    line(at, "(void)s, (void)in, (void)n;");
    for (unsigned i = 2 + pick(3); i > 0; --i) statement(at);
    line(at, fmt::format("return {};", value(Level::thread)));
    text_ += "}\n";
    callables_.push_back({name + "(s, in, n, {}, {})", waits ? Level::block : Level::thread});
    std::erase_if(callables_, [](const Callable& c) { return c.call.starts_with("f"); });
  }

  void kernel(unsigned number) {
    begin_ = text_.size();
    variables_.clear();
    scope_ = 0;
    in_kernel_ = true;
    const Place at;
    text_ += fmt::format(
        "extern \"C\" __global__ void k{}(unsigned* out, unsigned* sums, const unsigned* in, unsigned n, Config config) "
        "{{\n",
        number);
    line(at, any({"__shared__ unsigned s[256];", "extern __shared__ unsigned s[];"}));
    line(at, "const unsigned all = lanes_here();");
    line(at, "(void)all, (void)sums;");
    for (unsigned i = 4 + pick(6); i > 0; --i) statement(at);
    std::string result = value(Level::thread);
    for (const Variable* v : visible([](const Variable&) { return true; })) result += fmt::format(" * 31U + {}", read(*v));
    line(at, fmt::format("out[(blockIdx.y * gridDim.x + blockIdx.x) * THREADS + rank()] = {};", result));
    text_ += "}\n";
  }

  std::mt19937_64 random_;
  const bool is_wild_;
  std::string text_;
  std::vector<Variable> variables_;
  std::vector<Callable> callables_;
  std::size_t scope_ = 0;  ///< where the variables of the innermost braces begin
  std::size_t begin_ = 0;  ///< where the text of the function begins
  unsigned names_ = 0;
  bool in_kernel_ = false;  ///< whether `sums` and `config` are there
};

}  // namespace

std::string random_program(std::uint64_t seed, unsigned kernels) { return Generator(seed).program(kernels); }

}  // namespace weir::test
