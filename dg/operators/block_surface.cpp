#include "rtcg/dg/operators/block_surface.h"

namespace rtcg::dg::detail {

using cgen::BlockBuilder;
using cgen::Expr;

BlockSurface::BlockSurface(const KernelWriter& writer, ParameterList& parameters, BlockItems items,
                           BlockMatrix values, BlockMatrix work, int groups, bool is_plain)
    : writer_(writer),
      parameters_(parameters),
      items_(std::move(items)),
      values_(std::move(values)),
      work_(std::move(work)),
      groups_(groups),
      is_plain_(is_plain) {}

Expr BlockSurface::link_of(const BlockItem& item, int group) const {
  return writer_.link_at(parameters_, cgen::select(item.is_there, item.element, items_.first()),
                         place_of(item, group));
}

void BlockSurface::copy_traces(BlockBuilder& body, int group, const Copy& copy) const {
  const int rounds = items_.rounds(rows());
  const Expr links = body.add_array(cgen::u32, "links_of_rounds", rounds);
  items_.for_rounds(
      body, parameters_, ItemOrder::nodes_first, rows(),
      [&](BlockBuilder& inner, const BlockItem& item) {
        inner << cgen::assign(links[item.round], link_of(item, group));
      },
      0);
  items_.for_rounds(
      body, parameters_, ItemOrder::nodes_first, rows(),
      [&](BlockBuilder& inner, const BlockItem& item) {
        BlockBuilder copies;
        writer_.fetch_exterior(copies, parameters_, links[item.round], place_of(item, group),
                               [&](int field, const Expr& index) -> cgen::Statement {
                                 return copy(slot(work_, item, item.place, field),
                                             writer_.state(parameters_) + index);
                               });
        inner << cgen::if_(item.is_there, copies);
      },
      0);
}

void BlockSurface::add_fluxes(BlockBuilder& body, int group, bool with_copies) const {
  if (!with_copies && !is_plain_) {
    add_pipelined_fluxes(body, group);
    return;
  }
  items_.for_rounds(body, parameters_, ItemOrder::nodes_first, rows(),
                    [&](BlockBuilder& inner, const BlockItem& item) {
                      const Expr link = inner.add_constant(cgen::u32, "link", link_of(item, group));
                      KernelWriter::Load exterior;
                      if (with_copies) {
                        exterior = [&](const Expr&, int field) {
                          return slot(work_, item, item.place, field);
                        };
                      }
                      add_flux(inner, item, group, link, exterior);
                    });
}

void BlockSurface::add_flux(BlockBuilder& body, const BlockItem& item, int group, const Expr& link,
                            const KernelWriter::Load& exterior) const {
  BlockBuilder inner;
  writer_.surface_flux(
      inner, parameters_, item.element, place_of(item, group), link,
      [&](const Expr& node, int field) { return slot(values_, item, node, field); },
      [&](int field, const Expr& value) -> cgen::Statement {
        return cgen::assign(slot(work_, item, item.place, field), value);
      },
      exterior);
  body << cgen::if_(item.is_there, inner);
}

void BlockSurface::add_pipelined_fluxes(BlockBuilder& body, int group) const {
  const int fields = writer_.shape().fields;
  const auto number = [&](BlockBuilder& to, const std::string& name, const Expr& value) {
    return to.add(cgen::declare(cgen::u32, name, value));
  };
  const auto array = [&](BlockBuilder& to, const std::string& name) {
    return to.add_array(writer_.real(), name, fields);
  };
  const auto item_of = [&](BlockBuilder& to, const Expr& round) {
    return items_.item(to, parameters_, ItemOrder::nodes_first, rows(), round);
  };
  const int rounds = items_.rounds(rows());
  const Expr next_link = number(body, "next_link", cgen::literal(0, cgen::u32));
  const Expr later_link =
      rounds > 1 ? number(body, "later_link", cgen::literal(0, cgen::u32)) : next_link;
  const Expr coming = array(body, "coming");
  const auto ask_link = [&](BlockBuilder& to, const Expr& round, const Expr& link) {
    BlockBuilder inner;
    const BlockItem item = item_of(inner, round);
    inner << cgen::assign(link, link_of(item, group));
    to << inner.block();
  };
  const auto ask_values = [&](BlockBuilder& to, const Expr& round) {
    BlockBuilder inner;
    const BlockItem item = item_of(inner, round);
    BlockBuilder loads;
    writer_.fetch_exterior(loads, parameters_, next_link, place_of(item, group),
                           [&](int field, const Expr& index) -> cgen::Statement {
                             return cgen::assign(coming[field], writer_.state(parameters_)[index]);
                           });
    inner << cgen::if_(item.is_there, loads);
    to << inner.block();
  };
  ask_link(body, 0, next_link);
  if (rounds > 1) {
    ask_link(body, 1, later_link);
  }
  ask_values(body, 0);
  body << cgen::for_(cgen::i32, "round", 0, rounds,
                     [&](const Expr& round, BlockBuilder& inner) {
                       const Expr link = number(inner, "link", next_link);
                       const Expr values = array(inner, "neighbour");
                       for (int field = 0; field < fields; ++field) {
                         inner << cgen::assign(values[field], coming[field]);
                       }
                       if (rounds > 1) {
                         inner << cgen::assign(next_link, later_link);
                         ask_values(inner, round + 1);
                       }
                       if (rounds > 2) {
                         ask_link(inner, round + 2, later_link);
                       }
                       BlockBuilder now;
                       add_flux(now, item_of(now, round), group, link,
                                [&](const Expr&, int field) { return values[field]; });
                       inner << now.block();
                     },
                     {1, 1});
}

}  // namespace rtcg::dg::detail
