// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nvrtc.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>

#include "backends/cuda/api.hpp"
#include "backends/cuda/images.hpp"
#include "backends/cuda/toolkit_headers.hpp"
#include "backends/gpu/header_list.hpp"
#include "core/base/library.hpp"
#include "backends/gpu/program.hpp"
#include "weir/plugin/support.hpp"
#include "weir/plugin/plugin.hpp"

/// Run-time compilation with NVRTC.
namespace weir::cuda {
namespace {

constexpr const char* nvrtc_variable = "WEIR_NVRTC";

/// The functions of NVRTC that Weir calls. All are required.
#define WEIR_NVRTC_SYMBOLS(X) \
  X(Version)                  \
  X(GetErrorString)           \
  X(GetNumSupportedArchs)     \
  X(GetSupportedArchs)        \
  X(CreateProgram)            \
  X(AddNameExpression)        \
  X(GetLoweredName)           \
  X(DestroyProgram)           \
  X(CompileProgram)           \
  X(GetCUBINSize)             \
  X(GetCUBIN)                 \
  X(GetPTXSize)               \
  X(GetPTX)                   \
  X(GetProgramLogSize)        \
  X(GetProgramLog)

struct Nvrtc {
#define WEIR_NVRTC_MEMBER(function) decltype(&::nvrtc##function) function = nullptr;
  WEIR_NVRTC_SYMBOLS(WEIR_NVRTC_MEMBER)
#undef WEIR_NVRTC_MEMBER
  int version = 0;                  // 13000 for 13.0, as drivers count versions
  std::vector<int> architectures;   // the supported architectures, ascending: 75, 80, …
  std::vector<std::string> header_folders;
  std::string description;          // NVRTC's version and file, or the reason why it is missing
  std::string path;
  bool usable = false;
};

// The files to try, in this order. `driver_version`: 0 if there is no driver, for example on a build machine.
std::vector<std::string> candidates(int driver_version) {
  // A driver cannot load code of a newer CUDA major version, so newer versions of NVRTC are skipped. Without a driver, the
  // NVRTC of the installed toolkit comes first, whatever its version.
  std::vector<std::string> sonames, names;
  if (driver_version == 0) sonames.emplace_back("libnvrtc.so");
  for (int major = driver_version == 0 ? 13 : std::max(driver_version / 1000, 12); major >= 12; --major) {
    sonames.push_back("libnvrtc.so." + std::to_string(major));
  }
  if (driver_version != 0) names = sonames;
  for (const char* const root : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto folder = support::environment(root); folder && folder->starts_with('/')) {
      for (const std::string& soname : sonames) names.push_back(*folder + "/lib64/" + soname);
    }
  }
  if (driver_version == 0) names.insert(names.end(), sonames.begin(), sonames.end());
  for (const std::string& soname : sonames) names.push_back("/usr/local/cuda/lib64/" + soname);
  return names;
}

void open(Nvrtc& nvrtc, int driver_version) {
  const std::optional<std::string> chosen = support::environment_path(nvrtc_variable);
  std::vector<LoadAttempt> attempts;
  const auto library =
      detail::Library::open(chosen ? std::vector<std::string>{*chosen} : candidates(driver_version), attempts);
  if (!library) {
    nvrtc.description =
        "no NVRTC: " + detail::list_attempts(attempts) + "; " +
        (chosen ? "correct or unset WEIR_NVRTC" : "install the CUDA Toolkit's NVRTC, or set WEIR_NVRTC to its file");
    return;
  }
#define WEIR_NVRTC_FIND(name)                                                                        \
  nvrtc.name = library->find_as<decltype(&::nvrtc##name)>("nvrtc" #name);                            \
  if (nvrtc.name == nullptr) {                                                                       \
    nvrtc.description = library->path() + " has no nvrtc" #name "; NVRTC of CUDA 12.0 or later is needed"; \
    return;                                                                                          \
  }
  WEIR_NVRTC_SYMBOLS(WEIR_NVRTC_FIND)
#undef WEIR_NVRTC_FIND
  int major = 0, minor = 0, count = 0;
  nvrtc.Version(&major, &minor);
  nvrtc.version = major * 1000 + minor * 10;
  if (nvrtc.GetNumSupportedArchs(&count) == NVRTC_SUCCESS && count > 0) {
    nvrtc.architectures.resize(static_cast<std::size_t>(count));
    nvrtc.GetSupportedArchs(nvrtc.architectures.data());
    std::sort(nvrtc.architectures.begin(), nvrtc.architectures.end());
  }
  nvrtc.header_folders = toolkit_header_folders(library->path());
  nvrtc.description = "NVRTC " + std::to_string(major) + "." + std::to_string(minor) + " (" + library->path() + ")";
  nvrtc.path = library->path();
  nvrtc.usable = !nvrtc.architectures.empty();
}

const Nvrtc& nvrtc_for(int driver_version) {
  static const Nvrtc* const opened = [&] {
    auto* const nvrtc = new Nvrtc;
    open(*nvrtc, driver_version);
    return nvrtc;
  }();
  return *opened;
}

int architecture_number(const DeviceProperties& properties) {
  return properties.compute_capability_major * 10 + properties.compute_capability_minor;
}

std::vector<std::string> option_list(const Nvrtc& nvrtc, const CompileOptions& options, const std::string& architecture) {
  std::vector<std::string> list{
      "--gpu-architecture=" + architecture, "--std=c++" + std::to_string(options.cxx_standard),
      "--pre-include=weir_kernel.h",
      // Allows kernels to call constexpr functions without `__device__`, as hipcc does, and nvcc with
      // --expt-relaxed-constexpr.
      "--device-as-default-execution-space"};
  for (const auto& [name, value] : options.defines) list.push_back("--define-macro=" + name + "=" + value);
  for (const std::string& folder : options.include_directories) list.push_back("--include-path=" + folder);
  for (const std::string& folder : nvrtc.header_folders) list.push_back("--include-path=" + folder);
  if (options.fast_math) list.emplace_back("--use_fast_math");
  if (options.debug) {
    list.emplace_back("--device-debug");
    list.emplace_back("--generate-line-info");
  }
  list.insert(list.end(), options.extra.begin(), options.extra.end());
  return list;
}

constexpr std::string_view ptx_message = "ptxas application ptx input, line ";

// The text of the source, or of a header in the options, that has this path, and its name there.
std::pair<std::string, std::string_view> file_of(const std::string& path, std::string_view source,
                                                 const CompileOptions& options) {
  const auto is = [&](const std::string& name) { return path == name || path.ends_with("/" + name); };
  if (is(options.name)) return {options.name, source};
  for (const auto& [name, text] : options.headers) {
    if (is(name)) return {name, text};
  }
  return {path, {}};
}

// The log of a source that does not compile. ptxas names lines of the PTX: they become the source's lines if the PTX has
// line information. NVRTC reports the names in `CompileOptions::kernels` as a file of its own, with several errors for each.
std::string readable(const std::string& log, const std::string& ptx, std::string_view source,
                     const CompileOptions& options) {
  struct Place {
    std::string file;
    std::size_t line = 0;
  };
  std::map<std::string, std::string> files;  // `.file 1 "/folder/k.cu"`
  std::vector<Place> places(1);              // of each line, from 1; `.loc 1 3 7` precedes its instructions
  std::string text, directive, number, path;
  for (std::istringstream lines(ptx); std::getline(lines, text);) {
    std::istringstream words(text);
    Place place = places.back();
    words >> directive;
    if (directive == ".loc") words >> place.file >> place.line;
    if (directive == ".file" && words >> number >> std::quoted(path)) files[number] = path;
    places.push_back(place);
  }
  std::string all;
  std::set<std::string> told;
  for (std::istringstream lines(log); std::getline(lines, text);) {
    const std::size_t colon = text.find(": ");
    const bool is_ptx = text.starts_with(ptx_message) && colon != text.npos && text.find("; error") < colon;
    const std::size_t at = is_ptx ? std::strtoul(text.c_str() + ptx_message.size(), nullptr, 10) : 0;
    if (at != 0 && at < places.size() && places[at].line != 0) {
      const Place& place = places[at];
      auto [name, content] = file_of(files[place.file], source, options);
      const std::string where = fmt::format("{}({})", name, place.line);
      if (!told.insert(where).second) continue;
      for (std::size_t line = 1; line < place.line && !content.empty(); ++line)
        content.remove_prefix(std::min(content.find('\n'), content.size() - 1) + 1);
      all += fmt::format("{}: error: {}\n  {}\n\n", where, text.substr(colon + 2), content.substr(0, content.find('\n')));
    } else if (text.starts_with("__nv_name_map(") && colon != text.npos) {
      std::string kernel, mark;  // "  #pragma nv_mangled_name k<int>", and a line with a caret
      std::getline(lines, kernel);
      std::getline(lines, mark);
      constexpr std::string_view pragma = "nv_mangled_name ";
      if (const std::size_t begin = kernel.find(pragma); begin != kernel.npos) kernel.erase(0, begin + pragma.size());
      if (told.insert(kernel).second)
        all += fmt::format("{}: {}, in '{}' of CompileOptions::kernels\n\n", options.name, text.substr(colon + 2), kernel);
    } else if (told.empty() || !(text.empty() || text.find(" detected in the compilation of") != text.npos ||
                                 text.ends_with("aborted due to errors"))) {
      all += text + '\n';
    }
  }
  return all.substr(0, all.find_last_not_of('\n') + 1);
}

// `target`: "sm_90" for machine code, "compute_90" for PTX.
gpu::CompiledProgram compile_for(const Nvrtc& nvrtc, const std::string& target, std::string_view source,
                                 const CompileOptions& options, const gpu::Subject& subject, std::string& log) {
  const auto take_image = [&](nvrtcProgram program, const auto& check) {
    const bool is_code = target.starts_with("sm_");
    std::size_t size = 0;
    check(is_code ? nvrtc.GetCUBINSize(program, &size) : nvrtc.GetPTXSize(program, &size),
          is_code ? "GetCUBINSize" : "GetPTXSize");
    std::vector<std::byte> image(size);
    char* const bytes = reinterpret_cast<char*>(image.data());
    check(is_code ? nvrtc.GetCUBIN(program, bytes) : nvrtc.GetPTX(program, bytes), is_code ? "GetCUBIN" : "GetPTX");
    return image;
  };
  bool failed_in_ptxas = false;
  const auto explain = [&](nvrtcProgram program, const std::string& text) {
    failed_in_ptxas = text.find(ptx_message) != text.npos;
    std::size_t size = 0;
    std::string ptx;
    if (nvrtc.GetPTXSize(program, &size) == NVRTC_SUCCESS && size != 0) {
      ptx.resize(size);
      if (nvrtc.GetPTX(program, ptx.data()) != NVRTC_SUCCESS) ptx.clear();
    }
    return readable(text, ptx, source, options);
  };
  std::vector<std::string> arguments = option_list(nvrtc, options, target);
  const auto compile = [&] {
    return gpu::compile_program<nvrtcProgram>(nvrtc, "nvrtc", nvrtc.description, subject, source, options, arguments, target,
                                              log, take_image, explain);
  };
  try {
    return compile();
  } catch (const Error&) {
    const bool has_lines = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
      return argument == "--generate-line-info" || argument == "-lineinfo";
    });
    if (!failed_in_ptxas || has_lines) throw;
    const std::string first = log;
    failed_in_ptxas = false;
    arguments.emplace_back("--generate-line-info");
    try {
      (void)compile();
    } catch (const Error&) {
      if (failed_in_ptxas) throw;  // the same error, with the source's lines
    }
    log = first;
    throw;
  }
}

}  // namespace

std::string Api::describe_compiler() const { return nvrtc_for(driver_version_).description; }

void Api::describe_runtime_compilation(const DeviceProperties& properties, FeatureTable& features) const {
  const Nvrtc& nvrtc = nvrtc_for(driver_version_);
  if (!nvrtc.usable) {
    features.absent(Feature::runtime_compilation, nvrtc.description);
  } else if (architecture_number(properties) < nvrtc.architectures.front()) {
    features.absent(Feature::runtime_compilation,
                    nvrtc.description + " compiles for sm_" + std::to_string(nvrtc.architectures.front()) +
                        " and later, but this device is " + properties.architecture + "; set WEIR_NVRTC to an older NVRTC");
  } else {
    features.native(Feature::runtime_compilation);
  }
}

gpu::CompiledProgram Api::compile(const Device& device, std::string_view source, const CompileOptions& options) const {
  const char* const operation = "Device::compile";
  const Nvrtc& nvrtc = nvrtc_for(driver_version_);
  if (!nvrtc.usable) throw Error(Errc::compiler_not_found, operation, device.describe(), nvrtc.description);

  // Compiles to machine code for the device. If the device is newer than the compiler, compiles to PTX, which the driver
  // compiles further.
  const int architecture = architecture_number(device.properties());
  const bool knows = std::binary_search(nvrtc.architectures.begin(), nvrtc.architectures.end(), architecture);
  const std::string target = knows
                                 ? device.properties().architecture
                                 : "compute_" + std::to_string(*std::prev(std::upper_bound(
                                                    nvrtc.architectures.begin(), nvrtc.architectures.end(), architecture)));
  const gpu::HeaderList headers(options);
  const std::vector<std::string> arguments = option_list(nvrtc, options, target);
  return gpu::compile_cached(
      {backend_name, source, options, headers, arguments, nvrtc.description, {nvrtc.path}, false}, [&] {
        std::string log;
        gpu::CompiledProgram program = compile_for(nvrtc, target, source, options, {operation, device.describe()}, log);
        if (!log.empty()) support::log(support::LogLevel::info, "compiling '" + options.name + "': " + log);
        return program;
      });
}

void compile_image(ImageCompilation& request) {
  const gpu::Subject subject{"Registry::compile_image", "cuda " + std::string(request.architecture)};
  const auto throw_error = [&](Errc code, const std::string& detail) {
    throw Error(code, subject.operation, subject.object, detail);
  };
  static const Nvrtc* const opened = [] {
    auto* const nvrtc = new Nvrtc;
    open(*nvrtc, 0);
    return nvrtc;
  }();
  const auto architecture = parse_architecture(request.architecture);
  if (!architecture) {
    throw_error(Errc::invalid_argument,
                "'" + std::string(request.architecture) +
                    "' is not an architecture of NVIDIA; write sm_90, sm_90a, or compute_90 for PTX");
  }
  if (!opened->usable) throw_error(Errc::compiler_not_found, opened->description);
  const std::vector<int>& known = opened->architectures;
  if (!std::binary_search(known.begin(), known.end(), architecture->number)) {
    std::string list;
    for (const int number : known) {
      if (!list.empty()) list += ", ";
      list += std::to_string(number);
    }
    throw_error(Errc::compiler_not_found, opened->description + " cannot compile for " + std::string(request.architecture) +
                                              ", but for " + list + "; set WEIR_NVRTC to another NVRTC");
  }
  request.image =
      compile_for(*opened, std::string(request.architecture), request.source, request.options, subject, request.log)
          .image_with_names();
}

}  // namespace weir::cuda
