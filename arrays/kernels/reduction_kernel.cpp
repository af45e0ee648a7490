#include "rtcg/arrays/kernels/reduction_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_kernel.h"
#include "rtcg/arrays/kernels/snippet_reducer.h"
#include "rtcg/arrays/kernels/typed_reduction.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/lazy/run.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/execute/target_of.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::arrays {
namespace {

using detail::ResultProgram;
using detail::SnippetProgram;

}  // namespace

struct ReductionKernel::Program {
  Program(const std::vector<Reduction>& reductions, const std::vector<KernelArgument>& arguments,
          ReductionOptions options, SourceOrigin where)
      : snippets(arguments, std::move(options.preamble), where),
        is_pairwise(options.accuracy == Accuracy::pairwise),
        name(std::move(options.name)) {
    if (reductions.empty()) {
      throw InvalidInput("arrays.reduction_kernel.no_result",
                         "a reduction gives one result at least");
    }
    for (const Reduction& reduction : reductions) {
      results.push_back(detail::read_result(reduction, arguments, options.accuracy));
      if (reduction.type.shared_structure()) {
        snippets.add(reduction.type.shared_structure());
      } else {
        snippets.dtypes.insert(reduction.type.dtype());
      }
      snippets.add(results.back().map);
      snippets.add(results.back().reduce);
      snippets.add(results.back().neutral);
    }
    // a pointer may be read through, and that is all a reduction does
    for (auto& [array, use] : snippets.arrays) {
      use.is_written = false;
    }
  }

  SnippetProgram snippets;
  std::vector<ResultProgram> results;
  bool is_pairwise;
  std::string name;
  mutable detail::KernelTable kernels;
};

namespace {

/// What a pass writes to, and how that lies.
struct Target {
  AnyArray array;
  Layout layout;  ///< in elements of the result, structs too
};

/// One call of a kernel.
class Run {
 public:
  Run(const SnippetProgram& program, const std::vector<ResultProgram>& results, bool is_pairwise,
      const ReductionLaunch& launch)
      : program_(program), results_(results), is_pairwise_(is_pairwise), launch_(launch) {}

  std::vector<AnyArray> operator()(const std::vector<Expression>& values,
                                   detail::KernelTable& kernels, const std::string& name) {
    detail::BindOptions options{launch_.range, launch_.stream};
    if (launch_.offsets && !options.range) {
      options.range = Slice{};  // one axis
    }
    const detail::SnippetBinding binding = detail::bind(program_, values, options);
    stream_.emplace(binding.stream);
    choose_results(binding);
    if (element_count(kept_shape_) == 0) {
      return outputs_;
    }
    std::vector<Layout> leaves = binding.layouts();
    std::vector<Layout> targets;
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      targets.push_back(layout_of_result(k));
    }
    detail::SplitLayouts layouts;
    if (launch_.offsets) {
      layouts = segmented_layouts(binding, leaves, targets);
    } else {
      layouts =
          detail::split_layouts(binding.shape, {axes_, launch_.keeps_axes, true}, targets, leaves);
    }
    run_passes(binding, std::move(layouts), kernels, name);
    return outputs_;
  }

 private:
  /// Sets the axes that go, the shape that stays, and where results go.
  void choose_results(const detail::SnippetBinding& binding) {
    const int count = binding.shape.size();
    if (launch_.offsets) {
      check_offsets();
      kept_shape_ = {launch_.offsets->shape()[0] - 1};
    } else {
      for (int axis = 0; axis < count; ++axis) {
        const bool goes = goes_away(axis, count);
        if (goes) {
          axes_.push_back(axis);
        }
        if (!goes || launch_.keeps_axes) {
          kept_shape_.push_back(goes ? 1 : binding.shape[axis]);
        }
      }
    }
    if (launch_.out.empty()) {
      for (const ResultProgram& result : results_) {
        Extents shape = kept_shape_;
        if (result.type.structure() != nullptr) {
          shape.push_back(static_cast<std::int64_t>(result.type.structure()->size_bytes));
        }
        outputs_.emplace_back(result.type.dtype(), shape, *stream_);
      }
    } else {
      outputs_ = launch_.out;
      check_out();
    }
  }

  [[nodiscard]] bool goes_away(int axis, int count) const {
    if (!launch_.axes) {
      return true;
    }
    int times = 0;
    for (const std::int64_t given : *launch_.axes) {
      times += checked_axis(given, count) == axis ? 1 : 0;
    }
    if (times > 1) {
      throw InvalidInput("arrays.reduce.repeated_axis",
                         fmt::format("axis {} is to be reduced twice", axis));
    }
    return times == 1;
  }

  void check_offsets() const {
    const AnyArray& offsets = *launch_.offsets;
    const bool is_index = offsets.dtype() == DType::i32 || offsets.dtype() == DType::i64;
    if (!is_index || offsets.axes() != 1 || offsets.count() < 1 || launch_.axes ||
        launch_.keeps_axes) {
      throw InvalidInput(
          "arrays.reduction_kernel.bad_offsets",
          fmt::format("offsets are one axis of i32 or i64, one longer than there are "
                      "results, and go without axes; these are {} of shape {}",
                      name(offsets.dtype()), to_string(offsets.shape())));
    }
  }

  void check_out() const {
    bool fits = outputs_.size() == results_.size();
    for (std::size_t k = 0; fits && k < outputs_.size(); ++k) {
      fits = outputs_[k].dtype() == results_[k].type.dtype() &&
             layout_of_result(k).shape == kept_shape_ &&
             outputs_[k].device() == stream_->device() &&
             !may_repeat_elements(outputs_[k].layout());
    }
    if (!fits) {
      throw InvalidInput(
          "arrays.reduction_kernel.bad_out",
          fmt::format("out holds an array for each of {} results, of its type and of "
                      "shape {}, on the device of the arguments",
                      results_.size(), to_string(kept_shape_)));
    }
  }

  [[nodiscard]] Layout layout_of_result(std::size_t k) const {
    const cgen::LaidOutStruct* structure = results_[k].type.structure();
    return structure == nullptr ? outputs_[k].layout()
                                : layout_of_structs(outputs_[k], structure->size_bytes);
  }

  /// The kept axis counts segments; along the other one lie all elements.
  [[nodiscard]] detail::SplitLayouts segmented_layouts(const detail::SnippetBinding& binding,
                                                       const std::vector<Layout>& leaves,
                                                       std::vector<Layout> targets) const {
    detail::SplitLayouts result;
    result.kept_shape = kept_shape_;
    result.reduced_shape = binding.shape;
    result.targets = std::move(targets);
    for (const Layout& leaf : leaves) {
      result.kept.push_back({kept_shape_, {0}, leaf.offset});
      result.reduced.push_back({leaf.shape, leaf.strides, 0});
    }
    return result;
  }

  void run_passes(const detail::SnippetBinding& binding, detail::SplitLayouts layouts,
                  detail::KernelTable& kernels, const std::string& name) {
    std::vector<Target> targets;
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      targets.push_back({outputs_[k], layouts.targets[k]});
    }
    std::vector<Target> leaves;  // of a later pass
    while (true) {
      detail::ReductionSize size = layouts.size();
      const std::int64_t length = size.length;
      if (launch_.offsets && leaves.empty()) {
        size.may_split = false;
        size.length = ceil_divide(size.length, size.outputs);
        size.kept_step = 0;
      }
      detail::ReductionPlan plan = plan_reduction(stream_->device(), size);
      if (launch_.offsets && leaves.empty()) {
        plan.more[1] = length;  // not what an output has on average: offsets are cut to it
      }
      if (plan.segments == 1 || has_last_block_reduce(plan, size.outputs)) {
        launch_pass(binding, layouts, plan, leaves, targets, false, kernels, name);
        return;
      }
      std::vector<Target> partial;
      for (const ResultProgram& result : results_) {
        for (int part = 0; part < result.parts(); ++part) {
          const auto bytes = static_cast<std::int64_t>(result.carried_bytes());
          partial.push_back(
              {AnyArray(DType::u8, {plan.segments, size.outputs, bytes}, *stream_), Layout{}});
        }
      }
      launch_pass(binding, layouts, plan, leaves, partial, true, kernels, name);
      leaves = std::move(partial);
      layouts.continue_with(leaves.size(), plan.segments);
      for (std::size_t k = 0; k < leaves.size(); ++k) {
        leaves[k].layout = layouts.leaf(k);
      }
    }
  }

  /// Whether the blocks of a segmented reduction can bring their results together in one launch.
  [[nodiscard]] bool has_last_block_reduce(const detail::ReductionPlan& plan,
                                           std::int64_t outputs) const {
    return loopy::dialect_of(stream_->device()) == cgen::Dialect::cuda && plan.segments > 1 &&
           (plan.spread == detail::ReductionSpread::columns ||
            (plan.spread == detail::ReductionSpread::block &&
             outputs <= detail::last_block_counter_count)) &&
           std::all_of(results_.begin(), results_.end(), [](const ResultProgram& result) {
             return result.type.structure() == nullptr && !is_complex(result.type.dtype()) &&
                    !is_vector(result.type.dtype());
           });
  }

  void launch_pass(const detail::SnippetBinding& binding, const detail::SplitLayouts& layouts,
                   const detail::ReductionPlan& plan, const std::vector<Target>& leaves,
                   const std::vector<Target>& targets, bool is_partial,
                   detail::KernelTable& kernels, const std::string& name) const {
    detail::SnippetReductionForm form;
    std::vector<Layout> element_layouts;
    if (leaves.empty()) {
      for (std::size_t k = 0; k < layouts.kept.size(); ++k) {
        element_layouts.push_back(layouts.leaf(k));
      }
      form.snippets = form_of(binding, element_layouts);
    }
    detail::SnippetForm& all = form.snippets;
    all.dialect = loopy::dialect_of(stream_->device());
    all.axes = static_cast<std::uint8_t>(layouts.kept_shape.size() + layouts.reduced_shape.size());
    const std::int64_t outputs = element_count(layouts.kept_shape);
    all.is_wide = all.is_wide || outputs >= (1 << 29) || plan.segments * outputs >= (1 << 29) ||
                  element_count(layouts.reduced_shape) >= (1 << 29);
    const auto operand = [&](const Target& target) {
      all.is_wide = all.is_wide || !detail::fits_32_bits(DType::u8, target.layout);
      return detail::form_of(DType::u8, target.layout.strides);
    };
    for (const Target& target : targets) {
      form.targets.push_back(operand(target));
    }
    for (const Target& leaf : leaves) {
      form.partials.push_back(operand(leaf));
    }
    const bool has_offsets = launch_.offsets && leaves.empty();
    if (has_offsets) {
      form.offsets = launch_.offsets->dtype();
    }
    form.shape = {.dialect = all.dialect,
                  .kept_axes = layouts.kept_shape.size(),
                  .targets = targets.size(),
                  .spread = plan.spread,
                  .is_partial = is_partial,
                  .is_pairwise = is_pairwise_ && leaves.empty(),
                  .has_last_block_reduce = !is_partial && plan.segments > 1};
    launch(binding, layouts, plan, leaves, targets, form, element_layouts, kernels, name);
  }

  void launch(const detail::SnippetBinding& binding, const detail::SplitLayouts& layouts,
              const detail::ReductionPlan& plan, const std::vector<Target>& leaves,
              const std::vector<Target>& targets, const detail::SnippetReductionForm& form,
              const std::vector<Layout>& element_layouts, detail::KernelTable& kernels,
              const std::string& name) const {
    const bool is_wide = form.snippets.is_wide;
    runtime::ArgumentPack pack;
    for (const Extents& lengths : {layouts.kept_shape, layouts.reduced_shape}) {
      for (const std::int64_t length : lengths) {
        detail::pack_index(pack, length, is_wide);
      }
    }
    const auto add = [&](const Target& target, const detail::OperandForm& operand,
                         std::size_t bytes) {
      target.array.storage()->use_on(*stream_);
      pack_operand(pack, operand,
                   {target.array.storage()->address() +
                        static_cast<std::uint64_t>(target.layout.offset) * bytes,
                    target.layout.strides},
                   is_wide);
    };
    std::size_t number = 0;
    for (const ResultProgram& result : results_) {
      const bool is_struct = result.type.structure() != nullptr;
      const std::size_t bytes = form.shape.is_partial || is_struct
                                    ? result.carried_bytes()
                                    : size_bytes(result.type.dtype());
      for (int part = 0; part < (form.shape.is_partial ? result.parts() : 1); ++part, ++number) {
        add(targets[number], form.targets[number], bytes);
      }
    }
    AnyArray offsets = outputs_[0];
    if (form.offsets) {
      offsets = launch_.offsets->contiguous();
      offsets.storage()->use_on(*stream_);
      pack.add(offsets.address());
    }
    if (leaves.empty()) {
      pack_binding(pack, binding, form.snippets, element_layouts, program_.uses_count());
    } else {
      number = 0;
      for (const ResultProgram& result : results_) {
        for (int part = 0; part < result.parts(); ++part, ++number) {
          add(leaves[number], form.partials[number], result.carried_bytes());
        }
      }
    }
    for (const std::int64_t value : plan.more) {
      detail::pack_index(pack, value, is_wide);
    }
    const std::vector<AnyArray> scratch = add_scratch(pack, plan, layouts, form.shape);
    kernels
        .get(
            stream_->device(), key_of(form),
            [&] {
              program_.check_structs(*stream_);
              return make_reduction_module(program_, results_, form);
            },
            name, program_.where)
        .launch(*stream_, plan.launch, pack);
  }

  /// Where blocks that meet at once leave their results.
  [[nodiscard]] std::vector<AnyArray> add_scratch(runtime::ArgumentPack& pack,
                                                  const detail::ReductionPlan& plan,
                                                  const detail::SplitLayouts& layouts,
                                                  const detail::ReductionShape& shape) const {
    std::vector<AnyArray> scratch;
    if (!shape.has_last_block_reduce) {
      return scratch;
    }
    const std::int64_t count = plan.segments * element_count(layouts.kept_shape);
    for (const ResultProgram& result : results_) {
      for (int part = 0; part < result.parts(); ++part) {
        const auto bytes = static_cast<std::int64_t>(result.carried_bytes());
        scratch.emplace_back(DType::u8, Extents{count * bytes}, *stream_);
        scratch.back().storage()->use_on(*stream_);
        pack.add(scratch.back().address());
      }
    }
    pack.add(detail::last_block_counters_of(*stream_));
    return scratch;
  }

  const SnippetProgram& program_;
  const std::vector<ResultProgram>& results_;
  bool is_pairwise_;
  const ReductionLaunch& launch_;
  std::optional<runtime::StreamRef> stream_;
  Extents axes_;
  Extents kept_shape_;
  std::vector<AnyArray> outputs_;
};

}  // namespace

ResultType::ResultType(const cgen::LaidOutStruct& type)
    : dtype_(DType::u8), structure_(std::make_shared<cgen::LaidOutStruct>(type)) {}

ReductionKernel::ReductionKernel(ResultType type, std::string neutral, std::string reduce,
                                 std::string map, const ArgumentList& arguments,
                                 ReductionOptions options, SourceOrigin where)
    : ReductionKernel(std::vector<Reduction>{{std::move(type), std::move(neutral),
                                              std::move(reduce), std::move(map)}},
                      arguments, std::move(options), where) {}

ReductionKernel::ReductionKernel(std::vector<Reduction> results, const ArgumentList& arguments,
                                 ReductionOptions options, SourceOrigin where)
    : program_(std::make_shared<Program>(results, arguments.list(), std::move(options), where)) {}

ReductionKernel::ReductionKernel(const Expression& reduction, const ArgumentList& arguments)
    : typed_(std::make_shared<detail::TypedReduction>(reduction, arguments.list())) {}

std::vector<AnyArray> ReductionKernel::run(const std::vector<Expression>& values,
                                           const ReductionLaunch& launch) const {
  if (typed_) {
    return typed_->run(values, launch);
  }
  return Run(program_->snippets, program_->results, program_->is_pairwise, launch)(
      values, program_->kernels, program_->name);
}

AnyArray ReductionKernel::run_single(const std::vector<Expression>& values,
                                     const ReductionLaunch& launch) const {
  if (program_ && program_->results.size() != 1) {
    throw InvalidInput("arrays.reduction_kernel.several_results",
                       fmt::format("kernel '{}' has {} results: take them from run(values)",
                                   program_->name, program_->results.size()));
  }
  return run(values, launch)[0];
}

loopy::Kernel ReductionKernel::as_loop_kernel() const {
  if (typed_) {
    return typed_->as_loop_kernel();
  }
  const ResultProgram& result = program_->results[0];
  if (program_->results.size() != 1 || !program_->snippets.preamble.empty() ||
      result.type.structure() != nullptr) {
    detail::refuse_loop("it has several results, structs or a preamble");
  }
  return detail::element_loop_kernel(
      program_->snippets.arguments,
      {"out[0] = " + detail::loop_reduction(result.reduce, result.neutral, result.map)},
      program_->name, result.type.dtype());
}

std::string ReductionKernel::text(cgen::Dialect dialect) const {
  if (typed_) {
    throw Unsupported("arrays.elementwise_kernel.no_text",
                      "a kernel of an expression has a text only with the arrays it runs on");
  }
  detail::SnippetReductionForm form;
  form.snippets = program_->snippets.contiguous_form(dialect);
  form.targets.assign(program_->results.size(), detail::form_of(DType::u8, {}));
  form.shape.dialect = dialect;
  form.shape.targets = form.targets.size();
  form.shape.is_pairwise = program_->is_pairwise;
  form.shape.spread = dialect == cgen::Dialect::c ? detail::ReductionSpread::threads
                                                  : detail::ReductionSpread::block;
  return cgen::print_module(make_reduction_module(program_->snippets, program_->results, form),
                            dialect)
      .text;
}

}  // namespace rtcg::arrays
