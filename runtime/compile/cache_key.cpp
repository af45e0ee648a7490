#include "rtcg/runtime/compile/cache_key.h"

// The EVP interface loads OpenSSL's configuration and providers at its first use, 0.8 ms that a
// lookup in a fresh process cannot afford; these calls do not.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "rtcg/runtime/compile/byte_buffer.h"
#include "rtcg/runtime/compile/compiler.h"
#include "rtcg/runtime/compile/header_memo.h"
#include "rtcg/runtime/compile/header_scan.h"

namespace rtcg::runtime {
namespace {

constexpr std::uint64_t schema = 1;
constexpr std::size_t longest_shown = 160;

class KeyBuilder {
 public:
  void add(std::string name, std::string_view value, bool is_shown = true) {
    const bool fits = is_shown && value.size() <= longest_shown;
    fields_.push_back({std::move(name), sha256(value), fits ? std::string(value) : std::string()});
  }
  void add(std::string name, const Digest& digest) {
    fields_.push_back({std::move(name), digest, {}});
  }
  CacheKey finish(std::string why_uncachable) {
    ByteWriter writer;
    writer.number(schema);
    writer.number(fields_.size());
    for (const KeyField& field : fields_) {
      writer.text(field.name);
      writer.text({reinterpret_cast<const char*>(field.digest.data()), field.digest.size()});
    }
    return {sha256(writer.bytes()), std::move(fields_), std::move(why_uncachable)};
  }

 private:
  std::vector<KeyField> fields_;
};

std::string joined(const std::vector<std::string>& values) {
  // The length before each value keeps {"a b"} and {"a", "b"} apart and is still readable.
  std::string text;
  for (const std::string& value : values) {
    text += (text.empty() ? "" : " ") + std::to_string(value.size()) + ":" + value;
  }
  return text;
}

std::vector<std::string> definitions(const CompileOptions& options) {
  std::vector<std::string> values;
  for (const auto& [name, value] : options.defines) {
    values.push_back(name + "=" + value);
  }
  return values;
}

}  // namespace

Digest sha256(std::string_view bytes) {
  Digest digest = {};
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest.data(), &context);
  return digest;
}

std::string to_hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

CacheKey make_cache_key(Compiler& compiler, const CompileRequest& request,
                        const std::string& memo_folder) {
  const CompileOptions& options = request.options;
  HeaderMemo::instance().use_folder(memo_folder);
  HeaderScan scan = scan_headers(request, compiler.system_include_dirs(request), memo_folder);
  HeaderMemo::instance().save();
  KeyBuilder key;
  key.add("kind", to_string(request.kind));
  key.add("target", request.target);
  key.add("compiler", compiler.identity(request));
  key.add("program name", request.program_name);
  key.add("language", options.language == HostLanguage::c ? "c" : "cpp");
  key.add("source", request.source.text, false);
  key.add("flags", joined(options.flags));
  key.add("defines", joined(definitions(options)));
  key.add("name expressions", joined(options.name_expressions));
  key.add("fast math", options.fast_math ? "on" : "off");
  key.add("debug", options.debug ? "on" : "off");
  for (const HeaderScan::Header& header : scan.headers) {
    key.add("header " + header.spelling, header.digest);
  }
  return key.finish(std::move(scan.why_uncachable));
}

}  // namespace rtcg::runtime
