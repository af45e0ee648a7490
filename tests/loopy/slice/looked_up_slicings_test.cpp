// Rows and tables that blocks look up at computed places are listed in shared memory.
#include <random>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/slice/lookups.h"

namespace rtcg::loopy {
namespace {

std::string text_of(const Kernel& kernel, const char* words) {
  return generate_text(apply(kernel, parse_slicing(words)), Target::cuda,
                       {.recipe_comment = false});
}

TEST(LookedUpRows, CopyWholeAxesOnce) {
  EXPECT_EQ(
      text_of(lookups()[1].of({{"n", 4096}}), "i: g.0 l.0*256; fetch table"),
      R"(extern "C" __global__ void __launch_bounds__(256) sums_of_tables(float *__restrict__ out,
    const float *__restrict__ table, const unsigned char *__restrict__ p) {
  const int i_0 = (int)blockIdx.x;
  const int i_1 = (int)threadIdx.x;
  __shared__ __align__(16) float table_tile[16][256];
  for (int table_tile_0 = 0; table_tile_0 < 16; ++table_tile_0) {
    table_tile[table_tile_0][i_1] = table[256 * table_tile_0 + i_1];
  }
  float acc_k = 0.0f;
  __syncthreads();
  for (int k = 0; k < 16; ++k) {
    acc_k += table_tile[k][p[4096 * i_0 + 16 * i_1 + k]];
  }
  out[256 * i_0 + i_1] = acc_k;
}
)");
}

class LookedUpSlicings : public ::testing::TestWithParam<Lookup> {};

bool is_in_shared_memory(const SlicingStream& stream, std::size_t place, const std::string& array) {
  return to_string(stream.at(place).slicing).find("fetch " + array) != std::string::npos;
}

TEST_P(LookedUpSlicings, HoldWhatIsLookedUpInSharedMemory) {
  const SlicingStream stream(GetParam().of(GetParam().large), {});
  bool is_any = false;
  for (std::size_t i = 0; i < stream.count() && !is_any; ++i) {
    is_any = is_in_shared_memory(stream, i, GetParam().fetched);
  }
  EXPECT_TRUE(is_any);
}

TEST(LookedUpRows, AreFirstWhereLanesFindManyLines) {
  const Lookup rows = lookups().front();
  EXPECT_TRUE(is_in_shared_memory(SlicingStream(rows.of(rows.large), {}), 0, rows.fetched));
}

TEST_P(LookedUpSlicings, HoldNothingThatIsRefusedAndAreFound) {
  const Kernel kernel = GetParam().of(GetParam().large);
  SlicingConstraints constraints;
  constraints.max_items_per_thread = 16;
  const SlicingStream stream(kernel, constraints);
  std::mt19937_64 random(1);
  for (int i = 0; i < 20; ++i) {
    const Slicing slicing = stream.at(random() % stream.count()).slicing;
    SCOPED_TRACE(to_string(slicing));
    EXPECT_NO_THROW(static_cast<void>(generate_text(apply(kernel, slicing), Target::cuda)));
    EXPECT_TRUE(stream.find(slicing).has_value());
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, LookedUpSlicings, ::testing::ValuesIn(lookups()),
                         [](const auto& info) { return info.param.name; });

TEST(LookedUpRows, LeaveLongTablesInMemory) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 65536}", "out[i] = table[p[i]]",
                  {.arguments = "out: f32[65536]; table: f32[100000]; p: i32[65536]"});
  const SlicingStream stream(kernel, {});
  for (std::size_t i = 0; i < stream.count(); ++i) {
    EXPECT_EQ(to_string(stream.at(i).slicing).find("fetch table"), std::string::npos);
  }
}

}  // namespace
}  // namespace rtcg::loopy
