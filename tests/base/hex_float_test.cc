#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/json.h"
#include "base/philox.h"

namespace redraft {
namespace {

TEST(HexFloatTest, WritesWhatAReaderCanCheckByEye) {
  EXPECT_EQ(toHexFloat(3), "0x1.8p+1");
  EXPECT_EQ(toHexFloat(-0.1), "-0x1.999999999999ap-4");
  EXPECT_EQ(toHexFloat(0), "0x0p+0");
  EXPECT_EQ(toHexFloat(-0.0), "-0x0p+0");
  EXPECT_EQ(toHexFloat(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(toHexFloat(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(HexFloatTest, ComesBackBitForBit) {
  CounterRng rng(1, "hex float");
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<double>(rng.next64());
    if (std::isnan(value)) continue;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(fromHexFloat(toHexFloat(value))), std::bit_cast<std::uint64_t>(value));
  }
  for (const double value : {0.0, -0.0, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::min(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(fromHexFloat(toHexFloat(value))), std::bit_cast<std::uint64_t>(value));
  }
  EXPECT_TRUE(std::isnan(fromHexFloat("nan")));
}

TEST(HexFloatTest, RefusesEverythingElse) {
  for (const char* text : {"", "-", "1.5", "0x", "0x.", "0xg", "0x1.8p", "0x1.8p+", "0x1.8p+1 ", " 0x1p+0", "+0x1p+0",
                           "--0x1p+0", "0x-1p+0", "0xinf", "0xnan", "infinity", "0x1p+99999", "1p+1", "0X1p+0"}) {
    EXPECT_THROW(fromHexFloat(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace redraft
