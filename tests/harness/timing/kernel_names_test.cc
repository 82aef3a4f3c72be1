#include "harness/timing/kernel_names.h"

#include <gtest/gtest.h>

#include "reports/layout.h"

namespace redraft::harness {
namespace {

const std::string kElementwise =
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
    "at::native::binary_internal::MulFunctor<float>>, std::array<char*, 3ul>>(int, at::native::BinaryFunctor<float, "
    "float, float, at::native::binary_internal::MulFunctor<float>>, std::array<char*, 3ul>)";

TEST(KernelNamesTest, BaseNamesAreWhatSpecialisationsShare) {
  EXPECT_EQ(baseName(kElementwise), "vectorized_elementwise_kernel");
  EXPECT_EQ(baseName("void (anonymous namespace)::softmax_warp_forward<float, float, 8, false>(float*, int)"),
            "softmax_warp_forward");
  EXPECT_EQ(baseName("sm90_xmma_gemm_bf16_tn_tilesize128x64_cublas"),
            baseName("sm90_xmma_gemm_bf16_tn_tilesize64x64_cublas"));
  EXPECT_EQ(baseName("triton_poi_fused_add_3fa09c21"), baseName("triton_poi_fused_add_77b1c0de"));
  EXPECT_EQ(baseName("attention_forward"), "attention_forward");
  EXPECT_NE(baseName("attention_forward"), baseName("attention_backward"));
  EXPECT_NE(baseName("added_face"), baseName("added_cafe"));  // words of hexadecimal letters are words
}

TEST(KernelNamesTest, BaseNamesOfOddTextsAreNotEmpty) {
  for (const char* name : {"", "<", ">", "()", "a<b", "::", "(x)", "void ", "<<<>>>", "Memcpy HtoD (Pinned -> Device)"})
    EXPECT_EQ(baseName(name).empty(), std::string(name).empty()) << name;
}

TEST(KernelNamesTest, ShortNamesKeepTheKernelAndTheEndOfItsArguments) {
  const std::string name = shortName(kElementwise, 60);
  EXPECT_TRUE(name.starts_with("vectorized_elementwise_kernel")) << name;
  EXPECT_LE(reports::displayWidth(name), 61u) << name;
  EXPECT_EQ(shortName("void at::native::fill<float>(float*, int)", 60), "fill<float>");
  EXPECT_EQ(shortName("Memcpy HtoD (Pinned -> Device)", 60), "Memcpy HtoD (Pinned -> Device)");
}

TEST(KernelNamesTest, CollectivesAreToldByName) {
  EXPECT_TRUE(isCommunication("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
  EXPECT_TRUE(isCommunication("void ncclKernel<1>(int)"));
  EXPECT_FALSE(isCommunication("not_nccl"));
}

}  // namespace
}  // namespace redraft::harness
