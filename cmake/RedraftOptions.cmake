# Compile options that every target of this project takes.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(REDRAFT_OPTIMISATION "-O2" CACHE STRING "Optimisation level of all targets; the goldens hold at -O2")
set(CMAKE_CXX_FLAGS_RELEASE "${REDRAFT_OPTIMISATION} -g1")

add_library(redraft_options INTERFACE)
# -ffp-contract=off: g++ and clang contract a*b+c to FMA by default, and not in the same places.
target_compile_options(redraft_options INTERFACE -ffp-contract=off -fno-math-errno -Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A file takes 5 to 9 % less time when g++ does not look for garbage before it has a gigabyte.
  target_compile_options(redraft_options INTERFACE "SHELL:--param ggc-min-heapsize=1000000")
  # False alarms of g++ 12 and 13 in code inlined from libstdc++ (std::string's operator+) and from LibTorch's headers: shown,
  # but no error where warnings are.
  target_compile_options(redraft_options INTERFACE -Wno-error=array-bounds -Wno-error=maybe-uninitialized
                                                   -Wno-error=stringop-overflow -Wno-error=restrict)
endif()
# __FILE__ names files from the root of the project, wherever that is.
target_compile_options(redraft_options INTERFACE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
target_include_directories(redraft_options INTERFACE ${CMAKE_SOURCE_DIR})
if(REDRAFT_SANITIZE)
  target_compile_options(redraft_options INTERFACE -fsanitize=${REDRAFT_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_compile_definitions(redraft_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(redraft_options INTERFACE -fsanitize=${REDRAFT_SANITIZE})
endif()

if(REDRAFT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "REDRAFT_FUZZ needs libFuzzer: configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  # Coverage in the libraries too, so that the fuzzer sees where an input went.
  target_compile_options(redraft_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(REDRAFT_CCACHE ccache)
if(REDRAFT_CCACHE)
  # The sloppiness lets ccache serve files that use the precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${REDRAFT_CCACHE})
endif()
