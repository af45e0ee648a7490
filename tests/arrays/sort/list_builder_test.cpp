#include "rtcg/arrays/sort/list_builder.h"

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

TEST(ListBuilder, MakesSeveralListsOfAnyLengths) {
  on_every_device([] {
    const ListBuilder build(
        {{"divisor", DType::i32}, {"square", DType::f64, "divisor"}, {"odd", DType::i16}},
        "if (x[i] < 0) { continue; }"
        "for (int d = 1; d <= x[i]; ++d) {"
        "  if (x[i] % d == 0) { APPEND_divisor(d); APPEND_square(weight*(d*d)); }"
        "}"
        "if (x[i] % 2 == 1) APPEND_odd(x[i]);",
        "const int *x, double weight");
    const Array<std::int32_t> x(std::vector<std::int32_t>{6, -3, 1, 0, 4});
    const auto lists = build(5, {x, 0.5});
    const BuiltList& divisors = lists.at("divisor");
    EXPECT_EQ(divisors.starts.to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{0, 4, 4, 5, 5, 8}));
    EXPECT_EQ(divisors.count, 8);
    EXPECT_EQ(divisors.values.to_vector<std::int32_t>(),
              (std::vector<std::int32_t>{1, 2, 3, 6, 1, 1, 2, 4}));
    EXPECT_EQ(lists.at("square").values.to_vector<double>(),
              (std::vector<double>{0.5, 2, 4.5, 18, 0.5, 0.5, 2, 8}));
    EXPECT_EQ(lists.at("odd").values.to_vector<std::int16_t>(), (std::vector<std::int16_t>{1}));
    const auto some = build(5, {x, 0.5}, {"divisor", "square"});
    EXPECT_EQ(some.size(), 1U);
    EXPECT_EQ(some.at("odd").count, 1);
    EXPECT_EQ(build(0, {x, 0.5}).at("odd").starts.count(), 1);
  });
}

TEST(ListBuilder, LeavesOutEmptyLists) {
  on_every_device([] {
    const ListBuilder build({{"some", DType::i64, "", true}},
                            "for (int k = 0; k < i % 3; ++k) { APPEND_some(10*i + k); }",
                            "int unused");
    const BuiltList list = build(7, {0}).at("some");
    EXPECT_EQ(list.objects->to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 4, 5}));
    EXPECT_EQ(list.starts.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 3, 4, 6}));
    EXPECT_EQ(list.values.to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{10, 20, 21, 40, 50, 51}));
  });
}

TEST(ListBuilder, LeavesOutEmptyListsThatShareTheirCounts) {
  on_every_device([] {
    const ListBuilder build(
        {{"place", DType::i32, "", true}, {"weight", DType::f32, "place", true}},
        "for (int k = 0; k < i % 2; ++k) {"
        "  APPEND_place(i);"
        "  APPEND_weight(0.5f*i);"
        "}",
        "int unused");
    const auto lists = build(6, {0});
    for (const char* name : {"place", "weight"}) {
      const BuiltList& list = lists.at(name);
      EXPECT_EQ(list.objects->to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 3, 5}));
      EXPECT_EQ(list.starts.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3}));
    }
    EXPECT_EQ(lists.at("weight").values.to_vector<float>(), (std::vector<float>{0.5F, 1.5F, 2.5F}));
    EXPECT_EQ(build(6, {0}, {"weight"}).at("place").count, 3);
    const auto weights = build(6, {0}, {"place"});  // whose count is shared
    EXPECT_EQ(weights.size(), 1U);
    EXPECT_EQ(weights.at("weight").values.to_vector<float>(),
              (std::vector<float>{0.5F, 1.5F, 2.5F}));
    EXPECT_EQ(weights.at("weight").starts.to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{0, 1, 2, 3}));
    EXPECT_TRUE(build(6, {0}, {"place", "weight"}).empty());
  });
}

TEST(ListBuilder, RefusesListsThatItCannotMake) {
  const char* const text = "APPEND_a(i);";
  EXPECT_ERROR("arrays.list_builder.lists", ListBuilder({}, text, "int n"));
  EXPECT_ERROR("arrays.list_builder.lists", ListBuilder({{"a"}, {"a"}}, text, "int n"));
  EXPECT_ERROR("arrays.list_builder.lists",
               ListBuilder({{"a", DType::i32, "b"}, {"b"}}, text, "int n"));
  EXPECT_ERROR("arrays.list_builder.append", ListBuilder({{"a"}}, "APPEND_b(i);", "int n"));
  EXPECT_ERROR("arrays.list_builder.append", ListBuilder({{"a"}}, "APPEND_a();", "int n"));
  EXPECT_ERROR("arrays.list_builder.lists",
               static_cast<void>(ListBuilder({{"a"}}, text, "int n")(1, {0}, {"c"})));
}

}  // namespace
}  // namespace rtcg::arrays
