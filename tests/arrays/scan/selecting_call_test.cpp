// Selections by blocks that look back, as CUDA text: compiled for a GPU, and run on the CPU.
#include "rtcg/arrays/scan/selecting_call.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/loopy/codegen/generate.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"

namespace rtcg::arrays {
namespace {

using detail::SelectionForm;

template <class T>
loopy::ArrayData data_of(const std::vector<T>& numbers, cgen::ScalarKind kind) {
  loopy::ArrayData result{kind, std::vector<std::byte>(numbers.size() * sizeof(T))};
  if (!numbers.empty()) {
    std::memcpy(result.bytes.data(), numbers.data(), result.bytes.size());
  }
  return result;
}

SelectionForm form_of_copy(bool has_rejected) {
  SelectionForm form{.name = "copy_if",
                     .arguments = "x: i32[n]",
                     .is_chosen = "cast(i32, x[@] > 0)",
                     .outputs = {{"selected", DType::i32, DType::i32, "x[@]"}}};
  if (has_rejected) {
    form.rejected = {"rejected", DType::i32, DType::i32, "x[@]"};
  }
  return form;
}

/// Sums of i32, or maxima of f64 in which a NaN wins.
SelectionForm form_of_totals(bool is_max) {
  const DType dtype = is_max ? DType::f64 : DType::i32;
  return {.name = is_max ? "maxima_of_runs" : "sums_of_runs",
          .arguments = fmt::format("key: i32[n]; later: i32[n - 1]; value: {}[n]", name(dtype)),
          .ends_run = "cast(i32, s != t)",
          .totals = SelectionForm::Totals{dtype, "value[@]",
                                          is_max ? "if(s > t or s != s, s, t)" : "s + t",
                                          is_max ? "cast(f64, -inf)" : "0"},
          .outputs = {{"keys", DType::i32, DType::i32, "key[@]"},
                      {"totals", is_max ? DType::f64 : DType::i64, dtype, "total"}}};
}

// blocks take 8192 elements
const std::vector<int> counts = {1, 31, 2047, 2049, 8191, 8192, 8193, 17001};

TEST(SelectingCall, CopiesWhatIsChosenInOneLaunch) {
  for (const bool has_rejected : {false, true}) {  // these are not aligned
    const loopy::Kernel kernel =
        detail::selecting_tiles_kernel(form_of_copy(has_rejected), !has_rejected);
    EXPECT_EQ(loopy::generate(kernel, loopy::Target::cuda).launches.size(), 1U);
    taken_by_nvrtc(loopy::generate_text(kernel, loopy::Target::cuda));
    loopy::CudaTextOnCpu text(kernel);
    for (const int count : counts) {
      for (const int period : {1, 3, 5000}) {  // all are chosen, some, few
        SCOPED_TRACE(std::to_string(count) + ", " + std::to_string(period));
        std::vector<std::int32_t> x;
        std::vector<std::int32_t> selected;
        std::vector<std::int32_t> rejected;
        for (int i = 0; i < count; ++i) {
          x.push_back(i % period == period - 1 ? i + 1 : -i);
          (x.back() > 0 ? selected : rejected).push_back(x.back());
        }
        const std::vector<std::int32_t> empty(x.size());
        loopy::ArgumentData arrays = {
            {"x", data_of(x, cgen::ScalarKind::i32)},
            {"selected", data_of(empty, cgen::ScalarKind::i32)},
            {"count", data_of(std::vector<std::int64_t>{-1}, cgen::ScalarKind::i64)}};
        if (has_rejected) {
          arrays.emplace("rejected", data_of(empty, cgen::ScalarKind::i32));
        }
        const loopy::ArgumentData found = text.run({{"n", count}}, arrays);
        ASSERT_EQ(found.at("count").element(0), static_cast<double>(selected.size()));
        for (std::size_t i = 0; i < selected.size(); ++i) {
          ASSERT_EQ(found.at("selected").element(i), selected[i]);
        }
        for (std::size_t i = 0; has_rejected && i < rejected.size(); ++i) {
          ASSERT_EQ(found.at("rejected").element(i), rejected[i]);
        }
      }
    }
  }
}

TEST(SelectingCall, CountsElementsOfLongArraysIn64Bits) {
  SelectionForm form = form_of_copy(false);
  const auto type_of_n = [&] { return find_argument(detail::selecting_kernel(form), "n")->type; };
  EXPECT_EQ(type_of_n(), cgen::i32);
  form.is_long = true;
  EXPECT_EQ(type_of_n(), cgen::i64);
}

TEST(SelectingCall, ComputesItsMaskItself) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const Array<std::int32_t> any(std::vector<std::int32_t>(9));
  const Array<std::int32_t> other(std::vector<std::int32_t>(18));
  // one array from the first element on, one every second element
  const Expression mask = any % 3 == 1 && other(Slice{0, 18, 2}) > 2;
  const LoopExpression loops = detail::as_loop_kernel_of_scan(cast(mask, DType::i32), {});
  SelectionForm form = form_of_copy(false);
  form.arguments += "; mask: i32[n]";
  form.is_chosen = "mask[@]";
  const loopy::Kernel kernel = detail::selecting_tiles_kernel(form, true, &loops.kernel);
  const std::string source = taken_by_nvrtc(loopy::generate_text(kernel, loopy::Target::cuda));
  EXPECT_EQ(source.find("mask"), std::string::npos) << source;
  loopy::CudaTextOnCpu text(kernel);
  for (const int count : counts) {
    SCOPED_TRACE(count);
    std::vector<std::int32_t> x;
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> second;
    std::vector<std::int32_t> selected;
    for (int i = 0; i < count; ++i) {
      x.push_back(i);
      first.push_back(i * 7 % 10);
      second.push_back(i * 3 % 8);
      second.push_back(100);
      if (first.back() % 3 == 1 && i * 3 % 8 > 2) {
        selected.push_back(i);
      }
    }
    second.pop_back();
    const loopy::ArgumentData found =
        text.run({{"n", count}, {"s0", 2}},
                 {{"x", data_of(x, cgen::ScalarKind::i32)},
                  {"in0", data_of(first, cgen::ScalarKind::i32)},
                  {"in1", data_of(second, cgen::ScalarKind::i32)},
                  {"selected", data_of(x, cgen::ScalarKind::i32)},
                  {"count", data_of(std::vector<std::int64_t>{-1}, cgen::ScalarKind::i64)}});
    ASSERT_EQ(found.at("count").element(0), static_cast<double>(selected.size()));
    for (std::size_t i = 0; i < selected.size(); ++i) {
      ASSERT_EQ(found.at("selected").element(i), selected[i]);
    }
  }
}

TEST(SelectingCall, KeepsElementsInRegistersAndMarksInOneWord) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const Array<std::int32_t> any(std::vector<std::int32_t>(9));
  const Expression mask = any > 2 || any == -1;
  const LoopExpression loops = detail::as_loop_kernel_of_scan(cast(mask, DType::i32), {});
  const SelectionForm::Output chosen{"selected", DType::i32, DType::i32, "in0[@]"};
  SelectionForm form{.name = "partition",
                     .arguments = "mask: i32[n]; in0: i32[n]",
                     .is_chosen = "mask[@]",
                     .outputs = {chosen},
                     .rejected = chosen};
  form.rejected->name = "rejected";
  const loopy::Kernel kernel = detail::selecting_tiles_kernel(form, true, &loops.kernel);
  const std::string source = taken_by_nvrtc(loopy::generate_text(kernel, loopy::Target::cuda));
  // both parts, and the mask, from one load of each element
  EXPECT_NE(source.find("const int4 in0_vec = *(const int4 *)&in0[8192 * b + 16 * thread];"),
            std::string::npos)
      << source;
  EXPECT_NE(source.find("marks_word[0] | (unsigned int)(2 < own_selected_0_0 || "),
            std::string::npos)
      << source;
  EXPECT_NE(source.find("__popc(marks_word[0] << 30)"), std::string::npos) << source;
  // the number of chosen elements is published before they are gathered
  EXPECT_LT(source.find("(unsigned int)number;"), source.find("kept_selected[(marks_word"))
      << source;
  EXPECT_NE(source.find("found = warp_sum_i32(found);"), std::string::npos) << source;
  EXPECT_EQ(source.find("marks["), std::string::npos) << source;
  loopy::CudaTextOnCpu text(kernel);
  for (const int count : counts) {
    SCOPED_TRACE(count);
    std::vector<std::int32_t> x;
    std::vector<std::int32_t> parts[2];
    for (int i = 0; i < count; ++i) {
      x.push_back(i * 7 % 10 - 3);
      parts[x.back() > 2 || x.back() == -1 ? 0 : 1].push_back(x.back());
    }
    const loopy::ArgumentData found = text.run(
        {{"n", count}}, {{"in0", data_of(x, cgen::ScalarKind::i32)},
                         {"selected", data_of(x, cgen::ScalarKind::i32)},
                         {"rejected", data_of(x, cgen::ScalarKind::i32)},
                         {"count", data_of(std::vector<std::int64_t>{-1}, cgen::ScalarKind::i64)}});
    ASSERT_EQ(found.at("count").element(0), static_cast<double>(parts[0].size()));
    for (int k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < parts[k].size(); ++i) {
        ASSERT_EQ(found.at(k == 0 ? "selected" : "rejected").element(static_cast<std::int64_t>(i)),
                  parts[k][i]);
      }
    }
  }
}

// three types, the last of which has elements that differ from themselves
TEST(SelectingCall, FindsRunsInOneLaunch) {
  for (const DType dtype : {DType::u8, DType::i32, DType::f64}) {
    const SelectionForm form{
        .name = "runs",
        .arguments = fmt::format("key: {0}[n]; later: {0}[n - 1]", name(dtype)),
        .ends_run = "cast(i32, s != t and (s == s or t == t))",
        .outputs = {{"keys", dtype, dtype, "key[@]"}}};
    const loopy::Kernel kernel = detail::selecting_tiles_kernel(form, true);
    taken_by_nvrtc(loopy::generate_text(kernel, loopy::Target::cuda));
    loopy::CudaTextOnCpu text(kernel);
    for (const int count : {1, 4095, 4097, 8193}) {
      for (const int length : {1, 3, 5000}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name(dtype), count, length));
        std::vector<double> keys;
        std::vector<double> expected;
        for (int i = 0; i < count; ++i) {
          const bool is_nan = dtype == DType::f64 && i / length % 4 == 3;
          keys.push_back(is_nan ? std::nan("") : static_cast<double>(i / length % 100));
          if (i % length == 0) {
            expected.push_back(keys.back());
          }
        }
        const auto as = [&](const std::vector<double>& numbers) {
          return dtype == DType::u8
                     ? data_of(std::vector<std::uint8_t>(numbers.begin(), numbers.end()),
                               cgen::ScalarKind::u8)
                 : dtype == DType::i32
                     ? data_of(std::vector<std::int32_t>(numbers.begin(), numbers.end()),
                               cgen::ScalarKind::i32)
                     : data_of(numbers, cgen::ScalarKind::f64);
        };
        const loopy::ArgumentData found =
            text.run({{"n", count}},
                     {{"key", as(keys)},
                      {"later", as({keys.begin() + 1, keys.end()})},
                      {"keys", as(std::vector<double>(keys.size(), 77))},
                      {"count", data_of(std::vector<std::int64_t>{-1}, cgen::ScalarKind::i64)}});
        ASSERT_EQ(found.at("count").element(0), static_cast<double>(expected.size()));
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const double each = found.at("keys").element(static_cast<std::int64_t>(i));
          ASSERT_TRUE(each == expected[i] || (std::isnan(each) && std::isnan(expected[i]))) << i;
        }
      }
    }
  }
}

/// Maxima are not aligned.
void expect_combined_runs(bool is_max) {
  const loopy::Kernel kernel = detail::selecting_tiles_kernel(form_of_totals(is_max), !is_max);
  EXPECT_EQ(loopy::generate(kernel, loopy::Target::cuda).launches.size(), 1U);
  const std::string source = taken_by_nvrtc(loopy::generate_text(kernel, loopy::Target::cuda));
  if (!is_max) {  // each element is read once
    EXPECT_NE(source.find("const int4 value_vec_1 = *(const int4 *)&value[4096 * b + 16 * thread "
                          "+ 4];"),
              std::string::npos)
        << source;
  }
  loopy::CudaTextOnCpu text(kernel);
  for (const int count : {1, 4095, 8193}) {
    for (const int length : {1, 7, 3000}) {
      SCOPED_TRACE(fmt::format("{} {} {}", is_max, count, length));
      std::vector<std::int32_t> key;
      std::vector<double> value;
      std::vector<double> totals;
      for (int i = 0; i < count; ++i) {
        key.push_back(i / length);
        value.push_back(is_max && i % 1000 == 998 ? std::nan("") : i % 11 - 17);
        if (i % length == 0) {
          totals.push_back(value.back());
        } else if (is_max) {
          const bool wins = value.back() > totals.back() || std::isnan(value.back());
          totals.back() = std::isnan(totals.back()) || !wins ? totals.back() : value.back();
        } else {
          totals.back() += value.back();
        }
      }
      const std::vector<std::int32_t> later(key.begin() + 1, key.end());
      const loopy::ArgumentData found = text.run(
          {{"n", count}},
          {{"key", data_of(key, cgen::ScalarKind::i32)},
           {"later", data_of(later, cgen::ScalarKind::i32)},
           {"value", is_max ? data_of(value, cgen::ScalarKind::f64)
                            : data_of(std::vector<std::int32_t>(value.begin(), value.end()),
                                      cgen::ScalarKind::i32)},
           {"keys", data_of(key, cgen::ScalarKind::i32)},
           {"totals", is_max
                          ? data_of(std::vector<double>(key.size()), cgen::ScalarKind::f64)
                          : data_of(std::vector<std::int64_t>(key.size()), cgen::ScalarKind::i64)},
           {"count", data_of(std::vector<std::int64_t>{-1}, cgen::ScalarKind::i64)}});
      ASSERT_EQ(found.at("count").element(0), static_cast<double>(totals.size()));
      for (std::size_t i = 0; i < totals.size(); ++i) {
        const double total = found.at("totals").element(static_cast<std::int64_t>(i));
        ASSERT_EQ(found.at("keys").element(static_cast<std::int64_t>(i)), static_cast<double>(i));
        ASSERT_TRUE(total == totals[i] || (std::isnan(total) && std::isnan(totals[i]))) << i;
      }
    }
  }
}

TEST(SelectingCall, AddsUpRunsInOneLaunch) {
  expect_combined_runs(false);
}

TEST(SelectingCall, FindsMaximaOfRunsInOneLaunch) {
  expect_combined_runs(true);
}

}  // namespace
}  // namespace rtcg::arrays
