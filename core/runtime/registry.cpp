// SPDX-License-Identifier: Apache-2.0
#include "weir/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <map>
#include <mutex>

#include "core/base/enum_name.hpp"
#include "core/base/environment.hpp"
#include "core/base/error_text.hpp"
#include "core/base/process.hpp"
#include "core/plugins/built_in.hpp"
#include "core/plugins/feature_override.hpp"
#include "core/plugins/plugin_loader.hpp"
#include "core/plugins/selection.hpp"
#include "core/runtime/compile_options.hpp"
#include "core/runtime/reclaimer.hpp"
#include "core/runtime/thread_state.hpp"
#include "core/runtime/tools.hpp"
#include "weir/plugin/plugin.hpp"
#include "weir/plugin/support.hpp"

// The functions of `Registry`: opens backends once, and selects the default one.
namespace weir {

std::atomic<bool> detail::process_forked{false};

using detail::enter;

namespace {

constexpr std::array<std::string_view, 3> known = {"cuda", "hip", "host"};

bool is_known(std::string_view name) { return std::find(known.begin(), known.end(), name) != known.end(); }

// --- Forks ------------------------------------------------------------------------------------------------------------

// Whether the creation of the registry has begun.
std::atomic<bool> registry_opened{false};

void after_fork_in_child() {
  if (!registry_opened.load(std::memory_order_relaxed)) return;
  detail::process_forked.store(true, std::memory_order_relaxed);
  detail::process_exceptional.store(true, std::memory_order_relaxed);
}

// Registered when the library is loaded, so that no fork can happen between the creation of the registry and this. The
// result is ignored: this fails only if memory is exhausted, and programs that do not fork must still run.
[[maybe_unused]] const int forks_watched = ::pthread_atfork(nullptr, nullptr, after_fork_in_child);

// --- Outcomes ---------------------------------------------------------------------------------------------------------

// The state of one backend. Created when a name is first used, never destroyed.
struct Entry {
  explicit Entry(std::string_view name) { info.name = name; }

  std::uint64_t opener = 0;          // the thread that is opening the backend now, or 0; guarded by the registry's mutex
  std::atomic<bool> settled{false};  // true when the members below are final; before, only the opener accesses them
  BackendInfo info;
  std::optional<Error> error;  // the error that `open` throws; empty if the backend is usable
  Backend* made = nullptr;     // the factory's result, even if it is not usable: backends are never destroyed
};

BackendState state_of(Errc code) {
  switch (code) {
    case Errc::backend_unknown:
    case Errc::plugin_not_found: return BackendState::plugin_not_found;
    case Errc::plugin_incompatible: return BackendState::plugin_incompatible;
    case Errc::driver_not_found: return BackendState::driver_not_found;
    case Errc::driver_too_old: return BackendState::driver_too_old;
    case Errc::no_device: return BackendState::no_device;
    case Errc::invalid_environment: return BackendState::bad_variable;
    default: return BackendState::driver_failed;
  }
}

// Whether the user should be warned if `auto` skips a backend in this state: the machine seems to have the hardware for it.
bool is_surprising(BackendState state) {
  return state == BackendState::plugin_incompatible || state == BackendState::driver_too_old ||
         state == BackendState::driver_failed;
}

// Lists the failed attempts that `cause` does not already contain.
std::string tried(std::span<const LoadAttempt> attempts, std::string_view cause) {
  std::string text;
  for (const LoadAttempt& attempt : attempts) {
    if (attempt.outcome == "opened") continue;
    if (cause.find(attempt.path) != std::string_view::npos && cause.find(attempt.outcome) != std::string_view::npos)
      continue;
    text += fmt::format("{}{} ({})", text.empty() ? "; tried " : ", ", attempt.path, attempt.outcome);
  }
  return text;
}

// The attempts that the error should list: if no plugin was opened, all attempts; if the plugin was opened but the driver
// was not, the attempts to open the driver; otherwise none.
std::span<const LoadAttempt> attempts_at_fault(const BackendInfo& info, Errc code) {
  if (info.plugin_path.empty()) return info.attempts;
  if (code != Errc::driver_not_found && code != Errc::driver_too_old) return {};
  const auto plugin = std::find_if(info.attempts.begin(), info.attempts.end(),
                                   [&](const LoadAttempt& attempt) { return attempt.path == info.plugin_path; });
  return {plugin == info.attempts.end() ? plugin : plugin + 1, info.attempts.end()};
}

[[noreturn]] void throw_without_plugin(std::string_view name) {
  struct Recipe {
    std::string_view name, option, needs;
  };
  constexpr Recipe recipes[] = {
      {"cuda", "WEIR_BACKEND_CUDA", "the headers of CUDA Toolkit 12 or later"},
      {"hip", "WEIR_BACKEND_HIP", "the headers of HIP 5.2 or later (Debian: libamdhip64-dev)"},
      {"host", "WEIR_BACKEND_HOST", "oneTBB (Debian: libtbb-dev)"},
  };
  if (!detail::can_load_plugins()) {
    throw Error(is_known(name) ? Errc::plugin_not_found : Errc::backend_unknown, "", "",
                fmt::format("it is not built into this Weir, a static library, which cannot load plugins; build Weir with "
                            "the backend '{}', or as a shared library",
                            name));
  }
  for (const Recipe& recipe : recipes) {
    if (recipe.name != name) continue;
    throw Error(Errc::plugin_not_found, "", "",
                fmt::format("its plugin libweir_{}.so was not found; build Weir with -D{}=ON and {}, or set "
                            "WEIR_PLUGIN_PATH to the plugin's folder",
                            name, recipe.option, recipe.needs));
  }
  // The caller appends the attempted paths to the error's text, so put the suggestion at its beginning.
  const std::string meant = detail::meant_backend(name, known);
  if (!detail::is_backend_name(name)) {
    throw Error(Errc::backend_unknown, "", "",
                fmt::format("there is no backend '{}'{}: names have the form [a-z][a-z0-9_]*; the known ones are {}",
                            detail::escaped(name), meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant),
                            fmt::join(known, ", ")));
  }
  throw Error(Errc::backend_unknown, "", "",
              fmt::format("there is no backend '{}'{}: the known ones are {}, and no plugin libweir_{}.so was found; {}",
                          name, meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant), fmt::join(known, ", "), name,
                          "use a known name, or set WEIR_PLUGIN_PATH to the plugin's folder"));
}

// Calls the plugin's factory, and converts every failure to an `Error` without operation and object, which the registry
// adds.
void start(const detail::Plugin& plugin, Entry& e) {
  constexpr const char* report = "report this to the plugin's author";
  try {
    PluginContext context(e.info);
    // Not null if an earlier attempt has called the factory and then ran out of memory.
    if (e.made == nullptr) e.made = plugin.create(context);
  } catch (const Error& error) {
    constexpr Errc expected[] = {Errc::driver_not_found, Errc::driver_too_old, Errc::no_device, Errc::driver_failed,
                                 Errc::invalid_environment};
    const bool is_expected = std::find(std::begin(expected), std::end(expected), error.errc()) != std::end(expected);
    const std::string subject = error.object().empty() ? error.operation() : error.operation() + " on " + error.object();
    throw Error(is_expected ? error.errc() : Errc::driver_failed, "", "",
                subject.empty() ? error.detail() : subject + ": " + error.detail(), error.native());
  } catch (const std::exception& exception) {
    throw Error(Errc::driver_failed, "", "", fmt::format("the plugin's factory threw \"{}\"; {}", exception.what(), report));
  } catch (...) {
    throw Error(Errc::driver_failed, "", "",
                fmt::format("the plugin's factory threw an object that is not a std::exception; {}", report));
  }
  if (e.made == nullptr) {
    throw Error(Errc::driver_failed, "", "", fmt::format("the plugin's factory returned no backend; {}", report));
  }
  if (e.made->name() != e.info.name) {
    throw Error(
        Errc::plugin_incompatible, "", "",
        fmt::format("the plugin's name is '{}', but its backend's name is '{}'; {}", e.info.name, e.made->name(), report));
  }
  if (e.made->device_count() == 0) {
    throw Error(Errc::no_device, "", "",
                "the driver works but reports no device; check what hides the devices from this process");
  }
}

// Returns the built-in backend `name`; if there is none, loads its plugin and sets `path` to the plugin's file.
detail::Plugin find_backend(std::string_view name, std::span<const std::string> folders, std::vector<LoadAttempt>& attempts,
                            std::string& path) {
  if (const auto built_in = detail::built_in_backend(name)) return *built_in;
  std::string found;
  if (detail::is_backend_name(name) && detail::can_load_plugins()) found = detail::find_plugin(name, folders, attempts);
  if (found.empty()) throw_without_plugin(name);
  detail::Plugin plugin = detail::open_plugin(name, found, attempts);
  path = std::move(found);
  return plugin;
}

void load(Entry& e, std::span<const std::string> folders) {
  BackendInfo& info = e.info;
  const detail::Plugin plugin = find_backend(info.name, folders, info.attempts, info.plugin_path);
  info.plugin_version = plugin.version;
  start(plugin, e);
  Reclaimer::stop_at_exit();
  info.backend = e.made;
  info.state = BackendState::usable;
}

}  // namespace

// --- The registry -----------------------------------------------------------------------------------------------------

struct Registry::Implementation {
  const std::optional<std::string> choice = support::environment("WEIR_BACKEND");
  const detail::Selection selection = detail::parse_selection(choice, known);
  const int default_ordinal = static_cast<int>(support::environment_number("WEIR_DEVICE", 0, 0, INT_MAX));
  const std::vector<std::string> folders = detail::plugin_folders(support::environment("WEIR_PLUGIN_PATH"));

  std::mutex mutex;  // guards the members below, except members of entries after `settled`; never held while code of a
                     // plugin or a driver runs
  std::map<std::string, Entry, std::less<>> entries;
  std::condition_variable opened;  // signalled when a thread has finished opening a backend
  std::atomic<Backend*> default_backend{nullptr};
  std::atomic<Device*> default_device{nullptr};

  // Returns the entry of a backend. If it is not settled, the calling thread is now its opener and must settle it. Blocks
  // while another thread is the opener.
  Entry& claim(std::string_view name) {
    const std::uint64_t me = detail::this_thread();
    std::unique_lock lock(mutex);
    const auto found = entries.find(name);
    Entry& e = found != entries.end() ? found->second : entries.try_emplace(std::string(name), name).first->second;
    while (e.opener != 0) {
      if (e.opener == me) {
        throw Error(Errc::driver_failed, "Registry::open", fmt::format("backend {}", name),
                    "its own factory opens it again while it is being opened; report this to the plugin's author");
      }
      opened.wait(lock);
    }
    if (!e.settled.load(std::memory_order_relaxed)) e.opener = me;
    return e;
  }

  // Returns the settled entry of a backend; opens the backend if necessary.
  Entry& settle(std::string_view name) {
    Entry& e = claim(name);
    if (e.settled.load(std::memory_order_acquire)) return e;
    // Also runs if memory is exhausted before the entry is settled: the next caller then tries again.
    struct Opened {
      Implementation& registry;
      Entry& entry;
      ~Opened() {
        const std::lock_guard lock(registry.mutex);
        entry.opener = 0;
        registry.opened.notify_all();
      }
    } const opening{*this, e};
    BackendInfo& info = e.info;
    info.attempts.clear();
    try {
      load(e, folders);
    } catch (const Error& error) {
      info.state = state_of(error.errc());
      info.reason = error.detail() + detail::native_suffix(error.native());
      e.error.emplace(error.errc(), "Registry::open", fmt::format("backend {}", name),
                      error.detail() + tried(attempts_at_fault(info, error.errc()), error.detail()), error.native());
    }
    for (const LoadAttempt& attempt : info.attempts) {
      support::log(LogLevel::debug, fmt::format("backend {}: {}: {}", name, attempt.path, attempt.outcome));
    }
    support::log(LogLevel::debug, fmt::format("backend {}: {}", name, info.backend != nullptr ? "usable" : info.reason));
    e.settled.store(true, std::memory_order_release);
    return e;
  }

  Backend& open(std::string_view name) {
    Entry& e = settle(name);
    if (e.error) throw *e.error;
    return *e.info.backend;
  }

  // The value of WEIR_BACKEND, for messages.
  std::string choice_text() const { return choice ? "WEIR_BACKEND=" + *choice : "WEIR_BACKEND not set, so auto"; }

  // Throws the error of a backend as an error of `default_backend`, with the value of WEIR_BACKEND.
  [[noreturn]] void throw_choice_error(const Error& error) const {
    throw Error(error.errc(), "Registry::default_backend", choice_text(), error.detail(), error.native());
  }

  Backend& choose() {
    // An unknown name in WEIR_BACKEND is an error, even if a backend that precedes it is usable.
    for (const std::string& name : selection.names) {
      std::vector<LoadAttempt> attempts;
      if (is_known(name) || !detail::find_plugin(name, folders, attempts).empty()) continue;
      const Entry& e = settle(name);
      if (e.error && e.error->errc() == Errc::backend_unknown) throw_choice_error(*e.error);
    }
    std::vector<const Entry*> passed_over;
    for (const std::string& name : selection.names) {
      const Entry& e = settle(name);
      if (e.info.backend != nullptr) {
        chosen(*e.info.backend, passed_over);
        return *e.info.backend;
      }
      if (e.error->errc() == Errc::invalid_environment) throw_choice_error(*e.error);
      passed_over.push_back(&e);
    }
    const Error& last = *passed_over.back()->error;
    if (passed_over.size() == 1) throw_choice_error(last);
    std::string reasons = "no backend is usable";
    for (const Entry* e : passed_over) {
      reasons += fmt::format("\n  {}: {}{}", e->info.name, e->error->detail(), detail::native_suffix(e->error->native()));
    }
    throw Error(last.errc(), "Registry::default_backend", choice_text(), reasons);
  }

  // Stores the chosen backend. Several threads may choose concurrently; they choose the same backend, and only the first one
  // logs the choice.
  void chosen(Backend& backend, const std::vector<const Entry*>& passed_over) {
    Backend* none = nullptr;
    if (!default_backend.compare_exchange_strong(none, &backend, std::memory_order_acq_rel)) return;
    for (const Entry* e : passed_over) {
      support::log(is_surprising(e->info.state) ? LogLevel::warn : LogLevel::info,
                   fmt::format("skipped backend {} ({}): {}", e->info.name, choice_text(), e->info.reason));
    }
    support::log(LogLevel::info, fmt::format("default backend: {} ({})", backend.name(), choice_text()));
  }
};

Registry::Registry() : implementation_(new Implementation) {}

Registry& Registry::shared() {
  enter("Registry::instance");
  // Never destroyed, because static objects may own streams after main.
  static Registry* const registry = [] {
    registry_opened.store(true, std::memory_order_relaxed);
    try {
      // Read all environment variables now, so that every program reports an invalid one at once.
      detail::check_log_variable();
      detail::disabled_features();
      detail::open_tools();
      return new Registry;
    } catch (...) {
      registry_opened.store(false, std::memory_order_relaxed);
      throw;
    }
  }();
  return *registry;
}

std::span<const std::string_view> Registry::known_names() noexcept { return known; }

Backend& Registry::open(std::string_view name) {
  enter("Registry::open");
  return implementation_->open(name);
}

const BackendInfo& Registry::probe(std::string_view name) {
  enter("Registry::probe");
  return implementation_->settle(name).info;
}

std::vector<BackendInfo> Registry::probe_all() {
  enter("Registry::probe_all");
  std::vector<BackendInfo> all;
  for (const std::string_view name : known) all.push_back(implementation_->settle(name).info);
  std::lock_guard lock(implementation_->mutex);
  for (const auto& [name, e] : implementation_->entries) {
    if (is_known(name) || !e.settled.load(std::memory_order_acquire)) continue;
    if (!e.error || e.error->errc() != Errc::backend_unknown) all.push_back(e.info);
  }
  return all;
}

std::vector<Device*> Registry::devices() {
  std::vector<Device*> all;
  for (const BackendInfo& info : probe_all()) {
    for (int i = 0; info.backend != nullptr && i < info.backend->device_count(); ++i)
      all.push_back(&info.backend->device(i));
  }
  return all;
}

Backend& Registry::default_backend() {
  enter("Registry::default_backend");
  Backend* const backend = implementation_->default_backend.load(std::memory_order_acquire);
  return backend != nullptr ? *backend : implementation_->choose();
}

Device& Registry::default_device() {
  if (Device* const device = implementation_->default_device.load(std::memory_order_acquire); device != nullptr) {
    enter("Registry::default_device");
    return *device;
  }
  const Backend& backend = default_backend();
  const int ordinal = implementation_->default_ordinal;
  if (ordinal >= backend.device_count()) {
    detail::throw_invalid_environment(
        "WEIR_DEVICE", std::to_string(ordinal),
        fmt::format("backend {} has {} device{}; use a number from 0 to {}", backend.name(), backend.device_count(),
                    backend.device_count() == 1 ? "" : "s", backend.device_count() - 1));
  }
  Device& device = backend.device(ordinal);
  implementation_->default_device.store(&device, std::memory_order_release);
  return device;
}

Device& Registry::device(std::string_view name) {
  const detail::DeviceName wanted = detail::parse_device_name(name, known);
  return open(wanted.backend).device(wanted.ordinal);
}

std::vector<std::byte> Registry::compile_image(std::string_view backend, std::string_view architecture,
                                               std::string_view source, const CompileOptions& options, std::string* log) {
  const char* const operation = "Registry::compile_image";
  enter(operation);
  const std::string object = fmt::format("backend {}", backend);
  detail::check_options(options, operation, object);
  std::vector<LoadAttempt> attempts;
  std::string path;
  detail::Plugin plugin{};
  try {
    plugin = find_backend(backend, implementation_->folders, attempts, path);
  } catch (const Error& error) {
    throw Error(error.errc(), operation, object, error.detail() + tried(attempts, error.detail()));
  }
  if (plugin.compile_image == nullptr) {
    throw Error(Errc::unsupported, operation, object, fmt::format("the plugin {} cannot compile ahead of time", path));
  }
  ImageCompilation compilation{architecture, source, options, {}, {}};
  plugin.compile_image(compilation);
  if (log != nullptr) *log = std::move(compilation.log);
  return std::move(compilation.image);
}

std::string_view to_string(BackendState state) noexcept {
  return detail::enum_name(state, {"usable", "plugin_not_found", "plugin_incompatible", "driver_not_found", "driver_too_old",
                                   "no_device", "driver_failed", "bad_variable"});
}

}  // namespace weir
