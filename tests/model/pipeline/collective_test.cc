// What a Collective promises, by each of its implementations; ranks are threads.
#include "model/pipeline/collective.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/files.h"
#include "base/listening_socket.h"
#include "model/pipeline/nccl_collective.h"
#include "model/pipeline/store_collective.h"
#include "model/pipeline/thread_collective.h"
#include "tests/model/pipeline/temporary_folder.h"

namespace redraft::model {
namespace {

using Body = std::function<void(Collective&)>;
constexpr std::chrono::milliseconds kPatience{30000}, kShort{1600};

/// The exception that each rank's body ended with; null where it returned.
using Ends = std::vector<std::exception_ptr>;

void runThreads(Ends& ends, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < static_cast<int>(ends.size()); ++r) {
    threads.emplace_back([&, r] {
      try {
        body(r);
      } catch (...) {
        ends[static_cast<std::size_t>(r)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Ends overThreads(int size, std::chrono::milliseconds timeout, const Body& body) {
  RunMonitor monitor(timeout);
  ThreadGroup group(monitor, size);
  Ends ends(static_cast<std::size_t>(size));
  runThreads(ends, [&](int r) { body(*group.rank(r)); });
  return ends;
}

LaunchEnvironment launchOf(int rank, int size, const ListeningSocket& socket) {
  LaunchEnvironment launch;
  launch.launcher = "test";
  launch.rank = launch.localRank = rank;
  launch.worldSize = size;
  launch.masterAddress = "127.0.0.1";
  launch.masterPort = socket.port();
  if (rank == 0) launch.storeSocket = socket.fd();
  return launch;
}

Ends overStore(int size, std::chrono::milliseconds timeout, const Body& body) {
  ListeningSocket socket;
  Ends ends(static_cast<std::size_t>(size));
  runThreads(ends, [&](int r) {
    RunMonitor monitor(timeout);
    StoreCollective collective(monitor, launchOf(r, size, socket));
    body(collective);
  });
  socket.release();  // the server closed it
  return ends;
}

/// NCCL, played: what its groups of one process gather.
struct PlayedNccl {
  std::mutex mutex;
  std::map<int, std::map<int, at::Tensor>> given;  // round → rank → values
  bool sameGpu = false, stuck = false;
  int aborted = 0, made = 0;
};
PlayedNccl& playedNccl() {
  static PlayedNccl played;
  return played;
}

class PlayedGroup final : public NcclGroup {
 public:
  explicit PlayedGroup(const NcclPlace& place) : rank_(place.rank), size_(static_cast<std::size_t>(place.size)) {}
  void begin(at::Tensor& all, at::Tensor& own) override {
    const std::lock_guard guard(playedNccl().mutex);
    playedNccl().given[++round_][rank_] = own.clone();
    all_ = all;
  }
  bool done() override {
    const std::lock_guard guard(playedNccl().mutex);
    return !playedNccl().stuck && playedNccl().given[round_].size() == size_;
  }
  void end() override {
    const std::lock_guard guard(playedNccl().mutex);
    std::vector<at::Tensor> parts;
    for (const auto& [rank, values] : playedNccl().given[round_]) parts.push_back(values);
    all_.copy_(at::cat(parts));
  }
  std::string flightRecorder() override { return "{\"entries\": []}"; }
  void abort() override {
    const std::lock_guard guard(playedNccl().mutex);
    ++playedNccl().aborted;
  }
  void shutdown() override {}

 private:
  const int rank_;
  const std::size_t size_;
  int round_ = 0;
  at::Tensor all_;
};

NcclLibrary playedLibrary() {
  return {[](int device) { return "GPU-" + std::to_string(playedNccl().sameGpu ? 0 : device); },
          [](const NcclPlace& place) -> NcclGroup* {
            const std::lock_guard guard(playedNccl().mutex);
            ++playedNccl().made;
            return new PlayedGroup(place);
          }};
}

Ends overNccl(int size, std::chrono::milliseconds timeout, const Body& body, const std::string& folder) {
  ListeningSocket socket;
  Ends ends(static_cast<std::size_t>(size));
  playedNccl().given.clear();
  runThreads(ends, [&](int r) {
    RunMonitor monitor(timeout);
    const LaunchEnvironment launch = launchOf(r, size, socket);
    auto control = std::make_unique<StoreCollective>(monitor, launch);
    NcclCollective collective(monitor, std::move(control), playedLibrary(),
                              {r, connectStore(launch, timeout), "here", folder});
    body(collective);
  });
  socket.release();
  return ends;
}
Ends overNccl(int size, std::chrono::milliseconds timeout, const Body& body) {
  const TemporaryFolder folder;
  return overNccl(size, timeout, body, folder.path());
}

struct Implementation {
  const char* name;
  Ends (*run)(int size, std::chrono::milliseconds timeout, const Body& body);
};

class CollectiveTest : public ::testing::TestWithParam<Implementation> {
 protected:
  /// Every rank's body returns.
  void expectDone(int size, const Body& body) const {
    for (const std::exception_ptr& end : GetParam().run(size, kPatience, body)) {
      if (end) {
        EXPECT_NO_THROW(std::rethrow_exception(end));
      }
    }
  }
};

/// The rank to blame and the text; -2 for anything but RankLost.
std::pair<int, std::string> lostBy(const std::exception_ptr& end) {
  if (!end) return {-2, "it returned"};
  try {
    std::rethrow_exception(end);
  } catch (const RankLost& lost) {
    return {lost.rank(), lost.what()};
  } catch (const std::exception& other) {
    return {-2, other.what()};
  }
}

TEST_P(CollectiveTest, GathersEveryRanksVectorInTheirOrder) {
  for (const std::int64_t length : {std::int64_t{1}, std::int64_t{1003}, std::int64_t{2500000}}) {
    expectDone(3, [&](Collective& ranks) {
      const at::Tensor all = ranks.allGather(at::full({length}, 1.5f * static_cast<float>(ranks.rank())), "values");
      ASSERT_EQ(all.sizes(), (std::vector<std::int64_t>{3, length}));
      for (int r = 0; r < 3; ++r) EXPECT_TRUE(all.select(0, r).eq(1.5f * static_cast<float>(r)).all().item<bool>());
    });
  }
}

TEST_P(CollectiveTest, GathersBytesOfAnyLength) {
  const auto bytesFor = [](int rank) {
    return std::string(rank == 0 ? 0 : std::size_t{1} << (11 * rank), static_cast<char>('a' + rank));
  };
  expectDone(3, [&](Collective& ranks) {
    const std::vector<std::string> all = ranks.allGather(bytesFor(ranks.rank()), "bytes");
    ASSERT_EQ(all.size(), 3u);
    for (int r = 0; r < 3; ++r) EXPECT_TRUE(all[static_cast<std::size_t>(r)] == bytesFor(r)) << r;
  });
}

TEST_P(CollectiveTest, ManyRoundsAreKeptApart) {
  expectDone(2, [&](Collective& ranks) {
    for (int round = 0; round < 50; ++round) {
      const auto all = ranks.allGather(std::to_string(round * 10 + ranks.rank()), "rounds");
      ASSERT_EQ(all, (std::vector<std::string>{std::to_string(round * 10), std::to_string(round * 10 + 1)}));
    }
    ranks.barrier("the end");
  });
}

TEST_P(CollectiveTest, ARankThatFailsEndsTheOthersWaitAndIsNamed) {
  const auto start = std::chrono::steady_clock::now();
  const Ends ends = GetParam().run(3, kPatience, [](Collective& ranks) {
    ranks.barrier("the start");
    if (ranks.rank() == 1) return ranks.abort(1, "drafter[1] failed: no memory");
    ranks.barrier("what never comes");
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience / 2);
  EXPECT_FALSE(ends[1]);
  // Over threads the group's monitor keeps the error, and whoever waits is stopped.
  if (std::string(GetParam().name) == "Threads") {
    EXPECT_THROW(std::rethrow_exception(ends[0]), RunStopped);
    return;
  }
  for (const int r : {0, 2}) {
    const auto [rank, text] = lostBy(ends[static_cast<std::size_t>(r)]);
    EXPECT_EQ(rank, 1) << text;
    EXPECT_NE(text.find("no memory"), std::string::npos) << text;
  }
}

TEST_P(CollectiveTest, ATimeOutNamesTheRankThatGaveNothing) {
  const Ends ends = GetParam().run(3, kShort, [](Collective& ranks) {
    ranks.barrier("the start");
    if (ranks.rank() != 2) return ranks.barrier("the gradients");
    std::this_thread::sleep_for(kShort * 2);
  });
  EXPECT_FALSE(ends[2]);
  try {
    std::rethrow_exception(ends[0]);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the gradients of rank 2"), std::string::npos) << error.what();
    const auto* lost = dynamic_cast<const RankLost*>(&error);
    EXPECT_EQ(lost != nullptr, std::string(GetParam().name) != "Threads");
    EXPECT_EQ(lost != nullptr ? lost->rank() : 2, 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Over, CollectiveTest,
                         ::testing::Values(Implementation{"Threads", overThreads}, Implementation{"Store", overStore},
                                           Implementation{"Nccl", overNccl}),
                         [](const auto& each) { return each.param.name; });

TEST(NcclCollectiveTest, TwoRanksOnOneGpuAreRefusedBeforeNcclIsAsked) {
  playedNccl().sameGpu = true;
  playedNccl().made = 0;
  const Ends ends = overNccl(2, kPatience, [](Collective&) {});
  playedNccl().sameGpu = false;
  EXPECT_EQ(playedNccl().made, 0);
  for (const std::exception_ptr& end : ends) {
    ASSERT_TRUE(end);
    try {
      std::rethrow_exception(end);
    } catch (const Error& error) {
      EXPECT_EQ(error.place(), "ranks 0 and 1");
      EXPECT_NE(error.message().find("GPU-0 of here"), std::string::npos) << error.what();
      EXPECT_NE(error.remedy().find("CUDA_VISIBLE_DEVICES"), std::string::npos);
    }
  }
}

/// What ranks, each a thread, declare.
class DeclaredCollectives : public Instrument, public devices::Declarations {
 public:
  DeclaredCollectives() { setInstrument(this); }
  ~DeclaredCollectives() override { setInstrument(nullptr); }

  devices::Declarations* declarations() override { return this; }
  std::uint32_t given(const devices::StreamPlace&, std::int64_t) override { return 0; }
  void taken(std::uint32_t, const devices::StreamPlace&, std::int64_t) override {}
  void owns(const devices::StreamPlace&) override {}
  void joined(const devices::Communicator& communicator) override {
    const std::lock_guard guard(mutex_);
    communicators[communicator.rank] = communicator;
  }
  void issued(const devices::CollectiveCall& call) override {
    const std::lock_guard guard(mutex_);
    calls.push_back(call);
  }

  std::map<int, devices::Communicator> communicators;  // by rank
  std::vector<devices::CollectiveCall> calls;

 private:
  std::mutex mutex_;
};

TEST(NcclCollectiveTest, DeclaresItsCommunicatorWithTheGpusOfAllRanksAndEveryGather) {
  DeclaredCollectives seen;
  const Ends ends = overNccl(2, kPatience, [](Collective& ranks) {
    ranks.allGather(at::ones({4}), "the gradients");
    ranks.allGather(std::string("a few bytes"), "the hashes");
  });
  for (const std::exception_ptr& end : ends) EXPECT_FALSE(end);
  ASSERT_EQ(seen.communicators.size(), 2u);
  EXPECT_EQ(seen.communicators[0].gpus, seen.communicators[1].gpus);
  EXPECT_EQ(seen.communicators[1].gpus.size(), 2u);
  ASSERT_EQ(seen.calls.size(), 2u) << "what goes through the store is no collective";
  for (const devices::CollectiveCall& call : seen.calls) {
    EXPECT_EQ(call.communicator, seen.communicators[0].name);
    EXPECT_EQ(call.what, "the gradients");
    EXPECT_EQ(call.bytes, 32);
    EXPECT_GT(call.beganNs, 0);
  }
}

TEST(NcclCollectiveTest, AGatherThatNeverEndsLeavesTheFlightRecorderAndIsGivenUp) {
  const TemporaryFolder folder;
  playedNccl().stuck = true;
  playedNccl().aborted = 0;
  const Ends ends = overNccl(
      2, kShort, [](Collective& ranks) { ranks.allGather(at::ones({4}), "the gradients"); }, folder.path());
  playedNccl().stuck = false;
  for (const std::exception_ptr& end : ends) {
    ASSERT_TRUE(end);
    try {
      std::rethrow_exception(end);
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("the gradients did not come"), std::string::npos) << error.what();
    }
  }
  EXPECT_GE(playedNccl().aborted, 2);
  EXPECT_NE(readFile(folder / kFlightRecorderFile).find("entries"), std::string::npos);
}

TEST(StoreCollectiveTest, KeysOfFormerRoundsAreRemoved) {
  ListeningSocket socket;
  Ends ends(2);
  runThreads(ends, [&](int r) {
    RunMonitor monitor(kPatience);
    const LaunchEnvironment launch = launchOf(r, 2, socket);
    StoreCollective ranks(monitor, launch);
    for (int round = 0; round < 40; ++round) ranks.barrier("round");
    const std::int64_t keys = connectStore(launch, kPatience)->getNumKeys();
    EXPECT_LE(keys, 8);  // two rounds' at most, and the store's own
    ranks.barrier("the end");
  });
  socket.release();
  for (const std::exception_ptr& end : ends) EXPECT_FALSE(end);
}

TEST(StoreCollectiveTest, ARunThatFailsHereEndsTheWaitForOthers) {
  ListeningSocket socket;
  Ends ends(2);
  std::promise<void> ended;
  runThreads(ends, [&](int r) {
    RunMonitor monitor(kPatience);
    StoreCollective ranks(monitor, launchOf(r, 2, socket));
    if (r == 1) {
      ended.get_future().wait();
      ranks.barrier("what rank 0 does not come to");
      return;
    }
    std::thread failing([&] {
      monitor.fail(std::make_exception_ptr(std::runtime_error("a role failed")));
      ranks.abort(0, "a role failed");
    });
    EXPECT_THROW(ranks.barrier("anything"), RunStopped);
    ended.set_value();
    failing.join();
  });
  socket.release();
  EXPECT_FALSE(ends[0]);
}

TEST(StoreCollectiveTest, AStoreThatIsNotThereIsAnErrorWithARemedy) {
  LaunchEnvironment launch;
  {
    const ListeningSocket socket;
    launch = launchOf(1, 2, socket);
  }
  RunMonitor monitor(std::chrono::milliseconds(500));
  try {
    StoreCollective ranks(monitor, launch);
    FAIL() << "nobody serves that port";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_NE(error.place().find("store 127.0.0.1:"), std::string::npos);
    EXPECT_NE(error.remedy().find("rank 0"), std::string::npos);
  }
}

TEST(StoreCollectiveTest, APortThatIsTakenIsAnErrorWithARemedy) {
  const ListeningSocket socket;
  LaunchEnvironment launch = launchOf(0, 2, socket);
  launch.storeSocket.reset();
  RunMonitor monitor(kShort);
  try {
    StoreCollective ranks(monitor, launch);
    FAIL() << "the port is taken";
  } catch (const Error& error) {
    EXPECT_NE(error.remedy().find("MASTER_PORT"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace redraft::model
