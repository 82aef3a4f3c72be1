#include <gtest/gtest.h>

#include "base/error.h"
#include "devices/driver.h"
#include "model/kernels/attention_artefact.h"

namespace redraft::model {
namespace {

TEST(AttentionArtefactTest, NameAndParseAgree) {
  for (const std::int64_t dim : {8, 16, 24, 32, 64, 128, 512}) {
    for (const MaskKind kind : {MaskKind::kCausal, MaskKind::kDraftFull, MaskKind::kDraftSliding}) {
      for (int bits = 0; bits < 4; ++bits) {
        AttentionArtefact artefact;
        artefact.backward = (bits & 1) != 0;
        artefact.bfloat16 = (bits & 2) != 0;
        artefact.headDim = dim;
        artefact.kind = kind;
        const AttentionArtefact parsed = parseAttentionArtefact(artefact.name());
        EXPECT_EQ(parsed.name(), artefact.name());
        EXPECT_EQ(parsed.kernel(), artefact.kernel());
      }
    }
  }
  AttentionArtefact artefact;
  artefact.headDim = 64;
  artefact.kind = MaskKind::kDraftFull;
  EXPECT_EQ(artefact.name(), "attention_forward/d64/draft_full/f32/q64k64");
}

TEST(AttentionArtefactTest, CompilesToAnImageWithItsOneEntry) {
  const devices::Image image = compileAttention("attention_backward/d32/draft_sliding/bf16/q64k64");
  ASSERT_EQ(image.hostKernels.size(), 1u);
  EXPECT_EQ(image.hostKernels[0].first, "attention_backward");
  EXPECT_EQ(image.name, "attention_backward/d32/draft_sliding/bf16/q64k64");
  const devices::Image other = compileAttention("attention_backward/d32/draft_full/bf16/q64k64");
  EXPECT_NE(image.hostKernels[0].second, other.hostKernels[0].second);
}

TEST(AttentionArtefactTest, RefusesANameThatIsNone) {
  for (const char* name :
       {"", "attention_forward", "attention/d64/draft_full/f32/q64k64", "attention_forward/64/causal/f32/q64k64",
        "attention_forward/d12/causal/f32/q64k64", "attention_forward/d0/causal/f32/q64k64",
        "attention_forward/d64x/causal/f32/q64k64", "attention_forward/d99999999999999999999/causal/f32/q64k64",
        "attention_forward/d64/full/f32/q64k64", "attention_forward/d64/causal/f64/q64k64",
        "attention_forward/d64/causal/f32/q32k64", "attention_forward/d64/causal/f32/q64k64/"}) {
    EXPECT_THROW(compileAttention(name), Error) << name;
  }
}

TEST(AttentionArtefactTest, SaysWhichPartIsWrong) {
  try {
    compileAttention("attention_forward/d12/causal/f32/q64k64");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_NE(std::string(error.what()).find("'d12' is not a head dim"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace redraft::model
