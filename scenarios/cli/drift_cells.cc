#include "scenarios/cli/drift_cells.h"

#include <algorithm>
#include <filesystem>

#include "base/characters.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/pinned_environment.h"
#include "base/record_file.h"
#include "base/text.h"
#include "golden/run_files.h"
#include "harness/bisect/command.h"
#include "harness/run_folder.h"
#include "harness/suite_folder.h"

namespace redraft::scenarios {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxReport = 64u << 20;
constexpr int kMostThreads = 256;  // as `redraft run --threads`

const std::pair<const char*, const char*> kCapabilities[] = {  // --isa, and what LibTorch calls it
    {"avx2", "AVX2"},
    {"default", "DEFAULT"},
    {"avx512", "AVX512"}};

/// "" where there is none.
std::string programIn(const std::string& build) {
  for (const char* inside : {"", "bin/redraft", "build/bin/redraft"}) {
    const fs::path path = *inside == '\0' ? fs::path(build) : fs::path(build) / inside;
    if (fs::is_regular_file(path)) return fs::absolute(path).string();
  }
  return "";
}

/// Of a run's environment.json.
DriftEnvironment storedEnvironment(const std::string& path) {
  const std::string file = fs::is_directory(path) ? joinPath(path, harness::kEnvironmentFile) : path;
  const auto report = loadRecordFile<golden::EnvironmentReport>(file, golden::kEnvironmentSchema);
  const auto variable = [&](const char* name) {
    const auto found = report.variables.find(name);
    return found == report.variables.end() ? std::string() : found->second;
  };
  DriftEnvironment environment;
  environment.name = path;
  environment.isa = variable("ATEN_CPU_CAPABILITY");
  environment.threads = variable("OMP_NUM_THREADS");
  const auto known = [&](const auto& each) { return environment.isa == each.first; };
  const bool number = environment.threads.size() <= 3 && isDigits(environment.threads);
  if (std::none_of(std::begin(kCapabilities), std::end(kCapabilities), known) || !number)
    throwBadInput(file, "does not say which instruction set and how many threads were pinned",
                  "write isa=…,threads=… in its place");
  for (const auto& [name, value] : pinnedEnvironment({std::stoi(environment.threads), environment.isa}))
    if (variable(name.c_str()) != value)
      environment.problem =
          name + " was \"" + printable(variable(name.c_str())) + "\" there, and is pinned to \"" + value + "\" now";
  return environment;
}

/// What a program that failed said was wrong, with its remedy; else the last line that says anything.
std::string lastWords(const std::string& output) {
  const std::vector<std::string> lines = split(output, '\n');
  const std::string error = "redraft: error: ", remedy = "  remedy: ";
  std::string last;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with(error)) {
      const bool more = i + 1 < lines.size() && lines[i + 1].starts_with(remedy);
      return printable(lines[i].substr(error.size()) + (more ? "; " + lines[i + 1].substr(remedy.size()) : ""));
    }
    if (!isBlank(lines[i])) last = lines[i];
  }
  return printable(last);
}

bool isThreadCount(const std::string& text) {
  return isDigits(text) && text.size() <= 3 && std::stoi(text) >= 1 && std::stoi(text) <= kMostThreads;
}

std::vector<std::string> commandOf(const std::string& program, const DriftEnvironment& environment,
                                   const std::string& out, const DriftPlan& plan) {
  std::vector<std::string> command;
  if (!environment.libtorch.empty())
    command = {"/usr/bin/env", "LD_LIBRARY_PATH=" + joinPath(environment.libtorch, "lib")};
  command.insert(command.end(), {program, "run"});
  command.insert(command.end(), plan.run.begin(), plan.run.end());
  if (!environment.isa.empty()) command.insert(command.end(), {"--isa", environment.isa});
  if (!environment.threads.empty()) command.insert(command.end(), {"--threads", environment.threads});
  command.insert(command.end(), {"--jobs", "1", "--out", out});
  return command;
}

/// Is it in the environment that was asked for? What the class says counts, not what the build was told.
std::string wrongEnvironment(const golden::NumericsClass& seen, const DriftEnvironment& environment) {
  const auto field = [&](const char* name) {
    const auto found = seen.fields.find(name);
    return found == seen.fields.end() ? std::string("unknown") : found->second;
  };
  for (const auto& [isa, capability] : kCapabilities)
    if (environment.isa == isa && field("isa") != capability && field("isa") != isa && field("device") != "cuda")
      return "its instruction set was " + field("isa") + ", not " + capability;
  if (!environment.threads.empty() && field("threads") != environment.threads && field("device") != "cuda")
    return "it had " + field("threads") + " threads, not " + environment.threads;
  return "";
}

/// The one case of a run's report; throws std::exception when there is none that ran to its end.
golden::Record recordOf(const std::string& out, std::string& commit) {
  const std::string latest = joinPath(out, "latest");
  const Json report = Json::parse(readFile(joinPath(latest, "report.json"), kMaxReport));
  commit = report.at("commit").get<std::string>();
  if (report.at("cases").size() != 1)
    throwBadInput(out, "it ran " + std::to_string(report["cases"].size()) + " cases", "name one scenario");
  const Json& result = report["cases"][0];
  const std::string verdict = result.at("verdict").get<std::string>(), name = result.at("name").get<std::string>();
  golden::Record record;
  try {
    record = golden::loadRun(joinPath(latest, harness::caseFolderName(name)));
  } catch (const Error& error) {
    throwBadInput(name, "it is " + verdict + " and left no whole record: " + error.message());
  }
  const Json& findings = result.at("findings");
  const bool numbers = std::all_of(findings.begin(), findings.end(), [](const Json& each) {
    return each.at("id").get<std::string>().starts_with("numerics/");
  });
  const bool ran = verdict == "PASSED" || verdict == "INCOMPARABLE" || (verdict == "FAILED" && numbers);
  if (!ran) throwBadInput(name, "it is " + verdict, "the scenario has to run clean");
  return record;
}

}  // namespace

void requireProgram(const std::string& option, const std::string& build) {
  if (programIn(build).empty())
    throwBadInput(option, "there is no redraft at " + build, "name the program, or a folder with bin/redraft in it");
}

DriftEnvironment readDriftEnvironment(const std::string& text) {
  if (!text.empty() && fs::exists(text)) return storedEnvironment(text);
  DriftEnvironment environment;
  environment.name = text.empty() ? "the scenario's own environment" : text;
  for (const std::string& part : text.empty() ? std::vector<std::string>() : split(text, ',')) {
    const std::string key = part.substr(0, part.find('=')), value = part.substr(std::min(part.size(), key.size() + 1));
    const auto known = [&](const auto& each) { return value == each.first; };
    if (key == "isa" && std::any_of(std::begin(kCapabilities), std::end(kCapabilities), known))
      environment.isa = value;
    else if (key == "threads" && isThreadCount(value))
      environment.threads = value;
    else if (key == "libtorch" && fs::is_directory(value))
      environment.libtorch = fs::absolute(value).string();
    else
      throwBadInput("environment", "\"" + printable(part) + "\" is none, and no run's environment.json",
                    "write isa=avx2|default|avx512, threads=1…256, libtorch=FOLDER, with commas between");
  }
  return environment;
}

golden::DriftCell runCell(const std::string& build, const DriftEnvironment& environment, const std::string& tag,
                          const DriftPlan& plan) {
  golden::DriftCell cell{build, environment.name, "", environment.problem, true, std::nullopt};
  const std::string program = programIn(build);
  for (int i = 0; i < plan.repeats && cell.missing.empty(); ++i) {
    const std::string run = tag + "-" + std::to_string(i + 1), out = joinPath(plan.out, run);
    log(LogLevel::kInfo, run + ": " + build + ", " + environment.name);
    harness::CommandOptions options;
    options.limit = std::chrono::seconds(static_cast<std::int64_t>(plan.seconds));
    const harness::CommandResult ended = harness::runCommand(commandOf(program, environment, out, plan), options);
    if (ended.interrupted) {
      cell.missing = "interrupted";
    } else if (!fileExists(joinPath(out, "latest/report.json"))) {
      cell.missing = "it " + ended.text() + ": " + lastWords(ended.output);
    } else {
      try {
        golden::Record record = recordOf(out, cell.commit);
        cell.missing = wrongEnvironment(record.numericsClass, environment);
        if (cell.record && golden::compareNumerics(*cell.record, record).outcome != golden::Outcome::kEqual)
          cell.steady = false;
        if (!cell.record) cell.record = std::move(record);
      } catch (const std::exception& error) {
        cell.missing = lastWords(error.what());
      }
    }
  }
  if (!cell.missing.empty()) cell.record.reset();
  return cell;
}

golden::DriftCell storedCell(const std::string& path, const std::string& code, const DriftEnvironment& environment) {
  golden::DriftCell cell{code, environment.name, "", "", true, std::nullopt};
  golden::Record record = golden::loadRecord(path);
  if (record.steps.empty()) throwBadInput(path, "holds no numbers", "name a run folder or a numerics golden");
  cell.missing = wrongEnvironment(record.numericsClass, environment);
  if (!cell.missing.empty()) cell.missing = path + ": " + cell.missing;
  if (cell.missing.empty()) cell.record = std::move(record);
  return cell;
}

}  // namespace redraft::scenarios
