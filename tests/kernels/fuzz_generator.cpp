// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/fuzz_generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace weir::test {
namespace {

// How far threads agree on being where they are.
enum class Level { block, warp, thread };

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::string kernel(const std::string& name) {
    text_ = head(name);
    line("__shared__ unsigned s[128], t[8];");
    line("__shared__ volatile unsigned z[128];");
    line("struct three { unsigned a, b[2]; };");
    line("const unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32;");
    line("unsigned* const mine = out + blockIdx.x * blockDim.x + tid;");
    line("unsigned u0 = n, u1 = blockIdx.x + 3, w0 = warp * 7 + 1, w1 = warp ^ n;");
    line("unsigned v0 = tid, v1 = tid * n + 5, v2 = lane, a[3] = {tid, 1, n};");
    line("s[tid] = tid; if (tid < 8) t[tid] = 0; *mine = 0;");
    line("for (unsigned i = tid; i < 128; i += blockDim.x) z[i] = i * 3;");
    line("__syncthreads();");
    statements(Level::block, 0, 5, false);
    line("*mine = v0 + 3 * v1 + 5 * v2 + 7 * a[0] + 11 * a[1] + 13 * a[2] + 17 * u0 + 19 * u1 + 23 * w0 + 29 * w1;");
    line("__syncthreads();");
    line("*mine += s[tid] + t[tid % 8] + z[tid];");
    return text_ + "}\n";
  }

  // Threads do not meet. What `elements` says of a thread's number `own` are the elements of out, x and w that it owns.
  FuzzKernel kernel_without_meetings(const std::string& name) {
    const Share share = static_cast<Share>(below(3));
    text_ = head(name);
    const std::string column =
        chance(50) ? "blockIdx.x * blockDim.x + threadIdx.x" : "threadIdx.x + blockDim.x * blockIdx.x";
    const std::string width = chance(50) ? "gridDim.x * blockDim.x" : "blockDim.x * gridDim.x";
    if (chance(30)) line(fmt::format("const {} base = blockIdx.x * blockDim.x;", integer()));
    const bool has_base = text_.find(" base =") != text_.npos;
    line(fmt::format("const {} col = {};", integer(), has_base ? "base + threadIdx.x" : cast(column)));
    line(fmt::format("const {} width = {};", integer(), cast(width)));
    if (share == Share::grid) {
      line(fmt::format("const {} all = width, own = col;", "unsigned"));
      classic_ = {column, width};
    } else if (share == Share::block) {
      line(fmt::format("const {} first = blockIdx.x * blockDim.x * 8, own = first + threadIdx.x;", integer(true)));
    } else {
      line(fmt::format("const {} row = blockIdx.y * blockDim.y + threadIdx.y;", integer()));
      line(fmt::format("const {} height = {};", integer(), cast("gridDim.y * blockDim.y")));
      line(fmt::format("const {} pitch = 4 * width, own = row * pitch + col;", integer(true)));
    }
    share_ = share;
    elements_ = chance(40) ? 2 + below(2) : 1;
    line(fmt::format("const unsigned m = n % {}u;", below(12) + 2));
    for (const char* sum : {"v0", "v1", "v2", "v3"}) {
      line(fmt::format("{} {} = {};",
                       pick({"unsigned", "int", "long long", "size_t", "unsigned char", "short", "float", "double"}), sum,
                       below(9)));
    }
    own_ = {"own"};
    if (chance(60)) leave(false);
    plain_statements(0, 5);
    for (const char* sum : {"v0", "v1", "v2", "v3"}) line(fmt::format("{} += (unsigned){};", element("out"), sum));
    return {text_ + "}\n", false, share == Share::rows};
  }

 private:
  // How elements are dealt out: over the grid, within a block's part, or by rows and columns.
  enum class Share { grid, block, rows };

  static std::string head(const std::string& name) {
    return fmt::format(
        "extern \"C\" __global__ void {}(unsigned* out, unsigned n, unsigned* x, const unsigned* y, const unsigned* w) {{\n",
        name);
  }

  std::string integer(bool wide = false) {
    return wide || chance(70) ? pick({"int", "unsigned", "long long", "size_t", "int", "unsigned int"}) : "auto";
  }
  std::string cast(const std::string& value) {
    return chance(60) ? value
                      : fmt::format("{}({})", pick({"(int)", "(size_t)", "(unsigned)", "int", "(long long)"}), value);
  }
  // What this thread alone reads and writes.
  std::string element(const std::string& array) {
    const std::string& own = own_[below(static_cast<unsigned>(own_.size()))];
    if (elements_ == 1) return fmt::format("{}[{}]", array, own);
    const unsigned which = below(elements_);
    return fmt::format("{}[{} * ({}) + {}]", array, elements_, own, which);
  }
  // All elements that belong together, one behind the other: compilers may read and write them at once.
  void all_elements() {
    const std::string own = own_.back(), to = pick({"x", "out"});
    const auto other = [&] {
      return fmt::format("{}[{} * ({}) + {}]", pick({"x", "out", "w"}), elements_, own, below(elements_));
    };
    for (unsigned i = 0; i < elements_; ++i)
      line(fmt::format("{}[{} * ({}) + {}] = {} {} {};", to, elements_, own, i, other(), pick({"+", "^", "* 3u +"}),
                       other()));
  }
  // What nobody writes.
  std::string given() {
    const std::string k = turns_.empty() ? "m" : turns_[below(static_cast<unsigned>(turns_.size()))];
    const std::string own = own_[below(static_cast<unsigned>(own_.size()))];
    switch (below(8)) {
      case 0: return fmt::format("y[{} * width + col]", k);
      case 1: return fmt::format("y[{}]", k);
      case 2: return fmt::format("y[{} + col{}]", k, pick({"", " + 1"}));
      case 3: return fmt::format("y[{}]", own);
      case 4: return fmt::format("y[y[{}] + col]", k);
      case 5: return fmt::format("y[y[{}]]", own);
      case 6: return fmt::format("y[{} * 24 + {}]", share_ == Share::rows ? "row" : "blockIdx.x", k);
      default: return fmt::format("y[{} % 97u]", plain(2));
    }
  }
  std::string plain(int depth = 0) {
    if (depth > 1 || chance(30)) {
      switch (below(8)) {
        case 0: return std::to_string(below(50)) + "u";
        case 1: return fmt::format("(unsigned){}", pick({"col", "own", "n", "m", "threadIdx.x", "blockIdx.x"}));
        case 2: return turns_.empty() ? "n" : fmt::format("(unsigned){}", turns_.back());
        case 3:
        case 4: return element(pick({"x", "out", "w"}));
        case 5:
          if (depth < 3) return given();
          [[fallthrough]];
        default: return fmt::format("(unsigned){}", pick({"v0", "v1", "v2", "v3"}));
      }
    }
    const std::string a = plain(depth + 1), b = plain(depth + 1);
    switch (below(7)) {
      case 0:
      case 1: return fmt::format("({} + {})", a, b);
      case 2: return fmt::format("({} * {})", a, b);
      case 3: return fmt::format("({} ^ {})", a, b);
      case 4: return fmt::format("({} > {} ? {} : {})", a, b, b, a);
      case 5: return fmt::format("min({}, {})", a, b);
      default: return fmt::format("({} >> {})", a, below(5));
    }
  }
  std::string plain_condition() {
    switch (below(4)) {
      case 0: return fmt::format("{} % {}u == {}u", plain(1), below(4) + 2, below(2));
      case 1: return fmt::format("col {} {}u || m == 1", pick({"<", ">="}), below(40));
      case 2: return fmt::format("m > {}u", below(6));
      default: return fmt::format("{} > {}u", plain(1), below(64));
    }
  }
  void leave(bool returns_value) {
    const std::string end = returns_value || chance(30) ? fmt::format("{{ {} = 3; return; }}", element("out")) : "return;";
    const std::string guard = share_ == Share::rows ? "row >= m + 2 || col >= n / 3" : pick({"own >= n", "col > n / 3"});
    line(fmt::format("if ({}) {}", chance(80) ? guard : plain_condition(), end));
  }

  void plain_statements(int depth, unsigned most) {
    const auto known = own_;
    const unsigned count = 1 + below(most);
    for (unsigned i = 0; i < count; ++i) plain_statement(depth);
    own_ = known;
  }
  void plain_block(const std::string& head, int depth, const std::string& last = "") {
    line(head + " {");
    ++indent_;
    line("COUNT_STEP;");
    plain_statements(depth + 1, 3);
    if (!last.empty()) line(last);
    --indent_;
    line("}");
  }
  void plain_statement(int depth) {
    const unsigned kind = below(depth > 2 ? 7 : 15);
    if (kind < 2) {  // small numbers, so that sums of floating-point numbers are exact
      return line(fmt::format("{} += {} % 8u;", pick({"v0", "v1", "v2", "v3"}), plain()));
    }
    if (kind < 6) return line(fmt::format("{} {} {};", element(pick({"x", "out"})), pick({"=", "+=", "^="}), plain()));
    if (kind == 6) {
      const int q = ++pairs_;
      line(fmt::format("const unsigned q{} = {};", q, plain()));
      return line(fmt::format("{} = q{} {} {};", element(pick({"x", "out"})), q, pick({"+", "^"}), plain()));
    }
    if (kind < 9) {
      plain_block(fmt::format("if ({})", plain_condition()), depth);
      if (chance(40)) plain_block("else", depth);
      return;
    }
    if (kind < 11) return same_turns(depth);
    if (kind < 14) return owned(depth);
    const std::string j = fmt::format("j{}", ++pairs_);
    if (chance(50)) return leave(true);
    plain_block(fmt::format("for (unsigned {0} = 0; {0} < {1} % 5u; ++{0})", j, plain(1)), depth,
                chance(30) ? fmt::format("if ({}) break;", plain_condition()) : "");
  }

  // All threads take the same turns.
  void same_turns(int depth) {
    const std::string k = fmt::format("k{}", ++pairs_), type = pick({"int", "unsigned", "size_t", "long long", "short"});
    const std::string most = pick({"m", "(int)m", "n % 7", "m + 1", "(unsigned short)m"});
    const std::string step = pick({"++{0}", "{0}++", "{0} += 1", "{0} += 2"});
    const auto known = own_;
    if (share_ == Share::grid) own_.push_back(fmt::format("{} * all + own", k));
    if (share_ == Share::rows) own_.push_back(fmt::format("({} * height + row) * pitch + col", k));
    turns_.push_back(k);
    const std::string last = chance(20) ? fmt::format("if ({}) {};", plain_condition(), pick({"break", "continue"})) : "";
    plain_block(
        fmt::format("for ({1} {0} = {2}; {0} < {3}; {4})", k, type, below(3), most, fmt::format(fmt::runtime(step), k)),
        depth, last);
    turns_.pop_back();
    own_ = known;
  }

  // What a thread owns.
  void owned(int depth) {
    const std::string i = fmt::format("i{}", ++pairs_), type = pick({"int", "unsigned", "size_t", "long long", "auto"});
    std::string first = "col", step = "width", most = depth == 0 ? "n" : "(n % 40)", element = i;
    if (share_ == Share::grid && chance(50)) {
      first = classic_[0];
      step = classic_[1];
    }
    if (share_ == Share::block) {
      first = "threadIdx.x";
      step = "blockDim.x";
      most = fmt::format("min({}, blockDim.x * 8)", most);
      element = fmt::format("first + {}", i);
    }
    std::string row;
    if (share_ == Share::rows) {
      row = fmt::format("r{}", pairs_);
      most = fmt::format("min({}, (unsigned)pitch)", most);
      element = fmt::format("{} * pitch + {}", row, i);
      if (chance(50)) {
        line(
            fmt::format("for ({1} {0} = row; {0} < min(n, 10u); {0} += height) {{", row, pick({"int", "unsigned", "auto"})));
      } else {
        line(fmt::format("{{ const int {} = row;", row));
      }
      ++indent_;
    }
    first = cast(first);
    step = cast(step);
    if (chance(20)) most = fmt::format("(int)({})", most);
    if (type == "auto") first = fmt::format("(unsigned)({})", first);
    const std::string condition = fmt::format(
        fmt::runtime(pick({"{0} < {1}", "{0} < {1}", "{1} > {0}", "{0} < {1} && n > 3", "!({0} >= {1})"})), i, most);
    const std::string add =
        fmt::format(fmt::runtime(pick({"{0} += {1}", "{0} += {1}", "{0} = {0} + {1}", "{0} = {1} + {0}"})), i, step);
    const auto known = own_;
    own_.insert(own_.end(), 2, element);
    const auto jump = [&](bool may_continue) -> std::string {
      if (chance(65)) return "";
      return fmt::format("if ({}) {}", plain_condition(), may_continue && chance(70) ? "continue;" : "break;");
    };
    line("{");
    ++indent_;
    const unsigned form = below(7);
    if (form != 0) line(fmt::format("{} {}{};", type == "auto" ? "unsigned" : type, i, form == 3 ? "" : " = " + first));
    switch (form) {
      case 0:
      case 1:
      case 3:
        line(fmt::format("for ({}; {}; {}) {{",
                         form == 0   ? fmt::format("{} {} = {}", type, i, first)
                         : form == 1 ? ""
                                     : fmt::format("{} = {}", i, first),
                         condition, add));
        break;
      case 4: line(fmt::format("for (int c{0} = {0}; {1}; {0} += {2}, c{0} = {0}) {{", i, condition, step)); break;
      case 5: line(fmt::format("if ({}) do {{", condition)); break;
      default: line(fmt::format("while ({}) {{", condition)); break;
    }
    ++indent_;
    line("COUNT_STEP;");
    if (form == 6) {  // counted on top: the element is that of the turn before
      line(fmt::format("const auto c{} = {}; {};", i, i, add));
      own_ = known;
    }
    if (form == 4 || form == 6) own_.insert(own_.end(), 2, element.substr(0, element.size() - i.size()) + "c" + i);
    const bool straight = chance(40);
    if (!straight) line(jump(form != 2 && form != 5));
    if (straight && elements_ > 1 && chance(60)) {
      for (unsigned times = 1 + below(2); times > 0; --times) all_elements();
    } else {
      plain_statements(straight ? 3 : depth + 1, 4);
    }
    if (form == 2 || form == 5) line(add + ";");
    --indent_;
    line(form == 5 ? fmt::format("}} while ({});", condition) : "}");
    if (form != 0 && chance(20)) line(fmt::format("v0 += (unsigned){} % 8u;", i));
    --indent_;
    line("}");
    own_ = known;
    if (row.empty()) return;
    --indent_;
    line("}");
  }

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool chance(unsigned percent) { return below(100) < percent; }
  void line(const std::string& text) { text_ += std::string(static_cast<std::size_t>(indent_) * 2 + 2, ' ') + text + "\n"; }
  std::string pick(std::initializer_list<const char*> words) {
    return *(words.begin() + below(static_cast<unsigned>(words.size())));
  }

  std::string variable(Level level) {
    switch (level) {
      case Level::block: return pick({"u0", "u1"});
      case Level::warp: return pick({"w0", "w1", "w0", "w1", "u0"});
      case Level::thread: break;
    }
    return pick({"v0", "v1", "v2", "a[0]", "a[1]", "a[v2 % 3]", "v0", "w0", "u1"});
  }
  std::string target(Level level) {
    return level == Level::block  ? pick({"u0", "u1"})
           : level == Level::warp ? pick({"w0", "w1"})
                                  : pick({"v0", "v1", "v2", "a[0]", "a[1]", "a[v1 % 3]"});
  }
  // A value on which threads agree as far as `level` says.
  std::string value(Level level, int depth = 0) {
    if (depth > 1 || chance(30)) {
      if (chance(30)) return std::to_string(below(50)) + "u";
      if (chance(20) && level == Level::block && loop_ > 0) return fmt::format("i{}", below(static_cast<unsigned>(loop_)));
      if (chance(15))
        return level == Level::thread ? "tid" : level == Level::warp ? "warp" : pick({"n", "blockDim.x", "blockIdx.x"});
      return variable(level);
    }
    const std::string a = value(level, depth + 1), b = value(level, depth + 1);
    switch (below(8)) {
      case 0: return fmt::format("({} + {})", a, b);
      case 1: return fmt::format("({} - {})", a, b);
      case 2: return fmt::format("({} * {})", a, b);
      case 3: return fmt::format("({} ^ {})", a, b);
      case 4: return fmt::format("({} % {}u)", a, below(20) + 1);
      case 5: return fmt::format("({} > {} ? {} : {})", a, b, b, a);
      case 6: return fmt::format("min({}, {})", a, b);
      default: return fmt::format("({} >> {})", a, below(5));
    }
  }
  std::string condition(Level level) {
    switch (below(4)) {
      case 0: return fmt::format("{} % {}u == {}u", value(level), below(4) + 2, below(2));
      case 1: return fmt::format("({} & {}u) != 0", value(level), 1U << below(5));
      case 2: return fmt::format("{} % 7 < {} % 9", value(level), value(level));
      default: return fmt::format("{} > {}u", value(level), below(64));
    }
  }

  // `deaf`: in a loop that threads leave by themselves, so that nobody may wait for anybody.
  void statements(Level level, int depth, unsigned most, bool deaf) {
    const unsigned count = 1 + below(most);
    for (unsigned i = 0; i < count; ++i) statement(level, depth, deaf);
  }

  void block_of(const std::string& head, Level level, int depth, bool deaf) {
    line(head + " {");
    ++indent_;
    if (chance(20)) line(fmt::format("unsigned v0 = tid * {}u + u1;", below(9)));  // hides the one outside
    statements(level, depth + 1, 3, deaf);
    --indent_;
    line("}");
  }

  void statement(Level level, int depth, bool deaf) {
    line("COUNT_STEP;");
    const unsigned kind = below(depth > 2 ? 8 : 17);
    if (kind < 3)
      return line(fmt::format("{} {} {};", target(Level::thread), pick({"=", "+=", "^="}), value(Level::thread)));
    if (kind == 3 && level <= Level::warp && !deaf)
      return line(fmt::format("{} = {};", target(Level::warp), value(Level::warp)));
    if (kind == 4 && level == Level::block) return line(fmt::format("{} = {};", target(Level::block), value(Level::block)));
    if (kind < 8) {
      if (deaf) return line(fmt::format("atomicAdd(&t[{} % 8], {});", value(Level::thread), value(Level::thread)));
      return chance(30) ? meet_inside(level) : meet(level);
    }
    if (kind < 11) return branch(level, depth, deaf);
    if (kind < 14) return loop(level, depth, deaf);
    if (kind == 15) return choice(level, depth, deaf);
    if (kind == 16) return strided(depth);
    if (chance(30))
      line(
          fmt::format("if ({}) {{ *mine = v1 + {}u; return; }}", condition(chance(50) ? level : Level::thread), below(100)));
  }

  void meet(Level level) {
    const std::string all = "0xffffffffu";
    const std::string v = target(Level::thread);
    if (level == Level::block) {
      switch (below(10)) {
        case 8:
          line(fmt::format("s[tid] = {};", value(Level::thread)));
          return line(fmt::format("{} += seen_late(s[(tid + {}u) % blockDim.x], tid);", v, below(40)));
        case 9:
          line(fmt::format("two p{} = {{{}, {}}};", ++pairs_, value(Level::thread), v));
          return line(
              fmt::format("{} = warp_total(p{}).b + total_of(v2, s, [=](unsigned x) {{ return x ^ u0; }});", v, pairs_));
        case 0:
        case 1:
          line(fmt::format("s[tid] = {}; __syncthreads();", value(Level::thread)));
          line(fmt::format("{} {} s[(tid + {}u) % blockDim.x]; __syncthreads();", v, pick({"=", "+="}), below(40)));
          return;
        case 2: return line(fmt::format("{} = __syncthreads_count({});", target(Level::block), condition(Level::thread)));
        case 3:
          return line(fmt::format("if (__syncthreads_or({})) {} = {};", condition(Level::thread), target(Level::block),
                                  value(Level::block)));
        case 4: return line(fmt::format("{} = 3 * rotated({}, {}, s) + 1;", v, value(Level::thread), value(Level::block)));
        case 5: {
          if (chance(50)) return line(fmt::format("shifted({}, s);", pick({"v0", "v1", "v2"})));
          line(fmt::format("two p{}[2] = {{{{{}, v0}}, {{v1, {}}}}};", ++pairs_, value(Level::thread),
                           value(Level::thread)));
          line(fmt::format("raised(p{}[{} % 2].{}, {}, s);", pairs_, v, pick({"a", "b"}), value(Level::thread)));
          if (chance(50)) line(fmt::format("raised({}, p{}[0].a, s);", v, pairs_));
          return line(fmt::format("{0} ^= p{1}[0].a + 3 * p{1}[1].a + 5 * p{1}[0].b + 7 * p{1}[1].b;", v, pairs_));
        }
        default: break;
      }
    }
    if (level == Level::thread) {
      if (masks_ == 0) return line(fmt::format("atomicAdd(&t[{} % 8], {});", value(Level::thread), value(Level::thread)));
      return line(fmt::format("{} {} __shfl_sync(m{}, {}, {});", v, pick({"=", "+="}), masks_, value(Level::thread),
                              value(Level::thread)));
    }
    switch (below(7)) {
      case 0: return line(fmt::format("{} += __shfl_down_sync({}, {}, {}u);", v, all, value(Level::thread), below(32)));
      case 1:
        return line(fmt::format("{} = __shfl_up_sync({}, {}, {}u, {});", v, all, value(Level::thread), below(8),
                                pick({"8", "16", "32"})));
      case 2: return line(fmt::format("{} ^= __shfl_xor_sync({}, {}, {}u);", v, all, value(Level::thread), below(32)));
      case 3: return line(fmt::format("{} = __ballot_sync({}, {});", target(Level::warp), all, condition(Level::thread)));
      case 4:
        return line(fmt::format("if (__any_sync({}, {})) {} = {};", all, condition(Level::thread), target(Level::warp),
                                value(Level::warp)));
      case 5: return line(fmt::format("{} = __reduce_add_sync({}, {});", target(Level::warp), all, value(Level::thread)));
      default: return line(fmt::format("{} = warp_total({});", v, value(Level::thread)));
    }
  }

  // Meetings under conditions inside of expressions, in lambdas, and with values that live across them.
  void meet_inside(Level level) {
    const std::string v = target(Level::thread), x = value(Level::thread), y = value(Level::thread);
    const int own = ++mask_names_;
    if (level == Level::thread && masks_ == 0) return meet(level);
    const std::string all = level == Level::thread ? fmt::format("m{}", masks_) : "0xffffffffu";
    if (level == Level::thread || chance(15)) {  // each side names itself
      line(fmt::format("const bool c{} = {};", own, condition(Level::thread)));
      line(fmt::format("const unsigned m{0} = __ballot_sync({1}, c{0});", own, all));
      if (chance(50))
        return line(fmt::format("{0} {1} c{2} ? __shfl_sync(m{2}, {3}, {4}) : {3};", v, pick({"=", "+="}), own, x, y));
      return line(fmt::format("{0} = 2 * (c{1} ? __shfl_sync(m{1}, {2}, {3}) : 5 + __shfl_sync({4} & ~m{1}, {3}, {2}));", v,
                              own, x, y, all));
    }
    const std::string together = condition(level), each = condition(Level::thread);
    if (level == Level::block && chance(40)) {
      switch (below(5)) {
        case 0: return line(fmt::format("{} = ({}) && __syncthreads_or({});", target(level), together, each));
        case 1:
          line(fmt::format("s[tid] = {}; __syncthreads();", x));
          return line(fmt::format("{} += peek<unsigned>(s, (tid + {}u) % blockDim.x);", v, below(40)));
        case 2:
          line(fmt::format("const auto f{} = [&](unsigned x) {{", own));
          line(fmt::format(
              "  __syncthreads(); s[tid] = x; __syncthreads(); x = s[(tid + {}u) % blockDim.x]; __syncthreads();",
              below(40)));
          line(fmt::format("  return x + {}; }};", y));
          line(fmt::format("{} = f{}({});", v, own, x));
          return line(fmt::format("if ({}) {} += 3 * f{}({});", together, v, own, y));
        case 3:
          line(fmt::format("unsigned r{}[3] = {{{}, {}}};", own, x, y));
          line(fmt::format("__syncthreads(); r{0}[{1}] += 7; __syncthreads();", own, below(3)));
          return line(fmt::format("{0} ^= r{1}[0] + r{1}[1] * 3 + r{1}[v1 % 3];", v, own));
        default: return line(fmt::format("if (({}) || __syncthreads_count({}) > 3) {} += {};", together, each, v, x));
      }
    }
    switch (below(11)) {
      case 0:
        return line(fmt::format("{0} {1} ({2}) ? __shfl_xor_sync({3}, {4}, {5}u) : {6};", v, pick({"=", "+=", "^="}),
                                together, all, x, below(32), y));
      case 1: return line(fmt::format("if (({}) && __any_sync({}, {})) {} += {};", together, all, each, v, x));
      case 2:
        return line(fmt::format("{} = {} + (({}) || __any_sync({}, {}));", target(Level::warp), value(Level::warp),
                                condition(Level::warp), all, each));
      case 3: return line(fmt::format("if (const unsigned q{0} = __ballot_sync({1}, {2})) {3} += q{0};", own, all, each, v));
      case 4:
        line(fmt::format("const auto f{} = [{}](unsigned x) {{", own,  // arrays are not captured by value
                         y.find("a[") == std::string::npos ? pick({"&", "="}) : "&"));
        line(fmt::format("  x += __shfl_xor_sync({}, x, {}u); return x ^ {}; }};", all, below(32), y));
        line(fmt::format("{} += {};", target(Level::thread), x));
        return line(fmt::format("{} = f{}({});", v, own, x));
      case 5:
        return line(
            fmt::format("{} = [&](unsigned x) {{ const unsigned u0 = x * 3; return __shfl_down_sync({}, u0, {}u) + x; "
                        "}}({});",
                        v, all, below(32), x));
      case 6: return line(fmt::format("IN_STEP({}, z[tid], z[tid ^ {}u]); {} += z[tid];", all, below(32), v));
      case 7:
        line(fmt::format("three p{} = {{{}, {{{}, {}}}}};", own, x, y, v));
        line(fmt::format("p{0}.b[1] += __shfl_xor_sync({1}, p{0}.b[0], {2}u);", own, all, below(32)));
        return line(fmt::format("{0} = p{1}.a ^ p{1}.b[0] ^ p{1}.b[1];", v, own));
      case 8:
        return line(fmt::format("{} = turned<unsigned>((unsigned short)({}), {}u) + turned<unsigned char>({}, 2.75f);", v, x,
                                below(300), y));
      case 9: return line(fmt::format("{} += ({}) ? turned({}, 5u) : turned({}, 3u);", v, together, x, y));
      default:
        line(fmt::format(
            "for (unsigned j{0} = 0; j{0} < {1}u && __any_sync({2}, {3}); j{0} += 1 + (__ballot_sync({2}, {4}) & 1)) {{",
            own, below(6), all, each, condition(Level::thread)));
        line(fmt::format("  if ({}) continue;", condition(Level::warp)));
        line(fmt::format("  {} += {} + j{};", v, x, own));
        return line("}");
    }
  }

  void branch(Level level, int depth, bool deaf) {
    const Level chosen = static_cast<Level>(std::max(static_cast<int>(level), static_cast<int>(below(3))));
    const int masks = masks_;
    if (chosen == Level::thread && !deaf && (level != Level::thread || masks_ > 0)) {
      // Lanes that go in know who goes in with them.
      const int own = ++mask_names_;
      line(fmt::format("const bool c{} = {};", own, condition(Level::thread)));
      line(fmt::format("const unsigned m{} = __ballot_sync({}, c{});", own,
                       level == Level::thread ? fmt::format("m{}", masks) : "0xffffffffu", own));
      masks_ = own;
      block_of(fmt::format("if (c{})", own), Level::thread, depth, deaf);
      masks_ = masks;
      return;
    }
    const int known = masks_;
    if (chosen == Level::thread) masks_ = 0;
    block_of(fmt::format("if ({})", condition(chosen)), chosen, depth, deaf);
    if (chance(50)) block_of("else", chosen, depth, deaf);
    masks_ = known;
  }

  void choice(Level level, int depth, bool deaf) {
    const Level chosen = static_cast<Level>(std::max(static_cast<int>(level), static_cast<int>(below(3))));
    const int known = masks_;
    if (chosen == Level::thread) masks_ = 0;
    line(fmt::format("switch ({} % 4u) {{", value(chosen)));
    for (const char* label : {"case 0:", "case 2: case 3:", "default:"}) {
      line(fmt::format("{} {{", label));
      ++indent_;
      statements(chosen, depth + 1, 2, deaf || chosen == Level::thread);
      if (chance(60)) line("break;");  // else control falls through
      --indent_;
      line("}");
    }
    line("}");
    masks_ = known;
  }

  // What a thread owns of a row: run in step where nothing is against it.
  void strided(int depth) {
    const int known = masks_;
    masks_ = 0;
    const std::string first = fmt::format("tid{}", pick({"", " + 1", " * 2", " + n % 5"}));
    const std::string condition = fmt::format("k{} < {} % 200u", depth, pick({"n", "150u", "u0"}));
    const std::string step = pick({"blockDim.x", "32u", "7u"});
    const auto form = below(5);
    line("{");
    ++indent_;
    if (form != 0) line(fmt::format("unsigned k{}{};", depth, form == 3 ? "" : " = " + first));
    switch (form) {
      case 0: line(fmt::format("for (unsigned k{0} = {1}; {2}; k{0} += {3}) {{", depth, first, condition, step)); break;
      case 1: line(fmt::format("for (; {1}; k{0} = k{0} + {2}) {{", depth, condition, step)); break;
      case 2: line(fmt::format("while ({}) {{", condition)); break;
      case 3: line(fmt::format("for (k{0} = {1}; {2}; k{0} += {3}) {{", depth, first, condition, step)); break;
      default:
        line(fmt::format("for (unsigned j{0} = k{0}; {1}; k{0} += {2}, j{0} = k{0}) {{", depth, condition, step));
        line(fmt::format("  v1 += j{};", depth));
    }
    ++indent_;
    line(fmt::format("v0 += k{} * 3u;", depth));
    if (form != 2 && chance(30)) line(fmt::format("if (v0 % 3u == 1u) {};", pick({"continue", "continue", "break"})));
    statements(Level::thread, depth + 1, 2, true);
    if (form == 2) line(fmt::format("k{} += {};", depth, step));
    --indent_;
    line("}");
    if (form != 0 && chance(20)) line(fmt::format("v0 += k{};", depth));
    --indent_;
    line("}");
    masks_ = known;
  }

  void loop(Level level, int depth, bool deaf) {
    const Level chosen = static_cast<Level>(std::max(static_cast<int>(level), static_cast<int>(below(3))));
    const bool alone = deaf || chosen == Level::thread;
    const int known = masks_;
    if (alone) masks_ = 0;
    const int counter = chosen == Level::block && level == Level::block ? loop_ : 50 + depth;
    const bool named = counter < 50;
    const std::string count = fmt::format("{} % {}u", value(chosen), below(4) + 2);
    if (named) ++loop_;
    switch (below(3)) {
      case 0: line(fmt::format("for (unsigned i{0} = 0, e{0} = {1}; i{0} < e{0}; ++i{0}) {{", counter, count)); break;
      case 1: line(fmt::format("for (unsigned i{0} = {1}; i{0} > 0; i{0} -= 1) {{", counter, count)); break;
      default:
        line(fmt::format("for (unsigned i{0} = 0; i{0} < {1}u; i{0} += {2}) {{", counter, below(4), pick({"1", "2"})));
        break;
    }
    ++indent_;
    statements(chosen, depth + 1, 2, alone);
    if (chance(40)) {
      line(fmt::format("if ({}) {};", condition(alone ? Level::thread : chosen), pick({"break", "continue"})));
      statements(chosen, depth + 1, 2, alone);
    }
    --indent_;
    line("}");
    if (named) --loop_;
    masks_ = known;
  }

  std::mt19937_64 random_;
  std::string text_;
  int indent_ = 0;
  int loop_ = 0;   // counters i0, i1, … on which the block agrees
  int masks_ = 0;  // the variable with the lanes that are here; 0 for none
  int mask_names_ = 0;
  int pairs_ = 0;
  // Of kernels without meetings:
  Share share_ = Share::grid;
  unsigned elements_ = 1;               // that belong together
  std::vector<std::string> own_;        // numbers of elements that the thread owns
  std::vector<std::string> turns_;      // counters of loops of which all threads take the same turns
  std::array<std::string, 2> classic_;  // a thread's number in the grid, and the number of threads
};

}  // namespace

const char* const fuzz_functions = R"(
__device__ unsigned rotated(unsigned v, unsigned by, unsigned* s) {
  __syncthreads();
  s[threadIdx.x] = v;
  __syncthreads();
  if (by % 2 == 0) return s[threadIdx.x] * 2;
  const unsigned r = s[(threadIdx.x + by) % blockDim.x];
  __syncthreads();
  return r;
}
__device__ void shifted(unsigned& v, unsigned* s) {
  __shared__ unsigned own[128];
  __syncthreads();
  own[threadIdx.x] = s[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x > 0) v += (s[threadIdx.x - 1] & 0xff) ^ own[threadIdx.x];
  __syncthreads();
}
__device__ void raised(unsigned& v, const unsigned& by, unsigned* s) {
  __syncthreads();
  s[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x % 3 == 0) v ^= by;
  v += s[(threadIdx.x + by % 5) % blockDim.x];
  __syncthreads();
}
// Threads of a warp take a statement on a volatile array together.
#ifdef __WEIR_HOST__
#define IN_STEP(mask, to, from) to += from
#else
#define IN_STEP(mask, to, from)           \
  do {                                    \
    __syncwarp(mask);                     \
    const unsigned step_ = (to) + (from); \
    __syncwarp(mask);                     \
    to = step_;                           \
    __syncwarp(mask);                     \
  } while (0)
#endif
template <class T> __device__ T turned(T v, T by) {
  v += (T)__shfl_xor_sync(0xffffffffu, (unsigned)v, 1);
  return v * by;
}
template <class T> __device__ unsigned peek(const T* p, unsigned i) {
  __syncthreads();
  const unsigned r = p[i];
  __syncthreads();
  return r;
}
__device__ unsigned warp_total(unsigned v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
struct two { unsigned a, b; };
__device__ two warp_total(two v) {
  v.a = warp_total(v.a);
  v.b = v.a ^ warp_total(v.b);
  return v;
}
__device__ unsigned seen_late(const unsigned& shared, const unsigned& own) {
  __syncthreads();
  const unsigned r = shared + own;
  __syncthreads();
  return r;
}
template <class F> __device__ auto total_of(unsigned v, unsigned* s, F f) {
  __syncthreads();
  s[threadIdx.x] = f(v);
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = 0; i < 5; ++i) sum += s[(threadIdx.x + i) % blockDim.x];
  __syncthreads();
  return sum;
}
)";

FuzzKernel random_kernel(const std::string& name, std::uint64_t seed, bool meets) {
  Generator generator(seed);
  return meets ? FuzzKernel{generator.kernel(name), true, false} : generator.kernel_without_meetings(name);
}

}  // namespace weir::test
