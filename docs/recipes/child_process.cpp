// SPDX-License-Identifier: Apache-2.0
//
// How do I use Weir in a process that forks?
//
// A child of `fork` cannot use a driver that its parent opened: Weir's calls throw `forked_process`. Fork first and open
// the registry in each process, or start the child with `posix_spawn`.
//
// A child that is forked later should end with `_exit`. With `exit` it may rarely hang: oneTBB's allocator, which the
// host backend uses, then waits for a lock that one of the parent's threads held at the fork.
#include <sys/wait.h>
#include <unistd.h>

#include <weir/weir.hpp>

int work() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(1);
  stream->fill(x, 42);
  return stream->read(x).front() == 42 ? 0 : 1;
}

int main() {
  const pid_t child = fork();  // before Weir is used
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? work() : 1;
}
