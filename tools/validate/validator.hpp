// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/model/graphs.hpp"
#include "tools/model/memory_map.hpp"
#include "tools/model/step.hpp"
#include "weir/access.hpp"
#include "weir/memory.hpp"
#include "weir/plugin/tool.hpp"

/// The tool `validate`: looks at the memory that operations are given, before they are submitted. docs/tools.md
namespace weir::validate {

struct Options {
  bool throws = false;  ///< no wrong operation is made: its caller gets `invalid_argument`
  int status = 66;      ///< what the program exits with if there was a wrong one; 0: as it would
};

/// Reads WEIR_VALIDATE: "throw,status=NUMBER". Throws `invalid_environment`.
Options read_options();

using model::StepPtr;

/// Memory that Weir knows: an allocation, registered memory, a variable of a module.
struct Block {
  std::uint64_t id = 0;  ///< never used again
  std::uintptr_t begin = 0, end = 0;
  const Device* device = nullptr;
  bool is_of_device = false;   ///< only that device and its peers can address it
  bool is_of_graph = false;    ///< made in a capture: it is there at each launch
  bool is_registered = false;  ///< the program's own memory: what ends is its registration
  StepPtr made, freed = {};
};

class Validator final : public Tool {
 public:
  explicit Validator(const Options& options) : options_(options) {}

  void before(const Operation& operation) override;
  void after(const Operation& operation) noexcept override;
  int finish() noexcept override;

 private:
  /// What is wrong, and what would mend it.
  struct Mistake {
    std::string cause, remedy;
    const Block* block = nullptr;
    /// The operation would touch memory that is nobody's, or another's. So it is never made.
    bool is_wild = false;
  };
  /// Memory that a node of a graph uses.
  struct Use {
    std::uint64_t block;
    std::uintptr_t address;
    std::size_t bytes;
    StepPtr captured;
  };
  struct Open {};  // of a capture nothing else is kept

  void check(const Operation& operation, const MemoryAccess& access, bool is_device_work);
  std::optional<Mistake> mistake_in(const Operation& operation, std::uintptr_t begin, std::uintptr_t end,
                                    bool is_device_work) const;
  std::optional<Mistake> mistake_in(const Operation& operation, const Block& block, std::uintptr_t begin, std::uintptr_t end,
                                    bool is_device_work) const;
  void check_launch(const Operation& operation);
  static Mistake use_of_freed(const Block& block);
  void report(const Operation& operation, std::uintptr_t address, std::size_t bytes, const Mistake& mistake,
              const StepPtr& captured);
  void note_nodes(const Operation& operation);
  void add_uses(const Operation& operation, const std::vector<Use>& uses);
  void add(const Operation& operation, const MemoryAccess& memory, bool is_of_device);
  void remove(const Operation& operation, const MemoryAccess& memory);
  bool is_known(const void* address) const;
  const Block* find_freed(std::uintptr_t address) const;

  const Options options_;
  std::mutex mutex_;
  std::uint64_t last_block_ = 0;
  std::size_t count_ = 0;
  model::Steps steps_;
  model::MemoryMap<Block> blocks_;
  std::deque<Block> freed_;                                  // the newest last
  std::set<std::pair<const Device*, const Device*>> peers_;  // who may address whose memory
  model::Graphs<Use, Open> graphs_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;  // places: of the step, and of the capture that it launches
};

}  // namespace weir::validate
