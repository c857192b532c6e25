// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <optional>

#include "support.hpp"

/// The current stream: a stack for each thread and device.
namespace conformance::current_stream_cases {

TEST_SUITE_BEGIN("current stream");

CASE(TwoStreams, "S17 S18 scope: the default stream is current at first; nested scopes restore the outer one") {
  const StreamPtr legacy = device().default_stream();
  CHECK(*current_stream(device()) == *legacy);
  CHECK(*current_stream(device()) == *legacy);  // making a stream does not make it current
  {
    const StreamScope outer(a);
    CHECK(*current_stream(device()) == *a);
    {
      const StreamScope inner(device(), b);
      CHECK(*current_stream(device()) == *b);
      const StreamScope again(a);
      CHECK(*current_stream(device()) == *a);
    }
    CHECK(*current_stream(device()) == *a);
  }
  CHECK(*current_stream(device()) == *legacy);
}

TEST_CASE("S17 scope: the default stream can be made current inside another's scope") {
  const StreamScope outer(device().create_stream());
  const StreamScope inner(device().default_stream());
  CHECK(*current_stream(device()) == *device().default_stream());
}

TEST_CASE("S17 scope: restores the outer stream when an exception leaves it") {
  const StreamPtr before = current_stream(device());
  try {
    const StreamScope scope(device().create_stream());
    throw Boom("out of the scope");
  } catch (const Boom&) {
    CHECK(*current_stream(device()) == *before);
  }
}

TEST_CASE("S17 scope: keeps the stream alive") {
  Owned owner;
  const StreamPtr original = device().create_stream();
  StreamPtr wrapper = device().wrap_stream(original->share_native_handle(), Ownership::borrow, std::move(owner.object));
  {
    const StreamScope scope(wrapper);
    wrapper.reset();
    CHECK_FALSE(owner.is_gone());
    CHECK_WORKS(*current_stream(device()));
  }
  CHECK(owner.is_gone());
}

TEST_CASE("S17 scope: null and closed streams are refused, and the current stream is unchanged") {
  const StreamPtr outer = device().create_stream();
  const StreamScope scope(outer);
  const StreamPtr closed = device().create_stream();
  closed->close();
  CHECK_REFUSED(Errc::invalid_argument, StreamScope(StreamPtr()));
  CHECK_REFUSED(Errc::invalid_argument, StreamScope(device(), StreamPtr()));
  CHECK_REFUSED(Errc::stream_closed, StreamScope(closed));
  CHECK_REFUSED(Errc::stream_closed, StreamScope(device(), closed));
  CHECK(*current_stream(device()) == *outer);
}

TEST_CASE("S17 S18 scope: each thread has its own stack") {
  const StreamPtr mine = device().create_stream();
  const StreamScope scope(mine);
  bool starts_with_default = false, sees_its_own = false;
  on_another_thread([&] {
    starts_with_default = *current_stream(device()) == *device().default_stream();
    const StreamPtr theirs = device().create_stream();
    const StreamScope inner(theirs);
    sees_its_own = *current_stream(device()) == *theirs;
  });
  CHECK(starts_with_default);
  CHECK(sees_its_own);
  CHECK(*current_stream(device()) == *mine);
}

CASE(OneStream, "S17 S27 scope: one stream made current in two threads and dropped in both") {
  std::atomic<int> good{0};
  const auto use = [&good](StreamPtr mine) {
    const StreamScope scope(std::move(mine));
    (void)current_stream(device())->record();
    ++good;
  };
  std::thread a(use, s), b(use, s);
  s.reset();
  a.join();
  b.join();
  CHECK(good == 2);
}

TEST_CASE("S17 scope: scopes may end in any order, and the one begun last of those that are left counts") {
  const StreamPtr before = current_stream(device());
  const StreamPtr a = device().create_stream(), b = device().create_stream(), c = device().create_stream();
  std::optional<StreamScope> first(std::in_place, a), second(std::in_place, b), third(std::in_place, c);
  second.reset();
  CHECK(*current_stream(device()) == *c);
  third.reset();
  CHECK(*current_stream(device()) == *a);
  second.emplace(b);
  first.reset();
  CHECK(*current_stream(device()) == *b);
  second.reset();
  CHECK(*current_stream(device()) == *before);
}

/// What `f` writes to standard error, which must not look as if the suite had failed.
std::string errors_of(const std::function<void()>& f) {
  const int before = ::dup(STDERR_FILENO), file = ::memfd_create("errors", MFD_CLOEXEC);
  ::dup2(file, STDERR_FILENO);
  f();
  ::dup2(before, STDERR_FILENO);
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::pread(file, text.data(), text.size(), 0), 0)));
  ::close(before);
  ::close(file);
  return text;
}

TEST_CASE("S17 scope: one that ends on another thread is an error in the log, and leaves both threads' scopes whole") {
  on_another_thread([] {
    const StreamPtr before = current_stream(device()), inner = device().create_stream();
    std::optional<StreamScope> stray(std::in_place, device().create_stream()), nested(std::in_place, inner);
    on_another_thread([&] {
      const StreamPtr theirs = device().create_stream();
      const StreamScope scope(theirs);
      const std::string errors = errors_of([&] { stray.reset(); });
      CHECK(errors.find("a StreamScope was destroyed on another thread than the one that created it") != errors.npos);
      CHECK(*current_stream(device()) == *theirs);
    });
    CHECK(*current_stream(device()) == *inner);
    nested.reset();
    CHECK(*current_stream(device()) == *before);
  });
}

CASE(Holdable, "S17 scope: entering orders nothing: streams are ordered by waits alone") {
  {
    const StreamScope scope(a);
    gate.hold(*current_stream(device()));
    const StreamScope inner(b);
    board.put(*current_stream(device()), 0, 1);
    current_stream(device())->synchronize();
  }
  CHECK(board[0] == 1);
  CHECK_FALSE(a->is_complete());
  gate.finish(*a);
}

}  // namespace conformance::current_stream_cases
