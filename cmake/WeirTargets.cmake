# Functions that create all targets of the tree, so that all targets follow the same rules.

# Sets the common properties of all of Weir's own targets.
function(weir_configure_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    LIBRARY_OUTPUT_DIRECTORY "${WEIR_LIBRARY_OUTPUT_DIRECTORY}"
    RUNTIME_OUTPUT_DIRECTORY "${WEIR_RUNTIME_OUTPUT_DIRECTORY}")
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # In optimized code, GCC 12 mistakes std::string's operator+ for an overlapping copy (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # In a unity build, GCC treats an included source file as a header. It then warns if types there contain types from an
    # unnamed namespace.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    # Starts GCC's garbage collection at 512 MB instead of 128 MB. For the largest file, the compiler then uses 660 MB
    # instead of 560 MB, and a tenth less time. The generated code is the same.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=524288)
  endif()
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # In a unity build, Clang warns of names that shadow names of another file.
    target_compile_options(${target} PRIVATE -Wno-shadow)
  endif()
  if(WEIR_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(WEIR_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${WEIR_SANITIZE})
    if(WEIR_SANITIZE MATCHES "undefined")
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=undefined)
    endif()
  endif()
endfunction()

# Enables link-time optimization, so that the compiler can inline calls within a library: the cost of each operation's checks
# depends on that. Sanitizer builds do without, for readable reports. A static library does without, because its users may
# have another compiler.
function(weir_optimize_library target)
  if(WEIR_SANITIZE OR WEIR_LIBRARY_TYPE STREQUAL "STATIC")
    return()
  endif()
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic-functions)
  if(WEIR_LTO AND WEIR_LTO_WORKS)
    set_target_properties(${target} PROPERTIES
      INTERPROCEDURAL_OPTIMIZATION_RELEASE ON INTERPROCEDURAL_OPTIMIZATION_RELWITHDEBINFO ON
      INTERPROCEDURAL_OPTIMIZATION_MINSIZEREL ON)
  endif()
endfunction()

# weir_add_room(NAME sources…): adds one room of a library or plugin, as an object library. It can include the public headers
# and the headers of all rooms. Targets that link it get its objects.
function(weir_add_room name)
  add_library(${name} OBJECT ${ARGN})
  set_property(TARGET ${name} PROPERTY WEIR_IS_PLUGIN ON)  # part of a plugin, so weir_plugins must not wait for it
  weir_configure_target(${name})
  weir_optimize_library(${name})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${name} PRIVATE ${WEIR_FMT})
  target_precompile_headers(${name} REUSE_FROM weir_precompiled)
endfunction()

# weir_keep_files_apart(TARGET…): disables unity builds (CMAKE_UNITY_BUILD, as in ci/test.sh) for a target. Needed if other
# targets link single object files of it, or if its files define the same name differently.
function(weir_keep_files_apart)
  foreach(target IN LISTS ARGN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endforeach()
endfunction()

# weir_add_plugin(NAME sources…): adds the plugin libweir_NAME.so, which the build tree contains in the folder of the
# library. Targets that link the library build the plugin first. A backend in WEIR_BUILT_IN becomes part of the library
# instead.
function(weir_add_plugin name)
  if(name IN_LIST WEIR_BUILT_IN)
    weir_build_in(${name} ${ARGN})
    return()
  endif()
  add_library(weir_${name} MODULE ${ARGN})
  set_property(TARGET weir_${name} PROPERTY WEIR_IS_PLUGIN ON)
  add_dependencies(weir_plugins weir_${name})
  weir_configure_target(weir_${name})
  weir_optimize_library(weir_${name})
  target_link_libraries(weir_${name} PRIVATE weir)
  target_include_directories(weir_${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_precompile_headers(weir_${name} REUSE_FROM weir_precompiled)
  target_link_options(weir_${name} PRIVATE -Wl,--no-undefined)
  if(WEIR_SANITIZE)  # the executable has the sanitizer's runtime, so a plugin leaves its symbols undefined
    target_link_options(weir_${name} PRIVATE -Wl,-z,undefs)
  endif()
  set_property(GLOBAL APPEND PROPERTY WEIR_PLUGINS weir_${name})
endfunction()

function(weir_build_in name)
  # Add code that two backends share to the library only once.
  get_property(shared GLOBAL PROPERTY WEIR_BUILT_IN_SOURCES)
  set(sources ${ARGN})
  list(REMOVE_ITEM sources ${shared})
  set(shared ${sources})
  list(FILTER shared INCLUDE REGEX "^/")  # the others are in the backend's own folder
  set_property(GLOBAL APPEND PROPERTY WEIR_BUILT_IN_SOURCES ${shared})
  add_library(weir_${name} OBJECT ${sources})
  weir_configure_target(weir_${name})
  weir_optimize_library(weir_${name})
  target_include_directories(weir_${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
  target_compile_definitions(weir_${name} PRIVATE WEIR_CREATE_BACKEND=weir_create_${name}_backend
    WEIR_COMPILE_IMAGE=weir_compile_${name}_image)
  set_property(GLOBAL APPEND PROPERTY WEIR_BUILT_IN_TARGETS weir_${name})
endfunction()

# Adds the built-in backends and their dependencies to the library. Call it after all backends are defined.
function(weir_link_built_in)
  get_property(targets GLOBAL PROPERTY WEIR_BUILT_IN_TARGETS)
  foreach(target IN LISTS targets)
    target_sources(weir PRIVATE $<TARGET_OBJECTS:${target}>)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    foreach(library IN LISTS libraries)
      if(TARGET ${library})
        get_target_property(type ${library} TYPE)
        if(type STREQUAL "OBJECT_LIBRARY" OR library STREQUAL WEIR_FMT)  # it is linked in, so users of the library need not find it
          set(library $<BUILD_INTERFACE:${library}>)
        endif()
      endif()
      target_link_libraries(weir PRIVATE ${library})
    endforeach()
  endforeach()
endfunction()

# weir_add_executable(NAME sources…): a program that uses Weir.
function(weir_add_executable name)
  add_executable(${name} ${ARGN})
  weir_configure_target(${name})
  target_link_libraries(${name} PRIVATE weir)
endfunction()
