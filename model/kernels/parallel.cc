#include "model/kernels/parallel.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>

// The entry points of libgomp that a compiler emits for `#pragma omp parallel` (stable since GCC 4.9).
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num();
int omp_get_num_threads();
}
// NOLINTEND(readability-identifier-naming)

namespace redraft::model {
namespace {

struct Region {
  const RangeFunction* work;
  std::int64_t count;
  std::int64_t grain;
};

void runPiece(void* data) {
  const auto& region = *static_cast<const Region*>(data);
  const std::int64_t pieces =
      std::min<std::int64_t>(omp_get_num_threads(), (region.count + region.grain - 1) / region.grain);
  const std::int64_t length = (region.count + pieces - 1) / pieces;
  const std::int64_t begin = omp_get_thread_num() * length;
  if (begin < region.count) (*region.work)(begin, std::min(region.count, begin + length));
}

struct TaskQueue {
  const RangeFunction* work;
  std::int64_t count;
  std::atomic<std::int64_t> next{0};
};

void runTasks(void* data) {
  auto& queue = *static_cast<TaskQueue*>(data);
  for (std::int64_t i; (i = queue.next.fetch_add(1, std::memory_order_relaxed)) < queue.count;) {
    (*queue.work)(i, i + 1);
  }
}

int teamSize() { return at::in_parallel_region() ? 1 : at::get_num_threads(); }

}  // namespace

void parallelFor(std::int64_t count, std::int64_t grain, RangeFunction work) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const int threads = count > grain ? teamSize() : 1;
  if (threads == 1) {
    work(0, count);
    return;
  }
  Region region{&work, count, grain};
  // The whole team, whatever the number of pieces: libgomp keeps a team only while its size stays the same.
  GOMP_parallel(&runPiece, &region, static_cast<unsigned>(threads), 0);
}

void parallelTasks(std::int64_t count, RangeFunction work) {
  const int threads = count > 1 ? teamSize() : 1;
  TaskQueue queue{&work, count};
  if (threads == 1) {
    runTasks(&queue);
  } else {
    GOMP_parallel(&runTasks, &queue, static_cast<unsigned>(threads), 0);
  }
}

}  // namespace redraft::model
