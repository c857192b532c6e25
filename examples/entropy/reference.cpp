// SPDX-License-Identifier: Apache-2.0
#include "reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

namespace entropy {
namespace {

constexpr std::size_t batch_bytes = std::size_t{1} << 20;  // a multiple of all block sizes

struct AlignedDelete {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{InputFile::direct_alignment}); }
};

}  // namespace

Findings measure_on_cpu(const InputFile& file, const Plan& plan, const std::function<void(std::uint64_t)>& progress) {
  Findings findings{.map = EntropyMap(plan)};
  const std::unique_ptr<std::byte[], AlignedDelete> buffer(new (std::align_val_t{InputFile::direct_alignment})
                                                               std::byte[batch_bytes]);
  for (std::uint64_t offset = 0; offset < plan.file_bytes; offset += batch_bytes) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(batch_bytes, plan.file_bytes - offset));
    file.read(buffer.get(), bytes, offset);
    for (std::size_t begin = 0; begin < bytes; begin += plan.block_bytes) {
      Histogram block{};
      const std::size_t end = std::min<std::size_t>(begin + plan.block_bytes, bytes);
      for (std::size_t i = begin; i < end; ++i) ++block[std::to_integer<std::size_t>(buffer[i])];
      for (std::size_t value = 0; value < block.size(); ++value) findings.histogram[value] += block[value];
      const auto bits = static_cast<float>(entropy_bits(block));
      findings.map.add((offset + begin) / plan.block_bytes, {&bits, 1});
    }
    progress(offset + bytes);
  }
  return findings;
}

Comparison compare(const Findings& measured, const Findings& reference) {
  Comparison result;
  for (std::size_t value = 0; value < reference.histogram.size(); ++value) {
    if (measured.histogram[value] == reference.histogram[value]) continue;
    result.difference = fmt::format("byte {:#04x} was counted {} times, is there {} times", value, measured.histogram[value],
                                    reference.histogram[value]);
    return result;
  }
  for (std::size_t cell = 0; cell < reference.map.cell_count(); ++cell) {
    const double difference = std::abs(measured.map.cell(cell) - reference.map.cell(cell));
    result.largest_difference = std::max(result.largest_difference, difference);
    // Negated, so that a NaN is also reported.
    if (!(difference <= tolerance_bits) && result.difference.empty()) {
      result.difference =
          fmt::format("at byte {}: {:.6f} bits per byte, should be {:.6f}", cell * reference.map.bytes_per_cell(),
                      measured.map.cell(cell), reference.map.cell(cell));
    }
  }
  result.agrees = result.difference.empty();
  return result;
}

}  // namespace entropy
