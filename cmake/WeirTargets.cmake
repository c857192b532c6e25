# The functions that create all targets of the tree, so that they share one set of rules.

# Sets what all of Weir's own targets have in common.
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
    # GCC 12 takes std::string's operator+ for an overlapping copy when it optimizes (its bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC takes a file that is included for a header, whose types may not hold those of a nameless namespace.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    # It collects garbage from 128 MB on. From 512 MB on, the largest file takes 660 MB instead of 560 and a tenth less time, and the
    # code is the same.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=524288)
  endif()
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Where files are compiled as one, Clang warns of a name that shadows another file's.
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

# Lets calls within a library be direct or vanish: what the checks of each operation cost is a matter of such calls.
# A sanitizer's build keeps the functions apart, for its reports' sake.
# A static library is compiled without LTO, since its users may have another compiler.
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

# weir_add_room(NAME sources…): one room of a library or plugin, as objects. It sees the public headers and the rooms' own; whoever
# links the room gets its objects.
function(weir_add_room name)
  add_library(${name} OBJECT ${ARGN})
  set_property(TARGET ${name} PROPERTY WEIR_IS_PLUGIN ON)  # part of a plugin, so weir_plugins must not wait for it
  weir_configure_target(${name})
  weir_optimize_library(${name})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${name} PRIVATE ${WEIR_FMT})
  target_precompile_headers(${name} REUSE_FROM weir_precompiled)
endfunction()

# weir_keep_files_apart(TARGET…): also where others are compiled several files at a time (CMAKE_UNITY_BUILD, as in ci/test.sh): other
# targets take single object files of it, or its files use one name for different things.
function(weir_keep_files_apart)
  foreach(target IN LISTS ARGN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endforeach()
endfunction()

# weir_add_plugin(NAME sources…): the plugin libweir_NAME.so, beside the library in the build tree. Whatever links the library
# has the plugin built first. A backend that WEIR_BUILT_IN lists becomes a part of the library instead.
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
  if(WEIR_SANITIZE)  # a sanitizer's runtime is the executable's; a plugin must leave its symbols open
    target_link_options(weir_${name} PRIVATE -Wl,-z,undefs)
  endif()
  set_property(GLOBAL APPEND PROPERTY WEIR_PLUGINS weir_${name})
endfunction()

function(weir_build_in name)
  # What two backends share is in the library once.
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

# Adds the built-in backends and their dependencies to the library. To be called when all are there.
function(weir_link_built_in)
  get_property(targets GLOBAL PROPERTY WEIR_BUILT_IN_TARGETS)
  foreach(target IN LISTS targets)
    target_sources(weir PRIVATE $<TARGET_OBJECTS:${target}>)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    foreach(library IN LISTS libraries)
      if(TARGET ${library})
        get_target_property(type ${library} TYPE)
        if(type STREQUAL "OBJECT_LIBRARY" OR library STREQUAL WEIR_FMT)  # it is inside, so users of the library need not find it
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
