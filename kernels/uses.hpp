// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/function.hpp"

/// What statements do to the variables that they name.
namespace weir::kernels {

/// `v = …`, `v += …`, `++v`, `v++` and nothing else.
struct WholeAssignment {
  int variable = no_variable;
  Words value;  ///< what is on the right; none for ++ and --
};
/// Reads one; its variable is `no_variable` if the words are something else.
WholeAssignment read_whole_assignment(const Words& words);

/// Marks the variables that these words may assign to, and those whose address may be kept. Everything that is not known to
/// leave a variable alone counts.
void note_uses(Function& function, const Unit& unit, const Words& words);
/// Whether the word at `i`, or what ends at `end`, is an argument of a function that may take it by reference. `unknown`:
/// what is said of a function that the source does not define, such as a lambda.
bool may_be_passed_by_reference(const Words& words, std::size_t i, std::size_t end, const Unit& unit, bool unknown = true);
/// Whether the words may assign to the variable of that name. `unknown`: as above.
bool assigns(const Words& words, const std::string& name, const Unit& unit, bool unknown);
/// Whether the statement, or one in it, does so, or binds a reference to the variable.
bool assigns(const Statement& statement, const std::string& name, const Unit& unit);
/// Whether the parenthesis at `close` ends a built-in type: `(unsigned int)`.
bool is_cast(const Words& words, std::size_t close);
/// Marks variables that an object of a class may refer to from now on, since it is made of them.
void note_construction(Function& function, const Words& specifiers, const Words& initializer, const Unit& unit);
/// Marks variables that a reference is bound to.
void note_binding(Function& function, const Words& words);
/// Whether the variable holds an address, so that `v[i] = …` leaves it alone.
bool is_pointer(const Variable& variable);

}  // namespace weir::kernels
