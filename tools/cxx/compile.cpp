// SPDX-License-Identifier: Apache-2.0
#include "compile.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "backends/cache/seal.hpp"
#include "core/base/child_process.hpp"
#include "core/base/program_search.hpp"
#include "core/base/temporary_folder.hpp"
#include "core/saved/kernel_bundle_format.hpp"
#include "kernels/division.hpp"
#include "options.hpp"
#include "tools/kernels/device_libraries.hpp"
#include "weir/version.hpp"

namespace weir::cxx {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

#if defined(__x86_64__)
constexpr const char* cpu = "x86-64-v3";
#else
constexpr const char* cpu = "armv8.2-a";
#endif

/// A step failed. Its messages have been printed.
class Failed : public std::exception {};

/// The machine lacks something that the command needs. Contains the remedy.
class Missing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), "writing " + path.string());
}

/// Clang, with the parts of Weir that it needs.
struct Toolchain {
  std::string clang;   ///< clang++
  int major = 0;       ///< its version
  fs::path pass;       ///< the work-group pass for this Clang
  fs::path headers;    ///< the headers in place of CUDA's
  fs::path libraries;  ///< the folder of libweir_cudart
};

// The folder of libweir. The headers and the pass lie below it.
fs::path library_folder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&weir::version), &info) == 0) return {};
  return fs::weakly_canonical(info.dli_fname).parent_path();
}

fs::path pass_for(const fs::path& libraries, int major) {
  const std::string name = fmt::format("weir_workgroup-{}.so", major);
  for (const fs::path& path : {libraries / WEIR_PLUGIN_FOLDER / name, libraries / name}) {
    if (fs::exists(path)) return path;
  }
  return {};
}

int major_version(const std::string& clang) {
  Words environment = detail::program_environment(clang);
  const std::string output = detail::run_child({clang, "-dumpversion"}, "/", environment).output;
  int major = 0;
  std::from_chars(output.data(), output.data() + output.size(), major);
  return major;
}

Toolchain find_toolchain() {
  Toolchain chain;
  chain.libraries = library_folder();
  chain.headers = chain.libraries / "weir/cudart/include";
  if (!fs::exists(chain.headers / "cuda_runtime.h")) {
    throw Missing(
        fmt::format("the headers in place of CUDA's are not in {}; install Weir's development files (Debian: libweir-dev)",
                    chain.headers.string()));
  }
  const char* const chosen = std::getenv("WEIR_HOST_CXX");
  if (chosen != nullptr && *chosen != 0) {
    chain.clang = chosen;
    chain.major = major_version(chain.clang);
    chain.pass = pass_for(chain.libraries, chain.major);
    if (chain.pass.empty()) {
      throw Missing(
          fmt::format("WEIR_HOST_CXX={} is not a Clang for which {} has a work-group pass; set it to a clang++ of "
                      "such a version, or unset it",
                      chain.clang, chain.libraries.string()));
    }
    return chain;
  }
  for (int major = 30; major >= 16; --major) {
    chain.pass = pass_for(chain.libraries, major);
    if (chain.pass.empty()) continue;
    for (const std::string& name : {fmt::format("clang++-{}", major), std::string("clang++")}) {
      chain.clang = detail::find_program(name);
      if (chain.clang.empty()) continue;
      chain.major = major_version(chain.clang);
      if (chain.major == major) return chain;
    }
  }
  throw Missing(
      fmt::format("no Clang of version 16 or later was found for which {} has a work-group pass; install one "
                  "(Debian: apt-get install clang-19), or set WEIR_HOST_CXX to its clang++",
                  chain.libraries.string()));
}

/// What the device half of Clang reads: a file, or the bitcode of the files that a program consists of.
struct Input {
  std::string name;  ///< for messages
  Words bitcode;
};

/// An object with device code that is not linked yet (-rdc=true).
struct Part {
  std::string object;  ///< a copy without that code
  std::string unit;    ///< identifies the file
  std::string source;
  std::map<std::string, std::string> bitcode;  ///< by "BACKEND ARCHITECTURE": a file
};

// Where Clang's host code has what it gets with -fcuda-include-gpubinary, and the beginning of the function that it then
// calls: NVIDIA's names for device code that is not linked yet.
constexpr const char* relocatable_section = "__nv_relfatbin";
constexpr std::string_view register_file = "__cudaRegisterLinkedBinary";
// The beginning of that function's name in objects. The unit follows. The step that links device code defines it.
constexpr const char* register_unit = "weir_device_code_";
constexpr std::string_view record_unit = "unit";
constexpr const char* statics = "__static__";

// Clang gives a static variable of the device another name once host code uses it: `x` becomes `x__static__HASH`. Device
// code before that use has the old name, which nobody defines. Gives it the new one, in the text of LLVM's IR. For AMD the
// names end in `.static.HASH` and, of static kernels, `.intern.HASH`: the host half has the form that PTX allows.
std::string with_names_of_statics(std::string code) {
  constexpr const char* of_names = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.$";
  for (const auto& [amd, other] : {std::pair(".static.", statics), std::pair(".intern.", "__intern__")}) {
    for (std::size_t at = 0; (at = code.find(amd, at)) != code.npos; ++at) {
      const std::size_t before = code.find_last_not_of(of_names, at);
      if (before != code.npos && code[before] == '@') code.replace(at, std::strlen(amd), other);  // not in a string
    }
  }
  const auto end_of_name = [&](std::size_t at) { return std::min(code.find_first_not_of(of_names, at), code.size()); };
  std::map<std::string, std::string> suffixes;
  for (std::size_t at = 0; (at = code.find(statics, at)) != code.npos; ++at) {
    const std::size_t begin = code.rfind('\n', at) + 1, end = end_of_name(at);
    if (code[begin] == '@' && code.compare(end, 3, " = ") == 0)
      suffixes[code.substr(begin, at - begin)] = code.substr(at, end - at);
  }
  std::string result;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t name = std::min(code.find('@', at), code.size());
    result.append(code, at, name - at);
    at = end_of_name(name + 1);
    const auto found = suffixes.find(code.substr(name, at - name));
    if (found != suffixes.end() && code[name - 1] == '\n') {  // the declaration
      at = code.find('\n', name) + 1;
    } else {
      result.append(code, name, at - name);
      if (found != suffixes.end()) result += found->second;
    }
  }
  return result;
}

// Lets a file of fast mathematics be linked with others, each with its own meaning, in the text of LLVM's IR. Of the inline
// functions, such as sinf, it gets its own copies. Functions have an attribute for whether they flush denormal numbers. A
// flag says so, too, for all of libdevice: it gives way to another file's, where Clang would refuse to link.
std::string with_own_inline_functions(std::string code) {
  constexpr std::string_view begin = "\ndefine linkonce_odr ", flag = "!{i32 4, !\"nvvm-reflect-ftz\"";
  for (std::size_t at = 0; (at = code.find(begin, at)) != code.npos;) {
    code.replace(at, begin.size(), "\ndefine internal ");
    const std::size_t end = code.find('\n', at + 1);
    std::string line = code.substr(at, end - at);
    static const std::regex of_shared(R"( comdat(\(\S*\))?(?= )|^(\ndefine internal )(hidden|protected) )");
    line = std::regex_replace(line, of_shared, "$2");
    code.replace(at, end - at, line);
    at += line.size();
  }
  if (const std::size_t at = code.find(flag); at != code.npos) code[at + 6] = '2';
  return code;
}

class Compilation {
 public:
  Compilation(const Options& options, const Toolchain& chain) : options_(options), chain_(chain) {
    for (char** variable = environ; *variable != nullptr; ++variable) environment_.emplace_back(*variable);
  }

  void run() {
    Words objects;
    const bool parts = relocatable();
    for (const std::string& source : options_.cuda_sources) {
      const std::string object = object_of(source, objects.size());
      compile(source, object, parts);
      objects.push_back(object);
    }
    for (const std::string& source : options_.host_sources) {
      const std::string object = object_of(source, objects.size());
      Words command = {chain_.clang};
      if (source.ends_with(".c")) command.insert(command.end(), {"-x", "c"});
      append(command, {"-isystem", chain_.headers.string()});
      for (const Words* options : {&options_.both, &options_.host}) {
        // As nvcc does, leave out a standard of C++ for a file in C.
        std::copy_if(options->begin(), options->end(), std::back_inserter(command), [&](const std::string& option) {
          return !source.ends_with(".c") || !option.starts_with("-std=") || option.find("++") == option.npos;
        });
      }
      if (options_.step == Step::explain)
        append(command, {"-fsyntax-only", source});
      else
        append(command, {"-c", source, "-o", object});
      succeed(command);
      objects.push_back(object);
    }
    append(objects, options_.link_inputs);
    if (options_.step == Step::link) link(std::move(objects));
  }

 private:
  // The passes for code for the CPU, and for managed variables.
  std::string plugin() const { return "-fpass-plugin=" + chain_.pass.string(); }

  // Whether device code stays bitcode until the program is linked. It need not if a single file is the whole program.
  bool relocatable() const {
    const auto has_parts = [](const std::string& input) { return is_part(input); };
    return options_.relocatable && options_.step != Step::kernels &&
           (options_.step == Step::object || options_.cuda_sources.size() > 1 ||
            std::any_of(options_.link_inputs.begin(), options_.link_inputs.end(), has_parts));
  }

  static void append(Words& to, const Words& more) { to.insert(to.end(), more.begin(), more.end()); }

  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }

  std::string object_of(const std::string& source, std::size_t number) const {
    const bool is_kept = options_.step == Step::object || options_.step == Step::kernels;
    if (!is_kept) return file(fmt::format("{}-{}.o", fs::path(source).stem().string(), number));
    const char* const end = options_.step == Step::object ? ".o" : ".fatbin";
    return options_.output.empty() ? fs::path(source).stem().string() + end : options_.output;
  }

  detail::ChildOutcome call(const Words& command) const {
    if (options_.verbose) std::fprintf(stderr, "%s\n", fmt::format("{}", fmt::join(command, " ")).c_str());
    return detail::run_child(command, fs::current_path().string(), environment_);
  }

  // Runs a command, and prints its messages. Returns them.
  std::string succeed(const Words& command) const {
    detail::ChildOutcome outcome = call(command);
    if (outcome.status != 0) {
      if (!is_attempt_) std::fputs(outcome.output.c_str(), stderr);
      throw Failed();
    }
    return std::move(outcome.output);
  }

  // The words that select the language of a file with host and device code, and the headers in place of CUDA's.
  Words language(const char* kind, const char* architecture) const {
    Words words = {chain_.clang, "-x", kind};
    if (std::string_view(kind) == "cuda") {
      append(words, {"-nocudainc", "-nocudalib", "--cuda-path=/none", "-Xclang", "-target-sdk-version=11.8",
                     std::string("--cuda-gpu-arch=") + architecture});
    } else {
      append(words, {"-nogpuinc", std::string("--offload-arch=") + architecture});
    }
    append(words, {"-fdeclspec", "-Wno-unknown-cuda-version", "-Wno-unused-command-line-argument",
                   "--no-offload-new-driver", "-isystem", chain_.headers.string(), "-include", "cuda_runtime.h"});
    if (options_.hip) append(words, {"-include", "hip/hip_runtime.h"});
    // The halves give static variables of the device the same names.
    append(words, {"-cuid=" + unit_, "-Xclang", "-cuid=" + unit_});
    if (options_.per_thread_streams) append(words, {"-Xclang", "-fgpu-default-stream=per-thread"});
    if (options_.relocatable) append(words, {"-D__CUDACC_RDC__=1"});
    append(words, {fmt::format("-DWEIR_CPU_ARCH={}", cpu_arch_), "-std=gnu++17"});  // Clang 16's default is older
    append(words, options_.both);
    return words;
  }

  void compile(const std::string& source, const std::string& object, bool relocatable) {
    std::string identity = fs::absolute(source).string();
    // One file may become several objects of a program.
    if (options_.step == Step::object)
      identity += fmt::format(" {} {}", fs::absolute(object).string(), fmt::join(options_.both, " "));
    unit_ = fmt::format("{:x}", std::hash<std::string>()(identity));
    cpu_arch_ = options_.cpu_arch;
    detail::BundleWriter bundle;
    bundle.add(detail::record::source, fs::path(source).filename().string(), std::string_view());
    if (relocatable) bundle.add(record_unit, unit_, std::string_view());
    const bool explains = options_.step == Step::explain;
    auto targets = options_.targets;
    if (targets.empty()) targets = {{"host", ""}, {"cuda", ""}};
    for (auto& [backend, architecture] : targets) {
      if (architecture.empty()) architecture = backend == "host" ? cpu : backend == "cuda" ? options_.nvidia : "";
      if (architecture.empty()) throw UsageError("--for hip needs an architecture, such as 'hip gfx90a'");
      try {
        const auto make = [&] {
          return relocatable && !explains ? bitcode(source, backend, architecture)
                                          : image_for({source, {}}, backend, architecture);
        };
        const std::string image = backend == "host" ? for_cpu(source, make) : make();
        if (!explains) bundle.add(detail::record::image, backend + " " + architecture, std::string_view(image));
        if (backend == "cuda" && !relocatable && !explains) add_machine_code(bundle, architecture);
      } catch (const Missing& missing) {
        leave_out(source, backend + " " + architecture, missing);
      }
    }
    if (options_.step == Step::kernels) {
      return write_file(object, detail::text_of(bundle.bundle()));
    }
    Words command = language("cuda", "sm_70");
    command.insert(command.begin() + 1, "--cuda-host-only");
    append(command, options_.host);
    if (explains) {
      append(command, {"-fsyntax-only", "-ferror-limit=0", source});
    } else {
      const std::string images = file("images");
      write_file(images, detail::text_of(bundle.bundle()));
      append(command, {"-Xclang", "-fcuda-include-gpubinary", "-Xclang", images, plugin(), "-c", source, "-o", object});
      if (relocatable) append(command, {"-Xclang", "-fgpu-rdc"});
    }
    std::fputs(succeed(command).c_str(), stderr);
    if (relocatable && !explains) name_unit(object);
  }

  // Makes the CPU's code as for the GPU that -arch names. Code for newer GPUs may have PTX: the program then gets the code
  // that it has for older ones.
  std::string for_cpu(const std::string& source, const std::function<std::string()>& make) {
    if (cpu_arch_ == 700) return make();
    try {
      is_attempt_ = true;
      std::string made = make();
      is_attempt_ = false;
      return made;
    } catch (const Failed&) {
      is_attempt_ = false;
    } catch (...) {
      is_attempt_ = false;
      throw;
    }
    const int refused = std::exchange(cpu_arch_, 700);
    std::string made = make();
    std::fprintf(stderr,
                 "weir c++: note: on the CPU, __CUDA_ARCH__ is 700 in %s: the code for %d does not compile there, for "
                 "example because it has PTX\n",
                 source.c_str(), refused);
    return made;
  }

  void leave_out(const std::string& source, const std::string& target, const Missing& missing) const {
    if (!options_.targets.empty()) throw Missing(missing);
    std::fprintf(stderr, "weir c++: note: %s: left out the device code for %s: %s\n", source.c_str(), target.c_str(),
                 missing.what());
  }

  // Clang names what registers the file's kernels after the path that it was given. Files of two folders may have the same.
  void name_unit(const std::string& object) const {
    const std::string bytes = read_file(object);
    const std::size_t begin = bytes.find(register_file);
    if (begin == bytes.npos) throw Missing("this Clang has no -fgpu-rdc of the expected form; use Clang 16 to 20");
    const std::string name = bytes.c_str() + begin;
    succeed({binutil("objcopy"), "--redefine-sym", name + "=" + register_unit + unit_, "--localize-symbol",
             "__fatbinwrap" + name.substr(register_file.size()), object});
  }

  static std::string binutil(const char* name) {
    std::string found = detail::find_program(name);
    if (found.empty()) throw Missing(fmt::format("the program {} was not found; install binutils", name));
    return found;
  }

  std::string image_for(const Input& input, const std::string& backend, const std::string& architecture) {
    return backend == "host" ? image_for_cpu(input, architecture) : image_for_gpu(input, backend, architecture);
  }

  // Clang's words that read the bitcode of some files as one.
  Words reader(const Input& input, const std::string& backend, const std::string& architecture) const {
    Words words = {chain_.clang, "-x", "ir", "-Wno-unused-command-line-argument"};
    if (backend == "cuda")
      append(words, {"--target=nvptx64-nvidia-cuda", "--cuda-path=/none",
                     "-march=sm_" + architecture.substr(architecture.find('_') + 1), "-Xclang", "-target-feature", "-Xclang",
                     "+ptx78"});
    if (backend == "hip")
      append(words,
             {"--target=amdgcn-amd-amdhsa", "-mcpu=" + architecture, "-nogpulib", "-mllvm", "-amdgpu-internalize-symbols"});
    append(words, {input.bitcode.front()});
    for (std::size_t i = 1; i < input.bitcode.size(); ++i)
      append(words, {"-Xclang", "-mlink-bitcode-file", "-Xclang", input.bitcode[i]});
    return words;
  }

  // Clang's words for the device half, for the CPU, without its output.
  Words cpu_half(const Input& input, const std::string& architecture) const {
    Words command;
    if (input.bitcode.empty()) {
      command = language("cuda", "sm_70");
      command.insert(command.begin() + 1, "--cuda-host-only");
      append(command, {"-Xclang", "-fcuda-is-device", "-Xclang", "-fcuda-allow-variadic-functions", input.name});
    } else {
      command = reader(input, "host", architecture);
    }
    append(command, {"-w", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing",
                     "-fno-semantic-interposition", "-ftls-model=local-dynamic", "-march=" + architecture,
                     "-fno-strict-float-cast-overflow", "-Xclang", "-no-enable-noundef-analysis", "-fstack-clash-protection",
                     contraction(input)});
    if (options_.fast_math) append(command, {"-freciprocal-math", "-fapprox-func", "-D__FAST_MATH__=1"});
    // The pass finds the kernels' parameters through debug information; then it keeps the lines only.
    append(command, {"-O3", "-g", "-gdwarf-4", "-fstandalone-debug"});
    if (chain_.major >= 17) append(command, {"-Xclang", "-fexperimental-assignment-tracking=disabled"});
    return command;
  }

  // Clang's words for the device half, for a GPU, without its output.
  Words gpu_half(const Input& input, const std::string& backend, const std::string& architecture) const {
    const bool nvidia = backend == "cuda";
    Words command;
    if (input.bitcode.empty()) {
      const std::string number = architecture.substr(architecture.find('_') + 1);
      command = nvidia ? language("cuda", ("sm_" + number).c_str()) : language("hip", architecture.c_str());
      append(command, {"--cuda-device-only", "-Xclang", "-fcuda-allow-variadic-functions", input.name});
      if (!nvidia) append(command, {"--no-gpu-bundle-output"});
    } else {
      command = reader(input, backend, architecture);
    }
    append(command, {"-w", "-O3", "-fno-strict-aliasing", "-Xclang", "-no-enable-noundef-analysis", contraction(input)});
    // As in nvcc, faster functions, division and square roots; sums keep their order, and NaN and infinity are tested for.
    if (options_.fast_math) append(command, {"-D__FAST_MATH__=1"});
    if (options_.fast_math && nvidia) {
      append(command,
             {"-fgpu-flush-denormals-to-zero", "-mllvm", "-nvptx-prec-divf32=0", "-mllvm", "-nvptx-prec-sqrtf32=0"});
    } else if (options_.fast_math) {
      append(command, {"-fno-hip-fp32-correctly-rounded-divide-sqrt"});
    }
    // PTX of CUDA 11.8, which the oldest driver that Weir supports reads.
    if (nvidia)
      append(command, {"-Xclang", "-target-feature", "-Xclang", "+ptx78"});
    else
      append(command, {"-mcode-object-version=4"});
    return command;
  }

  // Operations in bitcode tell themselves whether they may be fused.
  std::string contraction(const Input& input) const {
    return !input.bitcode.empty() ? "-ffp-contract=on" : options_.fuse ? "-ffp-contract=fast" : "-ffp-contract=off";
  }

  // The device half as bitcode, before any optimization: another file's functions are still to come.
  std::string bitcode(const std::string& source, const std::string& backend, const std::string& architecture) const {
    const Input input = {source, {}};
    Words command = backend == "host" ? cpu_half(input, architecture) : gpu_half(input, backend, architecture);
    const std::string output = file("device.bc"), text = file("device.ll");
    const Words form = {"-Xclang", "-disable-llvm-passes", "-emit-llvm"};
    append(command, {"-Xclang", "-fgpu-rdc"});
    append(command, form);
    // Whether a kernel runs on fibers is not known yet.
    if (backend == "host") append(command, {"-DWEIR_KEPT=__attribute__((used))"});
    if (backend == "hip") {
      try {
        append(command, {"--rocm-device-lib-path=" + kernel_tool::rocm_device_libraries(architecture).string()});
      } catch (const std::runtime_error&) {
        append(command, {"-nogpulib"});  // the step that links tells if they are needed
      }
    }
    append(command, {"-c", "-o", output});
    succeed(command);
    std::string bytes = read_file(output);
    if (is_attempt_ && has_assembly(output)) throw Failed();
    const auto has = [&](const char* part) { return bytes.find(part) != bytes.npos; };
    const bool fast = backend != "host" && options_.fast_math;
    if (!fast && !has(statics) && !has(".static.") && !has(".intern.")) return bytes;
    command = reader({source, {output}}, backend, architecture);
    append(command, form);
    append(command, {"-S", "-o", text});
    succeed(command);
    const std::string code = with_names_of_statics(read_file(text));
    write_file(text, fast ? with_own_inline_functions(code) : code);
    command = reader({source, {text}}, backend, architecture);
    append(command, form);
    append(command, {"-c", "-o", output});
    succeed(command);
    return read_file(output);
  }

  // Whether code for the CPU has assembly, which would be PTX: the step that links would refuse it.
  bool has_assembly(const std::string& bitcode) const {
    const std::string text = file("device.ll");
    Words command = reader({bitcode, {bitcode}}, "host", cpu);
    append(command, {"-Xclang", "-disable-llvm-passes", "-emit-llvm", "-S", "-o", text});
    succeed(command);
    static const std::regex assembly(R"( asm [a-z ]*"[^"])");
    return std::regex_search(read_file(text), assembly);
  }

  // Compiles the device half for the CPU, with the work-group pass, to a shared library.
  std::string image_for_cpu(const Input& input, const std::string& architecture) {
    Words command = cpu_half(input, architecture);
    if (options_.step == Step::explain) {
      append(command, {"-fsyntax-only", "-ferror-limit=0"});
      succeed(command);
      return {};
    }
    append(command, {"-mllvm", "-runtime-memory-check-threshold=100", "-mllvm", "-inline-threshold=2000", plugin(),
                     "-Rpass-missed=weir-workgroup"});
    // In blocks of thousands of accesses LLVM's scheduler would compare each with a thousand others.
    append(command, {"-mllvm", "-dag-maps-huge-region=200", "-mllvm", "-dag-maps-reduction-size=100"});
#if defined(__x86_64__)
    append(command, {"-fveclib=libmvec", "-fno-integrated-as"});  // the division macros are for the GNU assembler
#endif
    const std::string assembly = file("device.s"), object = file("device.o"), library = file("device.so");
    const auto run = [&](const char* kept) {
      Words words = command;
      append(words, {std::string("-DWEIR_KEPT=") + kept, "-S", "-o", assembly});
      return succeed(words);
    };
    // The code for fibers is added only if a kernel needs it. Bitcode has it.
    const std::string remarks = run("");
    if (runs_on_fibers(remarks) && input.bitcode.empty()) run("__attribute__((used))");
    // Integer division is as on a GPU: it never ends the program.
    write_file(file("whole.s"), std::string(host::division) + read_file(assembly));
    succeed({binutil("as"), file("whole.s"), "-o", object});
    tell_of_fibers(remarks);
    const detail::ChildOutcome linked = call({chain_.clang, "-shared", "-static-libgcc", "-Wl,-Bsymbolic", "-Wl,-z,defs",
                                              "-Wl,--compress-debug-sections=zlib", object, "-o", library});
    if (linked.status != 0) refuse_undefined(input, linked.output, R"(undefined reference to `([^']+)')");
    const std::string bytes = read_file(library);
    const auto content = std::as_bytes(std::span(bytes));
    std::vector<std::byte> image(content.begin(), content.end());
    cache::seal(image);
    return std::string(detail::text_of(image));
  }

  static bool runs_on_fibers(const std::string& remarks) { return remarks.find(" runs on fibers: ") != remarks.npos; }

  // Prints which kernels run on fibers on the CPU, and why.
  static void tell_of_fibers(const std::string& remarks) {
    static const std::regex remark(R"(remark: (.* runs on fibers): (.*) \[-Rpass-missed=)");
    for (std::sregex_iterator at(remarks.begin(), remarks.end(), remark), end; at != end; ++at) {
      std::fprintf(stderr, "weir c++: note: on the CPU, %s, which is slower: %s\n", (*at)[1].str().c_str(),
                   (*at)[2].str().c_str());
    }
  }

  // Reports functions and variables of the device that are used and not defined.
  [[noreturn]] void refuse_undefined(const Input& input, const std::string& output, const char* pattern) const {
    if (is_attempt_) throw Failed();
    const std::regex undefined(pattern);
    std::set<std::string> names;
    for (std::sregex_iterator at(output.begin(), output.end(), undefined), end; at != end; ++at) names.insert((*at)[1]);
    if (names.empty()) {
      std::fputs(output.c_str(), stderr);
    } else {
      std::fprintf(stderr, "%s: error: device code uses %s, which %s (docs/cuda-programs.md)\n", input.name.c_str(),
                   fmt::format("{}", fmt::join(names, ", ")).c_str(),
                   input.bitcode.empty() ? "this file does not define; if another file does, compile both with -rdc=true"
                                         : "no object of -rdc=true in this command defines");
    }
    throw Failed();
  }

  std::string image_for_gpu(const Input& input, const std::string& backend, const std::string& architecture) {
    const bool nvidia = backend == "cuda";
    Words command = gpu_half(input, backend, architecture);
    const std::string image = file("image");
    if (options_.step == Step::explain) {
      append(command, {"-fsyntax-only", "-ferror-limit=0"});
      if (!nvidia) append(command, {"-nogpulib"});
      succeed(command);
      return {};
    }
    if (nvidia) append(command, {"-S", plugin()});
    append(command, {"-o", image});
    try {
      return nvidia ? ptx(input, command, image) : code_object(input, command, architecture, image);
    } catch (const std::runtime_error& missing) {
      throw Missing(missing.what());
    }
  }

  std::string ptx(const Input& input, Words command, const std::string& image) const {
    const auto lacking = [&] { return kernel_tool::undefined_in_ptx(read_file(image)); };
    succeed(command);
    std::set<std::string> names = lacking();
    if (!names.empty() && names.lower_bound("__nv_") != names.end() && names.lower_bound("__nv_")->starts_with("__nv_")) {
      append(command, {"-Xclang", "-mlink-builtin-bitcode", "-Xclang", kernel_tool::libdevice().string()});
      succeed(command);
      names = lacking();
    }
    std::string undefined;
    for (const std::string& name : names) undefined += "`" + name + "'\n";
    if (!names.empty()) refuse_undefined(input, undefined, "`([^']+)'");
    limit_registers(image);
    // The driver reads PTX as a string.
    return read_file(image) + '\0';
  }

  /// What ptxas reports of a kernel.
  struct Usage {
    int registers = 0;
    int spilled = 0;  ///< bytes
  };

  std::map<std::string, Usage> usage(const fs::path& ptxas, const std::string& ptx) const {
    static const std::regex line(
        R"(Compiling entry function '([^']+)'|Function properties for (\S+)|(\d+) bytes spill stores|Used (\d+) registers)");
    const std::string architecture = fmt::format("-arch=sm_{}", *options_.machines.rbegin());
    const std::string report = call({ptxas.string(), "-v", architecture, ptx, "-o", file("measured")}).output;
    std::map<std::string, Usage> found;
    std::string kernel, function;
    for (std::sregex_iterator at(report.begin(), report.end(), line), end; at != end; ++at) {
      if ((*at)[1].matched) kernel = (*at)[1];
      if ((*at)[2].matched) function = (*at)[2];
      if ((*at)[3].matched && function == kernel) found[kernel].spilled = std::stoi((*at)[3]);
      if ((*at)[4].matched) found[kernel].registers = std::stoi((*at)[4]);
    }
    return found;
  }

  // A kernel with more than 64 registers does not run with blocks of 1,024 threads, and Clang's code often needs more
  // registers than nvcc's. Limits the registers of kernels without __launch_bounds__ for which ptxas can do it without
  // spilling.
  void limit_registers(const std::string& image) const {
    constexpr int most = 64;
    const fs::path ptxas = options_.machines.empty() ? fs::path() : kernel_tool::ptxas();
    if (ptxas.empty()) return;
    const std::string limited = file("limited.ptx");
    std::map<std::string, Usage> before = usage(ptxas, image), after;
    std::erase_if(before, [](const auto& kernel) { return kernel.second.registers <= most; });
    // The second time, without the kernels that would spill.
    for (int pass = 0; pass < 2 && !before.empty(); ++pass) {
      std::string ptx = read_file(image);
      for (const auto& [name, used] : before) {
        const std::size_t entry = ptx.find(".entry " + name + "("), body = ptx.find('{', entry);
        if (body != ptx.npos && ptx.substr(entry, body - entry).find(".maxntid") == std::string::npos)
          ptx.insert(body, fmt::format(".maxntid {}, 1, 1\n", 65536 / most));
      }
      write_file(limited, ptx);
      after = usage(ptxas, limited);
      const auto spills = [&](const auto& kernel) { return after[kernel.first].spilled > kernel.second.spilled; };
      if (std::erase_if(before, spills) == 0) return write_file(image, ptx);
    }
  }

  // Adds machine code made of the PTX that was just compiled, so that the driver need not compile it when the program
  // starts. Without ptxas, or if ptxas refuses an architecture, the PTX suffices.
  void add_machine_code(detail::BundleWriter& bundle, const std::string& architecture) const {
    const fs::path ptxas = options_.machines.empty() ? fs::path() : kernel_tool::ptxas();
    if (ptxas.empty()) return;
    for (const int number : options_.machines) {
      if (number < std::stoi(architecture.substr(architecture.find('_') + 1))) continue;
      const std::string name = fmt::format("sm_{}", number), code = file(name);
      const detail::ChildOutcome outcome = call({ptxas.string(), "-arch=" + name, file("image"), "-o", code});
      if (outcome.status == 0) {
        bundle.add(detail::record::image, "cuda " + name, std::string_view(read_file(code)));
      } else {
        std::fprintf(stderr, "weir c++: note: no machine code for %s, the PTX serves it: %s\n", name.c_str(),
                     outcome.output.substr(0, outcome.output.find('\n')).c_str());
      }
    }
  }

  std::string code_object(const Input& input, Words command, const std::string& architecture,
                          const std::string& image) const {
    Words without = command;
    append(without, {"-nogpulib"});
    detail::ChildOutcome outcome = call(without);
    if (outcome.status != 0 && outcome.output.find("undefined") != std::string::npos) {
      append(command, {"--rocm-device-lib-path=" + kernel_tool::rocm_device_libraries(architecture).string()});
      outcome = call(command);
    }
    if (outcome.status != 0) refuse_undefined(input, outcome.output, R"(undefined (?:hidden )?symbol: ([\w$]+))");
    return read_file(image);
  }

  // Whether the linker's input is an object with device code that is not linked yet.
  static bool is_part(const std::string& input) {
    std::string head(18, 0);
    std::ifstream(input, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
    return head.starts_with("\177ELF") && head[16] == ET_REL &&
           read_file(input).find(relocatable_section) != std::string::npos;
  }

  // Takes the device code out of an object.
  Part part(const std::string& object, std::size_t number) const {
    Part result{file(fmt::format("part-{}.o", number)), {}, {}, {}};
    const std::string code = file("code"), empty = file("empty");
    write_file(empty, std::string(16, 0));
    succeed({binutil("objcopy"), "--dump-section", std::string(relocatable_section) + "=" + code, "--update-section",
             std::string(relocatable_section) + "=" + empty, object, result.object});
    const std::string bytes = read_file(code);
    const auto refuse = [](std::span<const std::byte>, const std::string& flaw) { throw std::runtime_error(flaw); };
    try {
      detail::BundleReader reader(std::as_bytes(std::span(bytes)), detail::bundle_magic, detail::bundle_version,
                                  "it was not made by weir c++", refuse);
      while (!reader.at_end()) {
        reader.next();
        if (reader.kind == record_unit) result.unit = reader.name;
        if (reader.kind == detail::record::source) result.source = reader.name;
        if (reader.kind != detail::record::image) continue;
        const std::string bitcode = file(fmt::format("part-{}-{}.bc", number, result.bitcode.size()));
        write_file(bitcode, detail::text_of(reader.data));
        result.bitcode.emplace(reader.name, bitcode);
      }
    } catch (const std::runtime_error& flaw) {
      throw std::runtime_error(fmt::format("{}: its device code cannot be linked: {}", object, flaw.what()));
    }
    return result;
  }

  // Makes one image for each target out of the parts, and the object that registers it with the kernels of each part.
  std::string link_parts(const std::vector<Part>& parts) {
    Words sources;
    std::set<std::string> targets;
    for (const Part& part : parts) {
      sources.push_back(part.source);
      for (const auto& [target, bitcode] : part.bitcode) targets.insert(target);
    }
    const std::string names = fmt::format("{}", fmt::join(sources, ", "));
    detail::BundleWriter bundle;
    bundle.add(detail::record::source, fs::path(sources.front()).filename().string(), std::string_view());
    bool empty = true;
    for (const std::string& target : targets) {
      try {
        Input input = {names, {}};
        for (const Part& part : parts) {
          const auto found = part.bitcode.find(target);
          if (found == part.bitcode.end()) throw Missing(part.source + " has none; compile all files with the same --for");
          input.bitcode.push_back(found->second);
        }
        const std::size_t blank = target.find(' ');
        const std::string image = image_for(input, target.substr(0, blank), target.substr(blank + 1));
        bundle.add(detail::record::image, target, std::string_view(image));
        if (target.starts_with("cuda ")) add_machine_code(bundle, target.substr(target.find(' ') + 1));
        empty = false;
      } catch (const Missing& missing) {
        leave_out(names, target, missing);
      }
    }
    if (empty) throw Missing(fmt::format("{}: there is no device code for any target; see the notes", names));
    write_file(file("images"), detail::text_of(bundle.bundle()));
    // What Clang adds to a file whose device code is whole, once for all parts.
    std::string code = fmt::format(
        "__asm__(\".section .rodata\\n.balign 16\\nweir_images:\\n.incbin \\\"{}\\\"\\n.previous\");\n"
        "extern const char weir_images[];\n"
        "void** __cudaRegisterFatBinary(void*);\nvoid __cudaUnregisterFatBinary(void**);\nint atexit(void (*)(void));\n"
        "static struct {{ int magic, version; const char* images; void* unused; }} all = {{0x466243b1, 1, weir_images, "
        "0}};\n"
        "static void** handle;\n"
        "static void end(void) {{ __cudaUnregisterFatBinary(handle); }}\n"
        "static void begin(void (*kernels)(void**)) {{\n"
        "  if (!handle) {{ handle = __cudaRegisterFatBinary(&all); atexit(end); }}\n  kernels(handle);\n}}\n",
        file("images"));
    for (const Part& part : parts)
      code += fmt::format("void {}{}(void (*kernels)(void**)) {{ begin(kernels); }}\n", register_unit, part.unit);
    const std::string source = file("parts.c"), object = file("parts.o");
    write_file(source, code);
    succeed({chain_.clang, "-x", "c", "-O1", "-fPIC", "-fvisibility=hidden", "-c", source, "-o", object});
    return object;
  }

  void link(Words inputs) {
    std::vector<Part> parts;
    for (std::string& input : inputs) {
      if (!is_part(input)) continue;
      parts.push_back(part(input, parts.size()));
      input = parts.back().object;
    }
    if (!parts.empty()) inputs.insert(inputs.begin(), link_parts(parts));
    Words command = {chain_.clang};
    append(command, inputs);
    append(command, {"-L" + chain_.libraries.string(), "-lweir_cudart", "-Wl,-rpath," + chain_.libraries.string(), "-o",
                     options_.output.empty() ? "a.out" : options_.output});
    const detail::ChildOutcome outcome = call(command);
    std::fputs(outcome.output.c_str(), stderr);
    if (outcome.status == 0) return;
    if (outcome.output.find(register_unit) != std::string::npos) {
      std::fputs(
          "weir c++: device code that was compiled with -rdc=true lies in a library; name its objects (.o) in the "
          "command that links the program (docs/cuda-programs.md)\n",
          stderr);
    }
    throw Failed();
  }

  const Options& options_;
  const Toolchain& chain_;
  Words environment_;
  std::string unit_;           // identifies the file that is being compiled
  int cpu_arch_ = 700;         // __CUDA_ARCH__ of the file's code for the CPU
  bool is_attempt_ = false;    // whether errors are not printed yet
  const detail::TemporaryFolder folder_;
};

}  // namespace

int run(const std::vector<std::string>& words) {
  if (words.empty() || words.front() == "--help") {
    std::fputs(help, words.empty() ? stderr : stdout);
    return words.empty() ? 2 : 0;
  }
  try {
    const Options options = parse(words);
    if (!options.ignored.empty())
      std::fprintf(stderr, "weir c++: note: ignored: %s\n", fmt::format("{}", fmt::join(options.ignored, ", ")).c_str());
    const Toolchain chain = find_toolchain();
    Compilation(options, chain).run();
    return 0;
  } catch (const Failed&) {
    return 1;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "weir c++: %s; weir c++ --help lists the options\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir c++: %s\n", error.what());
    return 1;
  }
}

}  // namespace weir::cxx
