// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compile/elf_image.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>

#include "backends/host/compile/compiler.hpp"
#include "core/base/child_process.hpp"
#include "core/base/program_search.hpp"
#include "core/base/temporary_folder.hpp"
#include "tests/host/support.hpp"

// Tests the list of variables that a shared object exports.

namespace weir::host {
namespace {

using test::has;

std::vector<char> shared_object() {
  static const std::vector<char> bytes = [] {
    const detail::TemporaryFolder folder;
    std::ofstream(folder.path() + "/x.cpp")
        << "extern const char text[] = \"words of it\"; int number; static int hidden; int* f() { return &hidden; }";
    detail::run_child({find_compiler().path, "-shared", "-fPIC", "-o", "x.so", "x.cpp"}, folder.path(),
                      detail::program_environment(find_compiler().path));
    std::ifstream file(folder.path() + "/x.so", std::ios::binary);
    return std::vector<char>(std::istreambuf_iterator<char>(file), {});
  }();
  return bytes;
}

std::string complaint(const std::vector<char>& bytes) {
  try {
    const ElfImage image(std::as_bytes(std::span(bytes)));
  } catch (const BadImage& bad) {
    return bad.what();
  }
  return "";
}

TEST_CASE("exported variables are listed with their sizes") {
  const std::vector<char> bytes = shared_object();
  const ElfImage image(std::as_bytes(std::span(bytes)));
  REQUIRE(image.find("text") != nullptr);
  CHECK(image.find("text")->size == 12);
  CHECK(image.string(*image.find("text")) == "words of it");
  REQUIRE(image.find("number") != nullptr);
  CHECK(image.find("number")->size == 4);
  CHECK(image.string(*image.find("number")).empty());  // zeros are not in the file
  CHECK(image.find("hidden") == nullptr);
  CHECK(image.find("_Z1fv") == nullptr);
}

TEST_CASE("what is no shared object for this processor is told apart") {
  CHECK(has(complaint({}), "not an ELF file"));
  CHECK(has(complaint({'\x7f', 'E', 'L'}), "not an ELF file"));
  const std::string ptx = ".version 8.0\n.target sm_90\n";
  CHECK(has(complaint({ptx.begin(), ptx.end()}), "not an ELF file"));
  const auto with = [](std::size_t offset, char value) {
    std::vector<char> bytes = shared_object();
    bytes[offset] = value;
    return bytes;
  };
  CHECK(has(complaint(with(offsetof(Elf64_Ehdr, e_machine), static_cast<char>(EM_CUDA))), "it is for an NVIDIA GPU"));
  CHECK(has(complaint(with(offsetof(Elf64_Ehdr, e_machine), static_cast<char>(224))), "it is for an AMD GPU"));
  CHECK(has(complaint(with(offsetof(Elf64_Ehdr, e_type), ET_REL)), "not a shared object"));
}

TEST_CASE("an image that is cut short anywhere is refused") {
  const std::vector<char> whole = shared_object();
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    CAPTURE(size);
    CHECK_FALSE(complaint({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}).empty());
  }
  CHECK(complaint(whole).empty());
}

TEST_CASE("offsets that lead outside are refused or passed over, and never followed") {
  const std::vector<char> whole = shared_object();
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof(header));
  for (std::size_t byte = 0; byte < sizeof(Elf64_Ehdr); ++byte) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::vector<char> bytes = whole;
      bytes[byte] = value;
      CHECK_NOTHROW((void)complaint(bytes));
    }
  }
  for (std::size_t byte = header.e_shoff; byte < whole.size(); ++byte) {
    std::vector<char> bytes = whole;
    bytes[byte] = '\xff';
    CHECK_NOTHROW((void)complaint(bytes));
  }
}

}  // namespace
}  // namespace weir::host
