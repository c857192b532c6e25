// SPDX-License-Identifier: Apache-2.0
//
// How do I keep something for each stream?
//
// Use a map with `StreamRef` as the key: all wrappers of one native stream are the same key. Remove the entry before the
// stream ends: drivers give a destroyed stream's handle to the next stream.
#include <string>
#include <unordered_map>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto a = device.create_stream(), b = device.create_stream();
  std::unordered_map<weir::StreamRef, std::string> names = {{a, "a"}, {b, "b"}};
  const auto again = device.wrap_stream(a->share_native_handle(), weir::Ownership::borrow, {});
  return names.size() == 2 && names.at(again) == "a" && a->id() != b->id() ? 0 : 1;
}
