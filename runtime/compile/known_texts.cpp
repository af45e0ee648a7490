#include "rtcg/runtime/compile/known_texts.h"

#include <map>
#include <mutex>
#include <string_view>

#include "rtcg/runtime/compile/cache_key.h"
#include "rtcg/runtime/compile/environment.h"

namespace rtcg::runtime {
namespace {

struct KnownTexts {
  std::mutex mutex;
  std::map<Digest, std::shared_ptr<const CompileRequest>> by_binary;

  static KnownTexts& instance() {
    static auto* const known = new KnownTexts;  // programs with static storage may end late
    return *known;
  }
};

Digest digest_of(const CompiledProgram& compiled) {
  return sha256({reinterpret_cast<const char*>(compiled.binary.data()), compiled.binary.size()});
}

}  // namespace

bool are_launches_captured() {
  static const bool are_captured = !environment("RTCG_CAPTURE").empty();
  return are_captured;
}

void remember_text(const CompiledProgram& compiled, const CompileRequest& request) {
  if (!are_launches_captured()) {
    return;
  }
  KnownTexts& known = KnownTexts::instance();
  const std::lock_guard lock(known.mutex);
  known.by_binary.insert_or_assign(digest_of(compiled),
                                   std::make_shared<const CompileRequest>(request));
}

std::shared_ptr<const CompileRequest> text_of(const CompiledProgram& compiled) {
  KnownTexts& known = KnownTexts::instance();
  const std::lock_guard lock(known.mutex);
  const auto found = known.by_binary.find(digest_of(compiled));
  return found == known.by_binary.end() ? nullptr : found->second;
}

}  // namespace rtcg::runtime
