// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/names.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/error_text.hpp"
#include "core/base/no_destructor.hpp"
#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"
#include "weir/memory.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

// Implements names.hpp, and the functions that set and return names.
namespace weir {
namespace detail::names {
namespace {

struct NamedMemory {
  std::size_t bytes = 0;
  std::string name;
};

struct StreamName {
  const Stream* set_by = nullptr;  // the object that set the name
  std::string name;
};

/// A host function with its name.
struct NamedFunction {
  StreamKey stream;
  std::string name;
  HostFunction function;
};

struct Table {
  std::mutex mutex;
  std::map<StreamKey, StreamName> streams;
  std::map<const Event*, std::string> events;
  std::map<std::uintptr_t, NamedMemory> memory;
  std::vector<const NamedFunction*> running;  // the function that started last is the last one
};

/// Never destroyed, because static objects that are destroyed later may use it.
Table& table() noexcept {
  static NoDestructor<Table> names;
  return *names;
}

template <class Map, class Value>
void set(Map Table::*names, const typename Map::key_type& key, std::string_view name, Value&& value) {
  const std::lock_guard lock(table().mutex);
  Map& map = table().*names;
  if (name.empty()) {
    map.erase(key);
  } else {
    map.insert_or_assign(key, std::forward<Value>(value));
  }
}

template <class Map>
std::string find(const Map Table::*names, const typename Map::key_type& key) {
  const std::lock_guard lock(table().mutex);
  const Map& map = table().*names;
  const auto found = map.find(key);
  return found != map.end() ? found->second : std::string();
}

std::uintptr_t number_of(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

/// Lists a named function while it runs.
class Running {
 public:
  explicit Running(const NamedFunction& function) : function_(function) {
    const std::lock_guard lock(table().mutex);
    table().running.push_back(&function_);
  }
  ~Running() {
    const std::lock_guard lock(table().mutex);
    std::erase(table().running, &function_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  const NamedFunction& function_;
};

}  // namespace

void set(const Stream& stream, std::string_view name) {
  if (name.empty()) return close(stream, false);
  set(&Table::streams, key_of(stream), name, StreamName{&stream, std::string(name)});
}
void close(const Stream& stream, bool ends_handle) noexcept {
  const std::lock_guard lock(table().mutex);
  const auto found = table().streams.find(key_of(stream));
  if (found != table().streams.end() && (ends_handle || found->second.set_by == &stream)) table().streams.erase(found);
}
void set(const Event& event, std::string_view name) { set(&Table::events, &event, name, std::string(name)); }
void set(const Allocation& memory, std::string_view name) {
  set(&Table::memory, number_of(memory.data()), name, NamedMemory{memory.size_bytes(), std::string(name)});
}

std::string of(const StreamKey& stream) {
  const std::lock_guard lock(table().mutex);
  const auto found = table().streams.find(stream);
  return found != table().streams.end() ? found->second.name : std::string();
}
std::string of(const Event& event) { return find(&Table::events, &event); }

std::string of_memory(const void* address) {
  const std::lock_guard lock(table().mutex);
  const auto behind = table().memory.upper_bound(number_of(address));
  if (behind == table().memory.begin()) return "";
  const auto& [begin, memory] = *std::prev(behind);
  return number_of(address) - begin < memory.bytes ? memory.name : "";
}

std::string quoted(const std::string& name) { return name.empty() ? "" : " '" + escaped(name) + "'"; }

std::string running_function(const StreamKey& stream) {
  const std::lock_guard lock(table().mutex);
  // A function may wait for its stream, and the thread then runs further functions of it.
  for (auto each = table().running.rbegin(); each != table().running.rend(); ++each) {
    if ((*each)->stream == stream) return (*each)->name;
  }
  return "";
}

HostFunction named_function(const StreamKey& stream, std::string_view name, HostFunction&& function) {
  return [named = std::unique_ptr<NamedFunction>(new NamedFunction{stream, std::string(name), std::move(function)})] {
    const Running running(*named);
    named->function();
  };
}

}  // namespace detail::names

namespace names = detail::names;

std::string support::label_of(const StreamKey& stream) {
  return fmt::format("{} stream{} {}", stream.device->describe(), names::quoted(names::of(stream)), stream.handle);
}

void Stream::set_name(std::string_view name) {
  const StreamCall call(*this, "Stream::set_name", StreamCall::ReadOnly());
  ToolNotice notice(*this, OperationKind::set_name, call.operation(), {});
  notice->label = name;
  notice.run([&] {
    names::set(*this, name);
    flags_.fetch_or(StreamCore::flag_named, std::memory_order_relaxed);
  });
}

std::string Stream::name() const {
  return (StreamCore::flags(*this) & StreamCore::flag_named) != 0 ? names::of(StreamCore::key(*this)) : "";
}

void StreamCore::forget_name(Stream& stream) noexcept {
  stream.flags_.fetch_and(~flag_named, std::memory_order_relaxed);
  names::close(stream, destroys_handle(stream));
}

void Event::set_name(std::string_view name) {
  const Call call(*this, "Event::set_name");
  perform(
      device_, OperationKind::set_name, call.operation(),
      [&](ToolNotice& notice) {
        notice->event = this;
        notice->label = name;
      },
      [&] {
        names::set(*this, name);
        flags_.fetch_or(named, std::memory_order_relaxed);
      });
}

std::string Event::name() const { return (flags_.load(std::memory_order_relaxed) & named) != 0 ? names::of(*this) : ""; }

void Event::forget_name() noexcept { names::set(*this, ""); }

void Allocation::set_name(std::string_view name) {
  const Call call(*device_, "Allocation::set_name");
  if (data_ == nullptr) return;
  perform(
      *device_, OperationKind::set_name, call.operation(),
      [&](ToolNotice& notice) {
        notice->allocation = this;
        notice->label = name;
      },
      [&] {
        names::set(*this, name);
        is_named_.store(true, std::memory_order_relaxed);
      });
}

std::string Allocation::name() const { return is_named_.load(std::memory_order_relaxed) ? names::of_memory(data_) : ""; }

void Allocation::forget_name() noexcept {
  is_named_.store(false, std::memory_order_relaxed);
  names::set(*this, "");
}

}  // namespace weir
