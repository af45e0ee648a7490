#pragma once

#include <string>
#include <string_view>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/kernel_file.h"

namespace rtcg::loopy {

/// @throws InvalidInput  loopy.parse_kernel_file.unknown_section,
///         loopy.parse_kernel_file.duplicate_section, loopy.parse_kernel_file.missing_section,
///         loopy.parse_kernel_file.bad_value, loopy.parse_kernel_file.no_section; all say
///         `PATH:LINE`
[[nodiscard]] KernelFile parse_kernel_file(std::string_view text, const std::string& path = {});
/// @throws InvalidInput  loopy.read_kernel_file.unreadable; what parse_kernel_file throws
[[nodiscard]] KernelFile read_kernel_file(const std::string& path);

/// The kernel as the file describes it, before its recipe.
/// @throws  what make_kernel_with_callees throws, with the place in the file
[[nodiscard]] Kernel described_kernel(const KernelFile& file);
/// The kernel that the file's recipe makes of `described`.
/// @throws  what apply_recipe throws, with the place in the file
[[nodiscard]] Kernel transformed_kernel(const KernelFile& file, Kernel described);

/// The message of an error about a kernel of a file with its place: the line of the statement that
/// it names, or the file alone if a check or the schedule refuses the kernel. Other messages, and
/// those that begin with a place, stay as they are.
[[nodiscard]] std::string message_with_place(const KernelFile& file, const Kernel& described,
                                             const Error& error);
/// What `body` gives; InvalidInput and Unsupported get their place.
template <class Body>
auto with_place_of_statement(const KernelFile& file, const Kernel& described, const Body& body) {
  try {
    return body();
  } catch (const InvalidInput& error) {
    throw InvalidInput(error.code(), message_with_place(file, described, error));
  } catch (const Unsupported& error) {
    throw Unsupported(error.code(), message_with_place(file, described, error));
  }
}

/// The kernel of a kernel file, given as text or by its path, after its recipe.
/// @throws  what parse_kernel_file, described_kernel and transformed_kernel throw
[[nodiscard]] Kernel kernel_from_text(std::string_view text_or_path);

}  // namespace rtcg::loopy
