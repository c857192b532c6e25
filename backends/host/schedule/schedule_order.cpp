// SPDX-License-Identifier: Apache-2.0
#include "backends/host/schedule/schedule_order.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "backends/host/schedule/scheduled_memory.hpp"

namespace weir::host {
namespace {

template <class Number>
bool take_number(std::string_view& text, Number& number) noexcept {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return true;
}

bool take_letter(std::string_view& text, char letter) noexcept {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  return true;
}

/// Parses "host", "2.7" (operation 7 of stream 2), or "2.7/0/3" (a node of its graph).
std::optional<OperationName> operation_name(std::string_view text) {
  OperationName name;
  if (text == "host") return name;
  if (!take_number(text, name.stream) || !take_letter(text, '.') || !take_number(text, name.number)) return std::nullopt;
  while (take_letter(text, '/')) {
    if (!take_number(text, name.nodes.emplace_back())) return std::nullopt;
  }
  if (!text.empty() || name.stream == 0 || name.number == 0) return std::nullopt;
  return name;
}

std::string text_of(const OperationName& name) {
  std::string text = std::to_string(name.stream) + "." + std::to_string(name.number);
  for (const std::uint32_t node : name.nodes) text += "/" + std::to_string(node);
  return text;
}

bool is_part_of(const OperationName& name, const OperationName& whole) {
  return name.stream == whole.stream && name.number == whole.number && name.nodes.size() > whole.nodes.size() &&
         std::equal(whole.nodes.begin(), whole.nodes.end(), name.nodes.begin());
}

ScheduleOrder::Kind kind_of(const Work& work) {
  const auto rows_hash = [](std::size_t rows, std::size_t width, const auto& row) {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < rows; ++i) hash = hash * 31 + hash_of(row(i), width);
    return hash;
  };
  if (const auto* const launch = std::get_if<Launch>(&work)) return {"kernel '" + launch->kernel->name() + "'", nullptr};
  if (const auto* const copy = std::get_if<Copy>(&work)) {
    const auto hash = [copy = *copy, rows_hash] {
      return rows_hash(copy.rows(), copy.width, [&](std::size_t row) { return copy.destination.row(row, copy.height); });
    };
    return {"copy", hash};
  }
  if (const auto* const fill = std::get_if<Fill>(&work)) {
    const auto hash = [fill = *fill, rows_hash] {
      return rows_hash(fill.height, fill.width * fill.element_size,
                       [&](std::size_t row) { return static_cast<std::byte*>(fill.to) + row * fill.pitch; });
    };
    return {"fill", hash};
  }
  return {};
}

}  // namespace

bool ScheduleOrder::read(std::string_view text) {
  const auto take = [&](std::string_view key) -> std::optional<std::string_view> {
    if (!text.starts_with(key)) return std::nullopt;
    text.remove_prefix(key.size());
    const std::string_view value = text.substr(0, text.find(','));
    text.remove_prefix(value.size());
    return value;
  };
  if (const auto held = take(",hold=")) {
    const auto until = take(",until=");
    const auto first = operation_name(*held), second = operation_name(until.value_or(""));
    if (!first || !second || *first == *second) return false;
    late_.name = *first;
    early_.name = *second;
    is_wanted_ = true;
  }
  if (const auto file = take(",notes=")) {
    notes_ = ::open(std::string(*file).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (notes_ < 0) return false;
  }
  return text.empty();
}

void ScheduleOrder::write_note(std::string_view line) noexcept {
  if (notes_ < 0) return;
  const std::string text = std::string(line) + "\n";
  (void)!::write(notes_, text.data(), text.size());
}

std::uint64_t ScheduleOrder::memory() const {
  std::uint64_t hash = hash_of_all();
  for (const Side* const side : {&early_, &late_}) hash += side->kind.hash ? side->kind.hash() : 0;
  return hash;
}

/// Whether `name` is part of one of the two operations, or one of them is part of `name`. Nodes are parts of launches.
bool ScheduleOrder::belongs_to_pair(const OperationName& name) const {
  const auto belongs_to = [&](const Side& each) { return is_part_of(name, each.name) || is_part_of(each.name, name); };
  return belongs_to(early_) || belongs_to(late_);
}

/// Allows the side to run as the next operation. The caller must call the result outside the lock.
std::function<void()> ScheduleOrder::release(Side& side) {
  preferred_.store(side.item, std::memory_order_relaxed);
  auto go_on = std::exchange(side.go_on, nullptr);
  update_holding();
  return go_on;
}

void ScheduleOrder::update_holding() noexcept {
  const bool holds = early_.go_on || late_.go_on || !others_.empty();
  if (holds) has_held_.store(true, std::memory_order_relaxed);
  is_holding_.store(holds, std::memory_order_release);
}

bool ScheduleOrder::holds(const OperationName& name, Runnable& item, const Work* work, std::function<void()> go_on) {
  std::function<void()> other_goes_on;
  bool must_wait = true;
  {
    const std::lock_guard lock(mutex_);
    if (name != early_.name && name != late_.name) {
      if (!are_running_ || belongs_to_pair(name)) return false;
      others_.push_back(std::move(go_on));
      update_holding();
      return true;
    }
    Side& side = name == early_.name ? early_ : late_;
    Side& other = &side == &early_ ? late_ : early_;
    if (preferred_.load(std::memory_order_relaxed) == &item) preferred_.store(nullptr, std::memory_order_relaxed);
    if (side.item == nullptr) {
      side.item = &item;
      if (work != nullptr) side.kind = kind_of(*work);
      if (&side == &early_) must_wait = !other.name.is_host() && !other.go_on && !is_over_;
      if (&side == &late_) must_wait = !is_over_;
      if (must_wait) {
        side.go_on = std::move(go_on);
        update_holding();
        // Both are ready: the early one runs, and the late one right after it.
        if (other.go_on) other_goes_on = release(other);
      }
    } else {
      must_wait = false;  // the operation was released meanwhile
    }
    if (!must_wait) {
      if (&side == &early_) are_running_ = late_.go_on != nullptr;
      if (has_notes()) side.memory = memory();
    }
  }
  if (other_goes_on) other_goes_on();
  return must_wait;
}

void ScheduleOrder::has_run(const OperationName& name) {
  std::vector<std::function<void()>> go_on;
  {
    const std::lock_guard lock(mutex_);
    Side* const side = name == early_.name ? &early_ : name == late_.name ? &late_ : nullptr;
    if (side == nullptr) return;
    write_note("ran " + text_of(name) + " " + side->kind.text);
    const std::uint64_t memory_now = has_notes() ? memory() : 0;
    if (has_notes() && memory_now != side->memory) write_note("changed " + text_of(name));
    if (late_.name.is_host() && host_waits_.load(std::memory_order_relaxed)) write_note("host waited");
    if (side == &early_) {
      is_over_ = true;
      holds_host_.store(false, std::memory_order_release);
      if (late_.go_on) go_on.push_back(release(late_));
    } else if (std::exchange(are_running_, false)) {
      if (has_notes()) write_note(fmt::format("together {:016x} {:016x}", early_.memory, memory_now));
      go_on = std::exchange(others_, {});
      update_holding();
    }
  }
  for (const auto& each : go_on) each();
}

void ScheduleOrder::let_go(std::string_view why) {
  std::vector<std::function<void()>> go_on;
  {
    const std::lock_guard lock(mutex_);
    Side& side = early_.go_on ? early_ : late_;
    // Other operations were held back, and the late one may wait for them, so it does not come right after the early one.
    if (!others_.empty()) {
      are_running_ = false;
      go_on = std::exchange(others_, {});
      update_holding();
    } else if (side.go_on) {
      if (&side == &late_) {
        write_note("released " + text_of(late_.name) + " " + std::string(why));
        is_over_ = true;
      }
      go_on.push_back(release(side));
    }
  }
  for (const auto& each : go_on) each();
}

void ScheduleOrder::was_given(std::uint64_t stream, std::uint64_t number) noexcept {
  if (!is_wanted_ || !late_.name.is_host() || stream != early_.name.stream || number != early_.name.number) return;
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  has_held_.store(true, std::memory_order_relaxed);
  holds_host_.store(true, std::memory_order_release);
}

}  // namespace weir::host
