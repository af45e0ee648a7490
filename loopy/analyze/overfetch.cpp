#include "rtcg/loopy/analyze/overfetch.h"

#include <algorithm>
#include <set>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/analyze/global_array.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {

std::optional<std::vector<std::int64_t>> places_along(const Kernel& kernel,
                                                      const ArrayAccess& access,
                                                      const std::string& iname,
                                                      std::int64_t count) {
  const std::optional<Argument> argument = find_global_array(kernel, access.array);
  if (!argument || access.is_linear) {
    return std::nullopt;
  }
  const std::vector<Expr> strides = argument->strides_elements.empty()
                                        ? c_order_strides(argument->shape)
                                        : argument->strides_elements;
  const auto [first, last] = range_of(constraints_of(kernel, {iname}), Affine(iname));
  count = first && last ? std::min(*last - *first + 1, count) : count;
  IntegerValues values;
  for (const Expr& index : access.indices) {
    for (const std::string& name : free_names(index)) {
      values[name] = 0;
    }
  }
  if (values.count(iname) == 0 || count < 1) {
    return std::nullopt;
  }
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < count; ++i) {
    values[iname] = i;
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      const auto index = evaluate_integer(access.indices[axis], values);
      const auto stride = as_integer(strides[axis]);
      if (!index || !stride) {
        return std::nullopt;
      }
      place += *index * *stride;
    }
    places.push_back(place);
  }
  return places;
}

std::optional<double> overfetch_along(const Kernel& kernel, const ArrayAccess& access,
                                      const std::string& iname) {
  const auto places = places_along(kernel, access, iname, request_threads);
  if (!places) {
    return std::nullopt;
  }
  std::set<std::int64_t> sectors;
  for (const std::int64_t place : *places) {
    sectors.insert(divide_rounding_down(place, sector_elements));
  }
  return static_cast<double>(sectors.size()) * static_cast<double>(sector_elements) /
         static_cast<double>(places->size());
}

}  // namespace rtcg::loopy
