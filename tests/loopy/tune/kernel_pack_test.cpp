#include "rtcg/loopy/tune/kernel_pack.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "rtcg/runtime/device/copy.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Hides all compilers as long as it lives.
class NoCompiler {
 public:
  NoCompiler() {
    for (const char* name : {"PATH", "CC", "CXX", "RTCG_CC", "RTCG_CXX"}) {
      const char* value = std::getenv(name);
      before_.emplace_back(name, value == nullptr ? std::optional<std::string>() : value);
      ::setenv(name, "/nowhere", 1);
    }
  }
  ~NoCompiler() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }
  NoCompiler(const NoCompiler&) = delete;
  NoCompiler& operator=(const NoCompiler&) = delete;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

class PackFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() /
             ("rtcg_pack_" + std::to_string(::getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                .string();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static Kernel twice(const std::string& factor = "2") {
    return make_kernel("{[i]: 0 <= i < n}", "out[i] = " + factor + "*a[i]",
                       {.name = "twice", .default_type = cgen::f32});
  }
  static std::vector<float> run(const Executor& executor) {
    const runtime::Device host = runtime::Device::host();
    const runtime::Stream stream(host);
    const runtime::Buffer<float> a(host, std::vector<float>(100, 1.5F));
    const runtime::Buffer<float> out(host, 100);
    executor(stream, {arg("a", a), arg("out", out)});
    return out.to_vector(stream);
  }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string path_;
  IntegerValues sizes_ = {{"n", 100}};
};

TEST_F(PackFile, RunsWithoutACompiler) {
  const KernelPack pack(path_);
  const runtime::Device host = runtime::Device::host();
  EXPECT_FALSE(pack.find(twice(), host, sizes_).has_value());
  pack.add(twice(), "host", sizes_, parse_slicing("i: g.0 l.0*32"), 5);
  pack.add(twice(), "host", sizes_, parse_slicing("i: g.0 l.0*64"), 3);
  ASSERT_EQ(pack.entries().size(), 2U);
  const NoCompiler no_compiler;
  EXPECT_ERROR("runtime.host_compiler.not_found", Executor(twice("3"), host).prepare());
  const auto packed = pack.find(twice(), host, sizes_);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(packed->executor.kernel().recipe.back().arguments.back(), "64") << "the faster one";
  EXPECT_EQ(run(packed->executor), std::vector<float>(100, 3.0F));
}

TEST_F(PackFile, GivesOnlyWhatFits) {
  const KernelPack pack(path_);
  const runtime::Device host = runtime::Device::host();
  pack.add(twice(), "host", sizes_, parse_slicing("i: g.0 l.0*32"), 5);
  EXPECT_TRUE(pack.find(twice(), host, sizes_).has_value());
  EXPECT_FALSE(pack.find(twice(), host, {{"n", 101}}).has_value());
  EXPECT_FALSE(pack.find(twice("3"), host, sizes_).has_value());
  std::string other = text();
  const std::size_t at = other.find("\"device\":\"") + 10;
  other[at] = other[at] == '0' ? '1' : '0';
  std::ofstream(path_) << other;
  EXPECT_FALSE(pack.find(twice(), host, sizes_).has_value()) << "another processor's binary";
  EXPECT_EQ(pack.entries().size(), 1U);
}

TEST_F(PackFile, PassesOverWhatIsDamaged) {
  const KernelPack pack(path_);
  pack.add(twice(), "host", sizes_, parse_slicing("i: g.0 l.0*32"), 5);
  const std::string whole = text();
  for (const std::size_t at : {whole.find("\"binary\":\"") + 400, whole.size() / 2}) {
    std::string damaged = whole;
    damaged[at] = damaged[at] == 'A' ? 'B' : 'A';
    std::ofstream(path_) << damaged << whole.substr(0, whole.size() / 3) << "\n[]\n";
    EXPECT_TRUE(pack.entries().empty());
  }
  std::ofstream(path_) << whole << whole;
  EXPECT_EQ(pack.entries().size(), 2U);
}

TEST_F(PackFile, HoldsMachineCodeOfGpusThatAreNotHere) {
  if (const std::string why = runtime::Nvrtc::instance().why_unavailable(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const KernelPack pack(path_);
  pack.add(twice(), "sm_90", sizes_, parse_slicing("i: g.0 l.0*32"), 5);
  const auto entries = pack.entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].architecture, "sm_90");
  EXPECT_NE(text().find("\"binary\":\"f0VMR"), std::string::npos) << "an ELF file";
  EXPECT_NE(text().find("\"registers\""), std::string::npos);
  EXPECT_FALSE(pack.find(twice(), runtime::Device::host(), sizes_).has_value());
}

class Attack08Packs : public PackFile {};

TEST_F(Attack08Packs, AreNotLoadedWhereOthersCanWriteThem) {
  const KernelPack pack(path_);
  pack.add(twice(), "host", sizes_, parse_slicing("i: g.0 l.0*32"), 5);
  EXPECT_EQ(pack.entries().size(), 1U);
  std::filesystem::permissions(path_, std::filesystem::perms::group_write,
                               std::filesystem::perm_options::add);
  EXPECT_ERROR("runtime.files.untrusted", pack.find(twice(), runtime::Device::host(), sizes_));
  EXPECT_ERROR("runtime.files.untrusted", pack.entries());
}

TEST_F(PackFile, RefusesWhatItCannotPack) {
  std::ofstream(path_) << "my notes";
  EXPECT_ERROR(
      "loopy.tune.foreign_file",
      (KernelPack(path_).add(twice(), "host", sizes_, parse_slicing("i: g.0 l.0*32"), 1), 0));
  std::filesystem::remove(path_);
  EXPECT_ERROR("loopy.kernel_pack.architecture",
               (KernelPack(path_).add(twice(), "gfx90a", sizes_, {}, 1), 0));
  EXPECT_ERROR("loopy.kernel_pack.unwritable",
               (KernelPack("/proc/no/such/file")
                    .add(twice(), "host", sizes_, parse_slicing("i: g.0 l.0*32"), 1),
                0));
}

}  // namespace
}  // namespace rtcg::loopy
