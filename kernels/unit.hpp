// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/lexer.hpp"
#include "kernels/vocabulary.hpp"

/// What a source has at namespace scope, as far as it matters for threads that work together.
namespace weir::kernels {

/// A class. Positions are tokens.
struct ClassPlace {
  std::string name;
  std::uint32_t first;  ///< of the whole declaration
  std::uint32_t open;   ///< the brace
  std::vector<std::string> bases;
  std::set<std::string, std::less<>> members;    ///< of each object: what its functions name by itself
  std::set<std::string, std::less<>> pointers;   ///< those of the members that are plain pointers
  std::set<std::string, std::less<>> constants;  ///< template parameters, static constants, types
};

/// A function's definition or declaration. Positions are tokens.
struct FunctionPlace {
  std::string name;
  std::uint32_t first;  ///< of the whole declaration: `template`, `extern`, specifiers
  std::uint32_t head;   ///< behind the template parameters, if there are any
  std::uint32_t name_token;
  std::uint32_t open;  ///< the parenthesis of the parameters
  std::uint32_t close;
  std::uint32_t body;  ///< the brace; of a declaration without a body, the semicolon
  std::uint32_t end;   ///< one past the last token
  bool has_body;
  bool is_kernel;
  bool is_template;
  bool cooperates = false;  ///< threads meet in it or in what it calls, or it is a kernel with shared memory
  int overload = -1;        ///< which of the cooperating functions of its name; -1 if it is the only one
  int of_class = -1;        ///< the class that it is a member of
  bool is_static = false;   ///< of a class, and not of an object

  bool has_object() const { return of_class >= 0 && !is_static; }
};

class Unit {
 public:
  /// Reads a tokenized source, which must outlive this. Throws Refused for cooperation in a place that cannot have it.
  explicit Unit(const TokenizedSource& source);

  const TokenizedSource& source() const noexcept { return source_; }
  const std::vector<FunctionPlace>& functions() const noexcept { return functions_; }
  /// What is called where `name` is followed by `next` in a function of the class `of_class`, if threads meet in it. Calls
  /// are matched by name, so that all functions of a name are meant. `before` and `qualifier` stand in front of it: `.`,
  /// `->` or `::`, and what is before that. `token`: where the name stands.
  enum class Callee : unsigned char { none, function, member };
  Callee callee(std::string_view qualifier, std::string_view before, std::string_view name, std::string_view next,
                int of_class, std::size_t token) const;
  bool is_cooperating(std::string_view name) const { return cooperating_.count(name) != 0; }
  /// The definitions of the cooperating functions, or member functions, of that name.
  std::vector<const FunctionPlace*> find_cooperating(std::string_view name, bool member = false) const;
  const ClassPlace& class_of(const FunctionPlace& f) const { return class_places_[static_cast<std::size_t>(f.of_class)]; }
  /// Whether an object of that class, or of one that it is made from, has a member of that name.
  bool has_member(int of_class, std::string_view name) const;
  /// Whether each class of that name has a pointer of the other name among its members.
  bool has_pointer(std::string_view class_name, std::string_view member) const;
  bool is_constant_of(int of_class, std::string_view name) const {
    return of_class >= 0 && class_places_[static_cast<std::size_t>(of_class)].constants.count(name) != 0;
  }
  /// What threads meet in where the last of these words is followed by `next`; null for none. `before` and `qualifier` stand
  /// in front of it: `.`, `->` or `::`, and the name before that.
  const Meeting* meeting(std::string_view qualifier, std::string_view before, std::string_view name,
                         std::string_view next) const;
  /// Whether a function of that name is defined in the source and takes a parameter by reference.
  bool takes_references(std::string_view name) const { return by_reference_.count(name) != 0; }
  bool defines_function(std::string_view name) const { return defined_.count(name) != 0; }
  /// Whether a class, if it is one, has a function of that name.
  bool defines_member_function(int of_class, std::string_view name) const;
  /// Whether an operator that the source defines may change its operand: it is no constant function of a class, or takes a
  /// reference to something that is not constant. `name` is what stands behind `operator`; empty for a conversion.
  bool operator_may_change(std::string_view name) const { return changing_operators_.count(name) != 0; }
  /// Whether an object of a class may refer to, or change, the variables that it is made of.
  bool classes_keep_references() const noexcept { return classes_keep_references_; }
  /// Whether making or destroying an object of some class, or an operator of one, does more than to store values: then it
  /// is done by each thread.
  bool objects_act() const noexcept { return objects_act_; }
  /// Whether a function of some class, called by an object, may change its argument.
  bool members_take_references() const noexcept { return members_take_references_; }
  /// Whether a call of it may read threadIdx and its like.
  bool reads_thread_variables(std::string_view name) const { return thread_readers_.count(name) != 0; }
  /// Whether code that is called without a name (an operator, a method) may read them.
  bool hidden_code_reads_thread_variables() const noexcept { return hidden_reader_; }
  /// Constants at namespace scope, `__constant__` variables and names of types: the same for all threads.
  bool is_constant(std::string_view name) const { return constants_.count(name) != 0; }
  bool defines_class(std::string_view name) const;
  /// Whether functions of that name in which threads meet take this parameter, if it is a reference to something that may
  /// change, by its address: some call gives it something else than the name of a variable of the thread's own.
  bool is_by_address(std::string_view function, std::size_t parameter) const;
  /// Whether functions of that name are overloads of which some take this parameter by value, and some by reference to
  /// something constant. Then all get its value.
  bool takes_value_or_view(std::string_view function, bool member, std::size_t parameter) const;
  /// Whether a function of that name waits for what other threads write, and not only exchanges values.
  bool has_barrier(std::string_view function, bool member) const;
  /// Tokens `__shared__` outside of functions and in functions that do not cooperate.
  const std::vector<std::uint32_t>& lone_shared() const noexcept { return lone_shared_; }

 private:
  std::string_view word(std::size_t i) const { return i < source_.tokens.size() ? source_.spelling(i) : std::string_view(); }
  bool is(std::size_t i, std::string_view text) const { return word(i) == text; }
  bool is_identifier(std::size_t i) const {
    return i < source_.tokens.size() && source_.tokens[i].kind == Token::Kind::identifier;
  }
  std::size_t after(std::size_t i) const;
  std::size_t after_template(std::size_t i) const;
  std::size_t after_angle(std::size_t i) const;
  bool names(std::size_t i) const;
  static bool names_scope(std::string_view word);
  std::set<std::string_view> namespaces_around(std::size_t token) const;
  bool is_seen(const FunctionPlace& f, std::size_t token) const;
  void scan(std::size_t first, std::size_t last);
  std::size_t specialized_name(std::size_t declaration, std::size_t open) const;
  bool read_place(std::size_t declaration, std::size_t open, FunctionPlace& f) const;
  std::size_t function_at(std::size_t declaration, std::size_t open);
  void read_class(std::size_t first, std::size_t brace);
  void note_member(std::size_t first, std::size_t last, ClassPlace& c);
  void note_declaration(std::size_t first, std::size_t last);
  void note_class(std::size_t first, std::size_t last);
  void find_namespaces();
  void find_cooperation();
  void find_thread_readers();
  void find_acting_objects();
  bool acts(std::size_t parameters) const;
  bool takes_changing_reference(std::size_t open, std::string_view except) const;
  void find_changing_operators();
  bool is_specialization(const FunctionPlace& f) const;
  bool is_like_overload(const FunctionPlace& specialization) const;
  void number_overloads();
  std::set<std::string_view> names_of_others() const;
  void find_by_address();
  std::string signature(const FunctionPlace& f) const;

  const TokenizedSource& source_;
  std::vector<FunctionPlace> functions_;
  std::vector<FunctionPlace> member_functions_;  // those that do not cooperate
  std::vector<ClassPlace> class_places_;
  std::set<std::string, std::less<>> by_reference_, defined_, thread_readers_, constants_, cooperating_,
      cooperating_members_, changing_operators_;
  std::map<std::string, std::set<std::size_t>, std::less<>> by_address_;
  bool classes_keep_references_ = false;
  std::vector<std::pair<std::size_t, std::size_t>> classes_;  // their bodies, and others that are no function's
  std::map<std::size_t, std::size_t> split_members_;          // cooperating member functions: where they begin, and end
  std::vector<std::uint32_t> lone_shared_;
  bool hidden_reader_ = false, objects_act_ = false, members_take_references_ = false;
  std::set<std::string, std::less<>> namespaces_;        // that the source opens, names otherwise, or uses
  std::set<std::string, std::less<>> group_namespaces_;  // cooperative_groups and its other names
  std::set<std::string, std::less<>> used_;              // namespaces that are, and names out of namespaces
  bool uses_groups_ = false;
  bool using_groups_ = false;  // by `using namespace`
};

}  // namespace weir::kernels
