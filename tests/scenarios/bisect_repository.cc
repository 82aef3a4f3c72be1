#include "tests/scenarios/bisect_repository.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace redraft::scenarios {
namespace {

/// What a run does is a hash of the commit and the number of the run: the same every time.
constexpr const char* kProgram = R"sh(#!/bin/sh
commit=@COMMIT@
if [ "$1" = --version ]; then echo "redraft 0.1.0 (commit $commit)"; exit 0; fi
while [ $# -gt 0 ]; do
  if [ "$1" = --out ]; then out=$2; fi
  shift
done
mkdir -p "$out/one"
echo x >>"$out/count"
number=$(wc -l <"$out/count")
hash=$(printf '%s-%s' "$commit" "$number" | cksum | cut -d' ' -f1)
noise=$((hash / 100 % 41 - 20)) chance=$((hash % 100))
if [ $chance -lt @DYING@ ]; then exit 134; fi
speed=@SPEED@ finding=@FINDING@
if [ $chance -lt $((@DYING@ + @MISLEADING@)) ]; then speed=@OTHER_SPEED@ finding=@OTHER_FINDING@; fi
verdict=PASSED expected=true findings=
if [ -n "$finding" ]; then verdict=FAILED expected=false findings="{\"id\": \"$finding\"}"; fi
cat >"$out/one/report.json" <<END
{"schema": "redraft.report/1", "commit": "$commit", "cases": [{"name": "small", "verdict": "$verdict",
 "as_expected": $expected, "findings": [$findings], "a key of another age": 1,
 "figures": {"tokens_per_second": {"all": $((speed * (1000 + noise) / 1000))}}}]}
END
ln -sfn one "$out/latest"
)sh";

constexpr const char* kBuildScript = R"sh(set -e
mkdir -p build/bin
rm -f build/bin/redraft-runner
commit=$(git describe --always --abbrev=12 --dirty --exclude='*')
case $(cat how) in
  fails) echo "error: this commit does not build"; exit 1 ;;
  stale) exit 0 ;;
  dirty) echo edited >>number; commit=$(git describe --always --abbrev=12 --dirty --exclude='*') ;;
  runner) printf '#!/bin/sh\necho "{\\"commit\\": \\"000000000000\\"}"\n' >build/bin/redraft-runner
    chmod +x build/bin/redraft-runner ;;
  slow) sleep 60 & echo $! >"${MARKER:-/dev/null}"; wait ;;
esac
sed "s/@COMMIT@/$commit/" program.sh >build/bin/redraft
chmod +x build/bin/redraft
)sh";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  return text;
}

std::string programOf(const BisectCommit& made, const BisectCommit& other, const BisectFlakes& flakes) {
  std::string program = kProgram;
  const auto set = [&](const char* name, const std::string& value) { program = replaced(program, name, value); };
  set("@SPEED@", std::to_string(static_cast<int>(made.speed)));
  set("@OTHER_SPEED@", std::to_string(static_cast<int>(other.speed)));
  set("@FINDING@", made.finding);
  set("@OTHER_FINDING@", other.finding);
  set("@DYING@", std::to_string(flakes.dying));
  set("@MISLEADING@", std::to_string(flakes.misleading));
  return program;
}

std::string dataOf(const std::string& text) { return "data " + std::to_string(text.size()) + "\n" + text + "\n"; }

/// A commit in the language of git fast-import: one process for all of them.
std::string commitOf(int number, const BisectCommit& made, const std::string& program) {
  const std::string text = std::to_string(number);
  std::string out = "commit refs/heads/main\ncommitter n <e@example.org> " + std::to_string(1767225600 + number) +
                    " +0000\n" + dataOf("Change number " + text);
  for (const auto& [name, content] : std::vector<std::pair<std::string, std::string>>{{".gitignore", "/build/\n"},
                                                                                      {"build.sh", kBuildScript},
                                                                                      {"program.sh", program},
                                                                                      {"how", made.build + "\n"},
                                                                                      {"number", text + "\n"}})
    out += "M 100644 inline " + name + "\n" + dataOf(content);
  return out;
}

}  // namespace

BisectRepository::BisectRepository(const std::vector<BisectCommit>& commits, const BisectFlakes& flakes)
    : path_(folder_.file("repository")) {
  REDRAFT_CHECK(commits.size() == kCommits, "as many as the tests name");
  const BisectCommit &first = commits.front(), &last = commits.back();
  makeDirectories(path_);
  git("init --quiet --initial-branch=main");
  std::string stream;
  for (int i = 0; i < kCommits; ++i) {
    const BisectCommit& made = commits[static_cast<std::size_t>(i)];
    const bool isGood = made.speed == first.speed && made.finding == first.finding;
    stream += commitOf(i, made, programOf(made, isGood ? last : first, flakes));
  }
  writeFileAtomically(file("stream"), stream);
  git("fast-import --quiet <" + file("stream"));
  git("reset --quiet --hard main");
  hashes_ = split(git("rev-list --reverse main"), '\n');
  writeFileAtomically(path_ + "/build.sh", "an edit that is not committed\n");
}

std::string BisectRepository::git(const std::string& arguments) const {
  const auto output = testing_support::outputOf("cd " + path_ + " && git " + arguments);
  REDRAFT_CHECK(output.status == 0, arguments + ": " + output.text);
  return output.text.substr(0, output.text.find_last_not_of('\n') + 1);
}

std::string BisectRepository::snapshot() const {
  return testing_support::outputOf("cd " + path_ +
                                   " && find . -type f -o -type l | sort | xargs sha1sum && "
                                   "find . -type d | sort && git --no-optional-locks status --porcelain --branch")
      .text;
}

}  // namespace redraft::scenarios
