#include "scenarios/spec/store.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "scenarios/spec/field_reader.h"
#include "scenarios/spec/scenario_file.h"

namespace redraft::scenarios {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".json";

std::string filesFolder(const std::string& root) { return joinPath(root, "files"); }

std::vector<std::string> scenarioNames(const std::string& root) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator files(filesFolder(root), error);
  if (error) throwBadInput(filesFolder(root), error.message(), "name a folder that holds files/ by --scenarios");
  for (const fs::directory_entry& entry : files) {
    if (entry.path().extension() != kExtension || !entry.is_regular_file()) continue;
    std::string name = entry.path().lexically_relative(filesFolder(root)).replace_extension().generic_string();
    if (!isScenarioName(name))
      throwBadInput(entry.path().string(), "not a name for a scenario", "use lower-case letters, digits, '-' and '_'");
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A file and what it extends, nearest first.
std::vector<ScenarioFile> loadChain(const std::string& root, const std::string& name) {
  std::vector<ScenarioFile> chain;
  std::string next = name;
  std::string way;
  do {
    way += (way.empty() ? "" : " → ") + next;
    const auto isNext = [&](const ScenarioFile& file) { return file.name == next; };
    const bool cycle = std::any_of(chain.begin(), chain.end(), isNext);
    if (cycle || chain.size() == kMaxExtendsDepth)
      throwBadInput(chain.back().document.name(), (cycle ? "extends itself: " : "extends too many others: ") + way,
                    cycle ? "break the circle" : "at most " + std::to_string(kMaxExtendsDepth) + " files in a chain");
    const std::string path = joinPath(filesFolder(root), next + kExtension);
    if (!chain.empty() && !fileExists(path)) {
      const std::string near = nearest(next, scenarioNames(root));
      throwBadInput(chain.back().document.name(), "extends \"" + printable(next) + "\", which is not there",
                    near.empty() ? "name another scenario" : "did you mean \"" + near + "\"?");
    }
    chain.push_back(loadScenarioFile(path, next));
    next = chain.back().keys.extends;
  } while (!next.empty());
  return chain;
}

struct Variant {
  std::string suffix;  // "[topology.peer=off]"
  Json json;
};

std::string matrixText(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<Variant> expandMatrix(const ScenarioFile& file, const Json& merged) {
  std::vector<Variant> variants = {{"", merged}};
  for (const auto& [path, values] : file.matrix) {
    if (variants.size() * values.size() > kMaxMatrix)
      throwBadInput(file.document.name() + ":" + std::to_string(file.document.line("/matrix")),
                    "the matrix has more than " + std::to_string(kMaxMatrix) + " combinations", "take values away");
    std::vector<Variant> next;
    for (const Variant& variant : variants) {
      for (const Json& value : values) {
        next.push_back(
            {variant.suffix + (variant.suffix.empty() ? "" : ",") + path + "=" + matrixText(value), variant.json});
        setAtPath(next.back().json, path, value);
      }
    }
    variants = std::move(next);
  }
  for (Variant& variant : variants)
    if (!variant.suffix.empty()) variant.suffix = "[" + variant.suffix + "]";
  return variants;
}

/// `golden` is a name or absent afterwards.
void resolveGolden(Json& json, const std::string& name) {
  const bool byDefault = !json.contains("fault");
  const Json golden = json.contains("golden") ? json["golden"] : Json(byDefault);
  if (golden.is_boolean()) json["golden"] = golden.get<bool>() ? Json(name) : Json(false);
}

Json twinOf(Json json, const std::string& name) {
  json.erase("fault");
  json.erase("expect");
  if (json.contains("golden") && json["golden"] == true) json.erase("golden");  // its own is another name
  json["description"] = name + " without its fault";
  return json;
}

std::string absolutePath(const std::string& root, const std::string& path) {
  const fs::path whole = (fs::absolute(root) / path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).string();  // without a slash at its end
}

Scenario readScenario(Json json, const std::string& name, const Provenance& provenance, const std::string& root) {
  resolveGolden(json, name);
  const JsonDocument document = JsonDocument::parse(json.dump(), name);
  JsonReader reader(document);
  FieldReader fields(reader);
  Scenario scenario;
  scenario.name = name;
  visitFields(fields, scenario);
  reader.finish();
  checkScenario(scenario, [&](const std::string& pointer) { return provenance.place(pointer); });
  for (std::string* path : {&scenario.data.path, &scenario.target.checkpoint})
    if (!path->empty()) *path = absolutePath(root, *path);
  return scenario;
}

}  // namespace

std::vector<StoredScenario> loadVariants(const std::string& root, const std::string& name) {
  const std::vector<ScenarioFile> chain = loadChain(root, name);
  const ScenarioFile& own = chain.front();
  if (own.keys.isAbstract) return {};
  Json merged = Json::object();
  std::vector<const ScenarioFile*> files;
  for (auto file = chain.rbegin(); file != chain.rend(); ++file) mergePatch(merged, file->own());
  for (const ScenarioFile& file : chain) files.push_back(&file);
  const Provenance provenance(files);

  std::vector<StoredScenario> scenarios;
  for (const Variant& variant : expandMatrix(own, merged)) {
    const std::string full = name + variant.suffix;
    const std::string file = own.document.name();
    scenarios.push_back({readScenario(variant.json, full, provenance, root), file, false, own.keys.inSuite});
    if (variant.json.contains("fault"))
      scenarios.push_back({readScenario(twinOf(variant.json, full), full + kTwinSuffix, provenance, root), file, true,
                           own.keys.inSuite});
  }
  return scenarios;
}

std::vector<StoredScenario> loadScenarios(const std::string& root) {
  std::vector<StoredScenario> all;
  std::vector<std::string> problems;
  for (const std::string& name : scenarioNames(root)) {
    try {
      for (StoredScenario& scenario : loadVariants(root, name)) all.push_back(std::move(scenario));
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  if (!problems.empty()) throwBadInput("", join(problems, "\n"));
  return all;
}

std::string findScenarios(const std::string& given, const std::string& start) {
  if (!given.empty()) {
    if (!fs::is_directory(filesFolder(given)))
      throwBadInput(given, "holds no folder files/", "name the folder that holds files/ and data/");
    return given;
  }
  std::error_code ignored;
  for (const fs::path& from : {fs::path(start), fs::read_symlink("/proc/self/exe", ignored)}) {
    for (fs::path folder = from; !folder.empty(); folder = folder.parent_path()) {
      if (fs::is_directory(folder / "scenarios" / "files")) return (folder / "scenarios").string();
      if (folder == folder.root_path()) break;
    }
  }
  throwBadInput(start, "no folder scenarios/files here, above, or above this program",
                "name the folder by --scenarios DIR");
}

const StoredScenario& findScenario(const std::vector<StoredScenario>& scenarios, const std::string& name) {
  std::vector<std::string> names;
  for (const StoredScenario& each : scenarios) {
    if (each.scenario.name == name) return each;
    names.push_back(each.scenario.name);
  }
  const std::string near = nearest(name, names);
  throwBadInput("", "no scenario \"" + printable(name) + "\"",
                near.empty() ? "see `redraft list`" : "did you mean \"" + near + "\"? see `redraft list`");
}

std::vector<DataLink> relocateData(Scenario& scenario) {
  std::vector<DataLink> links;
  const auto move = [&](std::string& path, const std::string& folder) {
    if (path.empty()) return;
    const std::string destination = joinPath(folder, fs::path(path).filename().string());
    links.push_back({path, destination});
    path = destination;
  };
  move(scenario.data.path, "data");
  move(scenario.target.checkpoint, "data/target");
  return links;
}

}  // namespace redraft::scenarios
