#include "rtcg/loopy/device/finish_in_last_block.h"

namespace rtcg::loopy {
namespace {

void add_all(cgen::BlockBuilder& body, const std::vector<cgen::Statement>& statements) {
  for (const cgen::Statement& each : statements) {
    body << each;
  }
}

}  // namespace

void finish_in_last_block(const LastBlock& block, const std::vector<cgen::Statement>& finish,
                          cgen::BlockBuilder& arrays, cgen::BlockBuilder& body) {
  const cgen::Statement fence(cgen::MemoryFence{cgen::FenceScope::device});
  const cgen::Expr one = cgen::literal(1, cgen::u32);
  const cgen::Expr counted =
      cgen::call(cgen::Intrinsic::atomic_add, {cgen::address_of(block.counter), one});
  const cgen::Expr others = block.blocks - one;
  const cgen::Statement reset = cgen::assign(block.counter, cgen::literal(0, cgen::u32));
  cgen::BlockBuilder last;
  last << fence;
  if (!block.is_counting) {
    add_all(body, block.writes);
    body << fence;
    const cgen::Expr found =
        body.add(cgen::declare(cgen::const_(cgen::u32), block.counted_name, counted));
    last << reset;
    add_all(last, finish);
    body << cgen::if_(cgen::equal(found, others), last);
    return;
  }
  const cgen::Expr is_last =
      arrays.add(cgen::shared_array(cgen::u32, block.is_last_name, {cgen::Expr(1)}))[cgen::Expr(0)];
  cgen::BlockBuilder count;
  add_all(count, block.writes);
  count << fence << cgen::assign(is_last, cgen::cast(cgen::u32, cgen::equal(counted, others)));
  if (block.writes.empty()) {
    body << cgen::barrier();
  }
  body << cgen::if_(*block.is_counting, count) << cgen::barrier();
  last << cgen::if_(*block.is_counting, {reset});
  add_all(last, finish);
  body << cgen::if_(cgen::not_equal(is_last, cgen::literal(0, cgen::u32)), last);
}

}  // namespace rtcg::loopy
