// SPDX-License-Identifier: Apache-2.0
#include "weir/kernel_bundle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/saved/kernel_bundle_format.hpp"
#include "tests/unit/damage.hpp"
#include "weir/error.hpp"

// Tests the bytes of a bundle: their meaning, and that invalid bytes are refused without reading beyond them.

using namespace weir::detail;
using weir::KernelBundle;
using weir::test::Bytes;
using weir::test::Damage;
using weir::test::put;

namespace {

Bytes example() {
  BundleWriter writer;
  writer.add(record::source, "blur.cu", "extern \"C\" __global__ void blur() {}\n");
  writer.add(record::header, "weights.cuh", "#define RADIUS 2\n");
  writer.add(record::define, "N", "16");
  writer.add(record::option, "cuda", "-lineinfo");
  writer.add(record::option, "host", "-funroll-loops");
  writer.add(record::kernel, "blur<float, 3>", "");
  writer.add(record::kernel, "blur<double, 5>", "");
  writer.add(record::standard, "", "20");
  writer.add(record::fast_math, "", "");
  writer.add("next", "of a later Weir", "that this one passes over");
  writer.add(record::image, "cuda sm_90", "machine code");
  writer.add(record::image, "cuda compute_90", "PTX");
  writer.add(record::image, "host x86-64-v3",
             "a shared object of some length, so that a change of a size is seldom harmless");
  return writer.bundle();
}

std::string refusal_of(const Bytes& bytes) {
  try {
    KernelBundle bundle(bytes);
  } catch (const weir::Error& error) {
    CHECK(error.errc() == weir::Errc::invalid_image);
    return error.what();
  }
  return "";
}

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Everything that a bundle refers to, read byte by byte: a sanitizer sees whether it lies in the bundle.
std::size_t read_all(const KernelBundle& bundle) {
  std::size_t sum = 0;
  const auto read = [&](std::string_view part) {
    CHECK(part.size() <= bundle.bytes().size());
    for (const char c : part) sum += static_cast<unsigned char>(c);
  };
  read(bundle.name());
  for (const auto& image : bundle.images()) {
    read(image.backend);
    read(image.architecture);
    read(text(image.code));
  }
  if (bundle.source()) read(*bundle.source());
  for (const char* const backend : {"cuda", "hip", "host"}) {
    const weir::CompileOptions options = bundle.options(backend);
    for (const auto& [name, value] : options.defines) read(name + value);
    for (const auto& [name, header] : options.headers) read(name + header);
    for (const std::string& option : options.extra) read(option);
    for (const std::string& kernel : options.kernels) read(kernel);
  }
  return sum;
}

}  // namespace

TEST_CASE("bundle: what is put in comes out") {
  const Bytes bytes = example();
  const KernelBundle bundle(bytes);
  CHECK(bundle.name() == "blur.cu");
  CHECK(bundle.source() == "extern \"C\" __global__ void blur() {}\n");
  REQUIRE(bundle.images().size() == 3);
  CHECK(bundle.images()[0].backend == "cuda");
  CHECK(bundle.images()[0].architecture == "sm_90");
  CHECK(text(bundle.images()[0].code) == "machine code");
  CHECK(bundle.images()[2].architecture == "x86-64-v3");
  const weir::CompileOptions options = bundle.options("cuda");
  CHECK(options.name == "blur.cu");
  CHECK(options.defines == std::vector<std::pair<std::string, std::string>>{{"N", "16"}});
  CHECK(options.headers == std::vector<std::pair<std::string, std::string>>{{"weights.cuh", "#define RADIUS 2\n"}});
  CHECK(options.extra == std::vector<std::string>{"-lineinfo"});
  CHECK(options.kernels == std::vector<std::string>{"blur<float, 3>", "blur<double, 5>"});
  CHECK(options.cxx_standard == 20);
  CHECK(options.fast_math);
  CHECK_FALSE(options.debug);
  CHECK(bundle.options("hip").extra.empty());
}

TEST_CASE("bundle: a bundle without its source") {
  BundleWriter writer;
  writer.add(record::source, "blur.cu", "");
  const Bytes bytes = writer.bundle();
  const KernelBundle bundle(bytes);
  CHECK(bundle.name() == "blur.cu");
  CHECK_FALSE(bundle.source());
  CHECK(bundle.images().empty());
}

TEST_CASE("bundle: its bytes may lie anywhere") {
  const Bytes aligned = example();
  Bytes shifted(aligned.size() + 3);
  std::copy(aligned.begin(), aligned.end(), shifted.begin() + 3);
  CHECK(KernelBundle(std::span(shifted).subspan(3)).images().size() == 3);
}

TEST_CASE("bundle: what is none is refused with the reason") {
  CHECK(refusal_of({}).find("do not begin like a bundle") != std::string::npos);
  CHECK(refusal_of(Bytes(1000)).find("do not begin like a bundle") != std::string::npos);
  Bytes newer = example();
  put(newer, 8, 2, 4);
  CHECK(refusal_of(newer).find("version 2 of the format, but this Weir reads version 1") != std::string::npos);
  Bytes cut = example();
  cut.resize(cut.size() - 16);
  CHECK(refusal_of(cut).find("it is damaged: its header declares a size of") != std::string::npos);
  Bytes longer = example();
  longer.resize(longer.size() + 16);
  CHECK(refusal_of(longer).find("it is damaged") != std::string::npos);
  Bytes odd = example();
  odd.push_back(std::byte{});
  put(odd, 16, odd.size(), 8);
  CHECK(refusal_of(odd).find("it is damaged") != std::string::npos);
}

TEST_CASE("bundle: sizes that reach beyond the end are refused, also those that overflow") {
  constexpr std::size_t first = sizeof(BundleHeader);
  for (const std::uint64_t size :
       {std::uint64_t{1} << 20U, UINT64_MAX, UINT64_MAX - 15, UINT64_MAX - 16, std::uint64_t{1} << 63U}) {
    Bytes bytes = example();
    put(bytes, first + offsetof(BundleRecord, data_size), size, 8);
    CHECK(refusal_of(bytes).find("a record's data of") != std::string::npos);
  }
  Bytes bytes = example();
  put(bytes, first + offsetof(BundleRecord, name_size), UINT32_MAX, 4);
  CHECK(refusal_of(bytes).find("a record's name of") != std::string::npos);
}

TEST_CASE("bundle: an image without a backend, an architecture or code is refused") {
  for (const auto& [name, code] :
       {std::pair{"sm_90", "code"}, {"cuda ", "code"}, {" sm_90", "code"}, {"", "code"}, {"cuda sm_90", ""}}) {
    BundleWriter writer;
    writer.add(record::image, name, code);
    CHECK(refusal_of(writer.bundle()).find("is not a backend and an architecture") != std::string::npos);
  }
  BundleWriter writer;
  writer.add(record::standard, "", "19");
  CHECK(refusal_of(writer.bundle()).find("'19' is not a C++ standard") != std::string::npos);
}

TEST_CASE("bundle: thousands of random changes of a bundle are refused, or read within its bytes") {
#ifdef __SANITIZE_THREAD__
  constexpr int bundles = 200;  // there is one thread, and each exception takes milliseconds
#else
  constexpr int bundles = 20000;
#endif
  Damage damage(1);
  const Bytes whole = example();
  int refused = 0, taken = 0;
  for (int i = 0; i < bundles; ++i) {
    Bytes bytes = whole;
    damage.change(bytes);
    // Half of those with another size say so, and get past that check.
    if (damage.below(2) == 0 && bytes.size() >= sizeof(BundleHeader)) put(bytes, 16, bytes.size(), 8);
    const Bytes exact(bytes);  // no room behind the end that a sanitizer would not see
    try {
      (void)read_all(KernelBundle(exact));
      ++taken;
    } catch (const weir::Error& error) {
      ++refused;
      if (error.errc() != weir::Errc::invalid_image) FAIL(error.what());
    }
  }
  CHECK(refused > bundles / 10);
  CHECK(taken > bundles / 10);
}
