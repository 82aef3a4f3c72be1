#include "devices/nvrtc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace redraft::devices {
namespace {

/// NVRTC needs no GPU, but a toolkit.
class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = Nvrtc::whyNone();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

GpuSource small(const std::string& body) {
  return {"small.cu",
          "#include \"value.h\"\nextern \"C\" __global__ void small(int* x) { " + body + " }",
          {{"value.h", "#define VALUE 7\n"}},
          {"--std=c++20"}};
}

TEST_F(NvrtcTest, CompilesToAnElfFile) {
  const Nvrtc& nvrtc = Nvrtc::open();
  const std::vector<int> known = nvrtc.architectures();
  EXPECT_TRUE(std::count(known.begin(), known.end(), 90));
  EXPECT_EQ(nvrtc.version().substr(0, 3), "13.");
  const Cubin cubin = nvrtc.compile(small("*x = VALUE;"), 90);
  ASSERT_GT(cubin.bytes.size(), 64u);
  EXPECT_EQ(std::memcmp(cubin.bytes.data(),
                        "\x7f"
                        "ELF",
                        4),
            0);
}

TEST_F(NvrtcTest, ShowsTheCompilersLogAndWhere) {
  try {
    Nvrtc::open().compile(small("*x = MISSING;"), 90);
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_EQ(error.place(), "small.cu");
    EXPECT_NE(error.message().find("small.cu(2)"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("\"MISSING\" is undefined"), std::string::npos) << error.message();
  }
}

TEST_F(NvrtcTest, RefusesAnArchitectureThatItDoesNotKnow) {
  try {
    Nvrtc::open().compile(small("*x = VALUE;"), 42);
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_NE(error.remedy().find("90"), std::string::npos) << error.remedy();
  }
}

TEST_F(NvrtcTest, AKeyHoldsAllThatACubinDependsOn) {
  const Nvrtc& nvrtc = Nvrtc::open();
  const GpuSource source = small("*x = VALUE;");
  GpuSource option = source, header = source;
  option.options.push_back("-lineinfo");
  header.headers[0].second = "#define VALUE 8\n";
  const std::string key = nvrtc.keyOf(source, 90);
  EXPECT_EQ(nvrtc.keyOf(source, 90), key);
  EXPECT_NE(nvrtc.keyOf(source, 80), key);
  EXPECT_NE(nvrtc.keyOf(option, 90), key);
  EXPECT_NE(nvrtc.keyOf(header, 90), key);
  EXPECT_NE(nvrtc.keyOf(small("*x = VALUE + 1;"), 90), key);
  EXPECT_NE(key.find(nvrtc.version()), std::string::npos);
}

}  // namespace
}  // namespace redraft::devices
