#include "rtcg/cgen/build/fresh_names.h"

#include "rtcg/cgen/ast/scope_walk.h"

namespace rtcg::cgen {

NameGenerator fresh_names(Dialect dialect, const Module& module) {
  NameGenerator names;
  for (const std::string_view word : reserved_words(dialect)) {
    names.reserve(word);
  }
  ScopeEvents events;
  events.enter = [&](const std::string& name) { names.reserve(name); };
  events.leave = [] {};
  events.declare = [&](const DeclaredName& declared) { names.reserve(declared.name); };
  events.use = [&](const UsedName& used) { names.reserve(used.name); };
  events.use_namespace = [&](const std::string& name) { names.reserve(name); };
  walk_scopes(module.items, events);
  return names;
}

}  // namespace rtcg::cgen
