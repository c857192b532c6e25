// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/dialect_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "tests/kernels/corpus.hpp"
#include "tests/kernels/device_compilers.hpp"

// Reads and checks the table in docs/kernels-dialect.md.

namespace weir::test {
namespace {

struct Row {
  std::string words, example, cell;
};

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found;
  for (std::size_t begin = 1; begin < line.size();) {
    const std::size_t end = std::min(line.find(" | ", begin), line.rfind(" |"));
    found.push_back(line.substr(begin + (begin == 1 ? 1 : 0), end - begin - (begin == 1 ? 1 : 0)));
    begin = end + 3;
    if (end == line.rfind(" |")) break;
  }
  return found;
}

std::vector<Row> read_table(const std::string& file, std::size_t column) {
  std::vector<Row> rows;
  std::ifstream page(file);
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| words | for example |")) {
      inside = true;
    } else if (inside && !line.starts_with("|")) {
      break;
    } else if (inside && !line.starts_with("|--")) {
      const auto c = cells(line);
      if (c.size() != 5 || !c[1].starts_with('`') || !c[1].ends_with('`'))
        throw std::runtime_error("this row is not understood: " + line);
      rows.push_back({c[0], c[1].substr(1, c[1].size() - 2), c[column]});
    }
  }
  if (rows.size() < 40)
    throw std::runtime_error(fmt::format("the table in {} has {} rows; was it moved?", file, rows.size()));
  return rows;
}

constexpr const char* before = R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <hip/hip_bf16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/cub.cuh>
#include <algorithm>
#include <assert.h>
#include <math_constants.h>
#include <stdio.h>
namespace cg = cooperative_groups;
__constant__ float table[4];
__device__ float offset;
)";

std::string kernel(std::size_t number, const Row& row) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(256) row_{}(float* x, int* y, unsigned long long* z, double* q, int "
      "i, unsigned u) {{\n"
      "  unsigned long long w = i; float f = x[0]; double d = q[0];\n  {}\n  y[0] = i + (int)u + (int)w; x[0] = f; q[0] = "
      "d;\n}}\n",
      number, row.example);
}

std::string compile(const std::string& target, const std::string& source) {
  try {
    if (target == "cpu") {
      (void)weir::test::target().compile(source);
    } else {
      compile_for(target, source, "table.cu");
    }
  } catch (const NoDeviceCompiler&) {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace

int check_dialect_table(const std::string& target, const std::string& file) {
  const std::vector<Row> rows = read_table(file, target == "cpu" ? 4 : target.starts_with("gfx") ? 3 : 2);
  const auto compiles = [&](const Row& row) {
    if (row.cell == "warps of 64: –") return !target.starts_with("gfx9");
    return row.cell != "–" && row.cell != "sm_90";
  };
  int failures = 0;
  try {
    std::string together = before;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (compiles(rows[i])) together += kernel(i, rows[i]);
    }
    const bool all = compile(target, together).empty();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (all && compiles(rows[i])) continue;
      const std::string error = compile(target, before + kernel(i, rows[i]));
      if (error.empty() == compiles(rows[i])) continue;
      fmt::print("{}: the table says '{}' for {}, and {}\n", rows[i].words, rows[i].cell, target,
                 error.empty() ? "it compiles" : "it does not compile: " + error.substr(0, 1500));
      ++failures;
    }
  } catch (const NoDeviceCompiler& reason) {
    fmt::print("skipped: {}\n", reason.what());
    return 77;
  }
  fmt::print("{} rows for {}, {} wrong\n", rows.size(), target, failures);
  return failures;
}

}  // namespace weir::test
