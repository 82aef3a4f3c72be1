#pragma once
// Runs independent pieces of work on LibTorch's intra-op threads. at::parallel_for is a template that is serial in any
// file compiled without -fopenmp; this one enters LibTorch's own OpenMP team, so that no second runtime is linked.

#include <cstdint>
#include <memory>
#include <type_traits>

namespace redraft::model {

/// A reference to a callable `void(std::int64_t begin, std::int64_t end)`; it must not throw.
class RangeFunction {
 public:
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, RangeFunction>)
      RangeFunction(F&& function)  // NOLINT(bugprone-forwarding-reference-overload): the requirement keeps copies out
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, std::int64_t begin, std::int64_t end) {
          (*static_cast<std::remove_reference_t<F>*>(object))(begin, end);
        }) {}

  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, std::int64_t);
};

/// Calls work(begin, end) over pieces that cover [0, count), at least `grain` long but for the last. The split depends
/// on the thread count, so no result may depend on it: every index owns its output. Serial inside another parallel
/// region.
void parallelFor(std::int64_t count, std::int64_t grain, RangeFunction work);

/// Calls work(i, i + 1) for every i of [0, count), each on whichever thread is free: for tasks of unequal length.
void parallelTasks(std::int64_t count, RangeFunction work);

}  // namespace redraft::model
