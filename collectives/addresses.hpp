// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <string>
#include <vector>

/// Network addresses as numbers in text.
namespace weir::collectives {

/// Returns the address without a port; "" if it is of another kind than IP.
inline std::string text_of(const sockaddr& address) {
  char text[NI_MAXHOST] = {};
  const auto size = static_cast<socklen_t>(address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  const bool is_ip = address.sa_family == AF_INET || address.sa_family == AF_INET6;
  return is_ip && ::getnameinfo(&address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

/// Returns the addresses of this machine's interfaces that are up, without loopback and link-local ones.
inline std::vector<std::string> own_addresses() {
  std::vector<std::string> result;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return result;
  for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & (IFF_UP | IFF_LOOPBACK)) != IFF_UP) continue;
    const std::string text = text_of(*i->ifa_addr);
    if (!text.empty() && text.find('%') == text.npos) result.push_back(text);  // link-local ones name the interface
  }
  ::freeifaddrs(all);
  return result;
}

}  // namespace weir::collectives
