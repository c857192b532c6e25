// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernels/syntax.hpp"
#include "kernels/unit.hpp"

/// One function in which threads of a block work together, as far as it is understood.
namespace weir::kernels {

struct Variable {
  enum class Kind : unsigned char {
    local,
    parameter,
    shared,   ///< of the block
    operand,  ///< made up: what a thread hands in where threads meet
    result    ///< made up: what it gets
  };
  /// Where a value lies.
  enum class Place : unsigned char {
    piece,      ///< in the piece of code that declares it
    lanes,      ///< in an array over the block's threads
    uniform,    ///< once, since it is the same for all threads
    recomputed  ///< nowhere: each piece computes it from the thread's index
  };

  Kind kind = Kind::local;
  Place place = Place::piece;
  std::string name;                           ///< as it is written into the result
  Words specifiers;
  const Declarator* declarator = nullptr;     ///< null for a parameter or a made-up variable
  Words pointer;                              ///< of a parameter: behind its specifiers
  const Statement* statement = nullptr;       ///< the declaration
  int scope = 0;                              ///< the control structure that it is declared in
  bool in_head = false;                       ///< in the head of that loop
  bool before_condition = false;              ///< anew each time before a loop's condition
  bool at_list_level = false;                 ///< where the whole block runs in step
  bool escapes = false;                       ///< its address may be kept
  bool assigned = false;                      ///< after its declaration, in any way
  bool is_group = false;                      ///< a group of threads that follows from the thread's index
  bool block_wide = false;                    ///< a result that is the same for all threads
};

/// A control structure: the body of the function is number 0.
struct Control {
  const Statement* statement = nullptr;
  int parent = 0;
};

struct Parameter {
  Words type;            ///< with pointers and references
  Word name;
  Words default_value;
  int variable = no_variable;
  bool is_written = false;  ///< by reference, and not to something constant
  /// By reference to something constant, of which the function gets a pointer: other threads may change it. Or an array.
  bool is_viewed = false;
  bool is_copy = false;        ///< a value, which in some overload is a reference to something constant
  bool is_called = false;      ///< `F&&` that is called or forwarded and nothing else: a copy
  bool is_by_address = false;  ///< viewed, by reference to something that may change
  bool is_array = false;
};

struct Function {
  const FunctionPlace* place = nullptr;
  Words template_parameters;       ///< without the angle brackets
  Words return_type;
  bool returns_value = false;
  std::vector<Parameter> parameters;
  std::vector<Statement> body;
  std::deque<Variable> variables;
  std::vector<Control> controls;
  /// Whether something in it can reach threadIdx and its like only as variables outside of all functions.
  bool uses_thread_variables = false;
  int made_up = 0;

  Variable& variable(int index) { return variables[static_cast<std::size_t>(index)]; }
  const Variable& variable(int index) const { return variables[static_cast<std::size_t>(index)]; }
};

/// Reads a function's head and body. Throws Refused.
Function read_function(const Unit& unit, const FunctionPlace& place);

/// Whether a function, from its parameters on, computes elements of a volatile array from others of it, as was
/// written for warps that run in step: `s[i] += s[i + 16];`.
bool relies_on_steps(const Words& words);
/// Lets the threads of a warp take such statements together.
void put_volatile_in_step(Function& function, const Unit& unit);

/// Lets threads take the turns of a loop over what each owns together. True if there is such a loop.
bool put_strides_in_step(Function& function, const Unit& unit);
/// Lets threads that do not meet take the turns of a loop together where all take the same ones, over elements that lie side
/// by side. True if there is such a loop.
bool put_loops_in_step(Function& function, const Unit& unit);
/// Whether what is declared in the body itself are single values of built-in types, which can live anywhere at no cost.
bool keeps_plain_values(const Function& function, const Unit& unit);
/// Whether a thread that runs the statements may use an element again behind a write to one, where its elements may lie
/// beside each other, as `x[2 * i]` and `x[2 * i + 1]`. Of threads that do not depend on each other, GCC and Clang read and
/// write such elements at once, and forget that two pointers of one thread may lead to the same one.
bool order_matters(const Function& function, const std::vector<const Statement*>& statements);
/// Whether threads of a source may wait for each other without meeting. Then one must go on while another one waits, and
/// none may run ahead of the others to the end of a piece.
bool may_wait(const TokenizedSource& source);

/// A lambda that a function keeps under a name, or calls in place, and in which threads meet.
struct LocalLambda {
  std::vector<Declarator> parameters;
  std::vector<Words> types;     ///< of the parameters, as they are declared
  Words result;                 ///< its type; nothing if it is not written
  std::vector<Statement> body;  ///< in which what inner scopes declare has names of its own
  std::set<std::string> names;  ///< that it declares itself, for all of its body
  std::size_t declared = 0;     ///< how many names the function had declared before it
};
/// The variables that a lambda can capture by value. Constants need no copy, and arrays are refused.
struct Capturable {
  std::set<std::string> variables, constants, arrays;
};
/// Whether a variable of that name is named in the statements.
bool names_variable(const std::vector<Statement>& statements, const std::string& name);
/// Reads the lambda that begins at `first`. What it captures by value is declared in `out`: `own` are the variables that it
/// can capture, and `made_up` numbers names. Throws Refused.
LocalLambda read_lambda(const Words& words, std::size_t first, const Capturable& own, int& made_up,
                        std::vector<Statement>& out);
/// What a call of it does, as statements, the last of which returns its value if it has one. Throws Refused.
std::vector<Statement> inlined(const LocalLambda& lambda, const std::vector<Words>& arguments, const Word& call,
                               int& made_up);

/// Makes each meeting, and each call of a function in which threads meet, a statement of its own. Marks what cooperates.
void extract_meetings(Function& function, const Unit& unit);

/// Finds out which variable each name means; gives a name of its own to one that hides another. The statements may not move
/// any more.
void resolve_names(Function& function);

/// In a member function: lets the names of the object's members that are no variable's find the object.
void follow_members(Function& function, const Unit& unit);

/// Whether a call must convert the argument of a template's parameter itself, as C++ does where its type is known: the array
/// over the threads that is handed over is of the parameter's own type. Not so for overloads, which `_weir_choice` tells.
bool converts(const Function& function, const Parameter& parameter);

/// What `using a::f;` becomes if threads meet in `f`, which has another name where it is split; nothing for anything else.
std::string using_of_split(const Unit& unit, const Words& words);

/// Decides where each variable's value lies.
void place_variables(Function& function, const Unit& unit);

/// Lets lambdas that capture by value what does not change, `[=]`, refer to it instead. Then shared memory can be captured,
/// too, and such a lambda can be made anew behind a place where threads meet.
void refer_in_lambdas(Function& function);

/// Whether an expression has the same value for all threads that compute it at the same time, and can be computed once for
/// them.
bool is_uniform(const Words& words, const Function& function, const Unit& unit);

/// Whether a statement assigns to a uniform variable, and nothing else.
bool is_uniform_assignment(const Words& words, const Function& function, const Unit& unit);

/// Whether control may leave a statement other than by its end, by break and continue of a loop around it, or by return.
bool has_jumps(const Statement& statement);
bool has_return(const Statement& statement);
/// Whether all break and continue of this loop stand under conditions that are the same for all threads.
bool jumps_uniformly(const Statement& loop, const Function& function, const Unit& unit);

}  // namespace weir::kernels
