# Imported targets for the CPU half of the LibTorch wheel: redraft::torch. find_package(Torch) is not used, because it
# fails without a CUDA toolkit, and with one it runs a probe that fails on CMake 3.25 and CUDA 13.
set(REDRAFT_TORCH_ROOT "" CACHE PATH "Folder that holds torch's include/ and lib/ (default: .deps/torch)")
if(NOT REDRAFT_TORCH_ROOT AND Torch_DIR)
  get_filename_component(REDRAFT_TORCH_ROOT ${Torch_DIR}/../../.. ABSOLUTE)
endif()
if(NOT REDRAFT_TORCH_ROOT AND EXISTS ${CMAKE_SOURCE_DIR}/.deps/torch/lib/libtorch_cpu.so)
  file(REAL_PATH ${CMAKE_SOURCE_DIR}/.deps/torch REDRAFT_TORCH_ROOT)
endif()
if(NOT REDRAFT_TORCH_ROOT)
  execute_process(COMMAND python3 -c "import torch, os; print(os.path.dirname(torch.__file__))"
                  OUTPUT_VARIABLE REDRAFT_TORCH_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT EXISTS ${REDRAFT_TORCH_ROOT}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch 2.11.0 was not found. Run tools/setup, which fetches it, or pass "
                      "-DREDRAFT_TORCH_ROOT=<folder that holds include/ and lib/>.")
endif()
message(STATUS "LibTorch: ${REDRAFT_TORCH_ROOT}")

add_library(redraft_torch INTERFACE)
add_library(redraft::torch ALIAS redraft_torch)
target_include_directories(redraft_torch SYSTEM INTERFACE ${REDRAFT_TORCH_ROOT}/include
                                                          ${REDRAFT_TORCH_ROOT}/include/torch/csrc/api/include)
target_link_libraries(redraft_torch INTERFACE ${REDRAFT_TORCH_ROOT}/lib/libtorch_cpu.so ${REDRAFT_TORCH_ROOT}/lib/libc10.so)
# What libtorch_cpu needs beside itself lies in its own DT_RPATH; the linker is told to look there too.
target_link_options(redraft_torch INTERFACE -Wl,--disable-new-dtags -Wl,-rpath,${REDRAFT_TORCH_ROOT}/lib
                                            -Wl,--allow-shlib-undefined)
