#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rtcg/dg/operators/kernel_writer.h"

namespace rtcg::dg::detail {

/// Numbers as bytes, in the precision that kernels want.
[[nodiscard]] std::vector<std::byte> as_reals(const std::vector<double>& values,
                                              const cgen::Type& real);
[[nodiscard]] std::vector<double> from_reals(const std::vector<std::byte>& bytes,
                                             const cgen::Type& real);

/// The inputs of generated kernels besides the state, by the names of their parameters: the tables
/// of mesh, materials and boundary among `wanted`.
[[nodiscard]] std::map<std::string, std::vector<std::byte>> make_tables(
    const std::set<std::string>& wanted, const KernelShape& shape,
    const SystemEvaluators& evaluators, const Discretization& on, const SystemData& data,
    const cgen::Type& real);

/// The derivative matrices with the sign and form that the system wants: -D, or M^-1 D^T M.
[[nodiscard]] std::vector<Matrix> volume_operators(const System& system,
                                                   const ReferenceElement& element);
/// The lift with its sign.
[[nodiscard]] Matrix surface_operator(const System& system, const ReferenceElement& element);

/// A state as kernels hold it, [element][field][node] in their precision, and back.
[[nodiscard]] std::vector<std::byte> to_device_order(const State& state, const cgen::Type& real);
[[nodiscard]] State from_device_order(const std::vector<std::byte>& bytes, const cgen::Type& real,
                                      std::size_t fields, const Discretization& on);

}  // namespace rtcg::dg::detail
