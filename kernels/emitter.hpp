// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kernels/function.hpp"
#include "kernels/printer.hpp"
#include "kernels/rows.hpp"

/// Writes a function as code for a whole block. Statements between two meetings are a piece: a loop over the block's
/// threads. The result uses the types of runtime.hpp.
namespace weir::kernels {

class Emitter {
 public:
  Emitter(Function& function, const Unit& unit);

  /// The body of a kernel, with its braces. Parameters that are not uniform are called `weir_in_NAME`.
  std::string kernel_body();
  /// A function that kernels call, or its declaration.
  std::string function();
  /// Whether what was written sets threadIdx and its like for code that reads them as variables.
  bool sets_thread_variables() const noexcept { return sets_; }
  /// Whether a piece was written of which compilers can take neighbouring threads together only because it was split.
  bool takes_rows() const noexcept { return takes_rows_; }

 private:
  enum class Loop : unsigned char { none, together, masked };
  using Names = std::set<int>;
  using Statements = std::vector<Statement>;

  // How a statement of a list is run.
  enum class Way : unsigned char { piece, shared, type, uniform_declaration, recomputed, uniform_assignment, structured };

  void head_of_body();
  void list(const Statements& statements, Loop loop);
  Way way_of(const Statement& s, Loop loop) const;
  void keep_variables(const Statements& statements, const std::vector<Way>& ways, const std::vector<int>& pieces);
  Names names_in(const Statement& s) const;
  void add_names(const Words& words, Names& names) const;
  void add_what_names_need(Names& names) const;

  void structured(const Statement& s, Loop loop);
  void branch(const Statement& s, Loop loop);
  void loop(const Statement& s);
  void loop_together(const Statement& s);
  void loop_masked(const Statement& s);
  void step(const Statement& s);
  void meeting(const Statement& s);
  void call(const Statement& s);
  void leave_list(const Statement& s);
  bool ends_kernel(const Statement& s) const;
  void fail_unless(std::string_view condition);

  void shared(const Statement& s, bool in_kernel_body);
  void storage(const Statement& s, const Declarator& d);
  Words lambda_value(const Declarator& d) const;
  std::string type_of(const Statement& s, const Declarator& d) const;

  void piece(const std::vector<const Statement*>& statements, bool last);
  void check_destructors(const Statement& s);
  void rows(const Rows& rows, bool last, const Names& names, const Names& own);
  void open_lambda(const Names& names, const Names& own, bool result_is_bool, std::string_view parameter = "");
  void bindings(const Names& names, const Names& own);
  // An expression as a function of the thread.
  void condition(const Words& words);
  void value(const Words& words);
  void computed(const Words& words, bool as_condition);
  void statement_in_piece(const Statement& s, bool in_loop, bool in_choice);
  void statements_in_piece(const Statements& list, bool in_loop, bool in_choice);
  void declaration_in_piece(const Statement& s, bool with_end);
  void kept_declaration(const Statement& s, const Declarator& d);
  void plain_declarator(const Declarator& d);
  bool may_vectorize(const std::vector<const Statement*>& statements) const;
  bool calls_thread_readers(const Names& names, const std::vector<const Statement*>& statements) const;
  void set_thread_variables();
  void expression(const Words& words);
  void argument(const Words& words);

  bool is_lanes(const Word& word) const;
  static bool is_lambda(const Variable& v);
  bool leaves_by_jump(const Statement& s) const;
  std::string quoted_place(std::uint32_t token) const;

  Function& f_;
  const Unit& unit_;
  Printer out_;
  bool sets_ = false;
  bool takes_rows_ = false;
  std::set<std::string> side_by_side_;  // of the piece that is being written: indices that count along the row
};

}  // namespace weir::kernels
