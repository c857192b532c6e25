// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/conditions.hpp"
#include "kernels/function.hpp"
#include "kernels/vocabulary.hpp"

namespace weir::kernels {

/// Takes the places at which threads meet out of the expressions of one function: each becomes a statement of its own.
class Extractor {
 public:
  Extractor(Function& function, const Unit& unit) : function_(function), unit_(unit) {}
  void run();

 private:
  using Kind = Statement::Kind;
  using Statements = std::vector<Statement>;

  // --- Statements: extract.cpp --------------------------------------------------------------------------------------------

  void list(Statements& statements);
  void can_capture(const Statement& s, const Declarator& d);
  static bool any_cooperates(const Statements& statements);
  const Meeting* meeting_at(const Words& words, std::size_t i) const;
  Unit::Callee callee_at(const Words& words, std::size_t i) const;
  bool is_meeting_place(const Words& words, std::size_t i) const;
  bool is_lambda(const Words& words, std::size_t i) const;
  bool has_meeting(const Words& words) const;
  void refuse_meeting(const Words& words, const char* where) const;
  bool meets_in(const Statement& s) const;
  // `if (T x = …; condition)` and `if (T x = …)` become a block.
  bool branch_with_declaration(Statement& s, Statements& out);
  void statement(Statement&& s, Statements& out);
  // `while (T x = …)` becomes a loop that declares it and breaks.
  bool loop_with_declaration(Statement& s);
  // `for (T x : array)` becomes a loop that counts.
  bool indexed(Statement& s);
  static bool breaks(const Statements& statements);
  // Takes the break off the end of a part of a switch. False if control may fall through to the next part.
  static bool end_part(Statements& part);
  // A switch in which threads meet becomes a chain of ifs.
  void choice(Statement&& s, Statements& out);
  // The variable would have to live as long as the statement, for each thread.
  static void refuse_declaration(const Words& condition);
  void loop(Statement& s);
  void expression(Statement&& s, Statements& out);
  void declaration(Statement&& s, Statements& out);
  // The meeting that is computed first: what is assigned before what it is assigned to, else from the left to the right, and
  // arguments before their function.
  std::size_t next_meeting(const Words& words) const;
  // Takes all meetings out of an expression, those first that are computed first, and puts the variables with their results
  // in their place. `list`: they are arguments or elements of a list.
  void pull(Words& words, Statements& out, bool list = false);
  void declare(const std::string& name);
  Word made_up_name(const char* prefix, std::uint32_t token);

  // --- What is computed under a condition, and in which order: extract_condition.cpp --------------------------------------

  // What is computed under a condition inside of an expression becomes an `if`, and a variable with the value.
  void put_apart(Words& words, const Condition& c, std::size_t at, Statements& out);
  // Whether an expression may name something in memory: it is no number, no result of a meeting, and nothing is computed.
  bool may_be_in_memory(const Words& words) const;
  // The value of a choice is computed before the expression. What it chooses in memory is not what is written then.
  void check_is_value(const Words& words, const Condition& c, const Word& named) const;
  // An expression that has the type of `words`, and in which nothing meets, since nothing of it is computed.
  Words for_its_type(Words words);
  // Where the expression begins whose member stands behind `end`.
  static std::size_t postfix_begin(const Words& words, std::size_t end);
  // `a < b, c > d` reads like the arguments of a template.
  void refuse_two_comparisons(const Words& words) const;
  // Refuses a meeting, `named`, that would be computed before what stands before `at`.
  static void check_always_evaluated(const Words& words, std::size_t at, const Word& named, bool list);
  // A variable and the members and elements behind it, as far as no function is called: `s`, `v`, `[` of `s->v[i]`. Members
  // of the function's own object begin with `weir_self`.
  std::vector<std::string> path_at(const Words& words, std::size_t i) const;
  // Refuses a meeting, `named`, that is computed in `[first, last)` and names a variable which the same expression changes
  // before it: `i++ << shuffle(i)`. What stands left of an assignment is computed behind what is assigned.
  void check_unchanged(const Words& words, std::size_t first, std::size_t last, const Word& named) const;

  // --- Calls: extract_call.cpp --------------------------------------------------------------------------------------------

  // A call of a meeting or of a function in which threads meet.
  struct Use {
    std::size_t first, close;  ///< of the whole, with what stands before the name
    bool member;
    std::string name;  ///< with what qualifies it
    Words template_arguments;
    std::vector<Words> arguments;
  };
  // Names by which a variable may be reached that has another one: pointers, references, lambdas.
  void find_aliases(const Statement& s);
  // Refuses a call that hands over a variable of the thread's own by reference, and another way to it beside: the function
  // gets copies of such variables.
  // Returns whether it is the object, or a part of it, whose function is called: it may be seen to change meanwhile.
  bool check_other_ways(const Function& callee, std::size_t index, const std::vector<Words>& arguments, const Words& object,
                        const Statement& call) const;
  static std::string_view function_name(std::string_view qualified);
  // `a`, `a.b`, `a->b[0]`
  static bool is_name_or_member(const Words& value);
  // Whether it names a variable, a member or an element, or what a pointer leads to.
  static bool is_place(Words value);
  // Whether it names an object that a call of it may change.
  bool may_change_when_called(const Words& value) const;
  static Use use_at(const Words& words, std::size_t at);
  // A call of a lambda in which threads meet: what it does is done here.
  void call_lambda(Words& words, std::size_t at, const Lambda& in_place, Statements& out);
  // A variable with the value of an argument, declared in `out`. A variable's own name stays what it is.
  Words operand(const Words& value, Statements& out, bool own, const Words& type = {});
  // The lambda that an argument is, or whose name it is; nothing for anything else. It captures nothing, so that it is the
  // same for all threads.
  Words lambda_of(const Words& argument) const;
  bool meet(Statement& s, const Meeting& meeting, const std::vector<Words>& arguments, Statements& out);
  // The type of the number that such a parameter refers to, which its argument is converted to; nothing if it is no built-in
  // type.
  static Words number_of(const Parameter& parameter);
  // Whether an expression names something in memory that is no variable of the thread's own: what other threads may change.
  bool is_elsewhere(const Words& value);
  // Where the object lies whose member function is called: the variable with its address. `object`: what stands before the
  // function's name; nothing for another function of the same class.
  Words address_of_object(Words object, std::uint32_t token, Statements& out);
  // An argument as a parameter of its type takes it: `const T*` a `float*`, and a `float` in `f<float>(0)` an `int`. A
  // lambda may not stand where only types are asked for.
  static Words converted(const Function& callee, std::size_t index, const Words& value, const Statement& call,
                         const std::vector<Words>& arguments);
  bool call(Statement& s, const std::string& name, const std::vector<Words>& arguments, Statements& out,
            Statements& after_call, bool of_class, const Words& object);
  // Whether it is the name of an array, or of a parameter that refers to one.
  bool is_array(const Words& value) const;
  // What is called with such arguments: of several functions, one with which all of them agree in what matters here.
  const Function& signature(const std::string& name, std::uint32_t token, const std::vector<Words>& arguments,
                            bool of_class);

  Function& function_;
  const Unit& unit_;
  std::set<std::string> own_, others_;             // variables: the thread's own, and those that are shared or references
  std::map<std::string, std::size_t> dimensions_;  // of own arrays
  std::map<std::string, Words> arrays_;            // and of shared ones: the first, if it is written and always the same
  std::map<std::string, std::set<std::string>> aliases_;  // of own variables: other names that lead to them
  std::map<std::string, LocalLambda> lambdas_;            // those in which threads meet, by the names that they have here
  std::map<std::string, std::vector<Words>> closures_;    // lambdas by the names of their variables
  std::set<std::uint32_t> inlined_;                       // lambdas that have been called, by where they begin
  Capturable capturable_;
  bool binds_ = false;                 // what is declared may be a reference to its initializer
  std::vector<std::string> declared_;  // names, in the order in which they were
  std::deque<FunctionPlace> heads_;
  std::map<std::pair<std::string, bool>, std::vector<Function>> heads_of_;  // by name; of members, too
};

}  // namespace weir::kernels
