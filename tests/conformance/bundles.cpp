// SPDX-License-Identifier: Apache-2.0
#include "core/saved/kernel_bundle_format.hpp"
#include "support.hpp"

/// Kernels that were compiled ahead of time for NVIDIA, AMD and the CPU, and are embedded in this program.
namespace conformance::bundles_cases {

using weir::detail::BundleWriter;
namespace record = weir::detail::record;

TEST_SUITE_BEGIN("bundles");

// Whether the module's kernel does what ahead.cu says.
void check_turn(const ModulePtr& module) {
  constexpr unsigned n = 640, block = 64;
  std::vector<unsigned> in(n), expected(n);
  for (unsigned i = 0; i < n; ++i) in[i] = i * i;
  for (unsigned i = 0; i < n; ++i) expected[i] = 3 * in[i / block * block + block - 1 - i % block] + 5 + 7;
  const StreamPtr s = device().create_stream();
  const auto from = device().allocate<unsigned>(n), to = device().allocate<unsigned>(n);
  s->copy(from, in);
  s->launch(module->untyped_kernel("turn"), {n / block, block}, from, to);
  CHECK(s->read(to) == expected);
  CHECK(module->global("bonus").size() == sizeof(unsigned));
}

// Whether instances of a template, and other kernels of C++ linkage, are found by their names and types.
void check_names(const ModulePtr& module) {
  constexpr unsigned n = 64;
  const StreamPtr s = device().create_stream();
  const auto scaled = [&]<class T>(const auto& kernel, T expected) {
    const auto from = device().allocate<T>(n), to = device().allocate<T>(n);
    s->fill(from, T(2));
    s->launch(kernel, {1, n}, from, to);
    CHECK(s->read(to) == std::vector<T>(n, expected));
  };
  scaled(module->untyped_kernel("ahead::scale<float, 3>"), 6.0F);
  scaled(module->kernel<void(const float*, float*)>(" ahead::scale< float,3 >"), 6.0F);
  scaled(module->kernel<void(const double*, double*)>("ahead::scale<double, 5>"), 10.0);
  const auto negate = module->kernel<void(int, float*)>("ahead::negate");
  const auto values = device().allocate<float>(n);
  s->fill(values, 1.0F);
  s->launch(negate, {1, n}, 5, values);
  const std::vector<float> out = s->read(values);
  CHECK(out[4] == -1.0F);
  CHECK(out[5] == 1.0F);
  CHECK_REFUSED(Errc::kernel_not_found, module->untyped_kernel("ahead::scale<short, 3>"));
}

KernelBundle ahead() { return weir_kernels(ahead); }

// Without the images, or without the source; with one more image of those bytes for this very device.
std::vector<std::byte> changed(bool images, bool source, std::string_view nonsense = {}) {
  const KernelBundle bundle = ahead();
  BundleWriter writer;
  if (!nonsense.empty()) {
    writer.add(record::image, device().backend().name() + " " + device().properties().architecture, nonsense);
  }
  for (const auto& image : bundle.images()) {
    if (images) writer.add(record::image, std::string(image.backend) + " " + std::string(image.architecture), image.code);
  }
  writer.add(record::source, bundle.name(), source ? *bundle.source() : std::string_view());
  for (const auto& [name, text] : bundle.headers()) writer.add(record::header, name, text);
  writer.add(record::define, "AHEAD_OFFSET", "5");
  for (const std::string& kernel : bundle.options("").kernels) writer.add(record::kernel, kernel, "");
  return writer.bundle();
}

// Whether one of the program's images was made for this device: told by the driver, which takes it or not.
bool has_fitting_image() {
  for (const auto& image : ahead().images()) {
    if (image.backend != device().backend().name()) continue;
    const Refusal refusal = refusal_of([&] { (void)device().load_module(image.code); });
    if (!refusal.threw) return true;
    CHECK(refusal.is(Errc::invalid_image));
  }
  return false;
}

CASE(WithKernels, "S1 bundle: kernels of this program, from an image or from their source") {
  CHECK(ahead().name() == "ahead.cu");
  CHECK(ahead().source());
  CHECK(ahead().headers().size() == 1);
  check_turn(device().load(ahead()));
}

CASE(WithKernels, "S1 bundle: kernels of C++ linkage and instances of templates, from an image or from the source") {
  check_names(device().load(ahead()));
  const std::vector<std::byte> source = changed(false, true);
  check_names(device().load(KernelBundle(source)));
}

TEST_CASE("S1 S41 bundle: a saved graph carries it, and loads its kernels from an image that fits, without a compiler") {
  const std::vector<std::byte> images = changed(true, false);
  const StreamPtr s = device().create_stream();
  if (!device().supports(Feature::graph_capture) || !device().supports(Feature::modules) || !has_fitting_image()) return;
  const auto turn = device().load(KernelBundle(images))->kernel<void(const unsigned*, unsigned*)>("turn");
  const auto x = device().allocate<unsigned>(64), y = device().allocate<unsigned>(64), z = device().allocate<unsigned>(64);
  const GraphPtr graph = s->capture({.portable = true}, [&](Stream& c) { c.launch(turn, {1, 64}, x, y); });
  const std::array memory{weir::NamedMemory("x", x), weir::NamedMemory("y", y)};
  const auto loaded = device().load_graph(graph->saved(memory));
  loaded->bind("x", x);
  loaded->bind("y", z);
  s->fill(x, 3U);
  graph->instantiate()->launch(s);
  loaded->instantiate()->launch(s);
  CHECK(s->read(y) == s->read(z));
  CHECK(s->read(z).front() == 3 * 3 + 5 + 7);
  for (const auto& image : ahead().images()) {
    if (image.backend != device().backend().name()) continue;
    const Refusal refusal = refusal_of([&] {
      const auto alone = device().load_module(image.code)->untyped_kernel("turn");
      (void)s->capture({.portable = true}, [&](Stream& c) { c.launch(alone, {1, 64}, x, y); })->saved(memory);
    });
    if (!refusal.is(Errc::invalid_image)) CHECK(refusal.says("(kernel 'turn'): its module has no bundle"));
  }
}

TEST_CASE("S1 bundle: without its source, an image that fits is loaded, and without one the error says what there is") {
  const std::vector<std::byte> images = changed(true, false);
  if (!needs(device(), {Feature::modules}, [&] { (void)device().load(KernelBundle(images)); })) return;
  if (has_fitting_image()) {
    check_turn(device().load(KernelBundle(images)));
    return;
  }
  const Refusal refusal = refusal_of([&] { (void)device().load(KernelBundle(images)); });
  CHECK(refusal.is(Errc::invalid_image));
  for (const auto& image : ahead().images()) CHECK(refusal.says(image.architecture));
  CHECK(refusal.says(device().properties().architecture));
}

CASE(WithKernels, "S1 bundle: without images its source is compiled, with the headers and macros that it carries") {
  const std::vector<std::byte> source = changed(false, true);
  check_turn(device().load(KernelBundle(source)));
}

TEST_CASE("S1 bundle: an image that the driver refuses is passed over") {
  if (!needs_kernels() || !device().supports(Feature::modules)) return;
  const std::vector<std::byte> source = changed(false, true, "no code of any device's");
  check_turn(device().load(KernelBundle(source)));
  const std::vector<std::byte> nothing = changed(false, false, "no code of any device's");
  CHECK_REFUSED(Errc::invalid_image, device().load(KernelBundle(nothing)));
  CHECK_WORKS(*device().create_stream());
}

CASE(WithKernels, "S1 bundle: loaded from several threads, each module has its own variables") {
  const ModulePtr first = device().load(ahead());
  ModulePtr second;
  on_another_thread([&] { second = device().load(ahead()); });
  CHECK(first->global("bonus").data() != second->global("bonus").data());
  check_turn(first);
  check_turn(second);
}

}  // namespace conformance::bundles_cases
