#include "rtcg/loopy/tune/wisdom.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/tune/tune.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

class WisdomFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() /
             ("rtcg_wisdom_" + std::to_string(::getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                .string();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static Kernel twice(const std::string& name = "twice") {
    return make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]",
                       {.name = name, .default_type = cgen::f32});
  }
  static WisdomEntry entry(std::int64_t n, double us, const std::string& slicing) {
    const runtime::Device host = runtime::Device::host();
    return {kernel_key(twice()), host.identity(), host.info().target, {{"n", n}}, slicing, us};
  }

  std::string path_;
};

class Attack07Wisdom : public WisdomFile {};
class Attack11Wisdom : public WisdomFile {};

TEST_F(WisdomFile, RemembersWhatFitsBest) {
  const Wisdom wisdom(path_);
  const runtime::Device host = runtime::Device::host();
  EXPECT_EQ(wisdom.find(twice(), host, {{"n", 100}}), std::nullopt);
  wisdom.add(entry(100, 5, "i: g.0"));
  wisdom.add(entry(1000, 9, "i: g.0 l.0*32"));
  wisdom.add(entry(1000, 8, "i: g.0 l.0*64"));
  EXPECT_EQ(wisdom.find(twice(), host, {{"n", 90}})->decision, "i: g.0");
  EXPECT_EQ(wisdom.find(twice(), host, {{"n", 5000}})->decision, "i: g.0 l.0*64");
  EXPECT_EQ(wisdom.find_exact(twice(), host, {{"n", 5000}}), std::nullopt);
  EXPECT_EQ(wisdom.find_exact(twice("another name"), host, {{"n", 1000}})->microseconds, 8);
  EXPECT_EQ(wisdom.find(twice(), host, {{"m", 100}}), std::nullopt);
}

TEST_F(WisdomFile, SortsByNearness) {
  const Wisdom wisdom(path_);
  const runtime::Device host = runtime::Device::host();
  wisdom.add(entry(10000, 5, "i: g.0"));
  wisdom.add(entry(100, 5, "i: g.0 l.0*32"));
  wisdom.add(entry(1000, 5, "i: g.0 l.0*64"));
  wisdom.add(entry(900, 5, "words of another version"));
  wisdom.add(entry(1000, 4, "i: g.0 l.0*64"));
  ASSERT_EQ(wisdom.nearest(twice(), host, {{"n", 1000}}).size(), 5U);
  const std::vector<Slicing> seeds = seeds_of(wisdom, twice(), host, {{"n", 1100}});
  ASSERT_EQ(seeds.size(), 3U);
  EXPECT_EQ(to_string(seeds[0]), "i: g.0 l.0*64");
  EXPECT_EQ(to_string(seeds[1]), "i: g.0");
}

TEST_F(WisdomFile, FindsKernelsWithOtherNames) {
  const Wisdom wisdom(path_);
  const runtime::Device host = runtime::Device::host();
  wisdom.add(twice(), host, {{"n", 1000}}, parse_slicing("i: g.0 l.0*64"), 8);
  const Kernel other = make_kernel("{[place]: 0 <= place < size}", "y[place] = x[place]*2",
                                   {.default_type = cgen::f32});
  const auto found = wisdom.find_exact(other, host, {{"size", 1000}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->decision, "place: g.0 l.0*64");
  EXPECT_EQ(found->parameters, (IntegerValues{{"size", 1000}}));
  EXPECT_EQ(wisdom.find_exact(twice(), host, {{"n", 1000}})->decision, "i: g.0 l.0*64");
  EXPECT_EQ(wisdom.find(other, host, {{"size", 3000}})->decision, "place: g.0 l.0*64");
  const Kernel thrice =
      make_kernel("{[i]: 0 <= i < n}", "out[i] = 3*a[i]", {.default_type = cgen::f32});
  EXPECT_EQ(wisdom.find(thrice, host, {{"n", 1000}}), std::nullopt);
  // an order of axes is that of the kernel as it is written
  wisdom.add(twice(), host, {{"n", 1000}}, parse_slicing("i: g.0 l.0*32; layout a split 0 by 32"),
             7);
  EXPECT_EQ(wisdom.nearest(twice(), host, {{"n", 1000}}, {"a"}).size(), 2U);
  EXPECT_EQ(wisdom.nearest(other, host, {{"size", 1000}}, {"x"}).size(), 1U);
}

// The earlier one may have been timed when the machine had nothing else to do.
TEST_F(Attack07Wisdom, WisdomTakesTheLaterWinnerOfASize) {
  const Wisdom wisdom(path_);
  wisdom.add(entry(1000, 8, "i: g.0 l.0*64"));
  wisdom.add(entry(1000, 9, "i: g.0 l.0*32"));
  const auto found = wisdom.find_exact(twice(), runtime::Device::host(), {{"n", 1000}});
  EXPECT_EQ(found->decision, "i: g.0 l.0*32");
}

TEST_F(Attack11Wisdom, WisdomPassesOverWhatIsJsonButNotOurs) {
  const Wisdom wisdom(path_);
  std::ofstream stream(path_);
  for (
      const char* line :
      {R"({"schema": "1"})", R"({"schema": 1})", R"({"schema": 1.5})", R"({"schema": {}})", "[1]",
       R"({"schema":1,"kernel":1,"device":"","architecture":"","parameters":{},"slicing":"","us":1})",
       R"({"schema":1,"kernel":"","device":"","architecture":"","parameters":{"n":1e300},"slicing":"","us":1})",
       R"({"schema":1,"kernel":"","device":"","architecture":"","parameters":3,"slicing":"","us":"1"})"}) {
    stream << line << "\n";
  }
  stream.close();
  wisdom.add(entry(1000, 8, "i: g.0"));
  EXPECT_EQ(wisdom.entries().size(), 1U);
}

// Names of files may be any bytes.
TEST_F(Attack11Wisdom, WisdomTakesBytesThatAreNoText) {
  const Wisdom wisdom(path_);
  WisdomEntry odd = entry(1000, 8, "i: g.0");
  odd.device = "\xff\x01";
  wisdom.add(odd);
  EXPECT_EQ(wisdom.entries().size(), 1U);
}

TEST_F(WisdomFile, PrefersThisDeviceToItsLikes) {
  const Wisdom wisdom(path_);
  WisdomEntry other = entry(100, 1, "i: g.0 l.0*8");
  other.device = "an older driver";
  wisdom.add(other);
  wisdom.add(entry(400, 7, "i: g.0"));
  const runtime::Device host = runtime::Device::host();
  EXPECT_EQ(wisdom.find(twice(), host, {{"n", 100}})->decision, "i: g.0");
  other.architecture = "another machine";
  other.device = other.architecture;
  std::filesystem::remove(path_);
  wisdom.add(other);
  EXPECT_EQ(wisdom.find(twice(), host, {{"n", 100}}), std::nullopt);
}

TEST_F(WisdomFile, PassesOverLinesThatItCannotRead) {
  const Wisdom wisdom(path_);
  wisdom.add(entry(1, 1, "i: g.0"));
  std::ofstream(path_, std::ios::app) << "{\"schema\": 1, \"kernel\": \"tor\n"
                                      << "{\"schema\": 99, \"news\": true}\n\n[]\n"
                                      << "{\"schema\": 1, \"kernel\": 3}\n";
  wisdom.add(entry(2, 2, "i: g.0 l.0*4"));
  ASSERT_EQ(wisdom.entries().size(), 2U);
  EXPECT_EQ(wisdom.entries()[1].decision, "i: g.0 l.0*4");
}

TEST_F(WisdomFile, TakesManyWritersAtOnce) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 16; ++writer) {
    writers.emplace_back([&, writer] {
      const Wisdom wisdom(path_);
      for (int i = 0; i < 50; ++i) {
        wisdom.add(entry(writer * 1000 + i, 1, "i: g.0"));
      }
    });
  }
  for (std::thread& each : writers) {
    each.join();
  }
  EXPECT_EQ(Wisdom(path_).entries().size(), 800U);
}

TEST_F(WisdomFile, LeavesFilesOfOthersAlone) {
  for (const char* text : {"my notes\n", "{\"name\": 1}\n", "x", "\n"}) {
    std::ofstream(path_) << text;
    EXPECT_ERROR("loopy.tune.foreign_file", (Wisdom(path_).add(entry(1, 1, "i: g.0")), 0));
    EXPECT_EQ(std::filesystem::file_size(path_), std::string(text).size());
  }
  for (const char* torn : {"", "{", "{\"sche", "{\"schema\":1,\"kern"}) {
    std::ofstream(path_) << torn;
    Wisdom(path_).add(entry(1, 1, "i: g.0"));
    EXPECT_EQ(Wisdom(path_).entries().size(), 1U) << torn;
  }
}

class Attack08Wisdom : public WisdomFile {};

TEST_F(Attack08Wisdom, IsNotReadWhereOthersCanWriteIt) {
  Wisdom(path_).add(entry(1, 1, "i: g.0"));
  EXPECT_EQ(Wisdom(path_).entries().size(), 1U);
  std::filesystem::permissions(path_, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_ERROR("runtime.files.untrusted", Wisdom(path_).entries());
}

TEST_F(WisdomFile, TellsWhenItCannotBeWritten) {
  EXPECT_EQ(Wisdom(path_).why_unwritable(), "");
  EXPECT_NE(Wisdom("/proc/no/such/file").why_unwritable(), "");
  EXPECT_ERROR("loopy.wisdom.unwritable", (Wisdom("/proc/no/such/file").add(entry(1, 1, "")), 0));
}

}  // namespace
}  // namespace rtcg::loopy
