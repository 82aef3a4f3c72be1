#include <sys/statvfs.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/pinned_environment.h"
#include "base/record.h"
#include "devices/cuda_loader.h"
#include "devices/nvrtc.h"
#include "golden/golden.h"
#include "harness/child_process.h"
#include "harness/probe/cupti_loader.h"
#include "reports/layout.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"

namespace redraft::scenarios {
namespace {

constexpr std::chrono::seconds kAboutLimit{30};
constexpr std::uint64_t kSpaceWanted = std::uint64_t{2} << 30;

/// One row: what was looked at, what was seen, and what to do where it is missing.
struct Diagnosis {
  std::string what;
  bool ok = false;
  bool needed = true;  // without it the suite cannot run
  std::string seen, remedy;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("what", what);
    visit("ok", ok);
    visit("needed", needed);
    visit("seen", seen);
    visit("remedy", remedy);
  }
};

/// `said`: "redraft: error: MESSAGE\n  remedy: REMEDY\n".
[[noreturn]] void throwRefusal(const std::string& ended, const std::string& said) {
  constexpr std::string_view kPrefix = "redraft: error: ", kRemedy = "\n  remedy: ";
  if (!said.starts_with(kPrefix)) throw Error(ErrorKind::kEnvironment, "", ended + said);
  const std::size_t remedy = std::min(said.find(kRemedy), said.size());
  const std::string rest = said.substr(std::min(remedy + kRemedy.size(), said.size()));
  throw Error(ErrorKind::kEnvironment, "", said.substr(kPrefix.size(), remedy - kPrefix.size()),
              rest.substr(0, rest.find('\n')));
}

/// One JSON document that the runner prints. What it says when it fails is Error(kEnvironment), its remedy apart.
template <class Answer>
Answer askRunner(const std::string& runner, const std::string& command) {
  harness::ChildProcess child({{runner, command}, pinnedEnvironment(), false});
  std::string output;
  const auto until = std::chrono::steady_clock::now() + kAboutLimit;
  while (!child.ended()) {
    if (std::chrono::steady_clock::now() > until)
      throw Error(ErrorKind::kEnvironment, runner, "does not answer within 30 s");
    child.wait(std::chrono::milliseconds(50), -1, output);
  }
  child.drain(output);
  if (!child.ended()->clean()) throwRefusal(child.ended()->text() + ": ", output);
  return recordFromJson<Answer>(JsonDocument::parse(output, runner).root(), runner);
}

class DoctorCommand : public Command {
 public:
  const char* name() const override { return "doctor"; }
  const char* help() const override { return "Say what this machine can run, and what to do where it cannot"; }
  void declare(CLI::App& app) override {
    app.add_flag("--json", json_, "one JSON document on standard output");
    places_.declareScenarios(app);
    places_.declareGoldens(app);
    places_.declareRunner(app);
  }

  int run() override {
    std::vector<Diagnosis> rows;
    rows.push_back(look("scenarios", true, [&] {
      return std::to_string(places_.loadScenarios().size()) + " in " +
             findScenarios(places_.scenarios, std::filesystem::current_path().string());
    }));
    rows.push_back(look("runner", true, [&] { return runner(); }));
    rows.push_back(look("goldens", false, [&] { return goldens(); }));
    rows.push_back(look("processor", true, [] { return processor(); }));
    rows.push_back(look("disk", true, [] { return disk(); }));
    rows.push_back(look("cuda driver", false, [] { return driver(); }));
    rows.push_back(look("cuda capture", false, [] { return "CUPTI " + harness::cuptiVersion(); }));
    rows.push_back(look("cuda compiler", false, [] { return nvrtc(); }));
    rows.push_back(look("cuda libtorch", false, [&] { return torchCuda(); }));
    rows.push_back(look("gdb", false, [] { return debugger(); }));
    print(rows);
    for (const Diagnosis& row : rows)
      if (row.needed && !row.ok) return kExitEnvironment;
    return kExitAsExpected;
  }

 private:
  static Diagnosis look(const char* what, bool needed, const std::function<std::string()>& see) {
    Diagnosis row{what, true, needed, "", ""};
    try {
      row.seen = see();
    } catch (const Error& error) {
      row.ok = false;
      row.seen = error.place().empty() ? error.message() : error.place() + ": " + error.message();
      row.remedy = error.remedy();
    }
    return row;
  }

  std::string runner() const {
    const std::string path = harness::findRunner(places_.runner);
    const golden::RunnerAbout about = askRunner<golden::RunnerAbout>(path, "about");
    std::vector<std::string> fields;
    for (const auto& [key, value] : about.numericsClass) fields.push_back(key + " " + value);
    return path + " (commit " + about.commit + "; " + join(fields, ", ") + ")";
  }

  std::string goldens() const {
    std::string root = places_.goldensOrEmpty();
    if (root.empty())
      throw Error(ErrorKind::kEnvironment, "", "no folder golden/data here or above",
                  "name one by --goldens DIR; without goldens cases are INCOMPARABLE");
    return root;
  }

  static std::string processor() {
    if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0)
      throw Error(ErrorKind::kEnvironment, "", "no AVX2 with FMA", "use an x86-64 processor that has them");
    return std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) + " cores, AVX2 and FMA";
  }

  static std::string disk() {
    struct statvfs info {};
    if (::statvfs(".", &info) != 0) throw Error(ErrorKind::kEnvironment, ".", "cannot be looked at");
    const std::uint64_t bytes = std::uint64_t{info.f_bavail} * info.f_frsize;
    std::string text = reports::formatBytes(static_cast<std::int64_t>(bytes)) + " free here";
    if (bytes < kSpaceWanted) throw Error(ErrorKind::kEnvironment, "", text, "free 2 GiB, or name another --out");
    return text;
  }

  static std::string driver() {
    const int count = devices::loadCudaDriver({})->deviceCount();
    return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
  }

  static std::string nvrtc() {
    const devices::Nvrtc& nvrtc = devices::Nvrtc::open();
    std::vector<std::string> names;
    for (const int architecture : nvrtc.architectures()) names.push_back("sm_" + std::to_string(architecture));
    return "version " + nvrtc.version() + ", compiles for " + join(names, ", ");
  }

  std::string torchCuda() const {
    const auto gpus = askRunner<golden::RunnerGpus>(harness::findRunner(places_.runner), "gpus");
    std::string text = "CUDA " + gpus.runtime + ", cuDNN " + gpus.cudnn + ", NCCL " + gpus.nccl;
    for (const golden::GpuSeen& gpu : gpus.devices)
      text += "; " + gpu.name + " (sm_" + std::to_string(gpu.architecture) + ", " +
              std::to_string(gpu.multiprocessors) + " SMs, " + reports::formatBytes(gpu.bytes) + ")";
    return text;
  }

  static std::string debugger() {
    for (const char* path : {"/usr/bin/gdb", "/usr/local/bin/gdb"})
      if (::access(path, X_OK) == 0) return path;
    throw Error(ErrorKind::kEnvironment, "", "none", "install gdb for `redraft replay --debugger`");
  }

  void print(const std::vector<Diagnosis>& rows) const {
    if (json_) {
      Json list = Json::array();
      for (const Diagnosis& row : rows) list.push_back(recordToJson(row));
      printOut(pretty(Json{{"schema", "redraft.doctor/1"}, {"rows", list}}));
      return;
    }
    std::vector<std::vector<std::string>> table;
    for (const Diagnosis& row : rows) {
      table.push_back({row.ok ? "ok" : row.needed ? "MISSING" : "none", row.what, row.seen});
      if (!row.remedy.empty()) table.push_back({"", "", "remedy: " + row.remedy});
    }
    for (const std::string& line : reports::alignColumns(table, "  ", {})) printOut(line + "\n");
  }

  Places places_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace redraft::scenarios
