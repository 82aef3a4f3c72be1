#include "model/module_scope.h"

#include <array>
#include <cstddef>

#include "base/error.h"

namespace redraft::model {
namespace {

struct Mark {
  const char* name = nullptr;
  std::int64_t number = -1;
};

constexpr std::size_t kDeepest = 8;

struct Marks {
  std::array<Mark, kDeepest> open;
  std::size_t count = 0;
};

thread_local Marks marks;

}  // namespace

ModuleScope::ModuleScope(const char* name, std::int64_t number) {
  REDRAFT_CHECK(marks.count < kDeepest, "modules nest no deeper");
  marks.open[marks.count++] = {name, number};
}

ModuleScope::~ModuleScope() { --marks.count; }

std::string currentModule() {
  std::string text;
  for (std::size_t i = 0; i < marks.count; ++i) {
    if (!text.empty()) text += '.';
    text += marks.open[i].name;
    if (marks.open[i].number >= 0) text += "." + std::to_string(marks.open[i].number);
  }
  return text;
}

}  // namespace redraft::model
