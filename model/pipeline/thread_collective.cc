#include "model/pipeline/thread_collective.h"

#include <ATen/ops/empty.h>

#include <exception>
#include <utility>

namespace redraft::model {

namespace {

std::vector<std::string> rankNames(int size) {
  std::vector<std::string> names;
  for (int r = 0; r < size; ++r) names.push_back("rank " + std::to_string(r));
  return names;
}

}  // namespace

class ThreadCollective final : public Collective {
 public:
  ThreadCollective(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_.size_; }

  at::Tensor allGather(const at::Tensor& values, const std::string& what) override {
    const auto all = group_.tensors_.all(rank_, HandOff({values.clone()}), what);
    at::Tensor gathered = at::empty({size(), values.numel()}, values.options());
    for (int r = 0; r < size(); ++r) {
      const HandOff& given = (*all)[static_cast<std::size_t>(r)];
      given.acquire(values.device());
      REDRAFT_CHECK(given.tensors().front().numel() == values.numel(), "ranks gather vectors of one size");
      gathered.select(0, r).copy_(given.tensors().front());
    }
    return gathered;
  }

  std::vector<std::string> allGather(const std::string& bytes, const std::string& what) override {
    return *group_.bytes_.all(rank_, bytes, what);
  }

  void abort(int origin, const std::string& why) noexcept override {
    group_.monitor_.fail(std::make_exception_ptr(RankLost(origin, "rank " + std::to_string(rank_), why)));
  }

 private:
  ThreadGroup& group_;
  const int rank_;
};

ThreadGroup::ThreadGroup(RunMonitor& monitor, int size)
    : monitor_(monitor), size_(size), tensors_(monitor, rankNames(size)), bytes_(monitor, rankNames(size)) {}

std::unique_ptr<Collective> ThreadGroup::rank(int rank) { return std::make_unique<ThreadCollective>(*this, rank); }

}  // namespace redraft::model
