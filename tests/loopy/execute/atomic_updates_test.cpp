// Atomic updates by functions of the target, and by loops where it has none.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

constexpr int count = 90;

struct Update {
  std::string type;
  std::string value;  ///< of `s[i % 7]` and `a[i]`
};

/// All threads of several blocks update seven elements of each of some arrays.
Kernel scatter(const std::vector<Update>& updates) {
  KernelOptions options;
  std::string statements;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const std::string number = std::to_string(i);
    statements += "s" + number + "[i % 7] = ";
    for (const char each : updates[i].value) {
      // the array that a letter in front of a bracket names
      statements += each == '[' ? number + "[" : std::string(1, each);
    }
    statements += "  {atomic}\n";
    options.arguments += "a" + number + ": " + updates[i].type + "[n]; s" + number + ": " +
                         updates[i].type + "[7]; ";
  }
  options.arguments += "n: i32";
  return make_kernel("{[i]: 0 <= i < n}", statements, options);
}

Kernel in_blocks(const Kernel& kernel) {
  return apply_recipe(kernel, "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)");
}

/// Of values that every order combines without rounding: other results of floating-point numbers
/// differ from run to run, which the harness for CUDA reports.
void expect_updates(const std::vector<Update>& updates) {
  const Kernel kernel = scatter(updates);
  CompareOptions options;
  for (std::size_t k = 0; k < updates.size(); ++k) {
    const std::string& type = updates[k].type;
    const int numbers = type[0] == 'c' ? 2 : 1;
    const std::string number = std::to_string(k);
    for (int i = 0; i < numbers * count; ++i) {
      options.values["a" + number].push_back(i * 5 % 9 - (type[0] == 'u' ? 0 : 4));
    }
    for (int i = 0; i < numbers * 7; ++i) {
      options.values["s" + number].push_back(i);
    }
  }
  expect_same_everywhere(in_blocks(kernel), kernel, {{"n", count}}, options);
}

TEST(AtomicUpdates, TakeTypesThatTheTargetHasNoFunctionFor) {
  std::vector<Update> updates;
  for (const char* type : {"f64", "f16", "bf16", "c64", "c128", "i16", "u8"}) {
    updates.push_back({type, "s[i % 7] + a[i]"});
  }
  for (const char* type : {"f32", "f64"}) {
    updates.push_back({type, "min(s[i % 7], a[i])"});
    updates.push_back({type, "max(a[i], s[i % 7])"});
  }
  expect_updates(updates);
}

TEST(AtomicUpdates, TakeAnyExpressionWhoseOrderDoesNotMatter) {
  expect_updates({{"f32", "s[i % 7]*(2 if a[i] > 0 else 0.5f)"},
                  {"f32", "s[i % 7] + 0.5f*a[i] - a[i]*a[i] + 1"},
                  {"i64", "s[i % 7] + s[i % 7]*a[i] + a[i]"},  // (1 + s)*(1 + a) - 1
                  {"u32", "s[i % 7] ^ (a[i] << 3)"},
                  {"u32", "s[i % 7] | (1 << a[i])"},
                  {"c64", "s[i % 7]*make_complex(0.0f, 1.0f)"},
                  {"f32", "a[i] if a[i] > s[i % 7] + 1 - 1 else s[i % 7]"}});
}

// rounded in each order: three of one's own
TEST(AtomicUpdates, StayWithinTheErrorsOfAnyOrder) {
  const Kernel kernel =
      scatter({{"f32", "hypot(s[i % 7], a[i])"},
               {"f32", "s[i % 7]*(1 + 0.01f*a[i])"},
               {"f32", "max(s[i % 7], a[i]) + log1p(exp(-abs(s[i % 7] - a[i])))"}});
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const ComparisonReport report =
        compare_with_reference(in_blocks(kernel), kernel, {{"n", count}}, device, {});
    EXPECT_TRUE(report.is_equal) << report.worst.left << ", not " << report.worst.right;
    EXPECT_EQ(report.judge, Judge::interpreter);
  }
}

TEST(AtomicUpdates, GoToSharedMemory) {
  std::string statements;
  std::string arguments;
  std::string temporaries;
  for (const std::string type : {"f64", "u8", "f16"}) {
    statements += "<" + type + "> t_" + type + "[4]\nt_" + type + "[j] = 0  {id=init_" + type +
                  ", inames=j}\nt_" + type + "[k % 4] = max(t_" + type + "[k % 4], a_" + type +
                  "[k])  {id=more_" + type + ", dep=init_" + type + ", inames=k, atomic}\ns_" +
                  type + "[i] = t_" + type + "[i % 4]  {dep=more_" + type + ", inames=i}\n";
    arguments += "a_" + type + ", s_" + type + ": " + type + "[16]; ";
    temporaries += (temporaries.empty() ? "t_" : ", t_") + type;
  }
  const Kernel kernel = make_kernel("{[i, j, k]: 0 <= i, k < 16 and 0 <= j < 4}", statements,
                                    {.arguments = arguments.substr(0, arguments.size() - 2)});
  expect_same_everywhere(apply_recipe(kernel,
                                      "tag_inames(j:l.0, k:l.0, i:l.0)\n"
                                      "set_temporary_address_space([" +
                                          temporaries + "], local)"),
                         kernel, {});
}

TEST(AtomicUpdates, AreRefusedWhereTheOrderMatters) {
  const auto text = [](const std::string& type, const std::string& update) {
    return generate_text(scatter({{type, update}}), Target::cuda);
  };
  for (const char* update :
       {"0.5f*s[i % 7] + a[i]", "a[i] - s[i % 7]", "s[i % 7]*a[i] + a[i]",
        "s[i % 7] - s[i % 7]*s[i % 7]*a[i]", "s[i % 7]/(1 + s[i % 7]*a[i]) + a[i]",
        // only between 2 and -2
        "if(abs(s[i % 7]) < abs(a[i]), a[i], s[i % 7])"}) {
    SCOPED_TRACE(update);
    EXPECT_ERROR("loopy.generate.atomic_form", text("f32", update));
  }
  EXPECT_ERROR("loopy.generate.atomic_form", text("f32", "sin(s[i % 7]) + a[i]"));
  EXPECT_ERROR("loopy.generate.atomic_form", text("c128", "s[i % 7]*a[i]"));
  EXPECT_ERROR("loopy.generate.atomic_form", text("f32x4", "s[i % 7] + a[i]"));
}

TEST(AtomicUpdates, OfExtremesCompareTheValuesOfMixedSigns) {
  const auto update = [](const std::string& stored, const std::string& given,
                         const std::string& value) {
    return make_kernel(
        "{[i]: 0 <= i < n}", "s[k[i]] = " + value + " {atomic}",
        {.arguments = "s: " + stored + "[8]; x: " + given + "[n]; k: i32[n]; n: i32"});
  };
  // a negative number that is stored is a large one for the next update
  for (const auto& [stored, given] : std::vector<std::pair<const char*, const char*>>{
           {"u32", "i32"}, {"u32", "i8"}, {"u8", "i8"}, {"u16", "i32"}}) {
    SCOPED_TRACE(std::string(stored) + " and " + given);
    EXPECT_ERROR("loopy.generate.atomic_form",
                 generate_text(update(stored, given, "min(s[k[i]], x[i])"), Target::cuda));
  }
  for (const auto& [stored, given, value] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"u32", "i32", "max(s[k[i]], x[i])"},
           {"u32", "i8", "max(s[k[i]], x[i] - 60)"},
           {"u8", "i8", "max(x[i], s[k[i]])"},
           {"i32", "u32", "min(s[k[i]], x[i])"},
           {"u32", "i32", "min(s[k[i]], cast(u32, x[i]))"},
           {"u32", "i32", "min(s[k[i]], i)"},
           {"i32", "i64", "max(s[k[i]], x[i]*4294967296 // 4294967296)"}}) {
    SCOPED_TRACE(std::string(stored) + ", " + value);
    const Kernel kernel = update(stored, given, value);
    CompareOptions options;
    for (int i = 0; i < 37; ++i) {
      options.values["x"].push_back((i * 29) % 97 - (given[0] == 'u' ? 0 : 40));
    }
    expect_same_everywhere(kernel, kernel, {{"n", 37}}, options);
  }
}

TEST(AtomicUpdates, LoopOnlyWhereTheTargetHasNoFunction) {
  const std::string cuda = generate_text(scatter({{"f32", "min(s[i % 7], a[i])"}}), Target::cuda);
  EXPECT_EQ(count_of("atomicCAS((unsigned int *)&s0[i % 7], expected, ", cuda), 1) << cuda;
  EXPECT_EQ(
      count_of("atomicAdd", generate_text(scatter({{"f64", "s[i % 7] + a[i]"}}), Target::cuda)), 1);
  EXPECT_EQ(count_of("while", generate_text(scatter({{"i32", "s[i % 7] + a[i]"}}), Target::opencl)),
            0);
}

}  // namespace
}  // namespace rtcg::loopy
