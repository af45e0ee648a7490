#include "rtcg/arrays/scan/copy_if.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/scanned_expression.h"
#include "rtcg/arrays/scan/selecting_call.h"
#include "rtcg/arrays/scan/words.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/print_kernel.h"

namespace rtcg::arrays {
namespace {

/// What goes where the mask is not 0: elements, these and the others elsewhere, or places.
enum class Selected { elements, both, places };

/// By a mask of bytes.
detail::SelectionForm form_of(Selected what, DType word, bool is_long) {
  const DType kept = what == Selected::places && !is_long ? DType::i32 : word;
  const std::string value =
      what == Selected::places ? fmt::format("cast({}, @)", name(kept)) : "x[@]";
  detail::SelectionForm form{.name = what == Selected::both ? "partition" : "copy_if",
                             .arguments = "mask: u8[n]",
                             .is_chosen = "cast(i32, mask[@] > 0)",
                             .outputs = {{"selected", word, kept, value}},
                             .is_long = is_long};
  if (what != Selected::places) {
    form.arguments += fmt::format("; x: {}[n]", name(word));
  }
  if (what == Selected::both) {
    form.rejected = {"rejected", word, word, value};
  }
  return form;
}

/// Made once for each size of elements.
const detail::SelectingCall& selection(Selected what, DType word, bool is_long) {
  using Key = std::tuple<Selected, DType, bool>;
  static auto& made = *new detail::MadeOnce<Key, detail::SelectingCall>;
  return made.of({what, word, is_long}, [&] { return form_of(what, word, is_long); });
}

/// A selection by an expression that the kernel computes itself, with the arguments of a call.
class FusedSelection {
 public:
  using Arrays = std::vector<std::pair<std::string, AnyArray>>;

  /// @param loops  of the mask in i32
  /// @param given  the arrays besides those of the mask
  FusedSelection(const detail::SelectionForm& form, const detail::ScannedExpression& mask,
                 const LoopExpression& loops, const Arrays& given, bool is_aligned)
      : executor_(executor_of(form, mask.stream.device(), loops.kernel, is_aligned)),
        dtype_(form.outputs[0].dtype) {
    const Arrays own = typed(given);
    const auto named = [](const auto& all, const std::string& name) {
      return std::find_if(all.begin(), all.end(),
                          [&](const auto& each) { return each.first == name; });
    };
    for (const loopy::Argument& argument : executor_.kernel().arguments) {
      const std::string& name = argument.name;
      const std::size_t place = values_.size();
      if (const auto mine = named(own, name); mine != own.end()) {
        values_.push_back(detail::loop_argument(name, mine->second, mask.stream).value);
        own_.emplace_back(place, mine - own.begin());
      } else if (const auto array = named(loops.arrays, name); array != loops.arrays.end()) {
        values_.push_back(detail::loop_argument(name, array->second, mask.stream).value);
        const auto& storages = mask.operands.storages;
        const auto storage =
            std::find(storages.begin(), storages.end(), array->second.storage()) - storages.begin();
        const auto address = std::get<loopy::NamedArgument::Array>(values_.back()).address;
        of_mask_.push_back({place, static_cast<std::size_t>(storage),
                            address - array->second.storage()->address()});
      } else if (const auto number =
                     std::find_if(loops.numbers.begin(), loops.numbers.end(),
                                  [&](const auto& each) { return each.name == name; });
                 number != loops.numbers.end()) {
        values_.emplace_back(number->value);
        numbers_.emplace_back(
            place, detail::place_of_number(mask.operands.numbers, number->dtype, number->value));
      } else {
        values_.emplace_back(loops.sizes.at(name == "n" ? detail::length_of_mask : name));
      }
    }
  }

  void run(const detail::ScannedExpression& mask, const Arrays& given) const {
    const Arrays own = typed(given);
    std::vector<loopy::NamedArgument::Value> values = values_;
    const auto set = [&](std::size_t argument, runtime::DeviceAddress address) {
      std::get<loopy::NamedArgument::Array>(values[argument]).address = address;
    };
    for (const auto& storage : mask.operands.storages) {
      storage->use_on(mask.stream);
    }
    for (const auto& [argument, place] : own_) {
      const AnyArray& array = own[static_cast<std::size_t>(place)].second;
      array.storage()->use_on(mask.stream);
      set(argument, array.address());
    }
    for (const OfMask& each : of_mask_) {
      set(each.argument, mask.operands.storages[each.storage]->address() + each.offset_bytes);
    }
    for (const auto& [argument, number] : numbers_) {
      values[argument] = mask.operands.numbers[number].value.value.real();
    }
    executor_.run_in_order(mask.stream, values);
  }

 private:
  struct OfMask {
    std::size_t argument;
    std::size_t storage;
    std::uint64_t offset_bytes;
  };

  /// With results of the type that the kernel writes.
  [[nodiscard]] Arrays typed(Arrays arrays) const {
    for (auto& [name, array] : arrays) {
      if (name == "selected" || name == "rejected") {
        array = array.reinterpret(dtype_);
      }
    }
    return arrays;
  }

  /// One for all lengths.
  static const loopy::Executor& executor_of(const detail::SelectionForm& form,
                                            runtime::Device device, const loopy::Kernel& mask,
                                            bool is_aligned) {
    static auto& known = *new detail::KnownExecutors<std::string>;
    std::string key = to_string(mask) + (is_aligned ? "aligned " : "");
    for (const detail::SelectionForm::Output& each : form.outputs) {
      key += fmt::format("{} {} {} ", form.name, name(each.dtype), each.value);
    }
    return known.of(device, key,
                    [&] { return detail::selecting_tiles_kernel(form, is_aligned, &mask); });
  }

  const loopy::Executor& executor_;
  DType dtype_;
  std::vector<loopy::NamedArgument::Value> values_{};  // in the order of the kernel's arguments
  std::vector<std::pair<std::size_t, std::ptrdiff_t>> own_{};
  std::vector<OfMask> of_mask_{};
  std::vector<std::pair<std::size_t, std::size_t>> numbers_{};
};

const AnyArray& array_named(const LoopExpression& loops, const std::string& name) {
  return std::find_if(loops.arrays.begin(), loops.arrays.end(),
                      [&](const auto& each) { return each.first == name; })
      ->second;
}

/// The name that the elements to choose from have in the kernel of a mask, if it reads them: then
/// they are loaded once.
std::optional<std::string> name_in_mask(const LoopExpression& mask, const AnyArray& elements) {
  for (const auto& [name, array] : mask.arrays) {
    const loopy::Argument* argument = find_argument(mask.kernel, name);
    const bool is_number =
        is_integer(array.dtype()) || array.dtype() == DType::f32 || array.dtype() == DType::f64;
    if (is_number && array.address() == elements.address() && array.count() == elements.count() &&
        size_bytes(array.dtype()) == size_bytes(elements.dtype()) &&
        array.layout().is_contiguous() && argument->strides_elements.empty() &&
        argument->shape == std::vector<loopy::Expr>{loopy::Name{detail::length_of_mask}}) {
      return name;
    }
  }
  return std::nullopt;
}

/// Selects by a kernel that computes the mask itself, if there is one.
///
/// @param own  as run_selection has them, without the mask
bool select_by_expression(Selected what, DType word, const Expression& mask,
                          const FusedSelection::Arrays& own) {
  constexpr std::size_t most_steps = 200;
  const bool is_cuda = own.front().second.device().info().id.kind == runtime::BackendKind::cuda;
  const std::int64_t count = element_count(mask.shape());
  if (!is_cuda || mask.shape().size() != 1 || is_vector(mask.dtype()) || count < 2 ||
      count > INT32_MAX) {
    return false;
  }
  const detail::ScannedExpression scan =
      detail::scan_of(cast(cast(mask, DType::boolean), DType::i32), {Op::sum, 0, false, false});
  if (scan.tape.steps.size() > most_steps ||
      !(scan.stream.device() == own.front().second.device())) {
    return false;
  }
  std::string key = scan.key();
  key += static_cast<char>(what);
  key += static_cast<char>(word);
  const AnyArray* const elements = what == Selected::places ? nullptr : &own.front().second;
  bool is_aligned = elements == nullptr || detail::is_aligned_for_vectors(*elements);
  for (const AnyArray& leaf : scan.tape.leaves) {
    key += elements != nullptr && leaf.address() == elements->address() ? '=' : ' ';
    is_aligned = is_aligned && detail::is_aligned_for_vectors(leaf);
  }
  key += is_aligned ? '|' : ' ';
  static auto& mutex = *new std::mutex;
  static auto& made = *new std::unordered_map<std::string, std::shared_ptr<const FusedSelection>>;
  const auto ready = [&]() -> std::shared_ptr<const FusedSelection> {
    const std::lock_guard lock(mutex);
    const auto found = made.find(key);
    if (found != made.end()) {
      return found->second;
    }
    constexpr std::size_t most_kept = 4096;  // each has its lengths
    if (made.size() >= most_kept) {
      made.clear();
    }
    std::shared_ptr<const FusedSelection> fresh;  // none for what is no single statement
    try {
      const LoopExpression loops = scan.loops();
      const auto length = loops.sizes.find(detail::length_of_mask);
      if (loops.kernel.instructions.size() == 1 && length != loops.sizes.end() &&
          length->second == count) {
        detail::SelectionForm form = form_of(what, word, false);
        form.is_chosen = "mask[@]";
        form.arguments = "mask: i32[n]";
        const auto shared = elements == nullptr ? std::nullopt : name_in_mask(loops, *elements);
        if (shared) {
          const DType dtype = array_named(loops, *shared).dtype();
          form.arguments += fmt::format("; {}: {}[n]", *shared, name(dtype));
          const detail::SelectionForm::Output chosen{"selected", dtype, dtype, *shared + "[@]"};
          form.outputs = {chosen};
          if (form.rejected) {
            form.rejected = chosen;
            form.rejected->name = "rejected";
          }
        } else if (elements != nullptr) {
          form.arguments += fmt::format("; x: {}[n]", name(word));
        }
        fresh = std::make_shared<const FusedSelection>(form, scan, loops, own, is_aligned);
      }
    } catch (const Unsupported&) {  // no loop kernel computes the mask
    }
    return made.emplace(key, fresh).first->second;
  }();
  if (ready) {
    ready->run(scan, own);
  }
  return ready != nullptr;
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
void run_selection(Selected what, const Expression& mask, const AnyArray* words,
                   const AnyArray& selected, const AnyArray* rejected,
                   const Array<std::int64_t>& found) {
  const std::int64_t count = element_count(mask.shape());
  if (count == 0) {
    found.assign(0);
    return;
  }
  FusedSelection::Arrays arrays;
  if (words != nullptr) {
    arrays.emplace_back("x", *words);
  }
  arrays.emplace_back("selected", selected);
  if (rejected != nullptr) {
    arrays.emplace_back("rejected", *rejected);
  }
  arrays.emplace_back("count", found.any().reshape(1));
  if (select_by_expression(what, selected.dtype(), mask, arrays)) {
    return;
  }
  const AnyArray bytes = bytes_of(mask);
  arrays.emplace_back("mask", bytes);
  selection(what, selected.dtype(), count > INT32_MAX)
      .run(current_stream(bytes.stream()), arrays, count);
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
  const AnyArray flat = array.reshape(array.count()).contiguous();
  const auto word = detail::word_of(array.dtype());
  if (!word) {
    const AnyArray bytes = bytes_of(mask);
    const CountedElements places = places_in(bytes);
    return {taken(flat, places), places.count};
  }
  const CountedElements result{AnyArray(array.dtype(), flat.shape(), current_stream()),
                               Array<std::int64_t>(AnyArray(DType::i64, {}, current_stream()))};
  const AnyArray words = flat.reinterpret(*word);
  run_selection(Selected::elements, mask, &words, result.elements.reinterpret(*word), nullptr,
                result.count);
  return result;
}

CountedElements remove_if(const AnyArray& array, const Expression& mask) {
  return copy_if(array, !mask);
}

PartitionedElements partition(const AnyArray& array, const Expression& mask) {
  check_mask_of(array, mask);
  const StreamScope scope(current_stream(array.stream()));
  const AnyArray flat = array.reshape(array.count()).contiguous();
  const auto word = detail::word_of(array.dtype());
  if (!word) {
    const AnyArray bytes = bytes_of(mask);
    const CountedElements places = places_in(bytes);
    return {taken(flat, places), taken(flat, places_in(bytes_of(bytes == 0))), places.count};
  }
  const PartitionedElements result{AnyArray(array.dtype(), flat.shape(), current_stream()),
                                   AnyArray(array.dtype(), flat.shape(), current_stream()),
                                   Array<std::int64_t>(AnyArray(DType::i64, {}, current_stream()))};
  const AnyArray words = flat.reinterpret(*word);
  const AnyArray rejected = result.rejected.reinterpret(*word);
  run_selection(Selected::both, mask, &words, result.selected.reinterpret(*word), &rejected,
                result.count);
  return result;
}

}  // namespace rtcg::arrays
