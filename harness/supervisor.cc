#include "harness/supervisor.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/launch_environment.h"
#include "base/listening_socket.h"
#include "base/pinned_environment.h"
#include "golden/run_files.h"
#include "harness/interrupt.h"
#include "harness/output_log.h"
#include "harness/run_folder.h"
#include "harness/runner_stacks.h"
#include "harness/token_counter.h"

namespace redraft::harness {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kPeerGraces = 2;  // for a rank to say what it knows of one that ended badly
constexpr std::chrono::milliseconds kProgressEvery{200};
// Threads are given time to write their stacks until nothing has come for the first, and no longer than the second.
constexpr std::chrono::milliseconds kStacksQuiet{200}, kStacksLimit{2000};

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string firstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct ThreadSeen {
  pid_t id = 0;
  std::string name, text;  // text: name, state and wait channel
};

std::vector<ThreadSeen> threadsOf(pid_t pid) {
  std::vector<ThreadSeen> threads;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    const std::string id = entry.path().filename().string(), stat = firstLine(entry.path() / "stat");
    const std::size_t name = stat.rfind(") ");
    const std::string state = name == std::string::npos ? "?" : stat.substr(name + 2, 1);
    threads.push_back({static_cast<pid_t>(std::stol(id)), firstLine(entry.path() / "comm"), ""});
    threads.back().text = "thread " + id + " \"" + threads.back().name + "\": state " + state + ", waits in " +
                          firstLine(entry.path() / "wchan");
  }
  return threads;
}

bool isSuspended(const std::vector<ThreadSeen>& threads) {
  return !threads.empty() && std::all_of(threads.begin(), threads.end(), [](const ThreadSeen& each) {
    return each.text.find(": state T") != std::string::npos || each.text.find(": state t") != std::string::npos;
  });
}

/// One child with its files.
class RankWatch {
 public:
  RankWatch(const std::string& folder, int rank)
      : rank_(rank), output_(joinPath(folder, kLogFile)), events_(joinPath(folder, kEventsFile)) {}

  /// Whole lines that were added; how many events there were before.
  std::size_t lookAtEvents() {
    const std::size_t before = events_.log().events.size();
    behind_ = events_.poll();
    return before;
  }
  /// True when something came.
  bool keepOutput(ChildProcess& child) {
    child.drain(pending_);
    const bool came = !pending_.empty();
    output_.append(pending_);
    pending_.clear();
    return came;
  }

  bool behind() const { return behind_; }
  const EventLog& log() const { return events_.log(); }

  /// Notes what every thread does, and asks those of roles for their stacks; false when there is none to ask.
  bool lookAtThreads(pid_t pid, bool several) {
    std::set<std::string> roles;
    for (const Event& event : log().events)
      if (event.as<RoleBegin>() != nullptr) roles.insert(threadNameOf(event.head.role));
    const std::vector<ThreadSeen> threads = threadsOf(pid);
    seen_.suspended = isSuspended(threads);
    for (const ThreadSeen& thread : threads) {
      seen_.threads.push_back((several ? "rank " + std::to_string(rank_) + ", " : "") + thread.text);
      if (roles.contains(thread.name)) ::syscall(SYS_tgkill, pid, thread.id, SIGUSR1);
    }
    return !roles.empty();
  }

  void ended(ChildProcess& child, int order, double seconds) {
    keepOutput(child);
    output_.finish();
    seen_.log = events_.finish();
    seen_.end = *child.ended();
    seen_.rank = rank_;
    seen_.order = order;
    seen_.seconds = seconds;
    done_ = true;
  }
  bool done() const { return done_; }
  bool endedWell() const {
    return seen_.end.clean() && seen_.log.problem.empty() && !seen_.log.events.empty() &&
           seen_.log.events.back().as<RunEnd>() != nullptr;
  }
  void endForPeers() { seen_.endedForPeers = true; }
  Observation take() { return std::move(seen_); }

 private:
  int rank_;
  OutputLog output_;
  EventReader events_;
  std::string pending_;
  bool behind_ = false;  // of the event log
  bool done_ = false;
  Observation seen_;
};

class Supervision {
 public:
  Supervision(const std::string& folder, const CasePlan& plan, const SupervisorOptions& options)
      : plan_(plan), options_(options), tokens_(joinPath(folder, kMetricsFile)) {
    const bool several = plan.processes > 1;
    if (several && !options.wrapper.empty())
      throwBadInput("debugger", "a run of " + std::to_string(plan.processes) + " processes cannot be put under it",
                    "replay it in one process: the numbers are the same");
    const std::optional<ListeningSocket> meeting =
        several ? std::optional<ListeningSocket>(std::in_place) : std::nullopt;
    for (int rank = 0; rank < plan.processes; ++rank) {
      makeDirectories(golden::rankFolder(folder, rank));
      ranks_.push_back(std::make_unique<RankWatch>(golden::rankFolder(folder, rank), rank));
      children_.push_back(std::make_unique<ChildProcess>(command(folder, rank, meeting ? &*meeting : nullptr)));
    }
  }

  Observation run() {
    while (!allDone()) {
      const bool behind = std::any_of(ranks_.begin(), ranks_.end(), [](const auto& each) { return each->behind(); });
      ChildProcess::waitAny(children_, behind ? std::chrono::milliseconds(0) : options_.look,
                            stop_ == Stop::kNone ? interruptFd() : -1);
      for (std::size_t i = 0; i < ranks_.size(); ++i)
        if (!ranks_[i]->done()) look(*ranks_[i], *children_[i]);
      if (allDone()) break;
      if (stop_ == Stop::kNone)
        decideToStop();
      else
        pressOn();
      reportProgress();
    }
    Observation seen = taken(*ranks_.front());
    for (std::size_t i = 1; i < ranks_.size(); ++i) seen.others.push_back(taken(*ranks_[i]));
    return seen;
  }

 private:
  ChildCommand command(const std::string& folder, int rank, const ListeningSocket* meeting) const {
    ChildCommand command;
    command.arguments = options_.wrapper;
    for (const std::string& each : {options_.runner, std::string("run"), folder}) command.arguments.push_back(each);
    command.arguments.insert(command.arguments.end(), options_.options.begin(), options_.options.end());
    command.environment = pinnedEnvironment(plan_.pinning);
    // With one process too: this program may itself have been started by a launcher, whose variables are not meant.
    for (const auto& [name, value] : launchVariables(rank, plan_.processes, meeting != nullptr ? meeting->port() : 0))
      command.environment[name] = value;
    command.foreground = !options_.wrapper.empty();
    if (meeting == nullptr) command.keepFd = options_.keepFd;
    if (rank == 0 && meeting != nullptr) {
      command.keepFd = meeting->fd();
      command.environment[kStoreSocketVariable] = std::to_string(meeting->fd());
    }
    return command;
  }

  bool allDone() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& each) { return each->done(); });
  }

  Observation taken(RankWatch& rank) const {
    Observation seen = rank.take();
    seen.stop = stop_;
    return seen;
  }

  void look(RankWatch& rank, ChildProcess& child) {
    const bool ended = child.ended().has_value();
    if (rank.keepOutput(child)) lastOutput_ = Clock::now();
    const std::size_t before = rank.lookAtEvents();
    for (std::size_t i = before; i < rank.log().events.size(); ++i) {
      const Event& event = rank.log().events[i];
      if (event.as<SyncMark>() != nullptr || event.as<RunBegin>() != nullptr) lastMark_ = Clock::now();
      if (event.as<StepDone>() != nullptr) progress_.step = std::max(progress_.step, event.head.step + 1);
    }
    if (!rank.log().problem.empty()) broken_ = true;
    if (!ended) return;
    rank.ended(child, ended_++, secondsSince(start_));
    if (!peersEnd_ && !rank.endedWell()) peersEnd_ = Clock::now() + kPeerGraces * options_.grace;
  }

  void decideToStop() {
    if (interrupted() != 0) return stop(Stop::kInterrupted);
    if (broken_) return stop(Stop::kBrokenRecord);
    if (!options_.wrapper.empty()) return;  // under a debugger time stands still
    if (secondsSince(start_) > plan_.seconds) return stop(Stop::kTimeLimit);
    if (peersEnd_) return endPeers();
    if (options_.held && options_.held()) lastMark_ = Clock::now();
    if (secondsSince(lastMark_) > plan_.hangSeconds) return stop(Stop::kNoProgress);
  }

  /// What still waits for a rank that is gone has had time to say so.
  void endPeers() {
    if (Clock::now() < *peersEnd_) return;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i]->done()) continue;
      ranks_[i]->endForPeers();
      children_[i]->signal(SIGKILL);
    }
  }

  void stop(Stop why) {
    stop_ = why;
    if (why == Stop::kNoProgress || why == Stop::kTimeLimit) return lookAtThreads();
    // The runner's handler of SIGABRT writes a stack; after Ctrl-C nobody asks for one.
    send(why == Stop::kInterrupted ? SIGTERM : SIGABRT);
  }

  void lookAtThreads() {
    bool asked = false;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if (!ranks_[i]->done()) asked = ranks_[i]->lookAtThreads(children_[i]->pid(), ranks_.size() > 1) || asked;
    nextSignal_ = Clock::now() + (asked ? kStacksLimit : std::chrono::milliseconds(0));
    lastOutput_ = Clock::now();
  }

  void pressOn() {
    const bool asked = lastSignal_ == 0;
    if (Clock::now() < nextSignal_ && !(asked && Clock::now() > lastOutput_ + kStacksQuiet)) return;
    send(asked ? SIGABRT : SIGKILL);
  }

  void send(int signal) {
    lastSignal_ = signal;
    for (const auto& child : children_) child->signal(signal);
    nextSignal_ = Clock::now() + options_.grace;
  }

  void reportProgress() {
    if (!options_.onProgress || Clock::now() < nextProgress_) return;
    nextProgress_ = Clock::now() + kProgressEvery;
    progress_.tokens = tokens_.poll();
    progress_.seconds = secondsSince(start_);
    options_.onProgress(progress_);
  }

  const CasePlan& plan_;
  const SupervisorOptions& options_;
  TokenCounter tokens_;
  bool broken_ = false;  // some event log
  Stop stop_ = Stop::kNone;
  int lastSignal_ = 0;  // sent to end it
  int ended_ = 0;
  RunProgress progress_;
  Clock::time_point start_ = Clock::now(), lastMark_ = start_, lastOutput_, nextSignal_, nextProgress_;
  std::optional<Clock::time_point> peersEnd_;  // since a rank ended badly
  std::vector<std::unique_ptr<RankWatch>> ranks_;
  std::vector<std::unique_ptr<ChildProcess>> children_;
};

}  // namespace

Observation supervise(const std::string& folder, const CasePlan& plan, const SupervisorOptions& options) {
  return Supervision(folder, plan, options).run();
}

std::string findRunner(const std::string& given) {
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  const std::string path = given.empty() ? (self.parent_path() / "redraft-runner").string() : given;
  if (::access(path.c_str(), X_OK) != 0)
    throw Error(ErrorKind::kEnvironment, path, "the runner is not there, or cannot be executed",
                "build it (`make`; it needs LibTorch), or name it by --runner PATH");
  return fs::absolute(path).string();
}

}  // namespace redraft::harness
