#include "rtcg/cgen/build/cluster.h"

#include <fmt/format.h>

namespace rtcg::cgen {
namespace {

constexpr const char* rank_name = "rtcg_cluster_rank";
constexpr const char* size_name = "rtcg_cluster_size";
constexpr const char* place_name = "rtcg_shared_of_block";
constexpr const char* arrive_name = "rtcg_cluster_arrive";
constexpr const char* wait_name = "rtcg_cluster_wait";

Statement device_function(Type result, const char* name, std::vector<Parameter> parameters,
                          const Body& body, SourceOrigin where) {
  FunctionSpecifiers specifiers;
  specifiers.is_device = specifiers.is_inline = true;
  return function(std::move(result), name, std::move(parameters), body, specifiers, where);
}

Statement number_of_register(const char* name, const char* special, SourceOrigin where) {
  const Declared number = declare(u32, "number");
  return device_function(
      u32, name, {},
      BlockBuilder{
          number, Statement(InlineAsm{fmt::format("mov.u32 %0, %%{};", special), {{"=r", number}}}),
          return_(number)},
      where);
}

Statement waiting(const char* name, const char* instruction, SourceOrigin where) {
  return device_function(void_type, name, {}, Statement(InlineAsm{instruction, {}, {}, {"memory"}}),
                         where);
}

}  // namespace

Statement cluster_functions(SourceOrigin where) {
  const Type pointer = pointer_to(void_type);
  const DeclaredParameter own = param(pointer, "own");
  const DeclaredParameter rank = param(u32, "rank");
  const Declared place = declare(pointer, "place");
  return Statement(
      Group{{number_of_register(rank_name, "cluster_ctarank", where),
             number_of_register(size_name, "cluster_nctarank", where),
             device_function(pointer, place_name, {own, rank},
                             BlockBuilder{place,
                                          Statement(InlineAsm{"mapa.u64 %0, %1, %2;",
                                                              {{"=l", place}},
                                                              {{"l", own}, {"r", rank}}}),
                                          return_(place)},
                             where),
             waiting(arrive_name, "barrier.cluster.arrive.release;", where),
             waiting(wait_name, "barrier.cluster.wait.acquire;", where)}},
      where);
}

Attribute cluster_of(int x, int y, int z) {
  return {fmt::format("cluster_dims({}, {}, {})", x, y, z)};
}

Expr cluster_rank(SourceOrigin where) {
  return call(rank_name, {}, u32, where);
}

Expr cluster_size(SourceOrigin where) {
  return call(size_name, {}, u32, where);
}

Expr in_block_of_cluster(const Operand& place, const Operand& rank) {
  const Type type = decayed(place.expr.type());
  const Type pointer = pointer_to(void_type);
  return cast(type, call(place_name, {cast(pointer, place.expr), rank.expr}, pointer, place.where));
}

Statement cluster_barrier(SourceOrigin where) {
  return Statement(Group{{cluster_arrive(where), cluster_wait(where)}}, where);
}

Statement cluster_arrive(SourceOrigin where) {
  return Statement(ExpressionStatement{call(arrive_name, {}, void_type, where)}, where);
}

Statement cluster_wait(SourceOrigin where) {
  return Statement(ExpressionStatement{call(wait_name, {}, void_type, where)}, where);
}

}  // namespace rtcg::cgen
