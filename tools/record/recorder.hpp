// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/model/graphs.hpp"
#include "tools/model/memory_map.hpp"
#include "tools/record/recording_file.hpp"
#include "weir/module.hpp"
#include "weir/plugin/tool.hpp"

/// The recorder: collects operations for the recording.
namespace weir::recording {

/// Memory that the host can read.
struct HostRange {
  SavedRange saved;
  std::byte* begin;
};
using HostRanges = std::vector<HostRange>;
/// An operation that was written to the file.
struct Written {
  std::uint32_t number = 0;
  HostRanges reads, results;
};

/// The tool `record`: writes each operation to the file before it is made, with numbers instead of addresses. It also
/// enqueues host functions: one before the operation saves the host memory that the operation reads, one after it checksums
/// the host memory that it writes. docs/record.md
class Recorder final : public Tool {
 public:
  Recorder(const std::string& file, std::uint64_t limit) : file_(file, limit) {}

  void before(const Operation& operation) noexcept override;
  void after(const Operation& operation) noexcept override;
  void end_host_function(std::uint64_t operation) noexcept override;
  int finish() noexcept override;

 private:
  /// Memory known to Weir, with its number in the file.
  struct Block {
    std::uintptr_t begin = 0, end = 0;
    std::uint32_t number = 0;
    bool is_readable = false;  ///< the host can read the memory at any time
  };
  /// An access of a graph node to host memory.
  struct Node {
    bool writes, is_host_function;
    std::byte* begin;
    std::size_t bytes;
  };
  struct OpenCapture {
    std::map<std::uint32_t, std::uint32_t> operations;  ///< by node
  };
  struct KnownEvent {
    std::uint32_t number;
    bool timing;
  };
  using Number = std::uint32_t;

  std::optional<Written> write(const Operation& operation);
  void write_result(const Operation& operation);
  Written add(const Operation& operation, Number object = none, Number other = none,
              const detail::NumberWriter& content = {}, Written memory = {});
  Written add_work(const Operation& operation);
  void add_launch(const Operation& operation, detail::NumberWriter& content, Written& memory);
  void add_memory(const Operation& operation, Number object);
  void record_accesses(const Operation& operation, Written& memory);
  void record_nodes(const Operation& operation, Written& memory);
  void record_range(const Operation& operation, const void* address, std::size_t bytes, bool writes, Written& memory);

  static void merge(HostRanges& ranges);
  void save(const Operation& operation, const Written& written);
  void save_now(Number operation, const HostRanges& ranges) noexcept;
  void check(const Operation& operation, const Written& written);
  void check_now(Number operation, const HostRanges& ranges) noexcept;

  Number device_of(const Device& device);
  Number stream_of(const Operation& operation);
  Number event_of(const Event& event);
  Number module_of(const Module& module);
  Number kernel_of(const Kernel& kernel);
  std::optional<SavedAddress> find(std::uintptr_t address, std::size_t bytes) const;
  SavedAddress place_of(const Operation& operation, const void* address, std::size_t bytes, bool writes);

  void add_omission(std::string text);
  void stop(std::string_view name, const std::string& cause);

  std::mutex mutex_;
  RecordingFile file_;
  bool stopped_ = false;
  std::string end_;  // why the recording ended
  Number operations_ = 0, blocks_made_ = 0, graphs_made_ = 0, execs_made_ = 0;
  std::set<std::string> omissions_;
  std::map<const Device*, Number> devices_;
  std::map<StreamKey, Number> streams_;
  Number streams_made_ = 0, events_made_ = 0;
  std::map<const Event*, KnownEvent> events_;
  std::map<const Module*, Number> modules_;
  std::map<const Kernel*, Number> kernels_;
  std::vector<ModulePtr> kept_modules_;  // kept alive so that no other module gets the same address
  std::vector<KernelPtr> kept_kernels_;
  std::map<const Graph*, Number> graphs_made_of_;
  std::map<const GraphExec*, Number> execs_;
  model::MemoryMap<Block> blocks_;
  model::Graphs<Node, OpenCapture> graphs_;
  std::map<std::uint64_t, Written> begun_;          // by the operation's number in the process
  std::map<std::uint64_t, Number> host_functions_;  // likewise: functions that may still run
  std::set<std::uint64_t> captured_functions_;      // captured functions, which may run again
};

}  // namespace weir::recording
