#include "rtcg/runtime/compile/scan_memo.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/runtime/compile/byte_buffer.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view scan_magic = "rtcgscn1";
constexpr std::string_view prefix = "scan-";

std::string_view view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// The contents that `keep` wrote after the checksum; nothing if they are damaged.
std::optional<std::string_view> body_of(std::string_view bytes) {
  constexpr std::size_t head_bytes = scan_magic.size() + sizeof(Digest);
  if (bytes.size() < head_bytes || bytes.substr(0, scan_magic.size()) != scan_magic) {
    return std::nullopt;
  }
  const std::string_view body = bytes.substr(head_bytes);
  return view(sha256(body)) == bytes.substr(scan_magic.size(), sizeof(Digest)) ? std::optional(body)
                                                                               : std::nullopt;
}

std::optional<FileStamp> read_stamp(ByteReader& reader) {
  if (reader.number() == 0) {
    return std::nullopt;
  }
  FileStamp stamp = {};
  for (std::int64_t& number : stamp) {
    number = static_cast<std::int64_t>(reader.number());
  }
  return stamp;
}

}  // namespace

ScanMemo::ScanMemo(std::string folder, const Digest& question)
    : folder_(std::move(folder)),
      path_(fmt::format("{}/{}{}", folder_, prefix, to_hex(question).substr(0, 32))) {}

std::optional<HeaderScan> ScanMemo::recall(FileStamps& stamps) const {
  const auto bytes = folder_.empty() ? std::nullopt : read_file(path_);
  const auto body = bytes ? body_of(*bytes) : std::nullopt;
  if (!body) {
    return std::nullopt;
  }
  ByteReader reader(*body);
  std::vector<std::string_view> paths = {""};  // first, for headers that are nowhere
  std::string path;
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    path.assign(paths.emplace_back(reader.text()));
    if (stamps.find(path) != read_stamp(reader)) {
      return std::nullopt;
    }
  }
  HeaderScan scan;
  scan.needs_system = reader.number() != 0;
  for (std::uint64_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    HeaderScan::Header& header = scan.headers.emplace_back();
    header.spelling = reader.text();
    header.path = paths[std::min<std::uint64_t>(reader.number(), paths.size() - 1)];
    header.is_system = reader.number() != 0;
    const std::string_view digest = reader.text();
    std::memcpy(header.digest.data(), digest.data(), std::min(digest.size(), sizeof(Digest)));
  }
  return reader.is_good() && reader.is_at_end() ? std::optional(std::move(scan)) : std::nullopt;
}

void ScanMemo::keep(const HeaderScan& scan, const std::vector<FileAnswer>& answers) const {
  const auto is_fresh = [](const FileAnswer& a) { return a.second && !is_settled(*a.second); };
  if (folder_.empty() || std::any_of(answers.begin(), answers.end(), is_fresh)) {
    return;
  }
  ByteWriter writer;
  writer.number(answers.size());
  std::unordered_map<std::string_view, std::uint64_t> numbers;  // of the paths, from 1
  std::uint64_t count = 0;
  for (const auto& [path, stamp] : answers) {
    numbers.try_emplace(path, ++count);
    writer.text(path);
    writer.number(stamp ? 1 : 0);
    for (const std::int64_t number : stamp.value_or(FileStamp{})) {
      if (stamp) {
        writer.number(static_cast<std::uint64_t>(number));
      }
    }
  }
  writer.number(scan.needs_system ? 1 : 0);
  writer.number(scan.headers.size());
  for (const HeaderScan::Header& header : scan.headers) {
    writer.text(header.spelling);
    const auto number = numbers.find(header.path);
    writer.number(number == numbers.end() ? 0 : number->second);
    writer.number(header.is_system ? 1 : 0);
    writer.text(view(header.digest));
  }
  remove_oldest();
  const std::string& body = writer.bytes();
  static_cast<void>(
      write_file_atomically(path_, fmt::format("{}{}{}", scan_magic, view(sha256(body)), body)));
}

void ScanMemo::remove_oldest() const {
  std::error_code ignored;
  std::vector<std::pair<fs::file_time_type, fs::path>> scans;
  for (const auto& item : fs::directory_iterator(folder_, ignored)) {
    if (item.path().filename().string().rfind(prefix, 0) == 0) {
      scans.emplace_back(item.last_write_time(ignored), item.path());
    }
  }
  std::sort(scans.begin(), scans.end());
  for (std::size_t i = 0; i + most_scans <= scans.size(); ++i) {
    fs::remove(scans[i].second, ignored);
  }
}

}  // namespace rtcg::runtime
