// SPDX-License-Identifier: Apache-2.0
//
// How do I load a PTX, cubin, fatbin or code object image?
//
// `load_module` takes bytes: PTX, a cubin or a fatbin on CUDA, a code object on HIP; on the host backend a file of the
// kernels' cache. Usually they come from a file or are compiled into the program. Here they are PTX on CUDA, and on the
// host an entry that a compilation has just left in the cache.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <weir/weir.hpp>

constexpr const char* ptx = R"(
.version 8.0
.target sm_52
.address_size 64
.visible .entry answer(.param .u64 out) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 42;
  st.global.u32 [%rd2], %r1;
  ret;
})";

int main() {
  char folder[] = "/tmp/weir-recipe-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  setenv("WEIR_CACHE_DIR", folder, 1);
  weir::Device& device = weir::default_device();
  std::string image = ptx;
  if (device.backend().name() == "host") {
    (void)device.compile("extern \"C\" __global__ void answer(int* out) { *out = 42; }");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      image.assign(std::istreambuf_iterator<char>(file), {});
    }
  } else if (device.backend().name() != "cuda") {
    return 77;  // skipped: there is no code object here
  }

  const auto module = device.load_module(std::as_bytes(std::span(image)));
  const auto stream = device.create_stream();
  const auto out = device.allocate<int>(1);
  stream->launch(module->untyped_kernel("answer"), {1, 1}, out);
  const bool right = stream->read(out).front() == 42;
  std::filesystem::remove_all(folder);
  return right ? 0 : 1;
}
