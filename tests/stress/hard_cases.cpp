// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "worker.hpp"

namespace stress {
namespace {

using weir::Errc;

/// Checks that the call throws this error.
void expect(Errc code, const std::function<void()>& call) {
  try {
    call();
  } catch (const weir::Error& error) {
    if (error.errc() == code) return;
    throw std::runtime_error("instead of " + std::string(weir::to_string(code)) + ": " + error.what());
  }
  throw std::runtime_error("there was no " + std::string(weir::to_string(code)));
}

/// A capture of the driver's own, as other code makes one beside Weir.
class ForeignCapture {
 public:
  /// Empty where the backend has no driver, or the driver is not found by its usual name.
  static const ForeignCapture* of(const Device& device) {
    static const ForeignCapture* const found = [&]() -> const ForeignCapture* {
      const std::string backend(device.backend().name());
      const bool is_cuda = backend == "cuda";
      if (!is_cuda && backend != "hip") return nullptr;
      const char* const given = std::getenv(is_cuda ? "WEIR_CUDA_DRIVER" : "WEIR_HIP_RUNTIME");
      const std::vector<std::string> names = given != nullptr ? std::vector<std::string>{given}
                                             : is_cuda        ? std::vector<std::string>{"libcuda.so.1"}
                                                       : std::vector<std::string>{"libamdhip64.so.7", "libamdhip64.so.6"};
      for (const std::string& name : names) {
        void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) continue;
        static ForeignCapture calls;
        calls.begin_ =
            reinterpret_cast<Begin>(::dlsym(library, is_cuda ? "cuStreamBeginCapture_v2" : "hipStreamBeginCapture"));
        calls.end_ = reinterpret_cast<End>(::dlsym(library, is_cuda ? "cuStreamEndCapture" : "hipStreamEndCapture"));
        calls.drop_ = reinterpret_cast<Drop>(::dlsym(library, is_cuda ? "cuGraphDestroy" : "hipGraphDestroy"));
        if (calls.begin_ != nullptr && calls.end_ != nullptr && calls.drop_ != nullptr) return &calls;
      }
      return nullptr;
    }();
    return found;
  }

  /// Captures on `stream` while `work` runs. The capture must live until its end.
  void around(void* stream, int mode, const std::function<void()>& work) const {
    if (const int error = begin_(stream, mode); error != 0)
      throw std::runtime_error("a foreign capture does not begin: " + std::to_string(error));
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    void* graph = nullptr;
    const int error = end_(stream, &graph);
    if (graph != nullptr) drop_(graph);
    if (thrown) std::rethrow_exception(thrown);
    if (error != 0) throw std::runtime_error("a foreign capture was broken: " + std::to_string(error));
  }

 private:
  using Begin = int (*)(void* stream, int mode);
  using End = int (*)(void* stream, void** graph);
  using Drop = int (*)(void* graph);
  Begin begin_ = nullptr;
  End end_ = nullptr;
  Drop drop_ = nullptr;
};

/// Of which two objects launch with much and with little dynamic shared memory.
constexpr const char* shared_memory_source = R"(
extern "C" __global__ void add_shared(unsigned* p, unsigned words, unsigned n) {
  extern __shared__ unsigned shared[];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  shared[words - 1 - threadIdx.x] = i;
  p[i] += shared[words - 1 - threadIdx.x] - i + 1;
}
)";

}  // namespace

std::vector<Case> hard_cases() {
  using F = Feature;
  return {
      {"unjoined capture",
       {F::graph_capture, F::graph_child_nodes},
       [](Worker& w) {
         const StreamPtr forked = w.device.create_stream();
         const auto scratch = w.device.allocate<std::uint32_t>(part);
         expect(Errc::capture_unjoined, [&] {
           (void)w.capture([&](Stream& c) {
             c.add_child_graph(*w.shared.graph);
             forked->wait(c);
             forked->fill(scratch, 9U);
           });
         });
         forked->fill(scratch, 8U);
         w.s->wait(*forked);
         if (w.below(8) == 0) w.check(scratch, 8);
       }},
      {"broken body",
       {F::graph_capture, F::graph_conditional_nodes},
       [](Worker& w) {
         struct Meant {};
         const auto condition = w.device.allocate<std::uint32_t>(1, weir::MemoryKind::pinned);
         condition.host()[0] = 0;
         const auto scratch = w.device.allocate<std::uint32_t>(part);
         const StreamPtr outer = w.device.create_stream(), forked = w.device.create_stream();
         const std::uint32_t way = w.below(4);
         const auto body = [&](Stream& inner) {
           if (way == 2) {
             expect(Errc::capture_unmatched, [&] { (void)outer->end_capture(); });
             return;
           }
           forked->wait(inner);
           forked->fill(scratch, 7U);
           if (way == 1) throw Meant();
         };
         outer->begin_capture(CaptureMode::relaxed);
         w.add(*outer, 1);
         if (way == 1) {
           bool is_thrown = false;
           try {
             outer->capture_if(condition.data(), body);
           } catch (const Meant&) {
             is_thrown = true;
           }
           if (!is_thrown) throw std::runtime_error("what a body threw was lost");
         } else if (way == 2) {
           outer->capture_if(condition.data(), body);
         } else if (way == 3) {  // of the node within the body
           expect(Errc::capture_unjoined, [&] {
             outer->capture_if(condition.data(), [&](Stream& inner) { inner.capture_if(condition.data(), body); });
           });
         } else {
           expect(Errc::capture_unjoined, [&] { outer->capture_if(condition.data(), body); });
         }
         const auto graph = outer->end_capture();
         outer->wait(*w.s);
         graph->instantiate()->launch(*outer);
         ++w.sum;
         w.s->wait(*outer);
         forked->fill(scratch, 6U);
         w.s->wait(*forked);
         if (w.below(8) == 0) w.check(scratch, 6);
         w.s->synchronize();  // the node reads its condition
       }},
      {"foreign capture",
       {F::graph_capture},
       [](Worker& w) {
         const StreamPtr theirs = w.device.create_stream();
         ForeignCapture::of(w.device)->around(theirs->share_native_handle(), static_cast<int>(w.below(3)), [&] {
           w.add(*w.s, 1);
           ++w.sum;
           const auto event = w.s->record();
           (void)event->is_complete();
           (void)w.s->is_complete();
           event->synchronize();
           if (w.device.supports(F::async_allocation)) {
             const auto words = w.s->allocate_async<std::uint32_t>(part);
             w.s->fill(words, 1U);
           }
           w.check_sum();
         });
         theirs->synchronize();
       },
       // On HIP an open capture forbids other threads what it allows on CUDA, and its library crashes beside raw calls.
       [](const Device& device) { return device.backend().name() == "cuda" && ForeignCapture::of(device) != nullptr; }},
      {"two objects of a kernel",
       {},
       [](Worker& w) {
         static const auto& module = *new weir::ModulePtr(w.device.compile(shared_memory_source));
         const auto much = static_cast<std::uint32_t>(w.device.properties().shared_memory_per_block_optin);
         const std::uint32_t little = std::min(60000U, much);
         const auto one = module->untyped_kernel("add_shared"), other = module->untyped_kernel("add_shared");
         for (const auto& [kernel, bytes] : {std::pair{one, much}, {other, little}, {one, much}}) {
           const weir::LaunchConfig config{part / 256, 256, bytes / 4 * 4};
           w.s->launch(kernel, config, w.mine, bytes / 4, part);
           ++w.sum;
           if (w.below(2) == 0) (void)module->untyped_kernel("add_shared")->max_active_blocks(256, little);
         }
       }},
      {"parts of a block",
       {},
       [](Worker& w) {
         constexpr std::size_t bytes = part * sizeof(std::uint32_t);
         auto block = w.device.allocate_bytes(4 * bytes);
         void* const view = static_cast<std::byte*>(block->data()) + bytes;
         const auto adopted = w.device.adopt_memory(view, bytes, weir::MemoryKind::device,
                                                    [owner = std::move(block)](void*) {});  // the part keeps the block
         const Words words(adopted, part);
         w.s->copy(words, w.mine);
         w.add(*w.s, 1);
         w.s->copy(w.mine, words);
         if (w.device.supports(F::interprocess_memory))
           expect(Errc::invalid_argument, [&] { (void)w.device.interprocess_handle(*adopted); });
         w.s->synchronize();  // the memory's own deleter does not wait
       }},
  };
}

}  // namespace stress
