// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/hiprtc.hpp"

#include <hip/hiprtc.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <system_error>

#include "backends/gpu/header_list.hpp"
#include "weir/plugin/support.hpp"
#include "weir/error.hpp"

namespace weir::hip {
namespace {

constexpr const char* hiprtc_variable = "WEIR_HIPRTC";

/// All functions of HIPRTC that this backend calls. All are required.
#define WEIR_HIPRTC_SYMBOLS(X) \
  X(GetErrorString)            \
  X(CreateProgram)             \
  X(AddNameExpression)         \
  X(GetLoweredName)            \
  X(DestroyProgram)            \
  X(CompileProgram)            \
  X(GetCodeSize)               \
  X(GetCode)                   \
  X(GetProgramLogSize)         \
  X(GetProgramLog)

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

/// Whether the file may be of the generation `number`. In a system's folder the name without a number is a link to the
/// newest generation. In Python's wheels that name is the library itself, of the same generation as the runtime.
bool may_be_of(const std::string& file, const std::string& name, const std::string& number) {
  std::error_code error;
  const std::string target = std::filesystem::canonical(file, error).filename().string();
  if (error || !target.starts_with(name + ".")) return true;
  const std::string version = target.substr(name.size() + 1);  // "7.2.53211"
  return version.substr(0, version.find('.')) == number;
}

/// The candidate files for one library, in the order in which the runtime searches: a copy that is already loaded, one in
/// the runtime's folder, one that the loader finds. Only files of the runtime's generation are included, because two
/// generations of AMD's compiler cannot be in one process. A name without a number, as in Python's wheels, is included only
/// if its folder determines the generation.
std::vector<std::string> files(const std::string& name, const std::string& number, const weir::detail::Library& runtime) {
  const std::string soname = name + "." + number, folder = folder_of(runtime.path());
  std::vector<std::string> names;
  if (std::string loaded = weir::detail::loaded_library(soname); !loaded.empty()) names.push_back(std::move(loaded));
  for (const std::string& file : {folder + soname, folder + name, soname}) {
    if (file != folder + name || may_be_of(file, name, number)) names.push_back(file);
  }
  return names;
}

std::vector<std::string> option_list(const CompileOptions& options, const std::string& architecture) {
  std::vector<std::string> list{"--offload-arch=" + architecture, "-std=c++" + std::to_string(options.cxx_standard),
                                kernels::without_masks_option, "-include", kernels::first_header};
  for (const auto& [name, value] : options.defines) list.push_back("-D" + name + "=" + value);
  for (const std::string& folder : options.include_directories) list.push_back("-I" + folder);
  if (options.fast_math) list.emplace_back("-ffast-math");
  if (options.debug) {
    list.emplace_back("-g");
    list.emplace_back("-O0");
  }
  list.insert(list.end(), options.extra.begin(), options.extra.end());
  return list;
}

bool names_a_target(std::string_view option) {
  for (const std::string_view name :
       {"--offload-arch", "--gpu-architecture", "-arch", "--arch", "-mcpu", "--amdgpu-target"}) {
    if (option == name || (option.starts_with(name) && option[name.size()] == '=')) return true;
  }
  return false;
}

// "gfx90a:sramecc+:xnack-"
bool is_well_formed(std::string_view architecture) {
  const auto is_hex = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || (c >= 'a' && c <= 'f'); };
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const std::string_view base = architecture.substr(0, architecture.find(':'));
  if (!base.starts_with("gfx") || base.size() == 3 || !std::all_of(base.begin() + 3, base.end(), is_hex)) return false;
  for (std::string_view rest = architecture.substr(base.size()); !rest.empty();) {
    const std::string_view feature = rest.substr(1, rest.find(':', 1) - 1);
    if (feature.size() < 2 || (feature.back() != '+' && feature.back() != '-') ||
        !std::all_of(feature.begin(), feature.end() - 1, is_letter)) {
      return false;
    }
    rest.remove_prefix(1 + feature.size());
  }
  return true;
}

}  // namespace

struct Compiler::Functions {
#define WEIR_HIPRTC_MEMBER(function) decltype(&::hiprtc##function) function = nullptr;
  WEIR_HIPRTC_SYMBOLS(WEIR_HIPRTC_MEMBER)
#undef WEIR_HIPRTC_MEMBER
};

std::unique_ptr<const Compiler> Compiler::open(const weir::detail::Library& runtime, int release) {
  std::unique_ptr<Compiler> compiler(new Compiler);
  compiler->release_ = release;
  compiler->find(runtime, release);
  if (compiler->usable_) compiler->list_architectures(runtime, release);
  return compiler;
}

void Compiler::find(const weir::detail::Library& runtime, int release) {
  const std::optional<std::string> chosen = support::environment_path(hiprtc_variable);
  const std::vector<std::string> names =
      chosen ? std::vector<std::string>{*chosen} : files("libhiprtc.so", std::to_string(release / 100), runtime);
  std::vector<LoadAttempt> attempts;
  std::optional<weir::detail::Library> library = weir::detail::Library::open(names, attempts);
  if (!library && !chosen && runtime.find("hiprtcCompileProgram") != nullptr) library = runtime;
  if (!library) {
    description_ =
        "no HIPRTC: " + weir::detail::list_attempts(attempts) +
        (chosen ? "; correct or unset WEIR_HIPRTC"
                : ", and the runtime does not contain it; install HIPRTC of the same ROCm, or set WEIR_HIPRTC to its file");
    return;
  }
  auto functions = std::make_shared<Functions>();
  functions_ = functions;
#define WEIR_HIPRTC_FIND(name)                                                                     \
  functions->name = library->find_as<decltype(&::hiprtc##name)>("hiprtc" #name);                   \
  if (functions->name == nullptr) {                                                                \
    description_ = library->path() + " has no hiprtc" #name "; set WEIR_HIPRTC to another HIPRTC"; \
    return;                                                                                        \
  }
  WEIR_HIPRTC_SYMBOLS(WEIR_HIPRTC_FIND)
#undef WEIR_HIPRTC_FIND
  // The description has no version, because hiprtcVersion returns 9.0 in every release.
  files_ = {library->path()};
  description_ = "HIPRTC (" + library->path() + ")";
  usable_ = true;
}

// Queries the supported architectures from AMD's code generator, a library that HIPRTC itself opens and always needs.
void Compiler::list_architectures(const weir::detail::Library& runtime, int release) {
  std::vector<LoadAttempt> attempts;
  const auto library = weir::detail::Library::open(files("libamd_comgr.so", release < 604 ? "2" : "3", runtime), attempts);
  if (!library) return;
  files_.push_back(library->path());
  const auto count_names = library->find_as<int (*)(std::size_t*)>("amd_comgr_get_isa_count");
  const auto get_name = library->find_as<int (*)(std::size_t, const char**)>("amd_comgr_get_isa_name");
  std::size_t count = 0;
  if (count_names == nullptr || get_name == nullptr || count_names(&count) != 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    if (get_name(i, &name) != 0 || name == nullptr) continue;
    const std::string_view full = name;  // "amdgcn-amd-amdhsa--gfx90a"
    const std::size_t begin = full.rfind("--");
    if (begin == std::string_view::npos) continue;
    const std::string_view base = full.substr(begin + 2);
    architectures_.emplace_back(base.substr(0, base.find(':')));
  }
}

std::string Compiler::refusal(std::string_view architecture) const {
  if (!usable_) return description_;
  if (architecture.find("-generic") != std::string_view::npos) {
    return "'" + std::string(architecture) +
           "' is a target for several architectures, for which Weir loads images but does not compile; write one "
           "architecture";
  }
  if (!is_well_formed(architecture)) {
    return "'" + std::string(architecture) + "' is not an architecture of AMD; write gfx90a, or gfx90a:xnack- with features";
  }
  const std::string base(architecture.substr(0, architecture.find(':')));
  if (architectures_.empty() || std::find(architectures_.begin(), architectures_.end(), base) != architectures_.end())
    return {};
  return description_ + " cannot compile for " + base +
         "; install a ROCm that supports it, or set WEIR_HIPRTC to another HIPRTC";
}

gpu::CompiledProgram Compiler::compile(const std::string& architecture, std::string_view source,
                                       const CompileOptions& options, const char* operation, std::string_view object,
                                       std::string& log) const {
  if (!usable_) throw Error(Errc::compiler_not_found, operation, object, description_);
  if (const std::string reason = refusal(architecture); !reason.empty()) {
    throw Error(is_well_formed(architecture) ? Errc::compiler_not_found : Errc::invalid_argument, operation, object, reason);
  }
  for (const std::string& option : options.extra) {
    if (names_a_target(option)) {
      throw Error(Errc::invalid_argument, operation, object,
                  "the option '" + option + "' sets a target, but the target is the device itself; remove the option");
    }
  }

  // Returns the loadable code object. hiprtcGetBitcode is not used, because its result cannot be loaded.
  const auto take_image = [&](hiprtcProgram program, const auto& check) {
    std::size_t size = 0;
    check(functions_->GetCodeSize(program, &size), "GetCodeSize");
    std::vector<std::byte> image(size);
    check(functions_->GetCode(program, reinterpret_cast<char*>(image.data())), "GetCode");
    return image;
  };
  return gpu::compile_program<hiprtcProgram>(*functions_, "hiprtc", description_, {operation, std::string(object)}, source,
                                             options, option_list(options, architecture), architecture, log, take_image,
                                             [](hiprtcProgram, std::string text) { return text; });
}

gpu::CompiledProgram Compiler::compile_cached(const std::string& architecture, std::string_view source,
                                              const CompileOptions& options, const char* operation,
                                              std::string_view object) const {
  const gpu::HeaderList headers(options);
  const std::vector<std::string> arguments = option_list(options, architecture);
  // The last argument is true, because Clang also searches the system's header folders.
  return gpu::compile_cached(
      {"hip", source, options, headers, arguments, description_ + " " + std::to_string(release_), files_, true}, [&] {
        std::string log;
        gpu::CompiledProgram program = compile(architecture, source, options, operation, object, log);
        if (!log.empty()) support::log(support::LogLevel::info, "compiling '" + options.name + "': " + log);
        return program;
      });
}

}  // namespace weir::hip
