// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>

#include "bindings/c/call.hpp"
#include "weir/version.hpp"

// The C interface: results, each thread's last error, and versions (weir/c/base.h).
namespace weir::c {
namespace {

/// A thread's last failure.
struct LastError {
  weir_result code = WEIR_SUCCESS;
  std::optional<Error> error;
  std::string text;
  const char* message = "";  // `text`, or a static text
  std::uint64_t number = 0;  // the number of failed calls of this thread so far
};

thread_local constinit bool thread_ends = false;
struct UntilThreadEnds : LastError {
  ~UntilThreadEnds() { thread_ends = true; }
};

/// The calling thread's last failure. Null while the thread ends and its thread_local variables are destroyed, because
/// destructors of other thread_local variables may still call Weir.
LastError* last_error() noexcept {
  if (thread_ends) return nullptr;
  static thread_local UntilThreadEnds last;
  return &last;
}

weir_result keep(weir_result code, const char* message) noexcept {
  if (LastError* const last = last_error()) {
    last->error.reset();
    last->code = code;
    last->message = message;
    ++last->number;
  }
  return code;
}

weir_result keep(weir_result code, Error error, std::string message) noexcept {
  if (LastError* const last = last_error()) {
    last->error = std::move(error);
    last->text = std::move(message);
    last->code = code;
    last->message = last->text.c_str();
    ++last->number;
  }
  return code;
}

/// Stores an error that the C interface itself has detected. `function`: the C function.
weir_result keep_own(weir_result code, Errc errc, const char* function, const std::string& why) {
  Error error(errc, function, "", why);
  std::string message = error.what();
  return keep(code, std::move(error), std::move(message));
}

/// Stores the exception that is being handled as the last failure. Throws std::bad_alloc if there is no memory for its text.
weir_result keep_current(const char* function) {
  try {
    throw;
  } catch (const Refused& refused) {
    return keep_own(result_of(refused.code), refused.code, function, refused.why);
  } catch (const CallbackFailed& callback) {
    // If a call of Weir has failed in the callback, keep that call's message, because it explains the cause.
    if (callback.failures_before != failures()) return callback.result;
    return keep_own(callback.result, Errc::invalid_argument, function,
                    "the body returned " + std::to_string(static_cast<unsigned>(callback.result)));
  } catch (const Error& error) {
    return keep(result_of(error.errc()), error, std::string(function) + ": " + error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    return keep_own(WEIR_ERROR_UNKNOWN, Errc::backend_failure, function, exception.what());
  } catch (...) {
    return keep_own(WEIR_ERROR_UNKNOWN, Errc::backend_failure, function, "an exception that is not a std::exception");
  }
}

}  // namespace

weir_result result_of(Errc code) noexcept {
  return to_string(code) != "unknown" ? static_cast<weir_result>(code) : WEIR_ERROR_UNKNOWN;
}

weir_result result_of(const std::error_code& code) noexcept {
  if (!code) return WEIR_SUCCESS;
  return code.category() == error_category() ? result_of(static_cast<Errc>(code.value())) : WEIR_ERROR_UNKNOWN;
}

weir_result failed(const char* function) noexcept {
  try {
    return keep_current(function);
  } catch (...) {
    return keep(WEIR_ERROR_OUT_OF_MEMORY, "the host's memory is exhausted");
  }
}

std::uint64_t failures() noexcept {
  const LastError* const last = last_error();
  return last != nullptr ? last->number : 0;
}

void throw_invalid(std::string why) { throw Refused{Errc::invalid_argument, std::move(why)}; }

void throw_null(const char* name) { throw_invalid(std::string(name) + " is null"); }

void throw_unknown_enumerator(const char* name, unsigned value) {
  throw_invalid(std::string(name) + " is " + std::to_string(value) + ", which is not a value of the enumeration");
}

void check_flags(std::uint32_t flags, std::uint32_t known, const char* name) {
  if ((flags & ~known) != 0)
    throw_invalid(std::string(name) + " has bits that this library does not support: " + std::to_string(flags & ~known));
}

void check_size(std::size_t size, std::size_t first, const char* name) {
  constexpr std::size_t most = 1 << 16;  // detects most uninitialized sizes
  if (size < first || size > most)
    throw_invalid(std::string(name) + "->struct_size is " + std::to_string(size) + "; set it to sizeof the structure");
}

void check_rest(const void* given, std::size_t known, const char* name) {
  const auto* const bytes = static_cast<const unsigned char*>(given);
  std::size_t size;
  std::memcpy(&size, given, sizeof(size));
  if (std::any_of(bytes + known, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    throw Refused{Errc::unsupported, std::string(name) + " has options that this library, Weir " + version() +
                                         ", does not support; use the library that belongs to the header"};
  }
}

char* new_text(std::string_view text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  copy[text.copy(copy, text.size())] = '\0';
  return copy;
}

void* new_bytes(const void* bytes, std::size_t count) {
  void* const copy = std::malloc(std::max<std::size_t>(count, 1));
  if (copy == nullptr) throw std::bad_alloc();
  if (count != 0) std::memcpy(copy, bytes, count);
  return copy;
}

}  // namespace weir::c

using namespace weir::c;

const char* weir_result_name(weir_result result) {
  return result == WEIR_SUCCESS ? "success" : weir::to_string(static_cast<weir::Errc>(result)).data();
}

const char* weir_last_error_message(void) {
  const LastError* const last = last_error();
  return last != nullptr ? last->message : "";
}

weir_result weir_last_error(weir_error* error) {
  return give(__func__, error, "error", [&] {
    weir_error all{};
    all.message = weir_last_error_message();
    all.operation = all.object = all.detail = all.native_name = all.native_message = "";
    if (const LastError* const last = last_error()) {
      all.code = last->code;
      if (last->error) {
        all.operation = last->error->operation().c_str();
        all.object = last->error->object().c_str();
        all.detail = last->error->detail().c_str();
        all.native_code = last->error->native().code;
        all.native_name = last->error->native().name.c_str();
        all.native_message = last->error->native().message.c_str();
      }
    }
    return all;
  });
}

void weir_free(void* memory) { std::free(memory); }

uint32_t weir_version(void) { return WEIR_VERSION; }
const char* weir_version_string(void) { return weir::version(); }
uint32_t weir_c_revision(void) { return WEIR_C_REVISION; }
