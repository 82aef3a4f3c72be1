#include "tests/model/kernels/gpu_emulator.h"

#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/error.h"
#include "model/kernels/cuda/warp_ops.cuh"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace redraft::model {
namespace testing {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;
constexpr unsigned kLanes = 32;

/// Tells AddressSanitizer that this thread leaves its stack for another one; `fake` keeps what it needs to come back,
/// null for a stack that is left for good.
void leaveStack([[maybe_unused]] void** fake, [[maybe_unused]] const void* stack, [[maybe_unused]] std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(fake, stack, bytes);
#endif
}
void arriveOnStack([[maybe_unused]] void* fake, [[maybe_unused]] const void** from,
                   [[maybe_unused]] std::size_t* fromBytes) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake, from, fromBytes);
#endif
}

struct Copy {
  void* shared;
  const void* global;
  bool present;
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  bool done = false;
  std::vector<Copy> open;                // not committed
  std::deque<std::vector<Copy>> groups;  // oldest first
};

/// Threads that meet: the last one to arrive acts for all.
struct Meeting {
  const char* what = nullptr;
  unsigned arrived = 0, turn = 0;
  void* slots[kLanes] = {};
};

class Block {
 public:
  Block(const devices::LaunchShape& shape, const unsigned (&index)[3], ThreadOrder order,
        const std::function<void()>& kernel)
      : kernel_(kernel), shared_(shape.sharedBytes / 16 + 1), fibers_(shape.block[0]), warps_(shape.block[0] / kLanes) {
    REDRAFT_CHECK(shape.block[0] % kLanes == 0, "a block of the emulator has whole warps");
    std::copy(std::begin(index), std::end(index), index_);
    std::memset(static_cast<void*>(shared_.data()), 0xff, shared_.size() * 16);
    for (unsigned i = 0; i < fibers_.size(); ++i) order_.push_back(i);
    if (order == ThreadOrder::kDescending) std::reverse(order_.begin(), order_.end());
  }

  void run();
  void yield();
  void finish();
  template <class Act>
  void meet(Meeting& meeting, unsigned count, const char* what, void* slot, Act act);

  unsigned thread() const { return running_; }
  unsigned lane() const { return running_ % kLanes; }
  unsigned index(int axis) const { return index_[axis]; }
  Fiber& fiber() { return fibers_[running_]; }
  Meeting& warp() { return warps_[running_ / kLanes]; }
  Meeting& barrier() { return barrier_; }
  unsigned threads() const { return static_cast<unsigned>(fibers_.size()); }
  unsigned char* shared() { return reinterpret_cast<unsigned char*>(shared_.data()); }
  void callKernel() { kernel_(); }
  void enter() { arriveOnStack(nullptr, &schedulerStack_, &schedulerStackBytes_); }

 private:
  struct alignas(16) Chunk {
    unsigned char bytes[16];
  };
  const std::function<void()>& kernel_;
  unsigned index_[3];
  std::vector<Chunk> shared_;
  std::vector<Fiber> fibers_;
  std::vector<Meeting> warps_;
  Meeting barrier_;
  std::vector<unsigned> order_;
  unsigned running_ = 0;
  std::uint64_t progress_ = 0;
  ucontext_t scheduler_;
  const void* schedulerStack_ = nullptr;
  std::size_t schedulerStackBytes_ = 0;
};

Block* gBlock = nullptr;

void runFiber() {
  gBlock->enter();
  gBlock->callKernel();
  gBlock->finish();
}

void Block::run() {
  gBlock = this;
  for (Fiber& fiber : fibers_) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, runFiber, 0);
  }
  for (bool rest = true; rest;) {
    rest = false;
    const std::uint64_t before = progress_;
    for (const unsigned next : order_) {
      if (fibers_[next].done) continue;
      rest = true;
      running_ = next;
      void* fake = nullptr;
      leaveStack(&fake, fibers_[next].stack.get(), kStackBytes);
      swapcontext(&scheduler_, &fibers_[next].context);
      arriveOnStack(fake, nullptr, nullptr);
    }
    REDRAFT_CHECK(!rest || progress_ != before, "the block's threads wait for each other for ever");
  }
  gBlock = nullptr;
}

void Block::yield() {
  Fiber& self = fiber();
  void* fake = nullptr;
  leaveStack(&fake, schedulerStack_, schedulerStackBytes_);
  swapcontext(&self.context, &scheduler_);
  arriveOnStack(fake, nullptr, nullptr);
}

void Block::finish() {
  fiber().done = true;
  ++progress_;
  leaveStack(nullptr, schedulerStack_, schedulerStackBytes_);
  setcontext(&scheduler_);
}

template <class Act>
void Block::meet(Meeting& meeting, unsigned count, const char* what, void* slot, Act act) {
  REDRAFT_CHECK(meeting.arrived == 0 || meeting.what == what, "threads of one warp are at different operations");
  meeting.what = what;
  if (slot != nullptr) meeting.slots[lane()] = slot;
  if (++meeting.arrived == count) {
    act(meeting.slots);
    meeting.arrived = 0;
    ++meeting.turn;
    ++progress_;
    return;
  }
  for (const unsigned turn = meeting.turn; meeting.turn == turn;) yield();
}

void requireAligned(const void* pointer) {
  REDRAFT_CHECK(reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0, "an address is not aligned to 16 bytes");
}

}  // namespace

void emulateLaunch(const devices::LaunchShape& shape, ThreadOrder order, const std::function<void()>& kernel) {
  for (unsigned z = 0; z < shape.grid[2]; ++z) {
    for (unsigned y = 0; y < shape.grid[1]; ++y) {
      for (unsigned x = 0; x < shape.grid[0]; ++x) {
        const unsigned index[3] = {x, y, z};
        Block(shape, index, order, kernel).run();
      }
    }
  }
}

}  // namespace testing

namespace gpu {
namespace {

using testing::gBlock;

float low(std::uint32_t pair) { return widen({static_cast<std::uint16_t>(pair)}); }
float high(std::uint32_t pair) { return widen({static_cast<std::uint16_t>(pair >> 16)}); }

std::uint16_t roundToBFloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct MultiplyAdd {
  FragmentC* c;
  const FragmentA* a;
  const FragmentB* b;
};

/// Lane 4g + t of the layouts in warp_ops.cuh, gathered, multiplied, and given back.
void multiplyAll(void** slots) {
  float a[16][16], b[16][8];
  const auto at = [&](unsigned lane) { return static_cast<MultiplyAdd*>(slots[lane]); };
  for (unsigned lane = 0; lane < testing::kLanes; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = g + i % 2 * 8, column = 2 * t + i / 2 * 8;
      a[row][column] = low((*at(lane)->a)[i]);
      a[row][column + 1] = high((*at(lane)->a)[i]);
    }
    for (unsigned i = 0; i < 2; ++i) {
      b[2 * t + i * 8][g] = low((*at(lane)->b)[i]);
      b[2 * t + i * 8 + 1][g] = high((*at(lane)->b)[i]);
    }
  }
  for (unsigned lane = 0; lane < testing::kLanes; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + i / 2 * 8, column = 2 * (lane % 4) + i % 2;
      float sum = (*at(lane)->c)[i];
      for (unsigned k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
      (*at(lane)->c)[i] = sum;
    }
  }
}

struct LoadMatrices {
  std::uint32_t* r;
  const BFloat16* row;
};

void loadAll(void** slots, bool transposed) {
  const auto at = [&](unsigned lane) { return static_cast<LoadMatrices*>(slots[lane]); };
  for (unsigned lane = 0; lane < testing::kLanes; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      const auto element = [&](unsigned row, unsigned column) {
        return std::uint32_t{at(i * 8 + row)->row[column].bits};
      };
      at(lane)->r[i] = transposed ? element(2 * t, g) | element(2 * t + 1, g) << 16
                                  : element(g, 2 * t) | element(g, 2 * t + 1) << 16;
    }
  }
}

void load(std::uint32_t (&r)[4], const BFloat16* row, bool transposed) {
  testing::requireAligned(row);
  LoadMatrices mine{r, row};
  gBlock->meet(gBlock->warp(), testing::kLanes, transposed ? "ldmatrix.trans" : "ldmatrix", &mine,
               [&](void** slots) { loadAll(slots, transposed); });
}

}  // namespace

unsigned threadIndex() { return gBlock->thread(); }
unsigned blockIndex(int axis) { return gBlock->index(axis); }
unsigned char* dynamicShared() { return gBlock->shared(); }

void syncBlock() {
  gBlock->meet(gBlock->barrier(), gBlock->threads(), "barrier", nullptr, [](void**) {});
}

float shuffleXor(float value, unsigned lanes) {
  struct Exchange {
    float given, taken;
    unsigned lanes;
  } mine{value, 0.0f, lanes};
  gBlock->meet(gBlock->warp(), testing::kLanes, "shuffle", &mine, [](void** slots) {
    for (unsigned lane = 0; lane < testing::kLanes; ++lane) {
      auto* to = static_cast<Exchange*>(slots[lane]);
      to->taken = static_cast<Exchange*>(slots[lane ^ to->lanes])->given;
    }
  });
  return mine.taken;
}

void multiplyAdd(FragmentC& c, const FragmentA& a, const FragmentB& b) {
  MultiplyAdd mine{&c, &a, &b};
  gBlock->meet(gBlock->warp(), testing::kLanes, "mma", &mine, multiplyAll);
}

void loadMatrices(std::uint32_t (&r)[4], const BFloat16* row) { load(r, row, false); }
void loadMatricesTransposed(std::uint32_t (&r)[4], const BFloat16* row) { load(r, row, true); }

void copyAsync(void* shared, const void* global, bool present) {
  testing::requireAligned(shared);
  testing::requireAligned(global);
  gBlock->fiber().open.push_back({shared, global, present});
}

void commitCopies() {
  gBlock->fiber().groups.push_back(std::move(gBlock->fiber().open));
  gBlock->fiber().open.clear();
}

void waitForCopies(int groups) {
  auto& pending = gBlock->fiber().groups;
  for (; pending.size() > static_cast<std::size_t>(groups); pending.pop_front()) {
    for (const testing::Copy& copy : pending.front()) {
      if (copy.present)
        std::memcpy(copy.shared, copy.global, 16);
      else
        std::memset(copy.shared, 0, 16);
    }
  }
}

std::uint32_t packBFloat16(float lowPart, float highPart) {
  return std::uint32_t{roundToBFloat16(lowPart)} | std::uint32_t{roundToBFloat16(highPart)} << 16;
}
float exp2Fast(float x) { return std::exp2(x); }
float log2Fast(float x) { return std::log2(x); }

}  // namespace gpu
}  // namespace redraft::model
