// The lessons that write their kernels as text show them on the host where there is no GPU; here
// their CUDA texts run on the CPU.
#include <numeric>

#include <gtest/gtest.h>

#include "examples/vector_add.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

#if __has_include(<kainjow/mustache.hpp>)
#define RTCG_HAS_MUSTACHE 1
#include <kainjow/mustache.hpp>
#endif

// The lessons are programs: what makes their texts is reached by including them, each in a
// namespace of its own and with its main() under another name. All that they include stands above.
#define main main_of_lesson
namespace lesson_03 {
#include "examples/03_compile_text_and_launch.cpp"
}
namespace lesson_04a {
#include "examples/04a_unroll_by_keyword.cpp"
}
#ifdef RTCG_HAS_MUSTACHE
namespace lesson_04b {
#include "examples/04b_unroll_by_template.cpp"
}
#endif
#undef main

namespace rtcg::testing {
namespace {

constexpr auto cuda = runtime::BackendKind::cuda;

BufferRef ref(std::vector<float>& values) {
  return {values.data(), values.size() * sizeof(float)};
}

TEST(Lessons, DoubleTheMatrixInCuda) {
  std::vector<float> matrix(16);
  std::iota(matrix.begin(), matrix.end(), 0.0F);
  float* pointer = matrix.data();
  CudaOnCpu(lesson_03::text_for(cuda))
      .run_checked("twice", {{1, 1, 1}, {4, 4, 1}}, {&pointer}, {ref(matrix)});
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(matrix[i], 2.0F * static_cast<float>(i));
  }
}

void expect_sums(const std::string& text) {
  std::vector<float> target(vector_add::n);
  std::vector<float> left(vector_add::n);
  std::vector<float> right(vector_add::n);
  std::iota(left.begin(), left.end(), 0.5F);
  std::iota(right.begin(), right.end(), -7.0F);
  float* target_data = target.data();
  const float* left_data = left.data();
  const float* right_data = right.data();
  CudaOnCpu(text).run_checked(
      "add", {{vector_add::block_count, 1, 1}, {vector_add::thread_count, 1, 1}},
      {&target_data, &left_data, &right_data}, {ref(target), ref(left), ref(right)});
  for (int i = 0; i < vector_add::n; ++i) {
    ASSERT_EQ(target[i], left[i] + right[i]) << i;
  }
}

TEST(Lessons, AddVectorsInCudaByKeyword) {
  expect_sums(lesson_04a::text_for(cuda));
}

#ifdef RTCG_HAS_MUSTACHE
TEST(Lessons, AddVectorsInCudaByTemplate) {
  EXPECT_EQ(lesson_04b::text_for(cuda), lesson_04a::text_for(cuda));
  expect_sums(lesson_04b::text_for(cuda));
}
#endif

}  // namespace
}  // namespace rtcg::testing
