#include "model/pipeline/rank_store.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "model/pipeline/collective.h"

namespace redraft::model {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPartBytes = std::size_t{4} << 20;  // the store's server takes 8 MiB at most
constexpr std::chrono::milliseconds kStoreLook{10}, kLeaveLook{20};

/// Before a message's first byte.
struct Head {
  std::uint64_t bytes = 0;
  std::int32_t origin = -1;
  std::uint32_t failed = 0;
};

std::string placeOf(const LaunchEnvironment& launch) {
  return "store " + launch.masterAddress + ":" + std::to_string(launch.masterPort);
}

/// c10's messages carry a stack.
std::string firstLine(const std::exception& error) {
  const auto* refused = dynamic_cast<const c10::Error*>(&error);
  const std::string text = refused != nullptr ? refused->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

c10::intrusive_ptr<c10d::Store> makeStore(const LaunchEnvironment& launch, std::chrono::milliseconds timeout,
                                          bool serves) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(launch.masterPort);
  options.isServer = serves;
  options.waitWorkers = false;
  options.timeout = timeout;
  if (serves) options.masterListenFd = launch.storeSocket;
  try {
    return c10::make_intrusive<c10d::TCPStore>(launch.masterAddress, options);
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::kEnvironment, placeOf(launch), firstLine(error),
                serves ? "set MASTER_PORT to a port that is free on the host of rank 0"
                       : "rank 0 serves it: look whether it started, and whether MASTER_ADDR reaches it");
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Store> openStore(const LaunchEnvironment& launch, std::chrono::milliseconds timeout) {
  return makeStore(launch, timeout, launch.rank == 0 && !launch.agentServesStore);
}

c10::intrusive_ptr<c10d::Store> connectStore(const LaunchEnvironment& launch, std::chrono::milliseconds timeout) {
  return makeStore(launch, timeout, false);
}

RankRounds::RankRounds(const LaunchEnvironment& launch, c10::intrusive_ptr<c10d::Store> store, std::string prefix,
                       std::chrono::milliseconds timeout)
    : launch_(launch), store_(std::move(store)), prefix_(std::move(prefix)), timeout_(timeout) {}

RankRounds::~RankRounds() = default;

std::string RankRounds::key(std::int64_t round, int rank, std::size_t part) const {
  return prefix_ + std::to_string(round) + "/" + std::to_string(rank) + "/" + std::to_string(part);
}

void RankRounds::storeGone(const std::string& reason) const {
  const bool byRank = !launch_.agentServesStore;
  throw RankLost(byRank ? 0 : -1, placeOf(launch_),
                 (byRank ? "rank 0, which serves it, is gone: " : "the launcher's store is gone: ") + reason);
}

void RankRounds::put(std::int64_t round, const Message& message) {
  const Head head{message.bytes.size(), message.origin, message.failed ? 1u : 0u};
  const std::size_t inFirst = std::min(message.bytes.size(), kPartBytes - sizeof head);
  std::vector<std::uint8_t> first(sizeof head + inFirst);
  std::memcpy(first.data(), &head, sizeof head);
  std::memcpy(first.data() + sizeof head, message.bytes.data(), inFirst);
  std::size_t part = 0;
  for (std::size_t at = inFirst; at < message.bytes.size(); at += kPartBytes) {
    const auto begin = message.bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto bytes = static_cast<std::ptrdiff_t>(std::min(kPartBytes, message.bytes.size() - at));
    store_->set(key(round, launch_.rank, ++part), std::vector<std::uint8_t>(begin, begin + bytes));
  }
  // The first part last: it says that the others are there.
  store_->set(key(round, launch_.rank, 0), first);
  mine_.emplace_back(round, part + 1);
}

RankRounds::Message RankRounds::take(std::int64_t round, int rank) {
  std::vector<std::uint8_t> bytes = store_->get(key(round, rank, 0));
  Head head;
  REDRAFT_CHECK(bytes.size() >= sizeof head, "a message has its head");
  std::memcpy(&head, bytes.data(), sizeof head);
  Message message{head.failed != 0, head.origin, std::string(bytes.begin() + sizeof head, bytes.end())};
  for (std::size_t part = 1; message.bytes.size() < head.bytes; ++part) {
    bytes = store_->get(key(round, rank, part));
    message.bytes.append(bytes.begin(), bytes.end());
  }
  REDRAFT_CHECK(message.bytes.size() == head.bytes, "a message is as long as its head says");
  return message;
}

void RankRounds::nothingCame(std::int64_t round, const std::string& what) {
  std::vector<int> missing;
  for (int r = 0; r < launch_.worldSize; ++r)
    if (!store_->check({key(round, r, 0)})) missing.push_back(r);
  std::string names;
  for (const int rank : missing) names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
  throw RankLost(missing.empty() ? -1 : missing.front(), "rank " + std::to_string(launch_.rank),
                 "waited " + std::to_string(timeout_.count()) + " ms for " + what + " of " + names);
}

void RankRounds::waitFor(std::int64_t round, int rank, const std::string& what, Clock::time_point until,
                         const std::function<bool()>& stopped) {
  // Asked again and again: the store's own wait warns on standard error each time that it ends, and knows no way out.
  const Clock::time_point since = Clock::now();
  while (!stopped() && !store_->check({key(round, rank, 0)})) {
    if (Clock::now() >= until) nothingCame(round, what);
    std::this_thread::sleep_for(std::min<Clock::duration>(kStoreLook, (Clock::now() - since) / 8));
  }
}

std::vector<std::string> RankRounds::exchange(std::int64_t round, const std::string& message, const std::string& what,
                                              const std::function<bool()>& stopped) try {
  put(round, {false, -1, message});
  const Clock::time_point until = Clock::now() + timeout_;
  std::vector<std::string> all;
  for (int r = 0; r < launch_.worldSize; ++r) {
    if (r == launch_.rank) {
      all.push_back(message);
      continue;
    }
    waitFor(round, r, what, until, stopped);
    if (stopped()) return {};
    Message taken = take(round, r);
    if (taken.failed) throw RankLost(taken.origin, "rank " + std::to_string(r), taken.bytes);
    all.push_back(std::move(taken.bytes));
  }
  remove(round - 1);  // whoever gave a message of this round had taken those of the last
  return all;
} catch (const c10::Error& error) {
  storeGone(firstLine(error));
}

void RankRounds::remove(std::int64_t round) {
  for (const auto& [each, parts] : mine_)
    for (std::size_t part = 0; each <= round && part < parts; ++part) store_->deleteKey(key(each, launch_.rank, part));
  std::erase_if(mine_, [&](const auto& each) { return each.first <= round; });
}

void RankRounds::fail(std::int64_t round, int origin, const std::string& why) try {
  put(round, {true, origin, why});
} catch (const c10::Error& error) {
  storeGone(firstLine(error));
}

void RankRounds::leave(std::chrono::milliseconds most) try {
  const std::string left = prefix_ + "left";
  store_->add(left, 1);
  if (launch_.rank != 0 && !launch_.agentServesStore) return;
  const Clock::time_point until = Clock::now() + most;
  while (store_->add(left, 0) < launch_.worldSize && Clock::now() < until) std::this_thread::sleep_for(kLeaveLook);
  while (!mine_.empty()) remove(mine_.back().first);
} catch (const c10::Error& error) {
  storeGone(firstLine(error));
}

}  // namespace redraft::model
