// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <nvrtc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernel_abi.hpp"

/// A libnvrtc for the driver on the CPU. It compiles kernels to shared objects with a C++ compiler of this machine:
/// CPU_CUDA_CXX, or the compiler that has built this file. CPU_CUDA_CACHE names a folder for compiled kernels.
struct _nvrtcProgram {
  std::string source, name, log, image;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::pair<std::string, std::string>> expressions;  // and the symbols that they stand for
};

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Stands for the static objects of the real library, which a compilation uses.
struct StaticObject {
  std::atomic<int> uses{0};
  ~StaticObject() {
    if (uses == 0) return;
    std::fputs("CPU NVRTC: the library's static objects go while a thread compiles\n", stderr);
    std::abort();
  }
} static_object;
struct Use {
  Use() { ++static_object.uses; }
  ~Use() { --static_object.uses; }
};

/// Whether what begins at a place in the source has C linkage: after the words extern "C", or in a block of them.
bool has_c_linkage(const std::string& source, std::size_t place) {
  const auto begin_of_declaration = [&](std::size_t end) { return source.find_last_of(";{}", end) + 1; };
  const auto says_c = [&](std::size_t begin, std::size_t end) {
    return source.substr(begin, end - begin).find("extern \"C\"") != std::string::npos;
  };
  const std::size_t begin = begin_of_declaration(place);
  if (says_c(begin, place)) return true;
  int depth = 0;
  for (std::size_t i = begin; i-- > 0;) {
    if (source[i] == '}') ++depth;
    if (source[i] == '{' && depth-- == 0) return i > 0 && says_c(begin_of_declaration(i - 1), i);
  }
  return false;
}

/// What describes the kernels of a source, to stand behind it.
std::string descriptions(const _nvrtcProgram& program) {
  static const auto& kernel =
      *new std::regex(R"(__global__\s+void\s+(?:__launch_bounds__\s*\(\s*(\d+)[^)]*\)\s*)?(\w+)\s*\()");
  const std::string& source = program.source;
  const std::string barriers = source.find("__syncthreads") != std::string::npos ? "true" : "false";
  std::string text;
  for (std::sregex_iterator found(source.begin(), source.end(), kernel), end; found != end; ++found) {
    if (!has_c_linkage(source, static_cast<std::size_t>(found->position()))) continue;
    const std::string threads = (*found)[1].matched ? (*found)[1].str() : "1024", name = (*found)[2].str();
    const std::string symbol = "const ::cpu_cuda::KernelDescription cpu_cuda_kernel_" + name;
    text += "extern \"C\" { extern " + symbol + "; " + symbol + " = ::cpu_cuda::Kernel<&" + name + ", " + barriers +
            ">::describe(" + threads + "); }\n";
  }
  for (std::size_t i = 0; i < program.expressions.size(); ++i) {
    const std::string symbol = "const ::cpu_cuda::KernelInstance cpu_cuda_instance_" + std::to_string(i);
    text += "extern \"C\" { extern " + symbol + "; " + symbol + " = ::cpu_cuda::Kernel<&" + program.expressions[i].first +
            ", " + barriers + ">::instance(); }\n";
  }
  return text;
}

/// Finds the symbols that a program's name expressions stand for, in what was compiled.
bool find_symbols(_nvrtcProgram& program, const fs::path& file) {
  if (program.expressions.empty()) return true;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  bool found = true;
  for (std::size_t i = 0; i < program.expressions.size(); ++i) {
    const auto* const instance =
        static_cast<const cpu_cuda::KernelInstance*>(::dlsym(library, ("cpu_cuda_instance_" + std::to_string(i)).c_str()));
    Dl_info symbol{};
    found = found && instance != nullptr && ::dladdr(instance->function, &symbol) != 0 && symbol.dli_sname != nullptr;
    if (found) program.expressions[i].second = symbol.dli_sname;
  }
  ::dlclose(library);
  return found;
}

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(nvrtcResult result) { return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR"; }
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int count,
                               const char* const* headers, const char* const* names) {
  *program = new _nvrtcProgram{source, name != nullptr ? name : "", {}, {}, {}, {}};
  for (int i = 0; i < count; ++i) (*program)->headers.emplace_back(names[i], headers[i]);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  const Use use;
  char folder_name[] = "/tmp/cpu-cuda-XXXXXX";
  if (::mkdtemp(folder_name) == nullptr) return NVRTC_ERROR_INTERNAL_ERROR;
  const fs::path folder = folder_name;
  struct Remove {
    const fs::path& folder;
    ~Remove() {
      std::error_code ignored;
      fs::remove_all(folder, ignored);
    }
  } const remove{folder};
  static const auto& dynamic = *new std::regex(R"(extern\s+__shared__\s+([\w ]+?)\s*(\w+)\s*\[\s*\])");
  const std::string name = program->name.empty() ? "kernel.cu" : program->name;
  std::string text;
  {
    std::ostringstream out;
    out << "#include \"" CPU_CUDA_SOURCES "/kernel_prelude.hpp\"\n#line 1 \"" << name << "\"\n"
        << std::regex_replace(program->source, dynamic,
                              "$1* const $2 = reinterpret_cast<$1*>(::cpu_cuda::dynamic_shared.data())")
        << "\n#line 1 \"descriptions\"\n"
        << descriptions(*program);
    text = out.str();
    std::ofstream(folder / "kernel.cpp") << text;
  }
  // Headers that are given stand in a folder; those that the prelude has included already are the compiler's own.
  for (const auto& [header, content] : program->headers) {
    if (header.starts_with("c") && header.find('.') == std::string::npos) continue;
    if (header == "stdint.h" || header == "stddef.h" || header == "limits.h" || header == "float.h") continue;
    fs::create_directories((folder / header).parent_path());
    std::ofstream(folder / header) << content;
    text += content;
  }
  std::vector<std::string> command{std::getenv("CPU_CUDA_CXX") != nullptr ? std::getenv("CPU_CUDA_CXX") : CPU_CUDA_CXX,
                                   "-x",
                                   "c++",
                                   "-std=c++20",
                                   "-shared",
                                   "-fPIC",
                                   "-O1",
                                   "-w",
                                   "-fno-gnu-unique",
                                   "-idirafter" + folder.string(),  // the system's own headers come first
                                   "-o",
                                   folder / "kernel.so",
                                   folder / "kernel.cpp"};
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (!option.starts_with("-D") && !option.starts_with("-I")) continue;
    command.push_back(option);
    text += option;
  }
  // Included files may change: what has their folders is compiled each time.
  fs::path cached;
  if (const char* const cache = std::getenv("CPU_CUDA_CACHE"); cache != nullptr && text.find("-I") == std::string::npos) {
    cached = fs::path(cache) / (std::to_string(std::hash<std::string>()(text)) + ".so");
    if (fs::exists(cached)) {
      program->image = read(cached);
      return find_symbols(*program, cached) ? NVRTC_SUCCESS : NVRTC_ERROR_INTERNAL_ERROR;
    }
  }
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (std::freopen((folder / "log").c_str(), "w", stderr) == nullptr) std::_Exit(127);
    ::execvp(arguments[0], arguments.data());
    std::_Exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  program->log = read(folder / "log");
  if (status != 0 && std::getenv("CPU_CUDA_VERBOSE") != nullptr) std::fputs(program->log.c_str(), stderr);
  if (status != 0) return NVRTC_ERROR_COMPILATION;
  program->image = read(folder / "kernel.so");
  if (!find_symbols(*program, folder / "kernel.so")) return NVRTC_ERROR_INTERNAL_ERROR;
  if (!cached.empty()) {
    std::error_code ignored;
    const fs::path made = cached.string() + "." + std::to_string(::getpid());
    fs::copy_file(folder / "kernel.so", made, ignored);
    fs::rename(made, cached, ignored);
  }
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  *size = program->log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  program->log.copy(log, program->log.size());
  log[program->log.size()] = '\0';
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  *size = program->image.size();
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* image) {
  program->image.copy(image, program->image.size());
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression) {
  if (!program->image.empty()) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
  program->expressions.emplace_back(expression, "");
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** name) {
  if (program->image.empty()) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
  for (const auto& [known, symbol] : program->expressions) {
    if (known != expression) continue;
    *name = symbol.c_str();
    return NVRTC_SUCCESS;
  }
  return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}
}
