// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/saved/saved_work.hpp"
#include "tools/record/format.hpp"
#include "weir/memory.hpp"

/// Reads a file that the tool `record` has written, whose format is in tools/record/format.hpp.
namespace weir::tool {

/// One operation. Its number is its position in `steps`, from 1.
struct RecordedStep : detail::WorkStep {
  std::string name;
  bool is_captured = false, has_failed = false;
  std::uint32_t stream = recording::none, object = recording::none, other = recording::none;
  std::uint32_t made = 0;                             ///< the memory, graph or executable that the operation makes
  std::vector<recording::SavedRange> reads, results;  ///< the host memory that the operation reads and writes
  std::vector<std::uint32_t> nodes;                   ///< for `capture_dependencies`: operations
  std::vector<recording::SavedAccess> accesses;       ///< for a kernel
  std::vector<std::uint32_t> contents;                ///< pieces of the memory that the operation reads
  std::vector<std::uint64_t> checks;                  ///< checksums of its results' pieces; empty if not known
};

struct Recording {
  struct Module {
    std::uint32_t device;
    std::span<const std::byte> bundle;
  };
  struct Kernel {
    std::uint32_t module;
    std::string name;
  };
  struct Memory {
    std::uint64_t bytes;
    MemoryKind kind;
    bool is_freed = false;
    bool is_kept = false;  ///< keep it after `free`, because a graph that was captured while it was in use is launched later
  };
  struct Event {
    std::uint32_t device;
    bool timing;
  };

  /// Parses the file's bytes, which must outlive this object. Throws `invalid_image` if they are damaged.
  explicit Recording(std::span<const std::byte> file);

  std::vector<std::string> devices;  ///< "cuda:0 sm_90"
  std::vector<std::pair<recording::SavedStream, std::string>> streams;
  std::vector<Event> events;
  std::vector<Module> modules;
  std::vector<Kernel> kernels;
  std::vector<Memory> memory;
  std::vector<RecordedStep> steps;
  detail::SavedWork work;
  std::vector<std::span<const std::byte>> pieces;
  std::map<std::uintptr_t, std::uintptr_t> host;                     ///< the host memory in use: begins and ends of ranges
  std::set<std::pair<std::uint32_t, std::uint64_t>> written_values;  ///< addresses where streams write values
  std::vector<std::string> notes;                                    ///< texts about missing parts of the recording
  std::string end;           ///< why the recording ends early; empty if it has all operations
  bool is_complete = false;  ///< whether the program's end was recorded

 private:
  class Reader;
};

}  // namespace weir::tool
