# weir_add_cuda_program(TARGET SOURCES FILE… [FOR "host x86-64-v3" "cuda compute_80" "hip gfx90a"…] [OPTIONS OPTION…])
#
# Adds the executable TARGET from a whole CUDA program, without CMake's CUDA language. `weir c++` compiles the files that end
# in .cu; the project's own compilers compile the others. docs/cuda-programs.md describes the function.
cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

function(weir_add_cuda_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;FOR;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_add_cuda_program: '${arg_UNPARSED_ARGUMENTS}' stands behind no word that it belongs to; files stand "
      "behind SOURCES, targets such as \"cuda compute_80\" behind FOR, and options of weir c++ behind OPTIONS")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "weir_add_cuda_program: nothing stands behind ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  set(others ${arg_SOURCES})
  list(FILTER arg_SOURCES INCLUDE REGEX "\\.cu$")
  list(FILTER others EXCLUDE REGEX "\\.cu$")
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "weir_add_cuda_program: give at least one .cu file behind SOURCES; a program without one needs add_executable "
      "only")
  endif()
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(path "${source}" ABSOLUTE)
    get_source_file_property(is_generated "${path}" GENERATED)
    if(NOT EXISTS "${path}" AND NOT is_generated)
      message(FATAL_ERROR "weir_add_cuda_program: there is no file ${path}; if a command makes it, add that command before this "
        "call")
    endif()
  endforeach()

  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "weir_add_cuda_program: weir c++ compiles for this kind of machine only; build the program on the other one")
  endif()
  # The program that compiles, and the files whose change requires new objects. The dependency files list the headers.
  if(NOT TARGET weir::cudart)
    message(FATAL_ERROR "weir_add_cuda_program: this Weir was built without CUDA's runtime; build it with -DWEIR_BUILD_TOOLS=ON and "
      "-DWEIR_BUILD_CUDART=ON, as a shared library")
  endif()
  if(TARGET weir_command)
    get_target_property(tool weir_command RUNTIME_OUTPUT_DIRECTORY)
    string(APPEND tool "/weir")
    set(tool_files weir_command weir_device_headers)
    get_property(passes GLOBAL PROPERTY WEIR_WORKGROUP_MAJORS)
    list(TRANSFORM passes PREPEND weir_workgroup-)
    list(APPEND tool_files ${passes})
  else()
    set(tool "${weir_BIN_DIR}/weir")
    set(tool_files "${tool}")
    if(NOT EXISTS "${tool}")
      message(FATAL_ERROR "weir_add_cuda_program: there is no ${tool}; install Weir's tools (Debian: weir-tools)")
    endif()
  endif()

  # The words of the target's properties, as CMake gives them to its own languages.
  set(options "")
  foreach(image IN LISTS arg_FOR)
    list(APPEND options "--for=${image}")
  endforeach()
  set(includes "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  set(standard "$<TARGET_PROPERTY:${target},CXX_STANDARD>")
  list(APPEND options
    "$<$<CONFIG:Debug,RelWithDebInfo>:-g>" "$<$<CONFIG:Release>:-O3>" "$<$<CONFIG:RelWithDebInfo>:-O2>"
    "$<$<CONFIG:MinSizeRel>:-Os>" "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-DNDEBUG>"
    "$<$<BOOL:${standard}>:-std=c++${standard}>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},$<SEMICOLON>-D>>"
    "$<$<BOOL:${includes}>:-I$<JOIN:${includes},$<SEMICOLON>-I>>" ${arg_OPTIONS})

  set(objects "")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(source "${source}" ABSOLUTE)
    file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${source}")
    string(REPLACE "../" "__/" object "${name}.o")
    set(object "${CMAKE_CURRENT_BINARY_DIR}/weir_cuda/${target}/${object}")
    get_filename_component(folder "${object}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${tool}" c++ -c "${source}" -o "${object}" -MD -MF "${object}.d" ${options}
      MAIN_DEPENDENCY "${source}" DEPENDS ${tool_files} DEPFILE "${object}.d"
      COMMENT "Compiling ${name} with weir c++" COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_executable(${target} ${others} ${objects})
  target_link_libraries(${target} PRIVATE weir::cudart)
  # `weir c++` takes the place of the compiler, which is the first word of CMake's command, because it knows what Clang's objects need.
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX INTERPROCEDURAL_OPTIMIZATION OFF
    CXX_LINKER_LAUNCHER "sh;-c;shift && exec \"$0\" c++ \"$@\";${tool}")
endfunction()
cmake_policy(POP)
