# Everything from outside. Small libraries come from the system or from .deps/prefix; LibTorch from the wheel under
# .deps/torch (tools/setup puts both there), from Torch_DIR, or from the torch of python3.
list(PREPEND CMAKE_PREFIX_PATH ${CMAKE_SOURCE_DIR}/.deps/prefix/usr)
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)

if(REDRAFT_TESTS)
  find_package(GTest REQUIRED)
endif()
if(REDRAFT_BENCH)
  find_package(benchmark REQUIRED)
endif()
if(REDRAFT_LIBTORCH)
  include(RedraftLibTorch)
endif()
include(RedraftCuda)
