# redraft_library(NAME SOURCES … DEPS … [LIBTORCH|JSON] [COLD])   a static library of one layer
# redraft_program(NAME SOURCES … DEPS … [LIBTORCH|JSON] [COLD])   a program
# redraft_test(NAME SOURCES … DEPS … [LIBTORCH|JSON] [COMPUTES])  a GoogleTest program, run by ctest
# redraft_bench(NAME SOURCES … DEPS … [LIBTORCH|JSON])            a Google Benchmark program, built by target `benchmarks`
#
# LIBTORCH targets share one precompiled ATen/ATen.h: 3 s a file instead of 34. JSON targets, without LibTorch, share one
# precompiled nlohmann/json.hpp: 1 s a file instead of 7.
# COLD is code whose own speed nobody waits for (commands, reports, verdicts): -O1, a quarter less to compile. Tests are
# not optimised at all, a third less than COLD, but for those that COMPUTE much themselves, which are COLD.
set(REDRAFT_ATEN_HEADERS <ATen/ATen.h>)
set(REDRAFT_JSON_HEADERS <nlohmann/json.hpp> <filesystem> <map> <optional> <string> <vector>)

# The library that owns the precompiled headers of a kind (aten, json) at an optimisation level ("" for all targets'
# own): g++ takes none of another level.
function(redraft_precompiled kind level out)
  set(owner redraft_${kind}_pch${level})
  set(${out} ${owner} PARENT_SCOPE)
  if(TARGET ${owner})
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/${owner}.cc)
  file(WRITE ${source} "")
  add_library(${owner} OBJECT ${source})
  target_compile_options(${owner} PRIVATE ${level})
  if(kind STREQUAL "aten")
    # The wheel's headers carry fmt 12; ours is the system's. No file that has LibTorch includes fmt.
    target_link_libraries(${owner} PUBLIC redraft_options redraft::torch)
    target_precompile_headers(${owner} PRIVATE ${REDRAFT_ATEN_HEADERS})
  else()
    target_link_libraries(${owner} PUBLIC redraft_options nlohmann_json::nlohmann_json Threads::Threads)
    target_precompile_headers(${owner} PRIVATE ${REDRAFT_JSON_HEADERS})
  endif()
endfunction()

function(redraft_target_setup name)
  cmake_parse_arguments(arg "LIBTORCH;JSON;COLD;PLAIN" "" "SOURCES;DEPS" ${ARGN})
  target_link_libraries(${name} PUBLIC redraft_options ${arg_DEPS})
  set(level "")
  if(arg_PLAIN)
    set(level -O0)
    target_compile_options(${name} PRIVATE -O0)
  elseif(arg_COLD AND REDRAFT_OPTIMISATION STREQUAL "-O2")
    target_compile_options(${name} PRIVATE -O1)
  endif()
  if(arg_LIBTORCH)
    target_link_libraries(${name} PUBLIC redraft::torch)
    redraft_precompiled(aten "${level}" owner)
    target_precompile_headers(${name} REUSE_FROM ${owner})
  elseif(arg_JSON)
    redraft_precompiled(json "${level}" owner)
    target_precompile_headers(${name} REUSE_FROM ${owner})
  endif()
endfunction()

# Several files at a time: most of what a file costs are nlohmann/json, ATen and GoogleTest, which each unit of files pays
# for once. Up to so many that an edit of one file is still built within a minute.
function(redraft_unity name)
  cmake_parse_arguments(arg "LIBTORCH" "" "" ${ARGN})
  set(files 14)
  if(arg_LIBTORCH)
    set(files 10)
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What g++ says of a class that is private to a file, as of one in a header, where the file is included by another.
    target_compile_options(${name} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

function(redraft_library name)
  cmake_parse_arguments(arg "LIBTORCH;JSON;COLD" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  redraft_unity(${name} ${ARGN})
  redraft_target_setup(${name} ${ARGN})
endfunction()

function(redraft_program name)
  cmake_parse_arguments(arg "LIBTORCH;JSON;COLD;PLAIN" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  redraft_target_setup(${name} ${ARGN})
endfunction()

function(redraft_test name)
  if(NOT REDRAFT_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "LIBTORCH;JSON;COMPUTES" "" "SOURCES;DEPS" ${ARGN})
  list(REMOVE_ITEM ARGN COMPUTES)
  if(arg_COMPUTES)
    redraft_program(${name} ${ARGN} COLD)
  else()
    redraft_program(${name} ${ARGN} PLAIN)
  endif()
  redraft_unity(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/generated)
  if(arg_LIBTORCH)
    # These start themselves again with the pinned environment (tests/pinned_main.cc).
    target_link_libraries(${name} PUBLIC redraft_pinned_main GTest::gtest)
  else()
    target_link_libraries(${name} PUBLIC GTest::gtest_main GTest::gtest)
  endif()
  if(REDRAFT_SANITIZE MATCHES address)
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/leak_suppressions.cc)
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900)
endfunction()

# Not part of `all`: nobody needs them to use or to change the project. CI builds them.
add_custom_target(benchmarks)

# Google Benchmark's where it has no main() of its own: OWN_MAIN.
function(redraft_bench name)
  if(NOT REDRAFT_BENCH)
    return()
  endif()
  cmake_parse_arguments(arg "LIBTORCH;JSON;OWN_MAIN" "" "SOURCES;DEPS" ${ARGN})
  redraft_program(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench EXCLUDE_FROM_ALL ON)
  add_dependencies(benchmarks ${name})
  if(NOT arg_OWN_MAIN)
    target_link_libraries(${name} PUBLIC benchmark::benchmark_main benchmark::benchmark)
  endif()
endfunction()
