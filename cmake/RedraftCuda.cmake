# REDRAFT_CUDA: AUTO (default) builds the CUDA side where a CUDA 13 toolkit is found, ON requires it, OFF leaves it out. It is a
# library loaded at run time (devices/cuda_loader.h), so that the programs are the same either way: no CUDA library is linked,
# and the toolkit's headers are all that the build takes.
set(REDRAFT_CUDA "AUTO" CACHE STRING "Build the CUDA side: AUTO, ON or OFF")
set_property(CACHE REDRAFT_CUDA PROPERTY STRINGS AUTO ON OFF)

set(REDRAFT_HAS_CUDA OFF)
if(NOT REDRAFT_CUDA STREQUAL "OFF")
  find_path(REDRAFT_CUDA_INCLUDE_DIR cuda.h HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
  set(version 0)
  if(REDRAFT_CUDA_INCLUDE_DIR)
    file(STRINGS ${REDRAFT_CUDA_INCLUDE_DIR}/cuda.h version REGEX "^#define CUDA_VERSION ")
    string(REGEX MATCH "[0-9]+" version "${version}")
  endif()
  if(version GREATER_EQUAL 13000)
    set(REDRAFT_HAS_CUDA ON)
    message(STATUS "CUDA toolkit: ${version} in ${REDRAFT_CUDA_INCLUDE_DIR}")
  elseif(REDRAFT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "REDRAFT_CUDA=ON needs a CUDA toolkit of version 13 or newer; found '${version}' in "
                        "'${REDRAFT_CUDA_INCLUDE_DIR}'. Set CUDA_HOME, or build with -DREDRAFT_CUDA=OFF.")
  else()
    message(STATUS "CUDA toolkit: none of version 13 or newer; building without the CUDA side")
  endif()
endif()

# redraft::torch_cuda: LibTorch's CUDA half, for the library that is opened at run time and for nothing else. Its headers
# take the toolkit's.
if(REDRAFT_HAS_CUDA AND REDRAFT_LIBTORCH AND EXISTS ${REDRAFT_TORCH_ROOT}/lib/libtorch_cuda.so)
  foreach(library c10_cuda torch_cuda)
    add_library(redraft::${library} SHARED IMPORTED)
    set_target_properties(redraft::${library} PROPERTIES
      IMPORTED_LOCATION ${REDRAFT_TORCH_ROOT}/lib/lib${library}.so
      INTERFACE_INCLUDE_DIRECTORIES ${REDRAFT_CUDA_INCLUDE_DIR})
  endforeach()
  set_target_properties(redraft::torch_cuda PROPERTIES INTERFACE_LINK_LIBRARIES "redraft::c10_cuda;redraft::torch")
endif()
