// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Asio without Boost, as headers alone. Its namespace is renamed and its symbols are hidden, because a program that is
/// linked with Weir may use another release of Asio.
#define ASIO_STANDALONE
#define ASIO_DISABLE_VISIBILITY
#define ASIO_NO_DEPRECATED
#define asio weir_asio
#include <fcntl.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

namespace weir::store {

using Tcp = asio::ip::tcp;

/// Other processes must not keep a connection open: its end is the notice of a death.
inline void close_on_exec(int socket) { ::fcntl(socket, F_SETFD, FD_CLOEXEC); }
/// The same for a child that `fork` has just made: its copy of the socket becomes /dev/null, so that it cannot write to the
/// connection either.
inline void drop_in_child(int socket) noexcept {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  ::dup3(null, socket, O_CLOEXEC);
  ::close(null);
}

/// Lets the kernel notice within 30 seconds that the other machine, or the network to it, is gone. The kernel also answers
/// for a process that is stopped, so that one is not taken for dead.
inline void keep_alive(Tcp::socket& socket) {
  close_on_exec(socket.native_handle());
  std::error_code ignored;
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  socket.set_option(Tcp::no_delay(true), ignored);
  socket.set_option(asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>(10), ignored);
  socket.set_option(asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>(5), ignored);
  socket.set_option(asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPCNT>(4), ignored);
  socket.set_option(asio::detail::socket_option::integer<IPPROTO_TCP, TCP_USER_TIMEOUT>(30000), ignored);
}

}  // namespace weir::store
