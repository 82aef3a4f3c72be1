#include "harness/supervisor.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/pinned_environment.h"
#include "harness/interrupt.h"
#include "harness/output_log.h"
#include "harness/run_folder.h"
#include "harness/runner_stacks.h"
#include "harness/token_counter.h"

namespace redraft::harness {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

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

class Supervision {
 public:
  Supervision(const std::string& folder, const CasePlan& plan, const SupervisorOptions& options)
      : plan_(plan),
        options_(options),
        output_(joinPath(folder, kLogFile)),
        events_(joinPath(folder, kEventsFile)),
        tokens_(joinPath(folder, kMetricsFile)),
        child_(command(folder, plan, options)) {}

  Observation run() {
    while (!child_.ended()) {
      child_.wait(behind_ ? std::chrono::milliseconds(0) : options_.look, stop_ == Stop::kNone ? interruptFd() : -1,
                  pending_);
      keepOutput();
      lookAtEvents();
      if (stop_ == Stop::kNone)
        decideToStop();
      else
        pressOn();
      reportProgress();
    }
    Observation seen;
    seen.seconds = secondsSince(start_);
    child_.drain(pending_);
    keepOutput();
    output_.finish();
    seen.log = events_.finish();
    seen.end = *child_.ended();
    seen.stop = stop_;
    seen.threads = std::move(threads_);
    return seen;
  }

 private:
  static ChildCommand command(const std::string& folder, const CasePlan& plan, const SupervisorOptions& options) {
    ChildCommand command;
    command.arguments = options.wrapper;
    for (const std::string& each : {options.runner, std::string("run"), folder}) command.arguments.push_back(each);
    command.arguments.insert(command.arguments.end(), options.options.begin(), options.options.end());
    command.environment = pinnedEnvironment(plan.threads);
    command.foreground = !options.wrapper.empty();
    return command;
  }

  void keepOutput() {
    if (!pending_.empty()) lastOutput_ = Clock::now();
    output_.append(pending_);
    pending_.clear();
  }

  void lookAtEvents() {
    const std::size_t before = events_.log().events.size();
    behind_ = events_.poll();
    for (std::size_t i = before; i < events_.log().events.size(); ++i) {
      const Event& event = events_.log().events[i];
      if (event.as<SyncMark>() != nullptr || event.as<RunBegin>() != nullptr) lastMark_ = Clock::now();
      if (event.as<StepDone>() != nullptr) progress_.step = std::max(progress_.step, event.head.step + 1);
    }
  }

  void decideToStop() {
    if (interrupted() != 0) return stop(Stop::kInterrupted);
    if (!events_.log().problem.empty()) return stop(Stop::kBrokenRecord);
    if (!options_.wrapper.empty()) return;  // under a debugger time stands still
    if (secondsSince(start_) > plan_.seconds) return stop(Stop::kTimeLimit);
    if (secondsSince(lastMark_) > plan_.hangSeconds) return stop(Stop::kNoProgress);
  }

  void stop(Stop why) {
    stop_ = why;
    if (why == Stop::kNoProgress || why == Stop::kTimeLimit) return lookAtThreads();
    // The runner's handler of SIGABRT writes a stack; after Ctrl-C nobody asks for one.
    send(why == Stop::kInterrupted ? SIGTERM : SIGABRT);
  }

  /// Notes what every thread does, and asks those of roles for their stacks.
  void lookAtThreads() {
    std::set<std::string> roles;
    for (const Event& event : events_.log().events)
      if (event.as<RoleBegin>() != nullptr) roles.insert(threadNameOf(event.head.role));
    for (const ThreadSeen& thread : threadsOf(child_.pid())) {
      threads_.push_back(thread.text);
      if (roles.contains(thread.name)) ::syscall(SYS_tgkill, child_.pid(), thread.id, SIGUSR1);
    }
    nextSignal_ = Clock::now() + (roles.empty() ? std::chrono::milliseconds(0) : kStacksLimit);
    lastOutput_ = Clock::now();
  }

  void pressOn() {
    const bool asked = lastSignal_ == 0;
    if (Clock::now() < nextSignal_ && !(asked && Clock::now() > lastOutput_ + kStacksQuiet)) return;
    send(asked ? SIGABRT : SIGKILL);
  }

  void send(int signal) {
    lastSignal_ = signal;
    child_.signal(signal);
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
  OutputLog output_;
  EventReader events_;
  TokenCounter tokens_;
  std::string pending_;
  bool behind_ = false;  // of the event log
  Stop stop_ = Stop::kNone;
  int lastSignal_ = 0;  // sent to end it
  std::vector<std::string> threads_;
  RunProgress progress_;
  Clock::time_point start_ = Clock::now(), lastMark_ = start_, lastOutput_, nextSignal_, nextProgress_;
  ChildProcess child_;
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
