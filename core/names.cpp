// SPDX-License-Identifier: Apache-2.0
#include "core/names.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/journal.hpp"
#include "core/no_destructor.hpp"
#include "core/submit.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"
#include "weir/memory.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

namespace weir {
namespace detail::names {
namespace {

struct NamedMemory {
  std::size_t bytes = 0;
  std::string name;
};

struct Table {
  std::mutex mutex;
  std::map<StreamKey, std::string> streams;
  std::map<const Event*, std::string> events;
  std::map<std::uintptr_t, NamedMemory> memory;
  std::multimap<StreamKey, std::string> running;  // host functions
};

/// Never destroyed: objects with static lifetime may still end.
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

}  // namespace

void set(const StreamKey& stream, std::string_view name) { set(&Table::streams, stream, name, std::string(name)); }
void set(const Event& event, std::string_view name) { set(&Table::events, &event, name, std::string(name)); }
void set(const Allocation& memory, std::string_view name) {
  set(&Table::memory, number_of(memory.data()), name, NamedMemory{memory.size_bytes(), std::string(name)});
}

std::string of(const StreamKey& stream) { return find(&Table::streams, stream); }
std::string of(const Event& event) { return find(&Table::events, &event); }

std::string of_memory(const void* address) {
  const std::lock_guard lock(table().mutex);
  const auto behind = table().memory.upper_bound(number_of(address));
  if (behind == table().memory.begin()) return "";
  const auto& [begin, memory] = *std::prev(behind);
  return number_of(address) - begin < memory.bytes ? memory.name : "";
}

std::string quoted(const std::string& name) { return name.empty() ? "" : " '" + name + "'"; }

std::string running_function(const StreamKey& stream) { return find(&Table::running, stream); }

HostFunction named_function(const StreamKey& stream, std::string_view name, HostFunction&& function) {
  class Running {
   public:
    Running(const StreamKey& stream, const std::string& name) {
      const std::lock_guard lock(table().mutex);
      here_ = table().running.emplace(stream, name);
    }
    ~Running() {
      const std::lock_guard lock(table().mutex);
      table().running.erase(here_);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::multimap<StreamKey, std::string>::iterator here_;
  };
  return [stream, name = std::string(name), function = std::make_unique<HostFunction>(std::move(function))] {
    const Running running(stream, name);
    (*function)();
  };
}

}  // namespace detail::names

namespace names = detail::names;

std::string support::label_of(const StreamKey& stream) {
  return fmt::format("{} stream{} {}", stream.device->describe(), names::quoted(names::of(stream)), stream.handle);
}

void Stream::set_name(std::string_view name) {
  const StreamCall call(*this, "Stream::set_name", StreamCall::Looking());
  Watched watched(*this, OperationKind::set_name, call.operation(), {});
  watched->label = name;
  watched.run([&] {
    names::set(detail::key_of(*this), name);
    flags_.fetch_or(StreamCore::flag_named, std::memory_order_relaxed);
  });
}

std::string Stream::name() const {
  return (StreamCore::flags(*this) & StreamCore::flag_named) != 0 ? names::of(detail::key_of(*this)) : "";
}

/// The handle may be another stream's soon.
void StreamCore::forget_name(Stream& stream) noexcept {
  if ((stream.flags_.fetch_and(~flag_named, std::memory_order_relaxed) & flag_named) != 0) names::set(key_of(stream), "");
}

void Event::set_name(std::string_view name) {
  const Call call(*this, "Event::set_name");
  perform(
      device_, OperationKind::set_name, call.operation(),
      [&](Watched& watched) {
        watched->event = this;
        watched->label = name;
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
      [&](Watched& watched) {
        watched->allocation = this;
        watched->label = name;
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
