#pragma once

#include <string>
#include <string_view>

namespace rtcg::dg {

/// Writes a whole file, or leaves the one that was there: it appears under its
/// name when complete. Folders on the way are made.
///
/// @throws InvalidInput  dg.write_file.unwritable_file: with the reason that
/// the system gives
void write_file(const std::string& path, std::string_view bytes);

}  // namespace rtcg::dg
