// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "layout.hpp"

namespace weir::tool {
namespace {

constexpr int column = 12;          // column of the fields of a backend
constexpr int device_column = 40;   // column of the fields of a device
constexpr int feature_column = 14;  // column of a feature's name
constexpr int reason_column = 46;   // column of the reason for a missing feature

class Writer {
 public:
  Writer(int width, bool verbose, bool colour) : width_(width), verbose_(verbose), colour_(colour) {}

  std::string take() { return std::move(out_); }

  void head(const Json& report) {
    field(0, fmt::format("weir {}", text_of(report, "version")), column,
          fmt::format(" interface revision {}", report["interface_revision"].get<int>()));
    if (verbose_) {
      field(0, "library", column, text_of(report, "library"));
      field(0, "built with", column, text_of(report, "abi"));
    }
    for (const auto& [name, value] : report["environment"].items()) {
      field(0, "set", column, fmt::format("{}={}", name, value.get<std::string>()));
    }
    for (const Json& variable : report["bad_variables"]) field(0, "bad", column, text_of(variable, "error"));
    for (const Json& variable : report["unknown_variables"]) {
      const std::string nearest = text_of(variable, "nearest");
      field(0, "not read", column,
            fmt::format("{} is not a variable of Weir or its own backends{}", text_of(variable, "name"),
                        nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
    }
    if (!report.contains("default")) return;
    const Json& chosen = report["default"];
    field(0, "default", column, chosen.contains("device") ? text_of(chosen, "device") : "none: " + text_of(chosen, "error"));
  }

  void backend(const Json& backend) {
    std::string state = text_of(backend, "state");
    const bool usable = state == "usable";
    std::replace(state.begin(), state.end(), '_', ' ');
    out_ += '\n';
    append_state(out_, text_of(backend, "name"), column, state, usable, colour_);
    optional(2, "reason", column, text_of(backend, "reason"));
    if (verbose_) {
      all_of(backend);
    } else if (usable) {
      most_of(backend);
    }
  }

  /// Appends the end of the short report, which mentions the long one.
  void more(const Json& report) {
    if (verbose_) return;
    const Json& backends = report["backends"];
    const bool all_usable =
        std::all_of(backends.begin(), backends.end(), [](const Json& b) { return b["state"] == "usable"; });
    out_ += '\n';
    field(0, "more", column,
          std::string("weir info -v: all properties, and why features are absent") +
              (all_usable ? "" : "; weir doctor: what to do"));
  }

 private:
  void most_of(const Json& backend) {
    const Json& versions = backend["versions"];
    optional(2, "driver", column, text_of(versions, "driver"));
    optional(2, "compiler", column, text_of(versions, "compiler"));
    for (const Json& device : backend["devices"]) {
      const std::string memory = memory_of(device);
      field(2, text_of(device, "name"), column,
            text_of(device["properties"], "name") + (memory.empty() ? "" : "; memory " + memory));
    }
    for (const auto& [names, table] : feature_tables(backend["devices"])) {
      std::vector<std::string> absent;
      for (const auto& [name, state] : table->items()) {
        if (text_of(state, "support") == "absent") absent.push_back(name);
      }
      if (absent.empty()) continue;
      field(2, "absent", column,
            fmt::format("{} of {} features on {}: {}", absent.size(), table->size(), names, fmt::join(absent, ", ")));
    }
  }

  void all_of(const Json& backend) {
    const Json& plugin = backend["plugin"];
    if (!text_of(plugin, "path").empty()) {
      field(2, "plugin", column, fmt::format("{} (version {})", text_of(plugin, "path"), text_of(plugin, "version")));
    }
    if (backend.contains("versions")) {
      const Json& versions = backend["versions"];
      optional(2, "driver", column, text_of(versions, "driver"));
      optional(2, "runtime", column, text_of(versions, "runtime"));
      optional(2, "library", column, text_of(versions, "library_path"));
      optional(2, "compiler", column, text_of(versions, "compiler"));
    }
    const char* label = "tried";
    for (const Json& attempt : backend["attempts"]) field(2, std::exchange(label, ""), column, attempt_text(attempt));
    devices(backend["devices"]);
    if (backend.contains("features"))
      features("a device of " + text_of(backend, "name") + ", if there were one", backend["features"]);
  }

  void field(int indent, std::string_view label, int text_column, std::string_view text) {
    append_field(out_, indent, label, text_column, text, width_);
  }
  void optional(int indent, std::string_view label, int text_column, std::string_view text) {
    if (!text.empty()) field(indent, label, text_column, text);
  }

  void devices(const Json& all) {
    for (const Json& device : all) {
      field(2, text_of(device, "name"), column, text_of(device["properties"], "name"));
      properties(device);
    }
    for (const auto& [names, table] : feature_tables(all)) features(names, *table);
  }

  /// Groups the features of devices: devices with the same features share one table.
  static std::vector<std::pair<std::string, const Json*>> feature_tables(const Json& devices) {
    std::vector<std::pair<std::string, const Json*>> tables;
    for (const Json& device : devices) {
      const auto same =
          std::find_if(tables.begin(), tables.end(), [&](const auto& t) { return *t.second == device["features"]; });
      if (same != tables.end()) {
        same->first += ", " + text_of(device, "name");
      } else {
        tables.emplace_back(text_of(device, "name"), &device["features"]);
      }
    }
    return tables;
  }

  void properties(const Json& device) {
    const auto show = [&](std::string label, const std::string& text) {
      std::replace(label.begin(), label.end(), '_', ' ');
      optional(4, label, device_column, text);
    };
    for (const auto& [name, value] : device["properties"].items()) {
      if (name == "name" || name == "total_memory" || value == 0) continue;
      const bool is_size = name.starts_with("shared_memory") || name == "l2_cache_size";
      show(name, value.is_string()    ? value.get<std::string>()
                 : value.is_boolean() ? (value.get<bool>() ? "yes" : "no")
                 : value.is_array()   ? fmt::format("{}", fmt::join(value.get<std::vector<std::uint32_t>>(), " x "))
                 : is_size            ? format_bytes(value.get<std::uint64_t>())
                                      : value.dump());
    }
    show("memory", memory_of(device));
    const Json& range = device["priority_range"];
    show("stream priorities", range.contains("error") ? text_of(range, "error")
                                                      : fmt::format("{} (least urgent) to {}", range["least"].get<int>(),
                                                                    range["greatest"].get<int>()));
  }

  static std::string memory_of(const Json& device) {
    const Json& memory = device["memory"];
    if (memory.contains("error")) return text_of(memory, "error");
    const auto total = memory["total"].get<std::uint64_t>();
    return total == 0 ? ""
                      : fmt::format("{}, {} free", format_bytes(total), format_bytes(memory["free"].get<std::uint64_t>()));
  }

  void features(const std::string& devices, const Json& table) {
    std::string native;
    std::size_t native_count = 0;
    for (const auto& [name, state] : table.items()) {
      if (text_of(state, "support") != "native") continue;
      native += native.empty() ? name : ", " + name;
      ++native_count;
    }
    out_ += '\n';
    field(2, "features of " + devices, 0, "");
    field(4, "native", feature_column,
          fmt::format("{} of {}{}{}", native_count, table.size(), native.empty() ? "" : ": ", native));
    for (const char* const support : {"emulated", "absent"}) {
      for (const auto& [name, state] : table.items()) {
        if (text_of(state, "support") != support) continue;
        field(4, fmt::format("{:<10}{}", support, name), reason_column, text_of(state, "reason"));
      }
    }
  }

  int width_;
  bool verbose_, colour_;
  std::string out_;
};

}  // namespace

std::string format_report(const Json& report, int width, bool verbose, bool colour) {
  Writer writer(width, verbose, colour);
  writer.head(report);
  for (const Json& backend : report["backends"]) writer.backend(backend);
  writer.more(report);
  return writer.take();
}

}  // namespace weir::tool
