# weir_add_kernels(TARGET SOURCES FILE…
#   [NVIDIA 80 90 90a-real 100-virtual…] [AMD gfx90a gfx942 gfx1100…] [HOST [x86-64-v3…]]
#   [KERNELS "blur<float, 3>"…] [INCLUDES FOLDER…] [SYSTEM_INCLUDES FOLDER…] [DEFINITIONS NAME=VALUE…] [CXX_STANDARD 14|17|20]
#   [FAST_MATH] [DEBUG] [COMPILER clang]
#   [OPTIONS OPTION…] [NVIDIA_OPTIONS OPTION…] [AMD_OPTIONS OPTION…] [HOST_OPTIONS OPTION…]
#   [OPTIONAL] [NO_SOURCE])
#
# Compiles each file for all these architectures, and embeds one bundle per file in TARGET. In C++, `weir_kernels(NAME)` is
# the bundle of NAME.cu. docs/ahead-of-time.md describes every option. The compilers are NVRTC, HIPRTC and the project's C++
# compiler, or those in the variables WEIR_KERNEL_NVCC and WEIR_KERNEL_HIPCC. The function needs no GPU, and neither CMake's
# CUDA language nor its HIP language.
cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

# Converts the architectures after NVIDIA to the names that weir-kernels uses, and stores them in `out`. They have the form
# of CMAKE_CUDA_ARCHITECTURES: 90-real is machine code, 90-virtual is PTX. A plain number means machine code; for the newest
# one, also PTX.
function(weir_nvidia_architectures out)
  set(newest 0)
  foreach(word IN LISTS ARGN)
    if(NOT word MATCHES "^[0-9]+[af]?(-real|-virtual)?$")
      message(FATAL_ERROR "weir_add_kernels: '${word}' behind NVIDIA is no compute capability; write 90, 90a, 90-real or 90-virtual")
    endif()
    if(word MATCHES "^[0-9]+$" AND word GREATER newest)
      set(newest ${word})
    endif()
  endforeach()
  set(architectures "")
  foreach(word IN LISTS ARGN)
    string(REGEX REPLACE "-.*" "" number "${word}")
    if(NOT word MATCHES "-virtual$")
      list(APPEND architectures "sm_${number}")
    endif()
    if(word MATCHES "-virtual$" OR word STREQUAL newest)
      list(APPEND architectures "compute_${number}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES architectures)
  set(${out} "${architectures}" PARENT_SCOPE)
endfunction()

# The same for Clang, which makes only PTX.
function(weir_nvidia_ptx out)
  set(architectures "")
  foreach(word IN LISTS ARGN)
    if(NOT word MATCHES "^[0-9]+[af]?(-virtual)?$")
      message(FATAL_ERROR "weir_add_kernels: '${word}' behind NVIDIA is no PTX, which is all that COMPILER clang makes; write 90 or "
        "90-virtual")
    endif()
    string(REGEX REPLACE "-.*" "" number "${word}")
    list(APPEND architectures "compute_${number}")
  endforeach()
  list(REMOVE_DUPLICATES architectures)
  set(${out} "${architectures}" PARENT_SCOPE)
endfunction()

function(weir_add_kernels target)
  set(flags FAST_MATH DEBUG OPTIONAL NO_SOURCE)
  set(lists SOURCES NVIDIA AMD HOST KERNELS INCLUDES SYSTEM_INCLUDES DEFINITIONS OPTIONS NVIDIA_OPTIONS AMD_OPTIONS
    HOST_OPTIONS)
  cmake_parse_arguments(PARSE_ARGV 1 arg "${flags}" "CXX_STANDARD;COMPILER" "${lists}")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_add_kernels: '${arg_UNPARSED_ARGUMENTS}' stands behind no word that it belongs to; files stand behind "
      "SOURCES, architectures behind NVIDIA, AMD and HOST")
  endif()
  if(DEFINED arg_COMPILER)
    if(NOT arg_COMPILER STREQUAL "clang")
      message(FATAL_ERROR "weir_add_kernels: there is no COMPILER '${arg_COMPILER}'; say COMPILER clang, or leave it out")
    endif()
    find_program(WEIR_KERNEL_CLANG NAMES clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++
      DOC "Clang 16 or later, which weir_add_kernels(… COMPILER clang) compiles with")
    if(NOT WEIR_KERNEL_CLANG)
      message(FATAL_ERROR "weir_add_kernels: COMPILER clang needs Clang 16 or later; name its clang++ in WEIR_KERNEL_CLANG")
    endif()
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "weir_add_kernels: there is no target '${target}'; add it first")
  endif()
  get_target_property(folder ${target} SOURCE_DIR)
  if(NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "weir_add_kernels: the target '${target}' is made in ${folder}; call weir_add_kernels there")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "weir_add_kernels: give files behind SOURCES")
  endif()
  # Check the files here. CMake would report a missing file only later, while generating, and without the name of this call.
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(path "${source}" ABSOLUTE)
    get_source_file_property(is_generated "${path}" GENERATED)
    if(NOT EXISTS "${path}" AND NOT is_generated)
      if(source MATCHES "^[A-Z_]+$")
        list(JOIN lists ", " words)
        list(JOIN flags ", " more)
        message(FATAL_ERROR "weir_add_kernels: '${source}' is neither a file nor a word of this function; the words are "
          "${words}, CXX_STANDARD, COMPILER, ${more}")
      endif()
      message(FATAL_ERROR "weir_add_kernels: there is no file ${path}; if a command makes it, add that command before this "
        "call")
    endif()
  endforeach()
  foreach(folder IN LISTS arg_INCLUDES arg_SYSTEM_INCLUDES)
    get_filename_component(path "${folder}" ABSOLUTE)
    if(NOT IS_ABSOLUTE "${folder}" AND NOT folder MATCHES "^\\$<" AND NOT IS_DIRECTORY "${path}")
      message(FATAL_ERROR "weir_add_kernels: there is no folder ${path}; give one that is made later by its absolute path")
    endif()
  endforeach()

  # The images to compile, as BACKEND ARCHITECTURE.
  set(images "")
  if(arg_NVIDIA)
    if(arg_COMPILER)
      weir_nvidia_ptx(architectures ${arg_NVIDIA})
    else()
      weir_nvidia_architectures(architectures ${arg_NVIDIA})
    endif()
    list(TRANSFORM architectures PREPEND "cuda " OUTPUT_VARIABLE architectures)
    list(APPEND images ${architectures})
  endif()
  foreach(architecture IN LISTS arg_AMD)
    list(APPEND images "hip ${architecture}")
  endforeach()
  if("HOST" IN_LIST arg_KEYWORDS_MISSING_VALUES)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
      set(arg_HOST x86-64 x86-64-v3)
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
      set(arg_HOST armv8-a)
    else()
      message(FATAL_ERROR "weir_add_kernels: for a ${CMAKE_SYSTEM_PROCESSOR}, give behind HOST what the compiler's -march= takes")
    endif()
    list(REMOVE_ITEM arg_KEYWORDS_MISSING_VALUES HOST)
  endif()
  foreach(architecture IN LISTS arg_HOST)
    list(APPEND images "host ${architecture}")
  endforeach()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "weir_add_kernels: nothing stands behind ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT images)
    message(FATAL_ERROR "weir_add_kernels: nothing would be compiled ahead of time; give architectures behind NVIDIA or AMD, "
      "or HOST")
  endif()

  # The program that compiles, and the files whose change requires a new bundle.
  if(WEIR_KERNEL_TOOL)
    set(tool "${WEIR_KERNEL_TOOL}")
    set(tool_files "${WEIR_KERNEL_TOOL}")
  elseif(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(FATAL_ERROR "weir_add_kernels: what is built here does not run here; name this machine's own weir-kernels in the variable "
      "WEIR_KERNEL_TOOL")
  elseif(TARGET weir_kernel_tool)
    set(tool weir_kernel_tool)
    get_property(tool_files GLOBAL PROPERTY WEIR_PLUGINS)
    list(APPEND tool_files weir_kernel_tool)
    if(WEIR_SANITIZE)  # the vendors' compilers keep memory until exit, which is not Weir's leak
      set(tool "${CMAKE_COMMAND}" -E env ASAN_OPTIONS=detect_leaks=0 "$<TARGET_FILE:weir_kernel_tool>")
    endif()
  else()
    set(tool weir::kernel_tool)
    set(tool_files "$<TARGET_FILE:weir::kernel_tool>")
  endif()

  # The options that all compiler runs have.
  set(options "")
  foreach(kind IN ITEMS INCLUDES SYSTEM_INCLUDES)
    if(kind STREQUAL "INCLUDES")
      set(option --include)
    else()
      set(option --system-include)
    endif()
    foreach(folder IN LISTS arg_${kind})
      if(NOT IS_ABSOLUTE "${folder}" AND NOT folder MATCHES "^\\$<")
        set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
      endif()
      list(APPEND options "${option}=${folder}")
    endforeach()
  endforeach()
  foreach(definition IN LISTS arg_DEFINITIONS)
    string(REGEX REPLACE "^-D" "" definition "${definition}")
    list(APPEND options "--define=${definition}")
  endforeach()
  foreach(kernel IN LISTS arg_KERNELS)
    list(APPEND options "--kernel=${kernel}")
  endforeach()
  if(arg_CXX_STANDARD)
    list(APPEND options "--standard=${arg_CXX_STANDARD}")
  endif()
  if(arg_FAST_MATH)
    list(APPEND options --fast-math)
  endif()
  if(arg_DEBUG)
    list(APPEND options --debug)
  endif()
  foreach(option IN LISTS arg_OPTIONS arg_NVIDIA_OPTIONS)
    list(APPEND options "--option=cuda=${option}")
  endforeach()
  foreach(option IN LISTS arg_OPTIONS arg_AMD_OPTIONS)
    list(APPEND options "--option=hip=${option}")
  endforeach()
  foreach(option IN LISTS arg_OPTIONS arg_HOST_OPTIONS)
    list(APPEND options "--option=host=${option}")
  endforeach()
  set(bundle_options "")
  if(arg_NO_SOURCE)
    set(bundle_options --no-source)
  endif()
  set(image_options "")
  if(arg_OPTIONAL)
    set(image_options --optional)
  endif()

  # The part of the symbols that contains the target's name. If bundles in two static libraries have the same name, they need
  # different symbols, because the linker uses the first file that defines a symbol. Invalid characters become "_", so such
  # targets also get a hash.
  string(MAKE_C_IDENTIFIER "${target}" symbol)
  if(NOT symbol STREQUAL target)
    string(MD5 hash "${target}")
    string(SUBSTRING "${hash}" 0 8 hash)
    string(APPEND symbol "_${hash}")
  endif()
  string(MAKE_C_IDENTIFIER "${PROJECT_NAME}" project)
  set(symbol "${project}.${symbol}")
  get_property(names TARGET ${target} PROPERTY WEIR_KERNEL_NAMES)
  if(NOT names)
    get_target_property(type ${target} TYPE)
    set(scope PRIVATE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      set(scope INTERFACE)
    endif()
    target_compile_definitions(${target} ${scope} "WEIR_KERNELS_TARGET=\"${symbol}\"")
  endif()

  set(output "${CMAKE_CURRENT_BINARY_DIR}/weir_kernels/${target}")
  file(MAKE_DIRECTORY "${output}")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(source "${source}" ABSOLUTE)
    get_filename_component(name "${source}" NAME_WE)
    string(MAKE_C_IDENTIFIER "${name}" name)
    get_property(names TARGET ${target} PROPERTY WEIR_KERNEL_NAMES)
    if(name IN_LIST names)
      message(FATAL_ERROR "weir_add_kernels: the target '${target}' has two bundles '${name}'; rename ${source}")
    endif()
    set_property(TARGET ${target} APPEND PROPERTY WEIR_KERNEL_NAMES ${name})

    set(files "")
    foreach(image IN LISTS images)
      string(REGEX REPLACE "[^A-Za-z0-9_.+-]" "-" file "${name}.${image}.image")
      set(file "${output}/${file}")
      set(compiler "")
      if(arg_COMPILER AND NOT image MATCHES "^host ")
        set(compiler "--clang=${WEIR_KERNEL_CLANG}")
      elseif(image MATCHES "^cuda " AND WEIR_KERNEL_NVCC)
        set(compiler "--compiler=${WEIR_KERNEL_NVCC}")
      elseif(image MATCHES "^hip " AND WEIR_KERNEL_HIPCC)
        set(compiler "--compiler=${WEIR_KERNEL_HIPCC}")
      elseif(image MATCHES "^host ")
        set(compiler "--compiler=${CMAKE_CXX_COMPILER}")
      endif()
      add_custom_command(OUTPUT "${file}"
        COMMAND ${tool} image "--for=${image}" "--output=${file}" "--depfile=${file}.d" ${compiler} ${image_options} ${options} "${source}"
        MAIN_DEPENDENCY "${source}" DEPENDS ${tool_files} DEPFILE "${file}.d"
        COMMENT "Compiling the kernels of ${name} for ${image}" VERBATIM)
      list(APPEND files "${file}")
    endforeach()
    set(bundle "${output}/${name}.bundle")
    add_custom_command(OUTPUT "${bundle}"
      COMMAND ${tool} bundle "--output=${bundle}" "--depfile=${bundle}.d" ${bundle_options} ${options} "${source}" ${files}
      DEPENDS "${source}" ${files} ${tool_files} DEPFILE "${bundle}.d"
      COMMENT "Bundling the kernels of ${name}" VERBATIM)

    # The assembler embeds the bytes, which is fast and needs no language other than C++. A link-time optimizer does not see
    # the assembler's symbols, so this file is compiled without LTO.
    file(CONFIGURE OUTPUT "${output}/${name}.cpp" @ONLY CONTENT [[
// Made by weir_add_kernels: the bundle of @source@.
__asm__(
    ".pushsection .weir_kernels,\"a\",%progbits\n"
    ".balign 64\n"
    ".globl weir_kernels.@symbol@.@name@\n"
    ".hidden weir_kernels.@symbol@.@name@\n"
    "weir_kernels.@symbol@.@name@:\n"
    ".incbin \"@bundle@\"\n"
    ".globl weir_kernels.@symbol@.@name@.end\n"
    ".hidden weir_kernels.@symbol@.@name@.end\n"
    "weir_kernels.@symbol@.@name@.end:\n"
    ".popsection\n");
]])
    set_source_files_properties("${output}/${name}.cpp" PROPERTIES
      OBJECT_DEPENDS "${bundle}" COMPILE_OPTIONS -fno-lto SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE "${output}/${name}.cpp")
  endforeach()
endfunction()
cmake_policy(POP)
