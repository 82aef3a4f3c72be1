#include <sys/statvfs.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/pinned_environment.h"
#include "base/record.h"
#include "golden/golden.h"
#include "harness/child_process.h"
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

golden::RunnerAbout askRunner(const std::string& runner) {
  harness::ChildProcess child({{runner, "about"}, pinnedEnvironment(), false});
  std::string output;
  const auto until = std::chrono::steady_clock::now() + kAboutLimit;
  while (!child.ended()) {
    if (std::chrono::steady_clock::now() > until)
      throw Error(ErrorKind::kEnvironment, runner, "does not answer within 30 s");
    child.wait(std::chrono::milliseconds(50), -1, output);
  }
  child.drain(output);
  if (!child.ended()->clean()) throw Error(ErrorKind::kEnvironment, runner, child.ended()->text() + ": " + output);
  return recordFromJson<golden::RunnerAbout>(JsonDocument::parse(output, runner).root(), runner);
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
    rows.push_back(look("gpu", false, [] { return gpu(); }));
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
    const golden::RunnerAbout about = askRunner(path);
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

  static std::string gpu() {
    if (!std::filesystem::exists("/dev/nvidiactl"))
      throw Error(ErrorKind::kEnvironment, "", "none: scenarios run on simulated devices",
                  "nothing to do; the default suite needs none");
    return "an NVIDIA driver is there; this version runs scenarios on simulated devices";
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
