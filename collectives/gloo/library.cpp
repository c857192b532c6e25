// SPDX-License-Identifier: Apache-2.0
#include "collectives/gloo/library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <gloo/config.h>
#include <gloo/transport/tcp/attr.h>
#include <link.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <string_view>
#include <vector>

#include "collectives/addresses.hpp"
#include "collectives/gloo/communicator.hpp"
#include "collectives/gloo/engine.hpp"
#include "weir/launch_environment.hpp"
#include "weir/plugin/plugin.hpp"
#include "weir/plugin/support.hpp"

namespace weir::gloo {
namespace {

[[noreturn]] void throw_error(Errc code, const std::string& cause) { throw Error(code, "", "", cause); }

// The build id of a loaded library, in hexadecimal; "" if it has none.
std::string build_id_of(const link_map& library) {
  struct Search {
    ElfW(Addr) address;
    std::string found;
  } search{library.l_addr, {}};
  const auto look = [](dl_phdr_info* info, std::size_t, void* data) {
    Search& wanted = *static_cast<Search*>(data);
    if (info->dlpi_addr != wanted.address) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      if (header.p_type != PT_NOTE) continue;
      const auto* at = reinterpret_cast<const unsigned char*>(info->dlpi_addr + header.p_vaddr);
      const unsigned char* const end = at + header.p_memsz;
      while (at + sizeof(ElfW(Nhdr)) <= end) {
        const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
        const unsigned char* const content = at + sizeof(note) + (note.n_namesz + 3U) / 4U * 4U;
        if (note.n_type == NT_GNU_BUILD_ID) {
          for (std::size_t byte = 0; byte < note.n_descsz; ++byte) wanted.found += fmt::format("{:02x}", content[byte]);
          return 1;
        }
        at = content + (note.n_descsz + 3U) / 4U * 4U;
      }
    }
    return 1;
  };
  ::dl_iterate_phdr(look, &search);
  return search.found;
}

// Without RTLD_DEEPBIND, a program that links libtorch would lend its own, different Gloo to this one. A sanitizer's runtime
// ends the process if it sees the flag.
int deep_binding() { return ::dlsym(RTLD_DEFAULT, "__sanitizer_print_stack_trace") == nullptr ? RTLD_DEEPBIND : 0; }

// This machine's address of a family on the way to a host; "" if there is no way. Sends nothing.
std::string address_towards(const std::string& host, int family) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = family;
  hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return "";
  std::string result;
  for (const addrinfo* i = found; i != nullptr && result.empty(); i = i->ai_next) {
    const int socket = ::socket(i->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_storage own{};
    socklen_t size = sizeof(own);
    if (socket >= 0 && ::connect(socket, i->ai_addr, i->ai_addrlen) == 0 &&
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0)
      result = collectives::text_of(reinterpret_cast<const sockaddr&>(own));
    if (socket >= 0) ::close(socket);
  }
  ::freeaddrinfo(found);
  return result;
}

// Where the other ranks can reach this one. Rank 0's machine may know its own name as a loopback address.
transport::tcp::attr network() {
  transport::tcp::attr network;
  if (const auto interface = support::environment("GLOO_SOCKET_IFNAME")) {
    network.iface = *interface;
    return network;
  }
  const LaunchEnvironment launch = LaunchEnvironment::read();
  if (launch.nodes != 1 && launch.first_host != "localhost") {
    // All ranks must choose the same family.
    for (const int family : {AF_INET, AF_INET6}) {
      if (network.hostname.empty() && !launch.first_host.empty())
        network.hostname = address_towards(launch.first_host, family);
    }
    const bool is_loopback = network.hostname.starts_with("127.") || network.hostname == "::1";
    if (launch.first_host != "127.0.0.1" && (network.hostname.empty() || is_loopback)) {
      const std::vector<std::string> own = collectives::own_addresses();
      const auto first = std::find_if(own.begin(), own.end(), [](const std::string& a) { return a.find(':') == a.npos; });
      network.hostname = first != own.end() ? *first : "";
    }
  }
  if (network.hostname.empty()) network.hostname = "127.0.0.1";
  return network;
}

}  // namespace

Library::Library() {
  const std::string name = support::environment_path("WEIR_GLOO").value_or("libgloo.so.0");
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | deep_binding());
  if (handle == nullptr) {
    const char* const message = ::dlerror();
    throw_error(Errc::driver_not_found,
                fmt::format("Gloo could not be opened: {}; install it (Debian: libgloo0), or set WEIR_GLOO to its path",
                            message != nullptr ? message : "the loader gave no reason"));
  }
  const link_map* map = nullptr;
  ::dlinfo(handle, RTLD_DI_LINKMAP, &map);
  constexpr std::string_view built_with = WEIR_GLOO_BUILD_ID;
  if (const std::string id = build_id_of(*map); id != built_with) {
    throw_error(Errc::plugin_incompatible,
                fmt::format("{} is another build of Gloo ({}) than the plugin was built with ({}), and Gloo has no stable "
                            "ABI; install the plugin's package of this distribution, or build Weir on this machine",
                            map->l_name, id, built_with));
  }
  const auto create_device = reinterpret_cast<std::shared_ptr<transport::Device> (*)(const transport::tcp::attr&)>(
      ::dlsym(handle, "_ZN4gloo9transport3tcp12CreateDeviceERKNS1_4attrE"));
  if (create_device == nullptr) throw_error(Errc::driver_failed, fmt::format("{} lacks CreateDevice", map->l_name));
  label_ = fmt::format("gloo {}.{}.{} ({})", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH, map->l_name);
  const transport::tcp::attr chosen = network();
  try {
    const support::SignalsBlocked blocked;  // also for SIGPIPE, which the device's thread may cause
    device_ = create_device(chosen);
  } catch (const std::exception& error) {
    throw_error(Errc::driver_failed,
                fmt::format("Gloo cannot use the {} {}: {}; set GLOO_SOCKET_IFNAME to the interface that leads to the other "
                            "machines",
                            chosen.iface.empty() ? "address" : "interface",
                            chosen.iface.empty() ? chosen.hostname : chosen.iface, without_place(error.what())));
  }
}

std::vector<CommunicatorPtr> Library::create(const CommunicatorRequest& request) {
  std::vector<int> members(static_cast<std::size_t>(request.ranks));
  std::iota(members.begin(), members.end(), 0);
  const auto engine = Engine::start(device(), {.peers = *request.peers,
                                               .key = "gloo",
                                               .members = members,
                                               .rank = request.first_rank,
                                               .timeout = request.timeout,
                                               .deadline = request.deadline});
  return {make_ptr<Communicator>(*this, *request.devices[0], engine)};
}

}  // namespace weir::gloo

WEIR_PLUGIN_NOTE("comm_gloo", WEIR_VERSION_STRING)
weir::CommunicatorLibrary* weir_open_communicator_library() { return new weir::gloo::Library; }
