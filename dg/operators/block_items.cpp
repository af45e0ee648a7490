#include "rtcg/dg/operators/block_items.h"

namespace rtcg::dg::detail {

using cgen::BlockBuilder;
using cgen::Expr;

BlockItem BlockItems::item(BlockBuilder& body, ParameterList& parameters, ItemOrder order,
                           int count, const Expr& round) const {
  const auto constant = [&](const std::string& name, const Expr& value) {
    return body.add_constant(cgen::i32, name, value);
  };
  const Expr item = constant("item", thread_ ? round * threads_ + *thread_ : round);
  const bool by_node = order == ItemOrder::nodes_first;
  const int length = by_node ? count : elements_;
  const Expr slow = item / length;
  const Expr fast = item % length;
  const Expr local = constant("local_element", by_node ? slow : fast);
  const Expr place = constant("place", by_node ? fast : slow);
  const Expr element = constant("element", first_ + local);
  const Expr is_inside = element < parameters.number("elements", cgen::i32);
  return {round, local, element, place, item < elements_ * count && is_inside};
}

void BlockItems::for_rounds(BlockBuilder& body, ParameterList& parameters, ItemOrder order,
                            int count, const Fill& fill, int unroll) const {
  cgen::ForOptions options;
  if (thread_) {
    options.unroll = unroll;
  }
  body << cgen::for_(
      cgen::i32, "round", 0, rounds(count),
      [&](const Expr& round, BlockBuilder& inner) {
        fill(inner, item(inner, parameters, order, count, round));
      },
      options);
}

void BlockItems::for_items(BlockBuilder& body, ParameterList& parameters, ItemOrder order,
                           int count, const Fill& fill) const {
  for_rounds(body, parameters, order, count, [&](BlockBuilder& inner, const BlockItem& item) {
    BlockBuilder work;
    fill(work, item);
    inner << cgen::if_(item.is_there, work);
  });
}

}  // namespace rtcg::dg::detail
