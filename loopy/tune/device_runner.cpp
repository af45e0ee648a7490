#include "rtcg/loopy/tune/device_runner.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/execute/measured_errors.h"
#include "rtcg/loopy/slice/layout_copy.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::loopy {
namespace {

/// Counts the elements of two arrays that are further apart than allowed, or no numbers.
Executor make_comparison(cgen::ScalarKind kind, runtime::Device device) {
  const std::string type = kind == cgen::ScalarKind::f32 ? "f32" : "f64";
  const Kernel kernel = make_kernel(
      "{[i]: 0 <= i < n}",
      "wrong[0] = sum(i, 0 if found[i] == right[i] or abs(found[i] - right[i]) <= allowed[i] "
      "else 1)",
      {.name = "compare",
       .arguments = "found, right: " + type + "[n]; allowed: f32[n]; wrong: i32[1]",
       .assumptions = "n >= 1"});
  return Executor(apply(kernel, parse_slicing("i: g.0 for*16 l.0*256")), device);
}

}  // namespace

struct DeviceRunner::PreparedExecutor : PreparedCandidate {
  Executor executor;
  Slicing slicing;
  // Made by the thread that runs it, where prepare has not. That of a slicing that stores values
  // is empty again as soon as another one is bound: all together may not fit into the memory.
  std::shared_ptr<std::optional<BoundCall>> call = std::make_shared<std::optional<BoundCall>>();
  mutable std::vector<const Laid*> laid{};  ///< those that it writes

  PreparedExecutor(Executor given, Slicing words)
      : executor(std::move(given)), slicing(std::move(words)) {}
};

DeviceRunner::DeviceRunner(const Kernel& kernel, runtime::Device device, const TuneOptions& options)
    : kernel_(kernel),
      device_(device),
      stream_(device),
      worker_use_(options.workers),
      workers_({{}, compile_threads(options)}),
      timer_(device, options.cache),
      budget_seconds_(options.budget_seconds),
      sizes_(options.constraints.parameters) {
  const Kernel typed = infer_types(expand_subst(kernel));
  for (const Instruction& instruction : typed.instructions) {
    written_names_.merge(written_variables(instruction));
  }
  InterpretArguments arguments{options.constraints.parameters, {}, {}};
  for (const Argument& argument : typed.arguments) {
    if (argument.address_space == AddressSpace::image) {
      image_types_.emplace(argument.name, argument);
    }
    if (!argument.is_array) {
      const auto value = options.constraints.parameters.find(argument.name);
      arguments.reals[argument.name] =
          value != options.constraints.parameters.end() ? static_cast<double>(value->second) : 0.75;
      arguments_.push_back(value != options.constraints.parameters.end()
                               ? arg(argument.name, value->second)
                               : arg(argument.name, 0.75));
    }
  }
  const auto made = std::make_shared<std::promise<std::shared_ptr<const Initial>>>();
  initial_ = made->get_future().share();
  interpreted_.emplace([typed, made, arguments, is_over = is_over_, seed = options.seed,
                        budget = options.budget_seconds, shares_cores = shares_cores()] {
    const Stopwatch own;
    const auto initial = std::make_shared<Initial>(Initial{arguments});
    try {
      initial->arguments.arrays = runnable_arguments(typed, arguments.parameters, {.seed = seed});
    } catch (...) {
      made->set_exception(std::current_exception());
      throw;
    }
    initial->seconds = own.seconds();
    made->set_value(initial);
    const Stopwatch watch;
    // while candidates for a GPU are compiled, which takes a second
    const double most_seconds = std::clamp(0.25 * budget, shares_cores ? 0.5 : 1.5, 5.0);
    ExpectedResults expected(typed, initial->arguments, seed,
                             std::max(shares_cores ? 0.0 : 0.6, 0.1 * budget),
                             [&] { return *is_over || watch.seconds() > most_seconds; });
    return Expected{std::move(expected), watch.seconds()};
  });
}

void DeviceRunner::begin() {
  if (has_begun_) {
    return;
  }
  const std::shared_ptr<const Initial> initial = initial_.get();
  initial_ = {};
  const Stopwatch own;
  for (const auto& [name, array] : initial->arguments.arrays) {
    add_array(name, array, written_names_.count(name) != 0, initial->arguments.arrays);
  }
  times_.arrays_seconds = initial->seconds + own.seconds();
  first_values_ = initial;
  has_begun_ = true;
}

const runtime::Buffer<std::byte>& DeviceRunner::memory_of(const std::string& name) const {
  const Argument* declared = find_argument(kernel_, name);
  return buffers_.at(declared != nullptr && declared->field_of ? declared->field_of->array : name);
}

void DeviceRunner::add_array(const std::string& name, const ArrayData& array, bool is_written,
                             const ArgumentData& all) {
  const auto type = image_types_.find(name);
  const bool is_image = type != image_types_.end();
  if (is_image) {
    memory_bytes_ = memory_bytes_ + static_cast<double>(array.bytes.size());
    const auto& image =
        images_.emplace(name, ImageArgument(stream_, kernel_, type->second, sizes_, array))
            .first->second;
    arguments_.push_back(image.argument());
    if (!is_written) {
      return;
    }
  }
  const Argument* declared = find_argument(kernel_, name);
  const bool is_field = declared != nullptr && declared->field_of;
  const std::string& memory = is_field ? declared->field_of->array : name;
  if (buffers_.count(memory) == 0) {
    // of an image that is written: its elements in order
    const std::vector<std::byte> structs =
        is_field ? struct_memory(kernel_, memory, all, sizes_) : std::vector<std::byte>();
    const std::vector<std::byte>& bytes = is_field ? structs : array.bytes;
    buffers_.emplace(memory, runtime::Buffer<std::byte>(device_, bytes));
    memory_bytes_ = memory_bytes_ + (is_image ? 0.0 : static_cast<double>(bytes.size()));
  }
  const runtime::Buffer<std::byte>& buffer = buffers_.at(memory);
  if (!is_image) {
    const auto numbers = static_cast<std::size_t>(array.numbers_an_element);
    arguments_.push_back({name, NamedArgument::Array{device_,
                                                     buffer.address(),
                                                     array.count() / numbers,
                                                     array.kind,
                                                     {},
                                                     array.numbers_an_element}});
  }
  if (is_written) {
    auto& kept = written_
                     .emplace(name, Written{array.kind, array.count(),
                                            runtime::Buffer<std::byte>(device_, buffer.count())})
                     .first->second;
    runtime::copy_on_device(stream_, buffer, kept.initial);
    if (is_field) {
      kept.first_values = array;
      kept.places.emplace(*declared, array, sizes_);
    }
  }
}

void DeviceRunner::run_once(const BoundCall& call, const std::vector<const Laid*>& laid) {
  for (const auto& [name, written] : written_) {
    runtime::copy_on_device(stream_, written.initial, memory_of(name));
    if (const auto image = images_.find(name); image != images_.end()) {
      runtime::copy_to_image(stream_, written.initial, image->second.image());
    }
  }
  for (const Laid* each : laid) {
    runtime::copy_on_device(stream_, *each->initial, each->buffer);
  }
  call(stream_);
  for (const Laid* each : laid) {
    (*each->put_in_order)(stream_);
  }
  for (const auto& [name, image] : images_) {
    if (written_.count(name) != 0) {
      runtime::copy_from_image(stream_, image.image(), buffers_.at(name));
    }
  }
}

const DeviceRunner::Laid& DeviceRunner::lay_out(const LayoutPlan& plan) {
  const auto known = laid_.find(to_string(plan));
  if (known != laid_.end()) {
    return known->second;
  }
  const Kernel copy = layout_copy(kernel_, plan, LayoutCopy::lay_out);
  const Argument& laid_out = *find_argument(copy, "laid_out");
  const std::size_t bytes =
      element_count(laid_out, {}) * static_cast<std::size_t>(size_bytes(*laid_out.type));
  Laid laid{runtime::Buffer<std::byte>(device_, std::vector<std::byte>(bytes))};
  const auto written = written_.find(plan.array);
  const NamedArgument to = relocated(plan.array, "laid_out", laid.buffer.address(), copy);
  const runtime::Buffer<std::byte>& from =
      written == written_.end() ? memory_of(plan.array) : written->second.initial;
  Executor(copy, device_)(stream_, {relocated(plan.array, "described", from.address(), copy), to});
  if (written != written_.end()) {
    laid.initial.emplace(device_, std::vector<std::byte>(bytes));
    runtime::copy_on_device(stream_, laid.buffer, *laid.initial);
    const Kernel back = layout_copy(kernel_, plan, LayoutCopy::put_in_order);
    laid.put_in_order =
        Executor(back, device_)
            .bind({relocated(plan.array, "described", memory_of(plan.array).address(), back), to});
  }
  stream_.synchronize();
  return laid_.emplace(to_string(plan), std::move(laid)).first->second;
}

NamedArgument DeviceRunner::relocated(const std::string& name, const std::string& other_name,
                                      runtime::DeviceAddress address, const Kernel& other) const {
  NamedArgument argument =
      *std::find_if(arguments_.begin(), arguments_.end(),
                    [&](const NamedArgument& each) { return each.name == name; });
  argument.name = other_name;
  auto& array = std::get<NamedArgument::Array>(argument.value);
  array.address = address;
  array.count = element_count(*find_argument(other, other_name), {});
  return argument;
}

const DeviceRunner::PreparedExecutor& DeviceRunner::bound(const PreparedCandidate& candidate) {
  const auto& prepared = static_cast<const PreparedExecutor&>(candidate);
  begin();
  if (!*prepared.call) {
    if (!prepared.slicing.stores.empty()) {
      if (with_stored_values_ != nullptr) {
        with_stored_values_->reset();
      }
      with_stored_values_ = prepared.call;
    }
    std::vector<NamedArgument> arguments = arguments_;
    for (const LayoutPlan& plan : prepared.slicing.layouts) {
      const Laid& laid = lay_out(plan);
      if (laid.initial) {
        prepared.laid.push_back(&laid);
      }
      for (NamedArgument& each : arguments) {
        if (each.name == plan.array) {
          each =
              relocated(plan.array, plan.array, laid.buffer.address(), prepared.executor.kernel());
        }
      }
    }
    *prepared.call = prepared.executor.bind(arguments);
  }
  return prepared;
}

void DeviceRunner::begin_with(std::function<Executor()> make_reference,
                              std::function<std::string(const Slicing&)> check_small,
                              Slicing plain) {
  if (make_reference) {
    reference_.emplace(std::move(make_reference));
  }
  check_small_ = std::move(check_small);
  plain_ = std::move(plain);
}

bool DeviceRunner::is_judge_ready() {
  begin();
  if (!is_judge_ready_) {
    prepare_to_judge();
  }
  return is_judge_ready_;
}

void DeviceRunner::prepare_to_judge() {
  if (interpreted_) {
    if (!interpreted_->is_ready()) {
      return;
    }
    Expected interpreted = interpreted_->get();
    interpreted_.reset();
    expected_.emplace(std::move(interpreted.results));
    times_.interpreting_seconds = interpreted.seconds;
  }
  if (settled_) {
    if (settled_->is_ready()) {
      Expected settled = settled_->get();
      settled_.reset();
      expected_.emplace(std::move(settled.results));
      times_.reference_seconds += settled.seconds;
      begin_to_judge();
    }
    return;
  }
  if (!expected_->needs_reference()) {
    begin_to_judge();
    return;
  }
  if (!reference_ && !shares_cores()) {
    judge_by_first();
    return;
  }
  // moving large arrays to and fro takes as long as a compile
  constexpr double much_memory = 64e6;
  if (memory_bytes_ > much_memory && !has_timed_ && !shares_cores()) {
    return;
  }
  std::optional<Executor> reference;
  try {
    if (reference_ && !reference_->is_ready()) {
      return;
    }
    if (reference_) {
      reference.emplace(reference_->get());
    }
  } catch (const Error&) {
    reference.reset();  // it cannot be compiled
  }
  reference_.reset();
  if (!reference) {
    is_judge_ready_ = true;  // by the first candidate that is right
    return;
  }
  const Stopwatch watch;
  const BoundCall call = reference->bind(arguments_);
  run_once(call, {});
  settle(watch, plain_, [&] { run_once(call, {}); });
}

/// That a candidate is right for small sizes takes a compile more: others are timed meanwhile.
void DeviceRunner::judge_by_first() {
  const First first = this->first();
  const bool is_none = first.is_refused || (*is_over_ && first.prepared == nullptr);
  if (is_none || (small_result_ && !small_result_->empty())) {
    is_settling_ = false;
    is_judge_ready_ = true;  // by the first candidate that is right
    return;
  }
  const bool needs_small = !expected_->why_not_interpreted().empty() && check_small_;
  if (needs_small && !small_result_) {
    is_settling_ = true;
    if (!small_check_ && !first.words.empty()) {
      small_check_.emplace([check = check_small_, words = first.words] {
        try {
          return check(parse_slicing(words));
        } catch (const Error& error) {
          return std::string(error.what());
        }
      });
    } else if (small_check_ && small_check_->is_ready()) {
      small_result_ = small_check_->get();
      small_check_.reset();
    }
    return;
  }
  if (first.prepared == nullptr) {
    return;
  }
  const Stopwatch watch;
  try {
    const PreparedExecutor& prepared = bound(*first.prepared);
    choose_sample(**prepared.call);
    if (sample_stride_ == 1) {
      run_once(**prepared.call, prepared.laid);
      settle(watch, prepared.slicing, [&] { run_once(**prepared.call, prepared.laid); });
      return;
    }
  } catch (const Error&) {
    // it does not run
  }
  is_settling_ = false;
  is_judge_ready_ = true;
}

DeviceRunner::First DeviceRunner::first() const {
  const std::lock_guard lock(first_mutex_);
  return first_;
}

/// What the last run gave is the reference.
void DeviceRunner::settle(const Stopwatch& watch, const Slicing& slicing,
                          const std::function<void()>& run) {
  is_settling_ = true;
  const auto found = std::make_shared<ArgumentData>(results());
  const auto more = std::make_shared<MoreRuns>(more_runs(slicing, run));
  times_.reference_seconds = watch.seconds();
  // large arrays take a second
  const auto expected = std::make_shared<ExpectedResults>(std::move(*expected_));
  expected_.reset();
  settled_.emplace([expected, found, more] {
    const Stopwatch own;
    expected->set_reference(std::move(*found), *more);
    return Expected{std::move(*expected), own.seconds()};
  });
}

void DeviceRunner::begin_to_judge() {
  is_settling_ = false;
  for (auto& [name, written] : written_) {
    send_bounds(name, written);
  }
  has_reference_ = true;
  is_judge_ready_ = true;
}

void DeviceRunner::judge_by_what_is_known() {
  *is_over_ = true;
  has_timed_ = true;
  if (reference_ && !reference_->is_ready()) {
    reference_.reset();
  }
  constexpr double patience = 0.5;
  const Stopwatch watch;
  while (!is_judge_ready()) {
    if (watch.seconds() > patience && check_small_ && (interpreted_ || settled_)) {
      interpreted_.reset();  // its thread is left
      settled_.reset();
      is_settling_ = false;
      judges_small_sizes_ = true;
      is_judge_ready_ = true;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void DeviceRunner::set_reference(const Executor& reference) {
  begin();
  if (interpreted_) {
    expected_.emplace(std::move(interpreted_->get().results));
    interpreted_.reset();
  }
  const BoundCall call = reference.bind(arguments_);
  run_once(call, {});
  ArgumentData found = results();
  expected_->set_reference(std::move(found), more_runs({}, [&] { run_once(call, {}); }));
  begin_to_judge();
}

ArgumentData DeviceRunner::results() {
  ArgumentData found;
  for (const auto& [name, written] : written_) {
    found.emplace(name, to_host(name, written));
  }
  return found;
}

MoreRuns DeviceRunner::more_runs(const Slicing& slicing, const std::function<void()>& run) {
  MoreRuns more;
  more.parts = parts_of_sums(slicing);
  if (!expected_->needs_repeats()) {
    first_values_.reset();
    return more;
  }
  if (!slicing.layouts.empty()) {
    return more;  // it reads copies of the arrays
  }
  constexpr std::size_t most = 4;
  constexpr double much_memory = 64e6;  // which takes long to copy
  const std::size_t fewest = memory_bytes_ > much_memory ? 1 : 3;
  constexpr double most_of_budget = 0.05;
  const InterpretArguments& first = first_values_->arguments;
  const Kernel typed = infer_types(expand_subst(kernel_));
  const double length = longest_sum(typed, sizes_);
  const Stopwatch own;
  const auto is_late = [&] { return *is_over_ || watch_.seconds() > budget_seconds_; };
  while (more.repeats.size() < fewest ||
         (more.repeats.size() < most && own.seconds() < most_of_budget * budget_seconds_)) {
    if (is_late() && !more.repeats.empty()) {
      break;
    }
    set_arrays(with_other_last_places(first.arrays, length, more.repeats.size() + 1));
    run();
    more.repeats.push_back(results());
  }
  set_arrays(first.arrays);
  if (is_late()) {
    return more;  // to compile it and to convert the arrays takes seconds
  }
  try {
    if (const auto other = with_other_reals(typed)) {
      CompareOptions scalars;
      for (const auto& [name, value] : first.reals) {
        scalars.reals[name] = value.real();
      }
      ArgumentData found = run_kernel(apply(*other, slicing), sizes_,
                                      with_reals_of(*other, first.arrays), device_, scalars);
      std::erase_if(found, [&](const auto& each) { return written_.count(each.first) == 0; });
      more.other_reals = std::move(found);
    }
  } catch (const Error&) {
    more.other_reals.reset();  // the slicing is about types
  }
  return more;
}

void DeviceRunner::set_arrays(const ArgumentData& arrays) {
  for (const auto& [name, array] : arrays) {
    const auto written = written_.find(name);
    const Argument* declared = find_argument(kernel_, name);
    if (declared != nullptr && declared->field_of) {
      const std::vector<std::byte> structs =
          struct_memory(kernel_, declared->field_of->array, arrays, sizes_);
      runtime::copy_to_device(stream_, structs, memory_of(name));
      if (written != written_.end()) {
        runtime::copy_to_device(stream_, structs, written->second.initial);
      }
      continue;
    }
    const auto buffer = buffers_.find(name);
    if (buffer == buffers_.end() || !cgen::is_floating(array.kind)) {
      continue;
    }
    runtime::copy_to_device(stream_, array.bytes,
                            written == written_.end() ? buffer->second : written->second.initial);
  }
  stream_.synchronize();
}

double DeviceRunner::parts_of_sums(const Slicing& slicing) const {
  NameSet reduced;
  for (const Instruction& each : expand_subst(kernel_).instructions) {
    reduced.merge(reduction_inames(each));
  }
  double parts = 1;
  for (const InameSlicing& each : slicing.inames) {
    if (reduced.count(each.iname) == 0) {
      continue;
    }
    const auto last = constraints_of(kernel_, {each.iname}).maximum(Affine(each.iname));
    double outermost = static_cast<double>(last.value_or(0) + 1);
    for (const SlicingFactor& factor : each.factors) {
      outermost /= static_cast<double>(std::max<std::int64_t>(factor.length, 1));
    }
    for (const SlicingFactor& factor : each.factors) {
      if (factor.axis.kind != AxisKind::sequential) {
        parts *= factor.length > 0 ? static_cast<double>(factor.length) : std::max(outermost, 1.0);
      }
    }
  }
  return parts;
}

std::string DeviceRunner::take_as_reference(const PreparedExecutor& prepared) {
  ArgumentData found = results();
  const MoreRuns more =
      more_runs(prepared.slicing, [&] { run_once(**prepared.call, prepared.laid); });
  expected_->set_reference(std::move(found), more);
  const bool is_interpreted = expected_->why_not_interpreted().empty();
  std::string wrong = is_interpreted || !check_small_ ? "" : check_small_(prepared.slicing);
  if (wrong.empty()) {
    begin_to_judge();
  }
  return wrong;
}

bool DeviceRunner::is_compared_there(const Written& written) const {
  const bool is_known =
      written.kind == cgen::ScalarKind::f32 || written.kind == cgen::ScalarKind::f64;
  return is_known && written.count > 0 && !written.places &&
         device_.info().id.kind == runtime::BackendKind::cuda;
}

void DeviceRunner::send_bounds(const std::string& name, Written& written) {
  if (is_compared_there(written)) {
    const ExpectedResults::Bounds& bounds = expected_->bounds_of(name);
    written.right.emplace(device_, bounds.right.bytes);
    written.allowed.emplace(device_, bounds.allowed);
  }
}

std::vector<runtime::KernelResources> DeviceRunner::compile(const Executor& executor,
                                                            const std::stop_token& stop) {
  for (;;) {
    runtime::WorkerCompiler compiler(device_.backend().compiler(), &workers_, worker_use_, stop);
    try {
      return executor.prepare(compiler);
    } catch (const DeviceError& error) {
      // another candidate with the same text was stopped while this one waited for its result
      if (error.code() != "runtime.compile_workers.stopped" || stop.stop_requested()) {
        throw;
      }
    }
  }
}

CandidateRunner::Prepared DeviceRunner::prepare(const RankedCandidate& ranked,
                                                const std::stop_token& stop) {
  bool is_first = false;
  {
    const std::lock_guard lock(first_mutex_);
    is_first = first_.words.empty();
    first_.words = is_first ? ranked.words : first_.words;
  }
  if (!is_first) {
    return compiled(ranked, stop);
  }
  const auto note = [&](Prepared prepared) {
    const std::lock_guard lock(first_mutex_);
    first_.is_refused = prepared == nullptr;
    first_.prepared = std::move(prepared);
  };
  try {
    Prepared prepared = compiled(ranked, stop);
    note(prepared);
    return prepared;
  } catch (...) {
    note(nullptr);
    throw;
  }
}

CandidateRunner::Prepared DeviceRunner::compiled(const RankedCandidate& ranked,
                                                 const std::stop_token& stop) {
  const Slicing slicing = parse_slicing(ranked.words);
  const Executor executor(apply(kernel_, slicing), device_);
  const std::vector<runtime::KernelResources> resources = compile(executor, stop);
  auto prepared = std::make_shared<PreparedExecutor>(executor, slicing);
  if (slicing.layouts.empty() && slicing.stores.empty() && has_begun_) {
    *prepared->call = executor.bind(arguments_);
  }
  if (!resources.empty()) {
    prepared->resources = resources.front();
  }
  prepared->program_hash = executor.program_hash();
  return prepared;
}

bool DeviceRunner::is_within_bounds(const std::string& name, const Written& written) {
  auto comparison = comparisons_.find(written.kind);
  if (comparison == comparisons_.end()) {
    comparison = comparisons_.emplace(written.kind, make_comparison(written.kind, device_)).first;
  }
  if (!wrong_) {
    wrong_.emplace(device_, 1);
  }
  const auto array = [&](const char* parameter, const auto& buffer, cgen::ScalarKind kind) {
    return NamedArgument{parameter,
                         NamedArgument::Array{device_, buffer.address(), written.count, kind, {}}};
  };
  comparison->second(
      stream_, {array("found", buffers_.at(name), written.kind),
                array("right", *written.right, written.kind),
                array("allowed", *written.allowed, cgen::ScalarKind::f32), arg("wrong", *wrong_),
                arg("n", static_cast<std::int64_t>(written.count))});
  return wrong_->to_vector(stream_).front() == 0;
}

ArrayData DeviceRunner::to_host(const std::string& name, const Written& written) const {
  if (written.places) {
    ArrayData found = written.first_values;
    written.places->copy(memory_of(name).to_vector(stream_), found.bytes);
    return found;
  }
  return {written.kind, buffers_.at(name).to_vector(stream_)};
}

std::string DeviceRunner::check(const PreparedCandidate& candidate) {
  const PreparedExecutor& prepared = bound(candidate);
  choose_sample(**prepared.call);
  if ((sample_stride_ > 1 && check_small_) || judges_small_sizes_) {
    return check_small_(prepared.slicing);
  }
  run_once(**prepared.call, prepared.laid);
  if (!has_reference_) {
    return take_as_reference(prepared);
  }
  const std::string wrong = why_wrong();
  if (expected_->is_reference_wrong()) {
    has_reference_ = false;
    ++judgement_;
    return wrong.empty() ? take_as_reference(prepared) : wrong;
  }
  return wrong;
}

/// Of the last run.
std::string DeviceRunner::why_wrong() {
  for (auto& [name, written] : written_) {
    if (written.right && is_within_bounds(name, written)) {
      continue;
    }
    std::string wrong = expected_->why_wrong(name, to_host(name, written));
    if (expected_->has_new_bounds(name)) {
      send_bounds(name, written);
    }
    if (!wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

void DeviceRunner::choose_sample(const BoundCall& call) {
  constexpr double most_of_budget = 0.05;  // that a run may take
  constexpr double usual_of_budget = 0.02;
  if (sample_stride_ != 0) {
    return;
  }
  sample_stride_ = 1;
  const std::int64_t iterations = call.host_iterations();
  if (iterations == 1) {
    return;
  }
  const auto time_one = [&] {
    return timer_.time_us(
        stream_, [&] { call.run_sample(stream_, iterations); }, 1);
  };
  static_cast<void>(time_one());  // the first launches load the program
  const double one_us = time_one();
  const double budget_us = budget_seconds_ * 1e6;
  if (one_us * static_cast<double>(iterations) > most_of_budget * budget_us) {
    const auto timed = static_cast<std::int64_t>(
        std::clamp(usual_of_budget * budget_us / one_us, 1.0, static_cast<double>(iterations)));
    sample_stride_ = ceil_divide(iterations, timed);
    timed_share_ = static_cast<double>(ceil_divide(iterations, sample_stride_)) /
                   static_cast<double>(iterations);
  }
}

double DeviceRunner::time_us(const PreparedCandidate& candidate, int launches) {
  const BoundCall& call = **bound(candidate).call;
  has_timed_ = true;
  choose_sample(call);
  return timer_.time_us(
             stream_, [&] { call.run_sample(stream_, sample_stride_); }, launches) /
         timed_share_;
}

bool DeviceRunner::shares_cores() const {
  return device_.info().is_cpu;
}

double DeviceRunner::seconds() const {
  return watch_.seconds();
}

}  // namespace rtcg::loopy
