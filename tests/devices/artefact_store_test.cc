#include "devices/artefact_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "tests/support/temp_folder.h"

namespace redraft::devices {
namespace {

std::vector<std::byte> bytesOf(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

class ArtefactStoreTest : public ::testing::Test {
 protected:
  std::vector<std::byte> get(const std::string& key, const std::string& made) {
    return ArtefactStore(folder_).getOrMake(key, [&] {
      ++makes_;
      return bytesOf(made);
    });
  }

  const testing_support::TempFolder temp_;
  const std::string folder_ = temp_.path();
  int makes_ = 0;
};

TEST_F(ArtefactStoreTest, MakesAKeyOnceForAllProcessesToCome) {
  const std::string code("code\0with\nall bytes\xff", 20);
  EXPECT_EQ(get("a", code), bytesOf(code));
  EXPECT_EQ(get("a", "another"), bytesOf(code));
  EXPECT_EQ(get("b", ""), bytesOf(""));
  EXPECT_EQ(get("b", "another"), bytesOf(""));
  EXPECT_EQ(makes_, 2);
}

TEST_F(ArtefactStoreTest, MakesAFileAgainThatIsTornAlteredOrOfAnotherKey) {
  const std::string path = ArtefactStore(folder_).pathOf("key");
  get("key", "the code");
  const std::string whole = readFile(path);
  std::string altered = whole;
  altered.back() ^= 1;
  get("other", "other code");
  for (const std::string& damaged : {whole.substr(0, whole.size() - 1), whole.substr(0, 10), std::string(), altered,
                                     whole + "x", readFile(ArtefactStore(folder_).pathOf("other"))}) {
    writeFileAtomically(path, damaged);
    const int before = makes_;
    EXPECT_EQ(get("key", "the code"), bytesOf("the code"));
    EXPECT_EQ(makes_, before + 1);
    EXPECT_EQ(readFile(path), whole);
  }
}

TEST_F(ArtefactStoreTest, LeavesNothingOfAKeyThatCouldNotBeMade) {
  ArtefactStore store(folder_);
  EXPECT_THROW(store.getOrMake("key", []() -> std::vector<std::byte> { throwBadInput("source", "does not compile"); }),
               Error);
  EXPECT_FALSE(fileExists(store.pathOf("key")));
  EXPECT_EQ(get("key", "code"), bytesOf("code"));
}

TEST_F(ArtefactStoreTest, SaysWhereItCannotWrite) {
  writeFileAtomically(joinPath(folder_, "file"), "");
  ArtefactStore store(joinPath(folder_, "file/below"));
  try {
    store.getOrMake("key", [] { return bytesOf("code"); });
    FAIL() << "written below a file";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_NE(std::string(error.what()).find(folder_), std::string::npos) << error.what();
  }
}

/// Processes tell one another that they have come this far. A pipe: waiting for it takes no time that is not needed.
class Arrivals {
 public:
  Arrivals() { REDRAFT_CHECK(::pipe(ends_) == 0, "no pipe"); }
  ~Arrivals() { ::close(ends_[0]), ::close(ends_[1]); }
  void arrive() const { REDRAFT_CHECK(::write(ends_[1], "x", 1) == 1, "cannot say so"); }
  void await(int processes) const {
    ::alarm(60);  // ends this process where another never comes
    for (char byte = 0; processes > 0; --processes) REDRAFT_CHECK(::read(ends_[0], &byte, 1) == 1, "cannot wait");
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST_F(ArtefactStoreTest, ProcessesThatMeetMakeAKeyOnce) {
  const std::string marks = joinPath(folder_, "marks");
  const Arrivals arrivals;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      arrivals.arrive();
      const auto got = ArtefactStore(folder_).getOrMake("key", [&] {
        LineWriter(marks).append("made");
        arrivals.await(4);
        return bytesOf("code");
      });
      ::_exit(got == bytesOf("code") ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(readLines(marks).size(), 1u);
}

TEST_F(ArtefactStoreTest, ThreadsThatMeetMakeAKeyOnce) {
  std::atomic<int> makes{0};
  ArtefactStore store(folder_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto got = store.getOrMake("key", [&] {
        ++makes;
        return bytesOf("code");
      });
      EXPECT_EQ(got, bytesOf("code"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(makes, 1);
}

}  // namespace
}  // namespace redraft::devices
