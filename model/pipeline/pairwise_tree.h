#pragma once
// A sum over leaves 0 … n-1 whose bits do not depend on who adds what: the balanced binary tree over the leaf index, in
// which node (level, k) covers the leaves [k·2^level, (k+1)·2^level) below n and a node without a right sibling moves
// up unchanged. A holder of some leaves keeps only the highest whole nodes below them (at most two a level), like the
// digits of a binary counter.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"

namespace redraft::model {

template <class Value>
class PairwiseTree {
 public:
  struct Node {
    int level = 0;
    std::int64_t position = 0;  // k
    Value value;
  };

  explicit PairwiseTree(std::int64_t leaves) : leaves_(leaves) { REDRAFT_CHECK(leaves > 0, "a tree has leaves"); }

  /// Adds a node (a leaf has level 0), to the right of all nodes added before. combine(left, right) gives their sum.
  template <class Combine>
  void add(Node node, const Combine& combine) {
    REDRAFT_CHECK(nodes_.empty() || begin(node) >= end(nodes_.back()), "nodes are added from left to right");
    nodes_.push_back(std::move(node));
    while (true) {
      liftLonely(nodes_.back());
      if (nodes_.size() < 2) return;
      Node& left = nodes_[nodes_.size() - 2];
      Node& right = nodes_.back();
      if (left.level != right.level || left.position % 2 != 0 || right.position != left.position + 1) return;
      left = Node{left.level + 1, left.position / 2, combine(std::move(left.value), std::move(right.value))};
      nodes_.pop_back();
    }
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node> take() { return std::exchange(nodes_, {}); }

  /// The whole sum; every leaf was added.
  const Value& root() const {
    REDRAFT_CHECK(nodes_.size() == 1 && begin(nodes_.front()) == 0 && end(nodes_.front()) == leaves_,
                  "the root needs every leaf");
    return nodes_.front().value;
  }

 private:
  static std::int64_t begin(const Node& node) { return node.position << node.level; }
  std::int64_t end(const Node& node) const { return std::min(leaves_, (node.position + 1) << node.level); }

  /// Moves a left child whose right sibling covers no leaf up to its parent's place.
  void liftLonely(Node& node) const {
    while (node.position != 0 && node.position % 2 == 0 && end(node) == leaves_) {
      node.level += 1;
      node.position /= 2;
    }
  }

  std::int64_t leaves_;
  std::vector<Node> nodes_;
};

}  // namespace redraft::model
