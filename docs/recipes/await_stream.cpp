// SPDX-License-Identifier: Apache-2.0
//
// How do I wait for a stream without blocking a thread (co_await, callback, asyncio)?
//
// `co_await *stream` suspends a coroutine until the work enqueued so far is done; `completion` resumes it on your
// executor. `when_done` calls a function instead. Both are in weir/await.hpp; weir/interop/execution.hpp has senders.
#include <coroutine>
#include <future>
#include <weir/await.hpp>
#include <weir/weir.hpp>

struct Task {  // of your coroutine library
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Task work(weir::Stream& stream, const weir::Buffer<int>& x, const weir::Buffer<int>& pinned, std::promise<int>& result) {
  stream.fill(x, 3);
  stream.copy(pinned, x);
  co_await stream;  // goes on when both are done; throws what Stream::synchronize would
  result.set_value(pinned.host().back());
}

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(1000), pinned = device.allocate<int>(1000, weir::MemoryKind::pinned);
  std::promise<int> result;
  work(*stream, x, pinned, result);

  std::promise<void> done;
  weir::when_done(*stream, [&](std::exception_ptr error) { error ? done.set_exception(error) : done.set_value(); });
  done.get_future().get();
  return result.get_future().get() == 3 ? 0 : 1;
}
