#include "rtcg/arrays/scan/copy_if.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/selecting_call.h"
#include "rtcg/arrays/scan/words.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

/// What goes where the mask is not 0: elements, these and the others elsewhere, or places.
enum class Selected { elements, both, places };

/// Made once for each size of elements.
const detail::SelectingCall& selection(Selected what, DType word, bool is_long) {
  using Key = std::tuple<Selected, DType, bool>;
  static auto& mutex = *new std::mutex;
  static auto& made = *new std::map<Key, std::unique_ptr<const detail::SelectingCall>>;
  const std::lock_guard lock(mutex);
  auto& call = made[{what, word, is_long}];
  if (!call) {
    const std::string value =
        what == Selected::places ? fmt::format("cast({}, @)", name(word)) : "x[@]";
    detail::SelectionForm form{.name = what == Selected::both ? "partition" : "copy_if",
                               .arguments = "mask: u8[n]",
                               .is_chosen = "cast(i32, mask[@] > 0)",
                               .outputs = {{"selected", word, word, value}},
                               .is_long = is_long};
    if (what != Selected::places) {
      form.arguments += fmt::format("; x: {}[n]", name(word));
    }
    if (what == Selected::both) {
      form.rejected = {"rejected", word, word, value};
    }
    call = std::make_unique<const detail::SelectingCall>(std::move(form));
  }
  return *call;
}

void check_mask_of(const AnyArray& array, const Expression& mask) {
  if (!(array.shape() == mask.shape())) {
    throw InvalidInput("arrays.select.shape_mismatch",
                       fmt::format("a mask of shape {} does not belong to an array of shape {}",
                                   to_string(mask.shape()), to_string(array.shape())));
  }
}

/// One byte an element, in one axis.
AnyArray bytes_of(const Expression& mask) {
  const std::int64_t count = element_count(mask.shape());
  return evaluate(cast(mask, DType::boolean)).reshape(count).reinterpret(DType::u8);
}

/// @param words, rejected  in words of a type; places have neither
void run_selection(Selected what, const AnyArray& mask, const AnyArray* words,
                   const AnyArray& selected, const AnyArray* rejected,
                   const Array<std::int64_t>& found) {
  if (mask.count() == 0) {
    found.assign(0);
    return;
  }
  std::vector<std::pair<std::string, AnyArray>> arrays = {{"mask", mask}};
  if (words != nullptr) {
    arrays.emplace_back("x", *words);
  }
  arrays.emplace_back("selected", selected);
  if (rejected != nullptr) {
    arrays.emplace_back("rejected", *rejected);
  }
  arrays.emplace_back("count", found.any().reshape(1));
  selection(what, selected.dtype(), mask.count() > INT32_MAX)
      .run(current_stream(mask.stream()), arrays, mask.count(), true);
}

CountedElements places_in(const AnyArray& mask) {
  const runtime::StreamRef stream = current_stream(mask.stream());
  const CountedElements result{AnyArray(DType::i64, {mask.count()}, stream),
                               Array<std::int64_t>(AnyArray(DType::i64, {}, stream))};
  run_selection(Selected::places, mask, nullptr, result.elements, nullptr, result.count);
  return result;
}

/// The elements at the places. Places after the last found one may hold any number.
AnyArray taken(const AnyArray& array, const CountedElements& places) {
  if (array.count() == 0) {
    return array;
  }
  const AnyArray first = array(Slice{0, 1}).broadcast_to(array.shape());
  return evaluate(gather(first, clip(places.elements, 0, array.count() - 1)));
}

}  // namespace

CountedElements find_if(const Expression& mask) {
  return places_in(bytes_of(mask));
}

CountedElements copy_if(const AnyArray& array, const Expression& mask) {
  check_mask_of(array, mask);
  const StreamScope scope(current_stream(array.stream()));
  const AnyArray bytes = bytes_of(mask);
  const AnyArray flat = array.reshape(array.count()).contiguous();
  const auto word = detail::word_of(array.dtype());
  if (!word) {
    const CountedElements places = places_in(bytes);
    return {taken(flat, places), places.count};
  }
  const CountedElements result{AnyArray(array.dtype(), flat.shape(), current_stream()),
                               Array<std::int64_t>(AnyArray(DType::i64, {}, current_stream()))};
  const AnyArray words = flat.reinterpret(*word);
  run_selection(Selected::elements, bytes, &words, result.elements.reinterpret(*word), nullptr,
                result.count);
  return result;
}

CountedElements remove_if(const AnyArray& array, const Expression& mask) {
  return copy_if(array, !mask);
}

PartitionedElements partition(const AnyArray& array, const Expression& mask) {
  check_mask_of(array, mask);
  const StreamScope scope(current_stream(array.stream()));
  const AnyArray bytes = bytes_of(mask);
  const AnyArray flat = array.reshape(array.count()).contiguous();
  const auto word = detail::word_of(array.dtype());
  if (!word) {
    const CountedElements places = places_in(bytes);
    return {taken(flat, places), taken(flat, places_in(bytes_of(bytes == 0))), places.count};
  }
  const PartitionedElements result{AnyArray(array.dtype(), flat.shape(), current_stream()),
                                   AnyArray(array.dtype(), flat.shape(), current_stream()),
                                   Array<std::int64_t>(AnyArray(DType::i64, {}, current_stream()))};
  const AnyArray words = flat.reinterpret(*word);
  const AnyArray rejected = result.rejected.reinterpret(*word);
  run_selection(Selected::both, bytes, &words, result.selected.reinterpret(*word), &rejected,
                result.count);
  return result;
}

}  // namespace rtcg::arrays
