// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/call.hpp"
#include "weir/stream.hpp"

// The C interface: host functions and callbacks (weir/c/stream.h).
using namespace weir::c;

namespace {

weir_result launch(const char* called, weir_stream* stream, const char* name, void (*function)(void* user_data),
                   UserData data) {
  return call(called, [&] {
    weir::Stream& target = required(stream, "stream");
    if (function == nullptr) throw_null("function");
    target.launch_host_function([function, data = std::move(data)] { function(data.get()); }, {.name = name_or_none(name)});
  });
}

}  // namespace

weir_result weir_stream_launch_host_function(weir_stream* stream, void (*function)(void* user_data),
                                             void (*destroy)(void* user_data), void* user_data) {
  return launch(__func__, stream, nullptr, function, {destroy, user_data});
}

weir_result weir_stream_launch_named_host_function(weir_stream* stream, const char* name, void (*function)(void* user_data),
                                                   void (*destroy)(void* user_data), void* user_data) {
  return launch(__func__, stream, name, function, {destroy, user_data});
}

weir_result weir_stream_add_callback(weir_stream* stream,
                                     void (*callback)(weir_stream* stream, weir_result status, void* user_data),
                                     void (*destroy)(void* user_data), void* user_data) {
  UserData data(destroy, user_data);
  return call(__func__, [&] {
    weir::Stream& target = required(stream, "stream");
    if (callback == nullptr) throw_null("callback");
    target.add_callback([callback, data = std::move(data)](weir::Stream& failed_or_done, std::error_code status) {
      callback(handle(&failed_or_done), result_of(status), data.get());
    });
  });
}
