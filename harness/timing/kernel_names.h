#pragma once
// Names of kernels, as people and as a comparison of two builds want them.

#include <cstddef>
#include <string>
#include <string_view>

namespace redraft::harness {

/// A collective's kernel, of NCCL or of what is built on it.
bool isCommunication(std::string_view kernel);

/// What stays of a name when it is compiled otherwise: without return type, namespaces, template arguments, parameters,
/// and with every number as '#'. "void at::native::vectorized_elementwise_kernel<4, at::native::Add<float>>(int)" is
/// "vectorized_elementwise_kernel", "gemm_128x64_tn_align8" is "gemm_#x#_tn_align#".
std::string baseName(std::string_view kernel);

/// At most `width` characters: without return type, parameters and the namespaces of ATen and CUB, and where that is
/// not enough shortened in the middle, which keeps the kernel's name and the end of its arguments.
std::string shortName(std::string_view kernel, std::size_t width);

}  // namespace redraft::harness
