#pragma once

#include <filesystem>
#include <iosfwd>

#include "rtcg/arrays/array.h"

// NumPy's file format for one array (.npy): versions 1 to 3 are read, 1 is written. Types are
// little-endian; bf16, which NumPy lacks, is refused.

namespace rtcg::arrays {

/// The array in a file, in C or F order as it lies there.
///
/// @throws InvalidInput  arrays.read_npy.no_such_file, arrays.read_npy.bad_format,
///         arrays.read_npy.bad_type
/// @cost   waits for the copy
[[nodiscard]] AnyArray read_npy(const std::filesystem::path& file,
                                runtime::StreamRef stream = current_stream());
[[nodiscard]] AnyArray read_npy(std::istream& input, runtime::StreamRef stream = current_stream());

/// Writes the array in C order.
///
/// @throws InvalidInput  arrays.write_npy.bad_type
/// @throws DeviceError   arrays.write_npy.failed
/// @cost   waits for the work on the array
void write_npy(const std::filesystem::path& file, const AnyArray& array);
void write_npy(std::ostream& output, const AnyArray& array);

}  // namespace rtcg::arrays
