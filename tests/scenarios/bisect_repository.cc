#include "tests/scenarios/bisect_repository.h"

#include "base/error.h"

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
commit=$(git describe --always --abbrev=12 --dirty --exclude='*')
case $(cat how) in
  fails) echo "error: this commit does not build"; exit 1 ;;
  stale) exit 0 ;;
  slow) echo started >>"$MARKER"; sleep 60 ;;
esac
sed "s/@COMMIT@/$commit/" program.sh >build/bin/redraft
chmod +x build/bin/redraft
)sh";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  return text;
}

}  // namespace

BisectRepository::BisectRepository(const std::vector<BisectCommit>& commits, const BisectFlakes& flakes)
    : path_(folder_.file("repository")) {
  REDRAFT_CHECK(commits.size() == kCommits, "as many as the tests name");
  const BisectCommit &first = commits.front(), &last = commits.back();
  makeDirectories(path_);
  git("init --quiet --initial-branch=main");
  writeFileAtomically(path_ + "/.gitignore", "/build/\n");
  writeFileAtomically(path_ + "/build.sh", kBuildScript);
  for (int i = 0; i < kCommits; ++i) {
    const BisectCommit& made = commits[static_cast<std::size_t>(i)];
    const bool isGood = made.speed == first.speed && made.finding == first.finding;
    const BisectCommit& other = isGood ? last : first;
    std::string program = kProgram;
    const auto set = [&](const char* name, const std::string& value) { program = replaced(program, name, value); };
    set("@SPEED@", std::to_string(static_cast<int>(made.speed)));
    set("@OTHER_SPEED@", std::to_string(static_cast<int>(other.speed)));
    set("@FINDING@", made.finding);
    set("@OTHER_FINDING@", other.finding);
    set("@DYING@", std::to_string(flakes.dying));
    set("@MISLEADING@", std::to_string(flakes.misleading));
    writeFileAtomically(path_ + "/program.sh", program);
    commit(i, made);
  }
  writeFileAtomically(path_ + "/build.sh", "an edit that is not committed\n");
}

void BisectRepository::commit(int number, const BisectCommit& made) {
  writeFileAtomically(path_ + "/how", made.build + "\n");
  writeFileAtomically(path_ + "/number", std::to_string(number) + "\n");
  git("add --all");
  const std::string date = "2026-01-01T00:00:" + std::string(number < 10 ? "0" : "") + std::to_string(number) + "Z";
  git("-c user.name=n -c user.email=e@example.org -c commit.gpgsign=false commit --quiet --date=" + date +
      " --message='Change number " + std::to_string(number) + "'");
  hashes_.push_back(git("rev-parse HEAD"));
}

std::string BisectRepository::git(const std::string& arguments) const {
  const auto output =
      testing_support::outputOf("cd " + path_ + " && GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git " + arguments);
  REDRAFT_CHECK(output.status == 0, arguments + ": " + output.text);
  return output.text.substr(0, output.text.find('\n'));
}

std::string BisectRepository::snapshot() const {
  return testing_support::outputOf("cd " + path_ +
                                   " && find . -type f -o -type l | sort | xargs sha1sum && "
                                   "find . -type d | sort && git --no-optional-locks status --porcelain --branch")
      .text;
}

}  // namespace redraft::scenarios
