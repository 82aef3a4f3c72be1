#include "model/pipeline/pairwise_tree.h"

#include <gtest/gtest.h>

#include <string>

namespace redraft::model {
namespace {

// A sum that shows its own shape.
std::string bracket(const std::string& left, const std::string& right) { return "(" + left + right + ")"; }

using Tree = PairwiseTree<std::string>;

std::string leaf(std::int64_t i) { return std::string(1, static_cast<char>('a' + i)); }

/// The sum over `leaves` leaves when `holders` add contiguous runs of them and then join their nodes.
std::string sumBy(std::int64_t leaves, const std::vector<std::int64_t>& bounds) {
  Tree whole(leaves);
  for (std::size_t h = 0; h + 1 < bounds.size(); ++h) {
    Tree part(leaves);
    for (std::int64_t i = bounds[h]; i < bounds[h + 1]; ++i) part.add({0, i, leaf(i)}, bracket);
    for (Tree::Node& node : part.take()) whole.add(std::move(node), bracket);
  }
  return whole.root();
}

TEST(PairwiseTreeTest, ShapesAreBalanced) {
  EXPECT_EQ(sumBy(1, {0, 1}), "a");
  EXPECT_EQ(sumBy(2, {0, 2}), "(ab)");
  EXPECT_EQ(sumBy(3, {0, 3}), "((ab)c)");
  EXPECT_EQ(sumBy(4, {0, 4}), "((ab)(cd))");
  EXPECT_EQ(sumBy(5, {0, 5}), "(((ab)(cd))e)");
  EXPECT_EQ(sumBy(7, {0, 7}), "(((ab)(cd))((ef)g))");
}

TEST(PairwiseTreeTest, TheShapeDoesNotDependOnWhoHoldsWhichLeaves) {
  for (std::int64_t leaves = 1; leaves <= 20; ++leaves) {
    const std::string alone = sumBy(leaves, {0, leaves});
    for (std::int64_t a = 0; a <= leaves; ++a) {
      for (std::int64_t b = a; b <= leaves; ++b) EXPECT_EQ(sumBy(leaves, {0, a, b, leaves}), alone) << a << ' ' << b;
    }
  }
}

TEST(PairwiseTreeTest, AHolderKeepsAtMostTwoNodesALevel) {
  Tree tree(1 << 10);
  for (std::int64_t i = 3; i < 1000; ++i) {
    tree.add({0, i, "x"}, [](const std::string&, const std::string&) { return std::string("x"); });
    EXPECT_LE(tree.nodes().size(), 20u);
  }
}

using PairwiseTreeDeathTest = testing::Test;

TEST(PairwiseTreeDeathTest, LeavesOutOfOrderAreABrokenInvariant) {
  Tree tree(4);
  tree.add({0, 2, "c"}, bracket);
  EXPECT_DEATH(tree.add({0, 1, "b"}, bracket), "left to right");
  EXPECT_DEATH(tree.root(), "every leaf");
}

}  // namespace
}  // namespace redraft::model
