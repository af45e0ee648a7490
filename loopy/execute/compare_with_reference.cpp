#include "rtcg/loopy/execute/compare_with_reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/execute/image_argument.h"
#include "rtcg/loopy/execute/laid_out_anew.h"
#include "rtcg/loopy/execute/measured_errors.h"
#include "rtcg/loopy/execute/struct_memory.h"
#include "rtcg/loopy/interpret/in_pieces.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/runtime/observe/timer.h"

namespace rtcg::loopy {
namespace {

struct Run {
  ArgumentData arrays;
  double time_ms = 0;
};

/// Whether it is a scalar of floating-point numbers, real or complex.
bool is_real_scalar(const Argument& argument) {
  const auto kind = cgen::scalar_kind(number_type(*argument.type));
  return !argument.is_array && kind && cgen::is_floating(*kind);
}

double random_real(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) / 4503599627370496.0 - 1.0;
}

/// Values of all floating-point scalars, given or random. @param kernel  typed
std::map<std::string, std::complex<double>> real_scalars(const Kernel& kernel,
                                                         const CompareOptions& options) {
  std::mt19937_64 random(options.seed);
  std::map<std::string, std::complex<double>> values;
  for (const Argument& argument : kernel.arguments) {
    if (!is_real_scalar(argument)) {
      continue;
    }
    const double real = random_real(random);
    const double imaginary = is<cgen::Complex>(*argument.type) ? random_real(random) : 0;
    const auto number = options.reals.find(argument.name);
    const auto pair = options.complex_values.find(argument.name);
    values[argument.name] = pair != options.complex_values.end() ? pair->second
                            : number != options.reals.end() ? std::complex<double>(number->second)
                                                            : std::complex<double>(real, imaginary);
  }
  return values;
}

Run run_by(const Executor& executor, const IntegerValues& parameters, const ArgumentData& arrays,
           const CompareOptions& options) {
  const runtime::Device device = executor.device();
  const runtime::StreamRef stream = device.default_stream();
  std::vector<NamedArgument> arguments;
  for (const auto& [name, value] : parameters) {
    const Argument* declared = find_argument(executor.kernel(), name);
    if (declared != nullptr && !is_real_scalar(*declared)) {
      arguments.push_back(arg(name, value));
    }
  }
  for (const auto& [name, value] : real_scalars(executor.kernel(), options)) {
    const bool is_complex = is<cgen::Complex>(*find_argument(executor.kernel(), name)->type);
    arguments.push_back(is_complex ? arg(name, value) : arg(name, value.real()));
  }
  std::map<std::string, runtime::Buffer<std::byte>> buffers;
  std::map<std::string, ImageArgument> images;
  for (const auto& [name, array] : arrays) {
    if (const Argument* image = find_image(executor.kernel(), name)) {
      arguments.push_back(
          images.emplace(name, ImageArgument(stream, executor.kernel(), *image, parameters, array))
              .first->second.argument());
      continue;
    }
    const Argument* declared = find_argument(executor.kernel(), name);
    const bool is_field = declared != nullptr && declared->field_of;
    const std::string& memory = is_field ? declared->field_of->array : name;
    auto buffer = buffers.find(memory);
    if (buffer == buffers.end()) {
      const std::vector<std::byte> bytes =
          is_field ? struct_memory(executor.kernel(), memory, arrays, parameters) : array.bytes;
      buffer = buffers.emplace(memory, runtime::Buffer<std::byte>(device, bytes)).first;
    }
    const auto numbers = static_cast<std::size_t>(array.numbers_an_element);
    NamedArgument::Array argument{
        device, buffer->second.address(), array.count() / numbers, array.kind,
        {},     array.numbers_an_element};
    if (declared != nullptr) {
      arguments.push_back({name, argument});
    }
  }
  executor(stream, arguments);
  Run run{arrays, 0};
  for (auto& [name, array] : run.arrays) {
    const Argument* declared = find_argument(executor.kernel(), name);
    if (declared != nullptr && declared->field_of) {
      FieldBytes(*declared, array, parameters)
          .copy(buffers.at(declared->field_of->array).to_vector(stream), array.bytes);
    } else if (const auto buffer = buffers.find(name); buffer != buffers.end()) {
      array.bytes = buffer->second.to_vector(stream);
    } else if (is_surface(executor.kernel(), name)) {
      runtime::copy_from_image(stream, images.at(name).image(), array.bytes);
    }
  }
  stream.synchronize();
  if (options.repetitions > 0) {
    run.time_ms = runtime::time_ms(
        stream, [&] { executor(stream, arguments); }, options.repetitions);
  }
  return run;
}

Run run_on(const Kernel& kernel, const IntegerValues& parameters, const ArgumentData& arrays,
           runtime::Device device, const CompareOptions& options) {
  return run_by(Executor(kernel, device), parameters, arrays, options);
}

ArgumentData random_data(const Kernel& kernel, const IntegerValues& parameters,
                         const CompareOptions& options) {
  ArgumentData arrays = random_arguments(infer_types(kernel), parameters, options.seed);
  for (const auto& [name, values] : options.values) {
    ArrayData& array = arrays.at(name);
    for (std::size_t i = 0; i < values.size() && i < array.count(); ++i) {
      array.set_element(i, values[i]);
    }
  }
  return arrays;
}

/// Arrays of integers that give indices of elements or lengths of loops, directly or through
/// temporaries and other arrays.
NameSet index_arrays(const Kernel& kernel) {
  NameSet names;
  const auto add_all = [&](const Expr& expr) {
    names.merge(accessed_arrays(expr));
    names.merge(free_names(expr));
  };
  for (const Instruction& instruction : kernel.instructions) {
    for_each_expression(instruction, [&](const Expr& whole) {
      walk(whole, [&](const Expr& part) {
        if (const Access* access = get_if<Access>(part)) {
          std::for_each(access->indices.begin(), access->indices.end(), add_all);
        } else if (const LinearAccess* linear = get_if<LinearAccess>(part)) {
          add_all(linear->index);
        }
        return true;
      });
    });
  }
  names.merge(parameters(kernel));
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const Instruction& instruction : kernel.instructions) {
      const NameSet written = written_variables(instruction);
      const bool counts = std::any_of(written.begin(), written.end(),
                                      [&](const auto& each) { return names.count(each) != 0; });
      const std::size_t before = names.size();
      if (counts) {
        names.merge(read_variables(kernel, instruction));
      }
      is_changed = is_changed || names.size() > before;
    }
  }
  NameSet arrays;
  for (const Argument& argument : kernel.arguments) {
    const auto kind = cgen::scalar_kind(*argument.type);
    if (argument.is_array && kind && cgen::is_integral(*kind) && names.count(argument.name) != 0) {
      arrays.insert(argument.name);
    }
  }
  return arrays;
}

/// Those from which the bounds of loops are computed.
NameSet bounding_arrays(const Kernel& kernel) {
  const NameSet bounds = parameters(kernel);
  NameSet arrays;
  for (const Instruction& instruction : kernel.instructions) {
    for (const std::string& written : written_variables(instruction)) {
      if (bounds.count(written) != 0) {
        arrays.merge(read_variables(kernel, instruction));
      }
    }
  }
  return arrays;
}

NameSet open_index_arrays(const Kernel& kernel, const CompareOptions& options) {
  NameSet open = index_arrays(kernel);
  for (const auto& [name, values] : options.values) {
    open.erase(name);
  }
  return open;
}

enum class IndexValues { permuted, ascending, small, zero };

/// Writes `value(i)` into all elements, on several threads.
template <class Integer, class Value>
void set_all_as(ArrayData& array, const Value& value) {
  constexpr std::size_t piece = std::size_t{1} << 18;
  in_pieces(array.count(), piece, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto number = static_cast<Integer>(value(i));
      std::memcpy(array.bytes.data() + i * sizeof(number), &number, sizeof(number));
    }
  });
}

template <class Value>
void set_all(ArrayData& array, const Value& value) {
  switch (cgen::size_bytes(array.kind)) {
    case 1:
      return set_all_as<std::int8_t>(array, value);
    case 2:
      return set_all_as<std::int16_t>(array, value);
    case 4:
      return set_all_as<std::int32_t>(array, value);
    default:
      return set_all_as<std::int64_t>(array, value);
  }
}

/// A number below `limit` for each place, without a division (splitmix64).
std::int64_t random_below(std::int64_t limit, std::uint64_t seed, std::uint64_t place) {
  std::uint64_t bits = seed + (place + 1) * 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
  bits ^= bits >> 31;
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>((Wide{bits} * static_cast<std::uint64_t>(limit)) >> 64);
}

/// Values below `limit`. @param array  of integers
void set_index_values(ArrayData& array, IndexValues values, std::int64_t limit,
                      std::uint64_t seed) {
  const auto count = static_cast<std::int64_t>(array.count());
  constexpr std::int64_t most_shuffled = 1 << 20;  // swaps all over gigabytes take seconds
  if (values == IndexValues::zero) {
    set_all(array, [](std::size_t) { return 0; });
  } else if (values == IndexValues::ascending) {
    set_all(array, [=](std::size_t i) {
      return static_cast<std::int64_t>(i) * (limit - 1) / std::max<std::int64_t>(count - 1, 1);
    });
  } else if (count > most_shuffled && limit < count) {
    set_all(array, [=](std::size_t i) { return random_below(limit, seed, i); });
  } else if (count > most_shuffled) {
    auto step = static_cast<std::int64_t>(0.618 * static_cast<double>(limit));
    while (std::gcd(step, limit) != 1) {
      ++step;
    }
    __extension__ using Wide = __int128;
    set_all(array, [=](std::size_t i) {  // each value once
      return static_cast<std::int64_t>(Wide{step} * static_cast<std::int64_t>(i) % limit);
    });
  } else {
    std::vector<std::int64_t> numbers(array.count());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<std::int64_t>(i) % limit;
    }
    std::mt19937_64 random(seed);
    for (std::size_t i = numbers.size(); i > 1; --i) {  // std::shuffle differs among libraries
      std::swap(numbers[i - 1], numbers[random() % i]);
    }
    set_all(array, [&](std::size_t i) { return numbers[i]; });
  }
}

/// Lengths of all axes, from the longest to the shortest; at least 1.
std::vector<std::int64_t> axis_lengths(const Kernel& kernel, const IntegerValues& parameters) {
  std::set<std::int64_t, std::greater<>> lengths;
  for (const Argument& argument : kernel.arguments) {
    for (const Expr& length : argument.shape) {
      const auto value = evaluate_integer(length, parameters);
      if (value && *value > 0) {
        lengths.insert(*value);
      }
    }
  }
  return {lengths.begin(), lengths.end()};
}

/// The shortest axis that elements of these arrays are indices of, without any computation: larger
/// values are outside.
std::optional<std::int64_t> shortest_indexed_axis(const Kernel& kernel,
                                                  const IntegerValues& parameters,
                                                  const NameSet& arrays) {
  std::optional<std::int64_t> shortest;
  const auto look_at = [&](const Access& access) {
    const Argument* argument = find_argument(kernel, access.array);
    for (std::size_t axis = 0; argument != nullptr && axis < access.indices.size(); ++axis) {
      const Access* index = get_if<Access>(access.indices[axis]);
      if (index == nullptr || arrays.count(index->array) == 0 || axis >= argument->shape.size()) {
        continue;
      }
      const auto length = evaluate_integer(argument->shape[axis], parameters);
      if (length && *length > 0 && (!shortest || *length < *shortest)) {
        shortest = length;
      }
    }
  };
  for (const Instruction& instruction : kernel.instructions) {
    for_each_expression(instruction, [&](const Expr& whole) {
      walk(whole, [&](const Expr& part) {
        if (const Access* access = get_if<Access>(part)) {
          look_at(*access);
        }
        return true;
      });
    });
  }
  return shortest;
}

/// What a description means for some data: nothing where it cannot be interpreted.
struct Problem {
  ArgumentData arrays{};
  std::optional<Interpretation> expected{};
  std::string why_not{};
  bool is_too_long = false;
};

/// What runnable_arguments() gives, and what the kernel makes of it.
/// @param kernel           typed
/// @param most_operations  as InterpretOptions
/// @throws InvalidInput  loopy.interpret.out_of_bounds
Problem pose_problem(const Kernel& kernel, const IntegerValues& parameters,
                     const CompareOptions& options,
                     double most_operations = InterpretOptions{}.most_operations) {
  Problem problem;
  InterpretArguments arguments{parameters, options.complex_values,
                               random_data(kernel, parameters, options)};
  const auto try_to_interpret = [&] {
    try {
      problem.expected = interpret(kernel, arguments, {.most_operations = most_operations});
    } catch (const Unsupported& error) {
      problem.why_not = error.message();
      problem.is_too_long = error.code() == "loopy.interpret.too_long";
    }
    problem.arrays = std::move(arguments.arrays);
  };
  const NameSet open = open_index_arrays(kernel, options);
  if (open.empty()) {
    try_to_interpret();
    return problem;
  }
  const std::vector<std::int64_t> limits = axis_lengths(kernel, parameters);
  const NameSet bounding = bounding_arrays(kernel);
  const bool has_bounds = std::any_of(
      open.begin(), open.end(), [&](const std::string& name) { return bounding.count(name) != 0; });
  NameSet others = open;
  for (const std::string& name : bounding) {
    others.erase(name);
  }
  const auto most = shortest_indexed_axis(kernel, parameters, others);
  /// Where parts of an array begin and end, and other indices: each below its own limit.
  struct Attempt {
    IndexValues values;
    std::int64_t limit;
    std::int64_t limit_of_bounds;
  };
  std::vector<Attempt> attempts;
  for (const IndexValues values :
       {IndexValues::permuted, IndexValues::ascending, IndexValues::small, IndexValues::zero}) {
    for (const std::int64_t limit_of_bounds : limits) {
      for (const std::int64_t limit : limits) {
        if ((has_bounds || limit_of_bounds == limit) && (!most || limit <= *most)) {
          attempts.push_back({values, limit, limit_of_bounds});
        }
      }
    }
  }
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const auto& [values, limit, limit_of_bounds] = attempts[i];
    if (values == IndexValues::small && attempts[i - 1].values != values) {
      arguments.arrays = random_data(kernel, parameters, options);
    }
    for (const std::string& name : open) {
      const bool is_bound = bounding.count(name) != 0 && values != IndexValues::zero;
      if (values != IndexValues::small) {
        set_index_values(arguments.arrays.at(name), is_bound ? IndexValues::ascending : values,
                         is_bound ? limit_of_bounds : limit, options.seed);
      }
    }
    try {
      try_to_interpret();
      return problem;
    } catch (const InvalidInput& error) {
      if ((error.code() != "loopy.interpret.out_of_bounds" &&
           error.code() != "loopy.interpret.not_disjoint") ||
          i + 1 == attempts.size()) {
        throw;
      }
    }
  }
  problem.arrays = std::move(arguments.arrays);
  return problem;
}

}  // namespace

ArgumentData runnable_arguments(const Kernel& kernel, const IntegerValues& parameters,
                                const CompareOptions& options) {
  if (open_index_arrays(kernel, options).empty()) {
    return random_data(kernel, parameters, options);
  }
  // only whether indices are within arrays is asked: where arrays are large, a few tell
  constexpr double most_to_look_at_all = 4e6;
  double elements = 0;
  for (const Argument& argument : kernel.arguments) {
    elements += argument.is_array ? static_cast<double>(element_count(argument, parameters)) : 0;
  }
  return pose_problem(kernel, parameters, options,
                      elements > most_to_look_at_all ? 4e5 : InterpretOptions{}.most_operations)
      .arrays;
}

ArgumentData run_kernel(const Kernel& kernel, const IntegerValues& parameters,
                        const ArgumentData& arrays, runtime::Device device,
                        const CompareOptions& options) {
  return run_on(kernel, parameters, arrays, device, options).arrays;
}

ArgumentData run_kernel(const Executor& executor, const IntegerValues& parameters,
                        const ArgumentData& arrays, const CompareOptions& options) {
  return run_by(executor, parameters, arrays, options).arrays;
}

namespace {

/// The number that a scalar argument has.
std::complex<double> as_scalar_of(const Kernel& kernel, const std::string& name,
                                  std::complex<double> value) {
  const cgen::Type type = number_type(*find_argument(kernel, name)->type);
  ArrayData parts{*cgen::scalar_kind(type), {}, 1};
  parts.bytes.resize(2 * static_cast<std::size_t>(cgen::size_bytes(parts.kind)));
  parts.set_element(0, value.real());
  parts.set_element(1, value.imag());
  return {parts.element(0), parts.element(1)};
}

void judge(ComparisonReport& report, const Described& described, const Problem& problem,
           const ArgumentData& found, const CompareOptions& options) {
  if (problem.expected) {
    report = report_of(find_mismatch(found, *problem.expected), problem.expected->is_sampled);
    report.first_open = problem.expected->first_open;
    return;
  }
  const runtime::Device host = runtime::Device::host();
  const IntegerValues& sizes = described.parameters();
  const Executor reference(described.kernel(), host);
  ArgumentData right = run_by(reference, sizes, problem.arrays, options).arrays;
  const ArgumentData first = right;
  const Kernel typed = infer_types(expand_subst(described.kernel()));
  const double length = longest_sum(typed, sizes);
  MeasuredErrors errors(typed, {.length = length});
  if (const auto other = with_other_reals(typed)) {
    CompareOptions rounded = options;
    for (auto& [name, value] : rounded.complex_values) {
      value = as_scalar_of(typed, name, value);
    }
    errors.add_other_reals(
        right, run_by(Executor(*other, host), sizes, with_reals_of(*other, problem.arrays), rounded)
                   .arrays);
  }
  // only numbers that differ are worth more than one run more
  Mismatch worst;
  constexpr int most_runs = 4;
  for (int run = 1; run == 1 || (run <= most_runs && !worst.is_equal()); ++run) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(run);
    CompareOptions changed = options;
    for (auto& [name, value] : changed.complex_values) {
      const cgen::ScalarKind kind =
          *cgen::scalar_kind(number_type(*find_argument(typed, name)->type));
      value = {with_other_last_places(value.real(), kind, length, seed + name.size()),
               with_other_last_places(value.imag(), kind, length, seed + name.size() + 1)};
    }
    errors.add_repeat(first, run_by(reference, sizes,
                                    with_other_last_places(problem.arrays, length, seed), changed)
                                 .arrays);
    worst = find_mismatch(found, right, errors);
  }
  report = report_of(worst);
  report.judge = Judge::generated_reference;
  report.note = problem.why_not;
}

/// Scalars under the names that the transformed kernel has for them.
template <class Values>
Values renamed(const Described& described, const Values& values) {
  Values result;
  for (const auto& [name, value] : values) {
    result[described.name_after(name)] = value;
  }
  return result;
}

/// Sizes that an interpreter can be asked about; none where the kernel has no others. Those that
/// the recipe fixes stay.
std::optional<IntegerValues> smaller_sizes(const Described& described, const Kernel& transformed,
                                           const IntegerValues& given) {
  for (const std::int64_t most : {200, 128, 64}) {
    IntegerValues smaller = given;
    for (auto& [name, value] : smaller) {
      if (value > most && find_argument(transformed, described.name_after(name)) != nullptr) {
        value = most / 2 + value % (most / 2);  // tiles may divide or not
      }
    }
    if (smaller != given && contains(transformed.assumptions, smaller)) {
      return smaller;
    }
  }
  return std::nullopt;
}

std::string text_of(const IntegerValues& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  }
  return text;
}

}  // namespace

double time_kernel_ms(const Kernel& transformed, const Kernel& reference,
                      const IntegerValues& parameters, runtime::Device device,
                      const CompareOptions& options) {
  const Kernel typed = infer_types(transformed);
  if (open_index_arrays(typed, options).empty()) {
    return run_on(transformed, parameters, random_data(typed, parameters, options), device, options)
        .time_ms;
  }
  const Described described(reference, transformed, parameters);
  const ArgumentData arrays =
      runnable_arguments(described.kernel(), described.parameters(), options);
  return run_on(transformed, renamed(described, described.parameters()), described.laid_out(arrays),
                device, options)
      .time_ms;
}

ComparisonReport compare_with_reference(const Kernel& transformed, const Kernel& reference,
                                        const IntegerValues& parameters, runtime::Device device,
                                        const CompareOptions& options) {
  const Described described(reference, transformed, parameters);
  CompareOptions all = options;
  all.complex_values = real_scalars(described.kernel(), options);
  const Problem problem = pose_problem(described.kernel(), described.parameters(), all);
  CompareOptions of_transformed = all;
  of_transformed.complex_values = renamed(described, all.complex_values);
  const Run found = run_on(transformed, renamed(described, described.parameters()),
                           described.laid_out(problem.arrays), device, of_transformed);
  ComparisonReport report;
  const auto smaller = smaller_sizes(described, transformed, parameters);
  if (problem.is_too_long && smaller) {
    report = compare_with_reference(transformed, reference, *smaller, device, options);
    report.note = "compared for " + text_of(*smaller) + ": " + problem.why_not;
  } else {
    all.repetitions = 0;
    judge(report, described, problem, described.put_in_order(found.arrays, problem.arrays), all);
  }
  report.transformed_ms = found.time_ms;
  return report;
}

ComparisonReport report_of(const Mismatch& worst, bool is_sampled) {
  ComparisonReport report;
  report.is_equal = worst.is_equal();
  report.worst = {worst.array, worst.index, worst.found, worst.expected, worst.excess};
  report.allowed = worst.allowed;
  report.judge = is_sampled ? Judge::sampled_interpreter : Judge::interpreter;
  report.compared = worst.compared;
  report.undecided = worst.undecided;
  return report;
}

std::string_view name_of(Judge judge) {
  return judge == Judge::interpreter           ? "interpreter"
         : judge == Judge::sampled_interpreter ? "sampled interpreter"
                                               : "generated reference";
}

void check_is_equal(const ComparisonReport& report) {
  if (report.is_equal) {
    return;
  }
  const std::string allowed = report.allowed == 0
                                  ? "and no other value is right"
                                  : fmt::format("and up to {:.3g} away is right", report.allowed);
  throw Error(
      "loopy.compare_with_reference.wrong_numbers",
      fmt::format("wrong: the transformed kernel gives {}[{}] = {}, but the kernel as "
                  "described gives {}, {} ({}{}{})",
                  report.worst.array, report.worst.index, report.worst.left, report.worst.right,
                  allowed, name_of(report.judge), report.note.empty() ? "" : "; ", report.note));
}

void check_is_decided(const ComparisonReport& report) {
  if (report.compared != 0) {
    return;
  }
  const std::string note = report.note.empty() ? "" : "; " + report.note;
  if (report.undecided == 0) {
    throw Error("loopy.compare_with_reference.nothing_compared",
                fmt::format("nothing was decided: the kernel leaves no number to compare; give "
                            "sizes with which it writes elements of an argument ({}{})",
                            name_of(report.judge), note));
  }
  throw Error(
      "loopy.compare_with_reference.nothing_compared",
      fmt::format("nothing was decided: roundings, overflows of signed integers, or variables that "
                  "are read before they are set leave all {} results open, first {}; take other "
                  "data or sizes, or compute indices and conditions exactly ({}{})",
                  report.undecided, report.first_open, name_of(report.judge), note));
}

}  // namespace rtcg::loopy
