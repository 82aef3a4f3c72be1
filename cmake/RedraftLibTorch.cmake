# redraft::torch: the CPU half of LibTorch 2.11.0, as imported targets. find_package(Torch) is not used: it fails without
# a CUDA toolkit, and with one it runs a probe that fails on CMake 3.25 and CUDA 13.
set(REDRAFT_TORCH_VERSION 2.11.0)
set(REDRAFT_TORCH_ROOT "" CACHE PATH "Folder that holds LibTorch's include/ and lib/ (default: .deps/torch)")

# Sets `out` to the version that the headers under `root` state, or to "".
function(redraft_torch_version root out)
  set(version "")
  set(header ${root}/include/torch/headeronly/version.h)
  if(EXISTS ${header} AND EXISTS ${root}/lib/libtorch_cpu.so)
    file(STRINGS ${header} lines REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
    list(TRANSFORM lines REPLACE "[^0-9]" "")
    list(JOIN lines "." version)
  endif()
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# In the order of tools/setup, which links .deps/torch: named, linked, the torch of python3.
if(NOT REDRAFT_TORCH_ROOT AND Torch_DIR)
  get_filename_component(REDRAFT_TORCH_ROOT ${Torch_DIR}/../../.. ABSOLUTE)
endif()
if(NOT REDRAFT_TORCH_ROOT AND EXISTS ${CMAKE_SOURCE_DIR}/.deps/torch)
  file(REAL_PATH ${CMAKE_SOURCE_DIR}/.deps/torch REDRAFT_TORCH_ROOT)
endif()
if(NOT REDRAFT_TORCH_ROOT)
  execute_process(COMMAND python3 -c "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])"
                  WORKING_DIRECTORY / OUTPUT_VARIABLE REDRAFT_TORCH_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
redraft_torch_version("${REDRAFT_TORCH_ROOT}" found)
if(NOT found VERSION_EQUAL REDRAFT_TORCH_VERSION)
  message(FATAL_ERROR "LibTorch ${REDRAFT_TORCH_VERSION} is needed; found: '${found}' in '${REDRAFT_TORCH_ROOT}'. Run "
                      "tools/setup, which fetches it, or pass -DREDRAFT_TORCH_ROOT=<folder that holds include/ and lib/>.")
endif()
message(STATUS "LibTorch ${found}: ${REDRAFT_TORCH_ROOT}")

# What these two need beside themselves is found by their own DT_RPATH, at link time and at run time.
foreach(library c10 torch_cpu)
  add_library(redraft::${library} SHARED IMPORTED)
  set_target_properties(redraft::${library} PROPERTIES
    IMPORTED_LOCATION ${REDRAFT_TORCH_ROOT}/lib/lib${library}.so
    INTERFACE_INCLUDE_DIRECTORIES "${REDRAFT_TORCH_ROOT}/include;${REDRAFT_TORCH_ROOT}/include/torch/csrc/api/include")
endforeach()
add_library(redraft::torch INTERFACE IMPORTED)
target_link_libraries(redraft::torch INTERFACE redraft::torch_cpu redraft::c10)
