#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace redraft {
namespace {

TEST(HashTest, IsXxh3With128Bits) {
  // What `xxhsum -H2` prints for these inputs.
  EXPECT_EQ(hashText(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hashText("abc"), "06b05ab6733a618578af5f94892f3950");
}

TEST(HashTest, DependsOnEveryByteAndOnTheLength) {
  std::string bytes(1000, '\0');
  const std::string whole = hashText(bytes);
  EXPECT_NE(hashBytes(bytes.data(), 999), whole);
  for (char& byte : bytes) {
    byte = 1;
    EXPECT_NE(hashText(bytes), whole);
    byte = 0;
  }
  EXPECT_EQ(hashText(bytes), whole);
}

TEST(HasherTest, PiecesGiveTheHashOfTheWhole) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * i);
  for (const std::size_t piece : {1u, 7u, 256u, 4999u, 5000u}) {
    Hasher hasher;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      hasher.update(bytes.data() + at, std::min(piece, bytes.size() - at));
    }
    EXPECT_EQ(hasher.digest(), hashText(bytes)) << piece;
  }
}

TEST(HasherTest, DigestMayBeTakenBetweenUpdates) {
  Hasher hasher;
  EXPECT_EQ(hasher.digest(), hashText(""));
  hasher.update("ab", 2);
  EXPECT_EQ(hasher.digest(), hashText("ab"));
  hasher.update(nullptr, 0);
  hasher.update("c", 1);
  EXPECT_EQ(hasher.digest(), hashText("abc"));
}

}  // namespace
}  // namespace redraft
