#include "rtcg/cgen/build/struct_builder.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/check/check_names.h"
#include "rtcg/cgen/check/check_types.h"
#include "tests/support/expect_error.h"

namespace rtcg::cgen {
namespace {

struct Particle {
  char kind;
  double mass;
  float position[3];
  std::complex<float> phase;
  std::int16_t charges[2][3];
  const float* weights;
  bool is_fixed;
};

LaidOutStruct particle() {
  StructBuilder<Particle> builder("particle");
  builder.field("kind", &Particle::kind)
      .field("mass", &Particle::mass)
      .field("position", &Particle::position)
      .field("phase", &Particle::phase)
      .field("charges", &Particle::charges)
      .field("weights", &Particle::weights)
      .field("is_fixed", &Particle::is_fixed);
  return builder.build();
}

TEST(StructBuilder, FollowsTheHostLayout) {
  const LaidOutStruct laid_out = particle();
  EXPECT_EQ(laid_out.offset_bytes("kind"), offsetof(Particle, kind));
  EXPECT_EQ(laid_out.offset_bytes("mass"), offsetof(Particle, mass));
  EXPECT_EQ(laid_out.offset_bytes("position"), offsetof(Particle, position));
  EXPECT_EQ(laid_out.offset_bytes("phase"), offsetof(Particle, phase));
  EXPECT_EQ(laid_out.offset_bytes("charges"), offsetof(Particle, charges));
  EXPECT_EQ(laid_out.offset_bytes("weights"), offsetof(Particle, weights));
  EXPECT_EQ(laid_out.offset_bytes("is_fixed"), offsetof(Particle, is_fixed));
  EXPECT_EQ(laid_out.size_bytes, sizeof(Particle));
  EXPECT_EQ(laid_out.alignment_bytes, alignof(Particle));
  EXPECT_EQ(layout_of(laid_out.type).size_bytes, sizeof(Particle));
  // the natural layout does it: no padding members
  EXPECT_EQ(get_if<Record>(laid_out.type)->fields.size(), 7U);
}

struct Nested {
  std::array<Particle, 2> pair;
  std::uint8_t tag;
};

TEST(StructBuilder, NestsRecordsAndArraysOfThem) {
  StructBuilder<Nested> builder("nested");
  builder.field("pair", &Nested::pair, array_of(particle().type, 2)).field("tag", &Nested::tag);
  const LaidOutStruct laid_out = builder.build();
  EXPECT_EQ(laid_out.offset_bytes("tag"), offsetof(Nested, tag));
  EXPECT_EQ(laid_out.size_bytes, sizeof(Nested));
  const Expr mass = variable("n", laid_out.type).member("pair")[1].member("mass");
  EXPECT_TRUE(mass.type() == f64);
}

struct alignas(32) Partial {
  float first;
  int not_named[3];
  float second;
  char rest[40];
};

TEST(StructBuilder, PadsWhatIsNotNamed) {
  StructBuilder<Partial> builder("partial");
  builder.field("second", &Partial::second).field("first", &Partial::first);
  const LaidOutStruct laid_out = builder.build();
  EXPECT_EQ(laid_out.offset_bytes("second"), offsetof(Partial, second));
  EXPECT_EQ(laid_out.size_bytes, sizeof(Partial));
  EXPECT_EQ(laid_out.alignment_bytes, 32U);
  const auto* definition = get_if<RecordDefinition>(laid_out.definition);
  EXPECT_EQ(definition->align_bytes, 32);
  EXPECT_EQ(definition->members.size(), 4U);  // first, padding, second, padding
}

struct __attribute__((packed)) Packed {
  char first;
  double second;
};

TEST(StructBuilder, RefusesPackedHosts) {
  StructBuilder<Packed> builder("packed");
  builder.field("first", &Packed::first).field("second", &Packed::second);
  EXPECT_ERROR("cgen.struct_builder.layout", builder.build());
}

TEST(StructBuilder, RefusesFieldsOfAnotherSize) {
  StructBuilder<Partial> builder("partial");
  builder.field("first", &Partial::first, f64);
  EXPECT_ERROR("cgen.struct_builder.field_size", builder.build());
  EXPECT_ERROR("cgen.struct_builder.unknown_field", particle().offset_bytes("weight"));
}

TEST(StructBuilder, RefusesTypesOfUnknownLayout) {
  EXPECT_ERROR("cgen.layout_of.unknown_layout", layout_of(named("T")));
  EXPECT_ERROR("cgen.layout_of.unknown_layout", layout_of(vector_of(f32, 3)));
  EXPECT_ERROR("cgen.layout_of.unknown_layout", layout_of(array_of(f32)));
  EXPECT_ERROR("cgen.layout_of.unknown_layout", layout_of(void_type));
  EXPECT_EQ(layout_of(vector_of(f32, 4)).alignment_bytes, 16U);
}

TEST(StructBuilder, AssertsTheLayoutOnHostAndDevice) {
  const LaidOutStruct laid_out = particle();
  Module module{"m", {laid_out.definition}};
  for (const Statement& assertion : layout_assertions(laid_out)) {
    module.items.push_back(assertion);
  }
  EXPECT_EQ(module.items.size(), 9U);
  module.items.push_back(layout_kernel(laid_out));
  check_types(module);
  check_names(module, Dialect::cuda);
  const std::vector<std::int32_t> expected = expected_layout(laid_out);
  ASSERT_EQ(expected.size(), 8U);
  EXPECT_EQ(expected[1], static_cast<std::int32_t>(offsetof(Particle, mass)));
  EXPECT_EQ(expected.back(), static_cast<std::int32_t>(sizeof(Particle)));
}

TEST(LayOutStruct, PadsToAlignmentAndAwayFromBanks) {
  const std::vector<RecordField> fields{{"a", f32}, {"b", array_of(f32, 6)}};
  EXPECT_EQ(lay_out_struct("s", fields).size_bytes, 28U);
  EXPECT_EQ(lay_out_struct("s", fields, {.align_bytes = 16}).size_bytes, 32U);
  // two units of 16 bytes would hit every other bank: three do not
  EXPECT_EQ(lay_out_struct("s", fields, {.align_bytes = 16, .aligned_prime_to = {2}}).size_bytes,
            48U);
  EXPECT_ERROR("cgen.struct_builder.bad_padding", lay_out_struct("s", fields, {.align_bytes = 6}));
}

}  // namespace
}  // namespace rtcg::cgen
