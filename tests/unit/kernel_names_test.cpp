// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/kernel_names.hpp"

#include <doctest/doctest.h>

#include "backends/gpu/program.hpp"
#include "kernels/kernel_name.hpp"

// Tests how the CUDA and HIP backends handle kernel names without a driver.

namespace {

using weir::gpu::CompiledProgram;
using weir::gpu::name_of;
using weir::gpu::parameters_of;
using weir::kernels::normalized_name;

/// "ficp?": floating-point number, another number, pointer to const, another pointer, and one of which nothing is known.
std::string text_of(std::span<const weir::Parameter> parameters) {
  std::string text;
  for (const weir::Parameter& parameter : parameters) {
    text += parameter.kind == weir::ParameterKind::unknown    ? '?'
            : parameter.kind == weir::ParameterKind::floating ? 'f'
            : parameter.kind == weir::ParameterKind::address  ? (parameter.access == weir::AccessKind::read ? 'c' : 'p')
                                                              : 'i';
  }
  return text;
}

}  // namespace

TEST_CASE("kernel names: what may be written in several ways is one name") {
  CHECK(normalized_name("blur<float, 3>") == "blur<float,3>");
  CHECK(normalized_name("  & ::image :: blur < unsigned int , 3u > ") == "image::blur<unsigned,3>");
  CHECK(normalized_name("k<unsigned long long, 0x10ULL>") == "k<unsigned long long,0x10>");
  CHECK(normalized_name("k<long int, 'a', A<B<int>>>") == "k<long,'a',A<B<int>>>");
  CHECK(normalized_name("").empty());
}

TEST_CASE("kernel names: a symbol's name in the source") {
  CHECK(name_of("_Z4blurIfLi3EEvPKT_PS0_") == "blur<float,3>");
  CHECK(name_of("_ZN5image4flipEPfif") == "image::flip");
  CHECK(name_of("_ZN12_GLOBAL__N_14anonEPff") == "anon");
  CHECK(name_of("_Z4pickIjLb1ELj7EEvPT_") == "pick<unsigned,true,7>");
  CHECK(name_of("saxpy") == "saxpy");
  CHECK(name_of("_Znonsense") == "_Znonsense");
  CHECK(weir::gpu::declaration_of("_ZN5image4flipEPfif") == "image::flip(float*, int, float)");
}

TEST_CASE("kernel names: which parameters are floating-point numbers, by a symbol") {
  CHECK(text_of(parameters_of("_Z4blurIfLi3EEvPKT_PS0_S0_")) == "cpf");
  CHECK(text_of(parameters_of("_Z1kidjmcbPvPFvfE6float4d")) == "ifiiiip??f");
  CHECK(text_of(parameters_of("_Z1kPN12_GLOBAL__N_14PairES0_f")) == "p?f");
  CHECK(text_of(parameters_of("_Z1kv")).empty());
  CHECK(text_of(parameters_of("k")).empty());
}

TEST_CASE("kernel names: which parameters are pointers to const") {
  CHECK(text_of(parameters_of("_Z1kPKfPfPKPKf")) == "cpp");
  CHECK(text_of(parameters_of("_Z1kPKPKfPK4PairPKS3_")) == "pcc");
  CHECK(text_of(parameters_of("_Z1kPN12_GLOBAL__N_14PairEPKS0_")) == "pc");
}

TEST_CASE("programs: what was packed is unpacked, and what does not hold together is not") {
  const CompiledProgram program{{std::byte{1}, std::byte{2}, std::byte{3}}, {{"blur<float,3>", "_Z4blur"}, {"k", "k"}}};
  const auto bytes = program.packed();
  const auto back = CompiledProgram::unpack(bytes);
  REQUIRE(back.has_value());
  CHECK(back->image == program.image);
  CHECK(back->names == program.names);
  CHECK(CompiledProgram::unpack(CompiledProgram{}.packed())->image.empty());
  for (std::size_t size = 0; size < bytes.size() - program.image.size(); ++size) {
    CHECK_FALSE(CompiledProgram::unpack(std::span(bytes).first(size)).has_value());
  }
  auto damaged = bytes;
  damaged[7] = std::byte{0xFF};
  CHECK_FALSE(CompiledProgram::unpack(damaged).has_value());
}

TEST_CASE("programs: an image has its names behind it, and one with something else there is taken as it is") {
  const CompiledProgram program{{std::byte{1}, std::byte{2}, std::byte{3}}, {{"blur<float,3>", "_Z4blur"}, {"k", "k"}}};
  const auto bytes = program.image_with_names();
  CHECK(std::equal(program.image.begin(), program.image.end(), bytes.begin()));
  const CompiledProgram back = CompiledProgram::from_image(bytes);
  CHECK(back.image == program.image);
  CHECK(back.names == program.names);
  const CompiledProgram bare{program.image, {}};
  CHECK(bare.image_with_names() == bare.image);
  CHECK(CompiledProgram::from_image(bare.image).image == bare.image);
  CHECK(CompiledProgram::from_image({}).image.empty());
  // Whatever is changed, image and names stay within the bytes, of which a sanitizer makes sure.
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK(CompiledProgram::from_image(std::span(bytes).first(size)).image.size() == size);
    for (const unsigned value : {0x00U, 0x01U, 0x7FU, 0x80U, 0xFFU}) {
      auto changed = bytes;
      changed[size] = static_cast<std::byte>(value);
      CHECK(CompiledProgram::from_image(changed).image.size() <= bytes.size());
    }
  }
}
