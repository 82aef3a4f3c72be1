// A runner without a training stack: does what the script in its scenario says. The script is `fault.script` of
// scenario.resolved.json, a list of words; without one it trains `training.steps` steps and ends well. A rank beyond 0
// (RANK) keeps to `fault.others` instead, in a folder of its own.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "base/text.h"
#include "golden/run_files.h"
#include "harness/events.h"
#include "harness/run_folder.h"
#include "harness/trace/driver_trace.h"
#include "harness/turns.h"

namespace redraft::harness {
namespace {

/// What it was started with stands for what it would compute with.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "unset" : value;
}

class FakeRun {
 public:
  FakeRun(const std::string& folder, std::optional<int> turnsFd)
      : rank_(std::getenv("RANK") == nullptr ? 0 : std::stoi(std::getenv("RANK"))),
        folder_(golden::rankFolder(folder, rank_)),
        document_(JsonDocument::load(joinPath(folder, kScenarioFile))),
        events_(joinPath(folder_, kEventsFile)) {
    if (turnsFd) turns_.emplace(*turnsFd);
  }

  int run() {
    const Json& scenario = document_.root();
    Json script = {"begin", "train", "files", "end completed"};
    const char* key = rank_ == 0 ? "script" : "others";
    if (scenario.contains("fault") && scenario["fault"].contains(key)) script = scenario["fault"][key];
    for (const Json& words : script) act(words.get<std::string>());
    return exitCode_;
  }

 private:
  void act(const std::string& words) {
    const std::size_t space = words.find(' ');
    const std::string verb = words.substr(0, space), rest = space == std::string::npos ? "" : words.substr(space + 1);
    const auto action = actions().find(verb);
    if (action == actions().end()) throwBadInput("script", "no action \"" + verb + "\"");
    action->second(*this, rest);
  }

  static const std::map<std::string, std::function<void(FakeRun&, const std::string&)>>& actions() {
    static const std::map<std::string, std::function<void(FakeRun&, const std::string&)>> table = {
        {"begin", [](FakeRun& run, const std::string& schema) { run.begin(schema); }},
        {"train", [](FakeRun& run, const std::string&) { run.train(); }},
        {"files", [](FakeRun& run, const std::string&) { run.metrics(), run.digests(), run.memory(), run.trace(""); }},
        {"metrics", [](FakeRun& run, const std::string& schema) { run.metrics(schema); }},
        {"digests", [](FakeRun& run, const std::string&) { run.digests(); }},
        {"memory", [](FakeRun& run, const std::string&) { run.memory(); }},
        {"trace", [](FakeRun& run, const std::string& flaw) { run.trace(flaw); }},
        {"loss", [](FakeRun& run, const std::string& loss) { run.loss_ = std::stod(loss); }},
        {"steps", [](FakeRun& run, const std::string& steps) { run.steps_ = std::stoi(steps); }},
        {"seconds", [](FakeRun& run, const std::string& seconds) { run.seconds_ = std::stod(seconds); }},
        {"tokens", [](FakeRun& run, const std::string& tokens) { run.tokens_ = std::stoi(tokens); }},
        {"exception", [](FakeRun& run, const std::string& what) { run.exception(what); }},
        {"lost", [](FakeRun& run, const std::string& rank) { run.exception("lost", std::stoi(rank)); }},
        {"mark",
         [](FakeRun& run, const std::string& point) {
           run.write("drafter[0]", 1, "", SyncMark{point, 1});
         }},
        {"pause",
         [](FakeRun&, const std::string& milliseconds) {
           ::usleep(1000u * static_cast<unsigned>(std::stoi(milliseconds)));
         }},
        {"stop", [](FakeRun&, const std::string&) { ::raise(SIGSTOP); }},
        {"end", [](FakeRun& run, const std::string& outcome) { run.end(outcome); }},
        {"exit", [](FakeRun&, const std::string& code) { ::_exit(std::stoi(code)); }},
        {"signal", [](FakeRun&, const std::string& number) { signal(std::stoi(number)); }},
        {"say", [](FakeRun&, const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }},
        {"spam", [](FakeRun&, const std::string& mebibytes) { spam(std::stoi(mebibytes)); }},
        {"answer", [](FakeRun&, const std::string& role) { answerStackRequests(role); }},
        {"hang", [](FakeRun&, const std::string&) { hang(); }},
        {"ignore", [](FakeRun&, const std::string& number) { ::signal(std::stoi(number), SIG_IGN); }},
        {"babble", [](FakeRun& run, const std::string&) { run.forever(DriverCall{}); }},
        {"march",
         [](FakeRun& run, const std::string&) {
           run.forever(SyncMark{"step_begin", 0});
         }},
        {"torn", [](FakeRun& run, const std::string&) { run.raw("{\"seq\":"); }},
        {"gap",
         [](FakeRun& run, const std::string&) {
           run.raw("{\"seq\":99,\"ns\":0,\"thread\":1,\"type\":\"sync\",\"point\":\"p\",\"object\":0}\n");
         }},
        {"grandchild", [](FakeRun&, const std::string&) { grandchild(); }},
        {"close", [](FakeRun&, const std::string&) { ::close(STDOUT_FILENO), ::close(STDERR_FILENO); }},
    };
    return table;
  }

  void begin(const std::string& schema) {
    RunBegin begin;
    if (!schema.empty() && schema != "untraced") begin.schema = schema;
    begin.scenario = document_.root().value("name", "fake");
    begin.pid = ::getpid();
    begin.backend = "sim";
    begin.traced = schema != "untraced";
    events_.write({}, begin);
    write("drafter[0]", -1, "", RoleBegin{6});
    write("drafter[1]", -1, "", RoleBegin{7});
    steps_ = document_.root().contains("training") ? document_.root()["training"].value("steps", 3) : 3;
  }

  void write(const std::string& role, std::int64_t step, const std::string& phase, EventBody body) {
    EventHead head;
    head.role = role;
    head.step = step;
    head.phase = phase;
    events_.write(head, std::move(body));
  }

  void train() {
    for (int step = 0; step < steps_; ++step) {
      if (turns_) {
        turns_->enter(step, [] {});
        std::ofstream(joinPath(folder_, "../turns.txt"), std::ios::app) << folder_.back();  // beside the other's run
      }
      write("drafter[0]", step, "drafter_forward", SyncMark{"step_begin", step});
      write("drafter[0]", step, "loss", StepDone{loss_, 0});
      if (turns_) turns_->done(step);
    }
  }

  void exception(const std::string& what, std::optional<int> lost = std::nullopt) {
    ExceptionSeen seen;
    seen.rank = lost;
    seen.what = what;
    seen.exception = "std::runtime_error";
    write("drafter[1]", 1, "drafter_forward", seen);
  }

  void end(const std::string& outcome) {
    events_.write({}, RunEnd{outcome, steps_});
    exitCode_ = outcome == "completed" ? 0 : 1;
  }

  void metrics(const std::string& schema = "") {
    LineWriter lines(joinPath(folder_, kMetricsFile));
    lines.append(oneLine(Json{{"schema", schema.empty() ? "redraft.metrics/1" : schema},
                              {"scenario", document_.root().value("name", "fake")},
                              {"numerics_class",
                               {{"isa", variable("ATEN_CPU_CAPABILITY")},
                                {"threads", variable("OMP_NUM_THREADS")},
                                {"libtorch", "none"},
                                {"device", "fake"}}}}));
    for (int step = 0; step < steps_; ++step) {
      Json line = {{"step", step}};
      for (const char* name : {"loss", "accuracy", "prefix_acceptance", "grad_norm", "learning_rate"})
        line[name] = toHexFloat(loss_);
      line["tokens"] = tokens_;
      line["seconds"] = seconds_;
      line["parameters_hash"] = hashText(toHexFloat(loss_));
      line["roles"] = Json::object();
      lines.append(oneLine(line));
    }
  }

  void digests() const {
    const double value[1] = {loss_};
    const float sketch[16] = {static_cast<float>(loss_)};
    const unsigned char hash[16] = {1};
    std::vector<NamedTensor> tensors;
    const auto add = [&](int step, const char* name, Dtype dtype, std::vector<std::int64_t> shape, const void* data,
                         std::size_t bytes) {
      tensors.push_back({"step." + std::to_string(step) + ".grad." + name,
                         {dtype, std::move(shape), static_cast<const std::byte*>(data), bytes}});
    };
    for (int step = 0; step < steps_; ++step) {
      add(step, "l2", Dtype::kF64, {1}, value, sizeof value);
      add(step, "max", Dtype::kF64, {1}, value, sizeof value);
      add(step, "hash", Dtype::kU8, {1, 16}, hash, sizeof hash);
      add(step, "sketch", Dtype::kF32, {1, 16}, sketch, sizeof sketch);
    }
    writeSafetensors(joinPath(folder_, "digests.bin"), tensors,
                     {{"schema", "redraft.digests/1"}, {"parameters", "[\"w\"]"}});
  }

  void memory() const {
    golden::MemoryReport report;
    report.devices = {{6, 0, 1024, 0, 1}};
    writeFileAtomically(joinPath(folder_, kMemoryFile), pretty(recordToJson(report)));
  }

  /// Of drafter[0].
  int device() const {
    const Json::json_pointer place("/topology/roles/drafter/0");
    return document_.root().contains(place) ? document_.root()[place].get<int>() : 6;
  }

  /// A launch a step; with a flaw, its last one: "wait" waits for its device, "device" runs on 5, "launch" has lost its
  /// kernel. "lost" says that records were lost, "broken" is no trace.
  void trace(const std::string& flaw) const {
    makeDirectories(joinPath(folder_, kTraceFolder));
    if (flaw == "broken") return writeFileAtomically(joinPath(folder_, "trace/run.rdtrace"), "no trace");
    Trace trace;
    TraceFile& file = trace.files.emplace_back();
    file.path = "driver log";
    file.capture = {"sim", ::getpid(), flaw == "lost" ? 3 : 0, {"context"}, {}};
    for (int step = 0; step < steps_; ++step) addLaunch(trace, step, step + 1 == steps_ ? flaw : "");
    for (TraceRecord& record : trace.records)
      record.place = record.index = static_cast<std::uint32_t>(&record - trace.records.data());
    file.events = trace.records.size();
    writeTraceFolder(trace, joinPath(folder_, kTraceFolder));
  }

  void addLaunch(Trace& trace, int step, const std::string& flaw) const {
    TraceRecord call;
    call.kind = RecordKind::kApi;
    call.startNs = 1000 * (step + 1);
    call.durationNs = 1;
    call.correlation = step;
    call.thread = 61;
    call.step = step;
    call.role = trace.strings.intern("drafter[0]");
    call.name = trace.strings.intern("cuLaunchKernel");
    trace.records.push_back(call);
    TraceRecord kernel = call;
    kernel.kind = RecordKind::kKernel;
    kernel.name = trace.strings.intern("attention");
    kernel.device = flaw == "device" ? 5 : device();
    kernel.context = 1;
    kernel.stream = 7;
    call.name = trace.strings.intern("cuCtxSynchronize");
    call.correlation = 1000;
    if (flaw == "wait") trace.records.push_back(call);
    if (flaw != "launch") trace.records.push_back(kernel);
  }

  void raw(const std::string& bytes) const {
    std::FILE* file = std::fopen(joinPath(folder_, kEventsFile).c_str(), "ab");
    REDRAFT_CHECK(file != nullptr && std::fputs(bytes.c_str(), file) >= 0, "the event log cannot be written");
    std::fclose(file);
  }

  template <class Body>
  [[noreturn]] void forever(const Body& body) {
    for (;;) write("drafter[0]", 0, "backward", body);
  }

  /// Ends by `number`, also where a sanitizer has a handler of its own for it.
  static void signal(int number) {
    ::signal(number, SIG_DFL);
    ::raise(number);
  }

  [[noreturn]] static void hang() {
    for (;;) ::pause();
  }

  /// As a role's thread of the real runner: bears its name, and says at SIGUSR1 where it is.
  static void answerStackRequests(const std::string& role) {
    ::pthread_setname_np(::pthread_self(), role.c_str());
    ::signal(SIGUSR1, [](int) {
      constexpr char kStack[] = "redraft: info: stack of thread drafter[0] (1), innermost first:\nwaitForever()\n";
      [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, kStack, sizeof kStack - 1);
    });
  }

  static void spam(int mebibytes) {
    const std::string block(1u << 20, 'x');
    for (int i = 0; i < mebibytes; ++i) std::fwrite(block.data(), 1, block.size(), stderr);
    std::fputs("\nthe last words\n", stderr);
  }

  /// Keeps the output open, and outlives this process unless its group is ended.
  static void grandchild() {
    const pid_t pid = ::fork();
    if (pid == 0) hang();
    std::fprintf(stderr, "grandchild %d\n", static_cast<int>(pid));
  }

  int rank_;
  std::string folder_;
  JsonDocument document_;
  EventWriter events_;
  std::optional<TurnGate> turns_;
  double loss_ = 2.5;
  double seconds_ = 0.01;  // a step
  int tokens_ = 128;       // a step
  int steps_ = 0;
  int exitCode_ = 0;
};

}  // namespace
}  // namespace redraft::harness

int main(int argc, char** argv) {
  if (argc < 3 || std::string(argv[1]) != "run") return 2;
  std::optional<int> turnsFd;
  for (int i = 3; i < argc; ++i) {
    std::fprintf(stderr, "option %s\n", argv[i]);  // for tests of what was passed on
    if (std::string(argv[i]) == "--turns" && i + 1 < argc) turnsFd = std::stoi(argv[i + 1]);
  }
  try {
    return redraft::harness::FakeRun(argv[2], turnsFd).run();
  } catch (const redraft::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == redraft::ErrorKind::kBadInput ? 2 : 3;
  }
}
