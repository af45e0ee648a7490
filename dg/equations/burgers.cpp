#include "rtcg/dg/equations/burgers.h"

namespace rtcg::dg {

System burgers(const std::map<std::string, FluxExpr>& boundaries) {
  const FluxExpr u = field(0, "u");
  const FluxExpr n = normal(1)[0];
  const FluxExpr fastest = max(abs(interior(u)), abs(exterior(u)));

  System system;
  system.name = "burgers";
  system.dimension = 1;
  system.fields = {"u"};
  system.form = SystemForm::weak;
  system.flux = {{0.5 * u * u}};
  system.surface = {n * average(0.5 * u * u) + 0.5 * fastest * jump(u)};
  system.speed = abs(u);
  for (const auto& [tag, outside] : boundaries) {
    system.boundaries[tag] = {outside};
  }
  return system;
}

}  // namespace rtcg::dg
