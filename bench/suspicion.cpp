#include "bench/suspicion.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace tandem::bench {
namespace {

using Flat = std::map<std::string, std::string>;

/// Options that are no difference between two runs: where they write, and what they say.
const std::set<std::string> kPassedOver = {"log_dir", "log_every", "explain_step", "dry_run", "window"};

const std::map<std::string, Suspicion> kOptions = {{"model", Suspicion::work},
                                                   {"mlp_sizes", Suspicion::work},
                                                   {"layers", Suspicion::work},
                                                   {"width", Suspicion::work},
                                                   {"heads", Suspicion::work},
                                                   {"vocab", Suspicion::work},
                                                   {"seq", Suspicion::work},
                                                   {"batch", Suspicion::work},
                                                   {"global_batch", Suspicion::work},
                                                   {"accumulate", Suspicion::work},
                                                   {"precision", Suspicion::work},
                                                   {"optimizer", Suspicion::work},
                                                   {"data", Suspicion::work},
                                                   {"clip", Suspicion::work},
                                                   {"device", Suspicion::work},
                                                   {"seed", Suspicion::harmless},
                                                   {"lr", Suspicion::harmless},
                                                   {"schedule", Suspicion::harmless},
                                                   {"betas", Suspicion::harmless},
                                                   {"steps", Suspicion::harmless},
                                                   {"epochs", Suspicion::harmless},
                                                   {"momentum", Suspicion::harmless},
                                                   {"weight_decay", Suspicion::harmless},
                                                   {"warmup_steps", Suspicion::harmless}};

const std::map<std::string, Suspicion> kFacts = {{"cpu_model", Suspicion::machine},
                                                 {"cores", Suspicion::machine},
                                                 {"cgroup_cpus", Suspicion::machine},
                                                 {"governor", Suspicion::machine},
                                                 {"numa", Suspicion::machine},
                                                 {"memory_bytes", Suspicion::machine},
                                                 {"host", Suspicion::machine},
                                                 {"arch", Suspicion::software},
                                                 {"compiler", Suspicion::software},
                                                 {"mpi", Suspicion::software},
                                                 {"comm_backend", Suspicion::method},
                                                 {"kernel", Suspicion::software},
                                                 {"os", Suspicion::software},
                                                 {"tandem.git", Suspicion::software},
                                                 {"tandem.version", Suspicion::software}};

std::string value_in(const Flat& flat, const std::string& key) {
  const auto found = flat.find(key);
  return found == flat.end() ? "(not given)" : found->second;
}

bool known(const Flat& flat, const std::string& key) {
  const auto found = flat.find(key);
  return found != flat.end() && found->second != "null";
}

std::set<std::string> keys_of(const Flat& a, const Flat& b) {
  std::set<std::string> keys;
  for (const Flat* flat : {&a, &b})
    for (const auto& [key, value] : *flat) keys.insert(key);
  return keys;
}

double number(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
}

/// What `a` and `b` say of one option, or nothing where that is no difference.
std::optional<Difference> option(const std::string& key, const Run& a, const Run& b) {
  Difference d{key, value_in(a.config, key), value_in(b.config, key), Suspicion::method, true, ""};
  if (d.a == d.b || kPassedOver.contains(key)) return std::nullopt;
  if (const auto found = kOptions.find(key); found != kOptions.end()) d.suspicion = found->second;
  if (key == "inject") {
    d.suspicion = Suspicion::certain;
    d.hint = "a fault to order: its figures are no measurement";
  }
  if (key == "no_comm") d.hint = "without communication replicas diverge: a baseline, not a training run";
  return d;
}

/// Load before the run: others' work. A tenth of a core is noise.
void judge_load(Difference& d) {
  const double more = number(d.b) - number(d.a);
  d.suspicion = std::abs(more) < 0.5 ? Suspicion::harmless : Suspicion::machine;
  if (d.suspicion == Suspicion::machine)
    d.hint = fmt::format("more ran beside the {} run", more > 0 ? "second" : "first");
}

void judge_clock(Difference& d) {
  const double a = number(d.a), b = number(d.b);
  d.suspicion = a > 0 && std::abs(b / a - 1) > 0.03 ? Suspicion::machine : Suspicion::harmless;
}

std::optional<Difference> fact(const std::string& key, const Run& a, const Run& b) {
  // Of a variable "not given" says something; of another fact only that one run did not ask.
  const bool variable = key.starts_with("variables.") || key.starts_with("nccl_conf.");
  if (!variable && (!known(a.environment, key) || !known(b.environment, key))) return std::nullopt;
  Difference d{key, value_in(a.environment, key), value_in(b.environment, key), Suspicion::harmless, false,
               ""};
  if (d.a == d.b) return std::nullopt;
  if (const auto found = kFacts.find(key); found != kFacts.end()) d.suspicion = found->second;
  if (variable) d.suspicion = Suspicion::software;
  if (key.starts_with("gpu.") || key.starts_with("numa.")) d.suspicion = Suspicion::machine;
  if (key == "load_average" || key == "runnable_tasks") judge_load(d);
  if (key == "cpu_mhz") judge_clock(d);
  if (key == "build_type") {
    d.suspicion = Suspicion::certain;
    d.hint = "another build: only Release is to be measured";
  }
  if (key == "ranks") {  // a list of where each rank ran: told by cores_per_rank, below
    if (a.ranks != b.ranks) return std::nullopt;
    d.name = "places of the ranks";
  }
  return d;
}

void add_field(const char* name, const std::string& a, const std::string& b, Suspicion suspicion, bool option,
               std::vector<Difference>& found) {
  if (a != b) found.push_back({name, a, b, suspicion, option, ""});
}

/// What Run holds as fields, because options alone do not tell it.
void add_fields(const Run& a, const Run& b, std::vector<Difference>& found) {
  const auto text = [](auto value) { return fmt::format("{}", value); };
  add_field("ranks", text(a.ranks), text(b.ranks), Suspicion::work, true, found);
  add_field("parameters", text(a.parameters), text(b.parameters), Suspicion::work, false, found);
  if (a.cores_per_rank && b.cores_per_rank)
    add_field("cores per rank", text(*a.cores_per_rank), text(*b.cores_per_rank), Suspicion::machine, false,
              found);
}

}  // namespace

std::string name_of(Suspicion suspicion) {
  switch (suspicion) {
    case Suspicion::certain:
      return "certain";
    case Suspicion::work:
      return "work";
    case Suspicion::method:
      return "method";
    case Suspicion::machine:
      return "machine";
    case Suspicion::software:
      return "software";
    case Suspicion::harmless:
      break;
  }
  return "harmless";
}

std::vector<Difference> differences_between(const Run& a, const Run& b) {
  std::vector<Difference> found;
  add_fields(a, b, found);
  for (const auto& key : keys_of(a.config, b.config))
    if (key != "ranks" && key != "threads")
      if (auto difference = option(key, a, b)) found.push_back(*difference);
  for (const auto& key : keys_of(a.environment, b.environment))
    if (auto difference = fact(key, a, b)) found.push_back(*difference);
  std::stable_sort(found.begin(), found.end(),
                   [](const Difference& x, const Difference& y) { return x.suspicion < y.suspicion; });
  return found;
}

}  // namespace tandem::bench
