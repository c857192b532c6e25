// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

/// Random damage to the bytes of a file.
namespace weir::test {

using Bytes = std::vector<std::byte>;

inline void put(Bytes& bytes, std::size_t at, std::uint64_t number, std::size_t size) {
  std::memcpy(bytes.data() + at, &number, size);
}

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  std::uint64_t number() { return random_(); }
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  /// Makes one to four changes: of bits and numbers; bytes that are inserted, lost or copied from elsewhere.
  void change(Bytes& bytes) {
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      const std::size_t at = below(bytes.size()), record = at / 16 * 16, word = std::min(at / 4 * 4, bytes.size() - 8);
      const auto place = [&](std::size_t offset) { return bytes.begin() + static_cast<std::ptrdiff_t>(offset); };
      switch (below(6)) {
        case 0: bytes[at] ^= static_cast<std::byte>(1 + below(255)); break;
        case 1: put(bytes, word, number() >> below(64), 8); break;
        case 2: put(bytes, word, below(4), 4); break;
        case 3: bytes.insert(place(record), below(2) == 0 ? 16 : below(40), static_cast<std::byte>(below(2))); break;
        case 4: bytes.resize(std::max<std::size_t>(at, 8)); break;
        default: {  // a record in the place of another
          const Bytes from(place(below(bytes.size()) / 16 * 16), bytes.end());
          std::copy_n(from.begin(), std::min({below(8) * 16, from.size(), bytes.size() - record}), place(record));
        }
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace weir::test
