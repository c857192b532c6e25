// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/pending.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "core/base/error_text.hpp"
#include "core/diagnosis/journal.hpp"
#include "core/diagnosis/wait_chains.hpp"
#include "core/runtime/names.hpp"
#include "core/runtime/stream_call.hpp"
#include "weir/stream.hpp"

// `Stream::pending`, and the texts for pending work.
namespace weir {

using detail::impl;
using detail::Journal;
using detail::StreamCall;

PendingWork Stream::pending() const {
  const StreamCall call(*this, "Stream::pending");
  call.throw_if_capturing();
  PendingWork work = impl(*this).do_pending();
  if (work.kind == PendingWork::Kind::unknown) {
    if (Journal* const journal = Journal::instance()) {
      if (std::optional<PendingWork> known = journal->first_pending(*this)) work = *std::move(known);
    }
  }
  if (work.kind != PendingWork::Kind::nothing && work.kind != PendingWork::Kind::unknown) {
    detail::name_function(work, detail::key_of(*this));
    work.chain = detail::WaitChains().chain_of(detail::key_of(*this));
  }
  return work;
}

namespace {

/// Describes a wait: "a wait for the value at 0x7f… (32 bits) to reach 3".
std::string text_of(const MemoryOperation& wait) {
  const auto condition = [&]() -> std::string {
    switch (wait.condition) {
      case WaitCondition::geq: return fmt::format("to reach {}", wait.value);
      case WaitCondition::eq: return fmt::format("to be {}", wait.value);
      case WaitCondition::bit_and: return fmt::format("to have a bit of {:#x}", wait.value);
      case WaitCondition::bit_nor: return fmt::format("to have a 0 bit where {:#x} also has a 0 bit", wait.value);
    }
    return "";
  };
  const std::string memory = detail::names::of_memory(wait.address);
  return fmt::format("a wait for the value at {}{} ({} bits) {}", fmt::ptr(wait.address),
                     memory.empty() ? "" : " in" + detail::names::quoted(memory), wait.is_64() ? 64 : 32, condition());
}

std::string text_of(const PendingWork& work) {
  const auto detail = [&](const char* before) { return work.subject.empty() ? "" : before + work.subject; };
  switch (work.kind) {
    case PendingWork::Kind::nothing: return "nothing: all work is done";
    case PendingWork::Kind::unknown:
      return "unknown work; with WEIR_JOURNAL=16, Weir records the last 16 operations of each stream";
    case PendingWork::Kind::kernel: return fmt::format("kernel '{}'", work.subject);
    case PendingWork::Kind::memory: return work.subject;
    case PendingWork::Kind::host_function:
      return (work.name.empty() ? "a host function" : fmt::format("host function '{}'", work.name)) + detail(", ");
    case PendingWork::Kind::stream: return fmt::format("a wait for {}", work.subject);
    case PendingWork::Kind::value: return text_of(work.wait) + detail(", ");
    case PendingWork::Kind::graph: return "a launch of a graph" + detail(", at ");
    case PendingWork::Kind::other: return fmt::format("'{}'", work.subject);
  }
  return "";
}

}  // namespace

void detail::name_function(PendingWork& work, const StreamKey& stream) {
  if (work.kind == PendingWork::Kind::host_function && work.name.empty()) work.name = names::running_function(stream);
}

std::string detail::line_of(const PendingWork& work) {
  std::string text = detail::escaped(text_of(work));  // the text contains names that the program chose
  if (work.behind != 0) text += fmt::format(", followed by {} operation{}", work.behind, work.behind == 1 ? "" : "s");
  return text;
}

std::string PendingWork::describe() const {
  std::string text = detail::line_of(*this);
  for (const std::string& line : chain) text += "\n  " + line;
  return text;
}

}  // namespace weir
