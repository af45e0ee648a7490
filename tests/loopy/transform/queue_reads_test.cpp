#include "rtcg/loopy/transform/queue_reads.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel five_points(const std::string& steps) {
  return apply_recipe(
      make_kernel("{[i, j]: 0 <= i, j < n}",
                  "out[i, j] = u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2] - "
                  "4*u[i + 1, j + 1]",
                  {.arguments = "u: f32[n + 2, n + 2]; out: f32[n, n]"}),
      steps);
}

const char* const blocks =
    "split_iname(i, 16, outer_tag=g.1)\n"
    "split_iname(j, 32, outer_tag=g.0, inner_tag=l.0)";

const QueueReadsOptions shared = {.address_space = AddressSpace::local};

TEST(QueueReads, ShiftsRegisters) {
  const Kernel queued = queue_reads(five_points("tag_inames(j:l.0)"), "u", "i", 3);
  EXPECT_EQ(statements_of(queued),
            "u_queue[1] = if(0 < n + 2 and 0 <= j + 1 and j + 1 < n + 2, u[0, j + 1], 0)\n"
            "u_queue[2] = if(1 < n + 2 and 0 <= j + 1 and j + 1 < n + 2, u[1, j + 1], 0)\n"
            "u_queue[0] = u_queue[1]\n"
            "u_queue[1] = u_queue[2]\n"
            "u_queue[2] = if(0 <= j + 1 and j + 1 < n + 2, u[i + 2, j + 1], 0)\n"
            "out[i, j] = u_queue[0] + u_queue[2] + u[i + 1, j] + u[i + 1, j + 2] - "
            "4*u_queue[1]\n");
  EXPECT_EQ(find_temporary(queued, "u_queue")->address_space, AddressSpace::private_);
  expect_recipe(five_points(""), queued, recipe_of(queued));
}

TEST(QueueReads, TakesTurnsInSharedMemory) {
  const Kernel queued = queue_reads(five_points(blocks), "u", "i_inner", 3, shared);
  EXPECT_EQ(find_temporary(queued, "u_queue")->shape, (std::vector<Expr>{3, 34}));
  const std::string text = generate_text(queued, Target::cuda);
  EXPECT_NE(text.find("u_queue[(i_inner + 2) % 3]"), std::string::npos) << text;
  EXPECT_EQ(text.find("copy_async"), std::string::npos);
  expect_recipe(five_points(""), queued, recipe_of(queued));
}

// a barrier before the wait would let threads read what others have asked for alone
TEST(QueueReads, WaitsForCopiesBeforeTheBarrier) {
  const Kernel queued =
      queue_reads(queue_reads(five_points(blocks), "u", "i_inner", 4), "u", "i_inner", 2, shared);
  const std::string text = generate_text(queued, Target::cuda);
  const std::size_t loop = text.find("for (int i_inner");
  ASSERT_NE(loop, std::string::npos) << text;
  const std::size_t wait = text.find("wait_for_copies_0();", loop);
  const std::size_t barrier = text.find("__syncthreads();", loop);
  ASSERT_NE(wait, std::string::npos) << text;
  EXPECT_LT(wait, barrier) << text;
  EXPECT_EQ(text.find("__syncthreads();", barrier + 1), std::string::npos) << text;
}

// rows of 36 elements in place of 34, so that each begins at a multiple of 16 bytes
TEST(QueueReads, CopiesSixteenBytesWhereRowsBeginAtThem) {
  const Kernel cut =
      apply_recipe(make_kernel("{[i, j]: 1 <= i, j < n - 1}",
                               "out[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]",
                               {.arguments = "u, out: f32[n, n]"}),
                   "fix_parameters(n:64)\nmap_domain(i:i - 1)\nsplit_iname(i, 16, outer_tag=g.1)\n"
                   "split_iname(j, 32, outer_tag=g.0, inner_tag=l.0)");
  const Kernel queued = queue_reads(cut, "u", "i_inner", 5, shared);
  EXPECT_EQ(find_temporary(queued, "u_queue")->shape, (std::vector<Expr>{5, 40}));
  const std::string text = generate_text(queued, Target::cuda);
  EXPECT_NE(text.find("copy_async_16("), std::string::npos) << text;
  EXPECT_EQ(text.find("copy_async_4("), std::string::npos) << text;
  // two iterations ahead: the copies of the last one may be on their way
  const std::size_t loop = text.find("for (int i_inner");
  EXPECT_LT(text.find("wait_for_copies_0();"), loop) << text;
  EXPECT_NE(text.find("wait_for_copies_1();", loop), std::string::npos) << text;
  expect_recipe(make_kernel("{[i, j]: 1 <= i, j < n - 1}",
                            "out[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]",
                            {.arguments = "u, out: f32[n, n]"}),
                queued, recipe_of(queued));
}

// each element comes from memory once: to a plane, and from there to the registers of its thread
TEST(QueueReads, FillsRegistersFromPlanes) {
  const Kernel registers = queue_reads(five_points(blocks), "u", "i_inner", 3);
  const Kernel queued = queue_reads(
      registers, "u", "i_inner", 3,
      {.address_space = AddressSpace::local, .temporary_name = "planes", .fills_registers = true});
  EXPECT_EQ(find_temporary(queued, "planes")->shape, (std::vector<Expr>{3, 34}));
  EXPECT_NE(statements_of(queued).find("u_queue[2] = planes["), std::string::npos)
      << statements_of(queued);
  const std::string text = generate_text(queued, Target::cuda);
  // what threads hand on to the next iteration is not tested: registers are renamed then
  const std::size_t shift = text.find("\n    u_queue[0] = u_queue[1];\n");
  EXPECT_NE(shift, std::string::npos) << text;
  expect_recipe(five_points(""), queued, recipe_of(queued));
}

TEST(QueueReads, TakesLoopsThatAreLongEnoughToFillAhead) {
  const Kernel three = fix_parameters(five_points(""), {{"n", 3}});
  const Kernel cut = apply_recipe(three, blocks);
  EXPECT_ERROR("loopy.queue_reads.bad_length", queue_reads(cut, "u", "i_inner", 6, shared));
  EXPECT_FALSE(why_not([&] { return queue_reads(cut, "u", "i_inner", 5, shared); }));
}

TEST(QueueReads, KeepsAllReadsThatFillTheirBox) {
  const Kernel cube =
      apply_recipe(make_kernel("{[i, j, p, q]: 0 <= i, j < n and 0 <= p, q < 3}",
                               "out[i, j] = sum((p, q), u[i + p, j + q])",
                               {.arguments = "u: f32[n + 2, n + 2]; out: f32[n, n]"}),
                   "tag_inames(j:l.0, p:unr, q:unr)");
  const Kernel queued = queue_reads(cube, "u", "i", 3, {.temporary_name = "near"});
  EXPECT_EQ(find_temporary(queued, "near")->shape, (std::vector<Expr>{3, 3}));
  EXPECT_NE(statements_of(queued).find("out[i, j] = sum((p, q), near[p, q])"), std::string::npos)
      << statements_of(queued);
}

TEST(QueueReads, RefusesWhatItCannotKeep) {
  const Kernel cut = five_points(blocks);
  EXPECT_ERROR("loopy.queue_reads.not_possible", queue_reads(cut, "v", "i_inner", 3));
  EXPECT_ERROR("loopy.queue_reads.not_possible", queue_reads(cut, "u", "i", 3));
  EXPECT_ERROR("loopy.queue_reads.not_possible", queue_reads(cut, "u", "i_outer", 3));
  EXPECT_ERROR("loopy.queue_reads.not_possible",
               queue_reads(cut, "u", "i_inner", 3, {.address_space = AddressSpace::global}));
  EXPECT_ERROR("loopy.queue_reads.not_possible",
               queue_reads(cut, "u", "i_inner", 3, {.temporary_name = "out"}));
  EXPECT_ERROR("loopy.queue_reads.bad_length", queue_reads(cut, "u", "i_inner", 2));
  EXPECT_ERROR("loopy.queue_reads.bad_length", queue_reads(cut, "u", "i_inner", 8, shared));
  EXPECT_ERROR("loopy.queue_reads.nothing_queued",
               queue_reads(queue_reads(cut, "u", "i_inner", 3), "u", "i_inner", 3));
  const Kernel in_place =
      make_kernel("{[i, j]: 1 <= i, j < n - 1}", "u[i, j] = u[i - 1, j] + u[i + 1, j]",
                  {.arguments = "u: f32[n, n]"});
  EXPECT_ERROR("loopy.queue_reads.is_written", queue_reads(in_place, "u", "i", 3));
}

// i % 2 = 0: the loop leaves values out
TEST(QueueReads, RefusesLoopsWithGaps) {
  const Kernel even =
      make_kernel("{[i, j]: 0 <= i, j < n and i mod 2 = 0}", "out[i, j] = u[i, j] + u[i + 2, j]",
                  {.arguments = "u: f32[n + 2, n]; out: f32[n, n]"});
  EXPECT_ERROR("loopy.queue_reads.not_possible", queue_reads(even, "u", "i", 3));
}

}  // namespace
}  // namespace rtcg::loopy
