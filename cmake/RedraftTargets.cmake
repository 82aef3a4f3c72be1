# redraft_library(NAME SOURCES … DEPS … [LIBTORCH|JSON])     a static library of one layer
# redraft_test(NAME SOURCES … DEPS … [LIBTORCH|JSON])        a GoogleTest program, run by ctest
# redraft_bench(NAME SOURCES … DEPS … [LIBTORCH|JSON])       a Google Benchmark program
#
# LIBTORCH targets share one precompiled ATen/ATen.h, with what custom operators need: 3 s a file instead of 36. JSON targets, without LibTorch, share one
# precompiled nlohmann/json.hpp: 2 s a file instead of 6.
file(WRITE ${CMAKE_BINARY_DIR}/json_pch.cc "")
if(REDRAFT_LIBTORCH)
  file(WRITE ${CMAKE_BINARY_DIR}/aten_pch.cc "")
  add_library(redraft_aten_pch OBJECT ${CMAKE_BINARY_DIR}/aten_pch.cc)
  target_link_libraries(redraft_aten_pch PUBLIC redraft_options redraft::torch)
  target_precompile_headers(redraft_aten_pch PRIVATE <ATen/ATen.h> <torch/library.h>
                                                     <torch/csrc/autograd/custom_function.h>)
  # The wheel's headers carry fmt 12; ours is the system's. No file that has LibTorch includes fmt.
endif()

add_library(redraft_json_pch OBJECT ${CMAKE_BINARY_DIR}/json_pch.cc)
target_link_libraries(redraft_json_pch PUBLIC redraft_options nlohmann_json::nlohmann_json Threads::Threads)
target_precompile_headers(redraft_json_pch PRIVATE <nlohmann/json.hpp> <filesystem> <map> <optional> <string> <vector>)

function(redraft_target_setup name)
  cmake_parse_arguments(arg "LIBTORCH;JSON" "" "SOURCES;DEPS" ${ARGN})
  target_link_libraries(${name} PUBLIC redraft_options ${arg_DEPS})
  if(arg_LIBTORCH)
    target_link_libraries(${name} PUBLIC redraft::torch)
    target_precompile_headers(${name} REUSE_FROM redraft_aten_pch)
  elseif(arg_JSON)
    target_precompile_headers(${name} REUSE_FROM redraft_json_pch)
  endif()
endfunction()

function(redraft_library name)
  cmake_parse_arguments(arg "LIBTORCH;JSON" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  # Most of what a file costs is nlohmann/json and ATen: several at a time halve a clean build.
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What g++ says of a class that is private to a file, as of one in a header, where the file is included by another.
    target_compile_options(${name} PRIVATE -Wno-subobject-linkage)
  endif()
  redraft_target_setup(${name} ${ARGN})
endfunction()

function(redraft_program name)
  cmake_parse_arguments(arg "LIBTORCH;JSON" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  redraft_target_setup(${name} ${ARGN})
endfunction()

function(redraft_test name)
  if(NOT REDRAFT_TESTS)
    return()
  endif()
  redraft_program(${name} ${ARGN})
  cmake_parse_arguments(arg "LIBTORCH;JSON" "" "SOURCES;DEPS" ${ARGN})
  # Four files at a time: most of what a test file costs is GoogleTest, nlohmann/json and ATen, not its tests.
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
                                           UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
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

function(redraft_bench name)
  if(NOT REDRAFT_BENCH)
    return()
  endif()
  redraft_program(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  target_link_libraries(${name} PUBLIC benchmark::benchmark_main benchmark::benchmark)
endfunction()
