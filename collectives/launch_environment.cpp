// SPDX-License-Identifier: Apache-2.0
#include "weir/launch_environment.hpp"

#include <fmt/format.h>

#include <climits>
#include <optional>
#include <string>
#include <string_view>

#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

/// Reads what launchers set, and refuses what contradicts itself.
namespace weir {
namespace {

struct Launcher {
  const char *name, *rank, *ranks, *local_rank;
  const char* run;  // the variable that names the run, or null
  const char* nodes;
  bool manages_resources;  // other launchers start their daemons by it, with ranks of their own
};

// In order: what may run within another comes first, and a launcher that also sets another's variables before that one.
constexpr Launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID", "GROUP_WORLD_SIZE", false},
    {"JSM", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK", "PMIX_NAMESPACE", nullptr, false},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", nullptr, nullptr, false},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE",
     "OMPI_MCA_orte_num_nodes", false},
    {"PALS", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_APID", nullptr, true},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_ID", "FLUX_JOB_NNODES", true},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", nullptr, nullptr, false},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr, "SLURM_STEP_NUM_NODES", true},
};
const Launcher& torchrun = launchers[0];
const Launcher& slurm = launchers[std::size(launchers) - 1];

[[noreturn]] void refuse(std::string_view variable, const std::string& cause) {
  throw Error(Errc::invalid_environment, "LaunchEnvironment::read", variable, cause);
}

struct Found {
  const Launcher* launcher;
  int rank, ranks;
};

bool is_set(const char* variable) { return support::environment(variable).has_value(); }

// A launcher's rank and number of ranks, if it has set both.
std::optional<Found> find(const Launcher& launcher) {
  if (!is_set(launcher.rank) || !is_set(launcher.ranks)) return std::nullopt;
  const auto ranks = static_cast<int>(support::environment_number(launcher.ranks, 1, 1, INT_MAX));
  return Found{&launcher, static_cast<int>(support::environment_number(launcher.rank, 0, 0, ranks - 1)), ranks};
}

// Throws if a launcher has set one of its two variables. PALS has no number of ranks of its own, and Slurm sets SLURM_PROCID
// to 0 in a batch script.
void refuse_half(const Launcher& launcher) {
  const bool has_rank = is_set(launcher.rank);
  const bool has_ranks = is_set(launcher.ranks) && std::string_view(launcher.ranks).substr(0, 4) != "PMI_";
  if (has_rank == has_ranks || (has_ranks && &launcher == &slurm)) return;
  if (&launcher == &slurm && support::environment(slurm.rank) == "0") return;
  const char* const set = has_rank ? launcher.rank : launcher.ranks;
  const char* const other = has_rank ? launcher.ranks : launcher.rank;
  refuse(set,
         fmt::format("it is set, but {} is not, so this process cannot know its place; set both, or unset {}", other, set));
}

std::string text(const Found& found) {
  return fmt::format("{} ({}={}, {}={})", found.launcher->name, found.launcher->rank, found.rank, found.launcher->ranks,
                     found.ranks);
}

int number_or(const char* variable, int fallback) {
  if (variable == nullptr) return fallback;
  return static_cast<int>(support::environment_number(variable, fallback, 0, INT_MAX));
}

// "node[003-007,9],login" names node003, …: within brackets are lists and ranges; commas outside separate names.
std::string first_host_of(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    if (list.front() != '[') {
      host += list.front();
      list.remove_prefix(1);
      continue;
    }
    const std::size_t end = list.find(']');
    const std::size_t length = list.find_first_of(",-]") - 1;
    if (end == std::string_view::npos || length == 0) {
      refuse("SLURM_STEP_NODELIST", "it has a bracket without a number or without an end; unset it, or start by srun");
    }
    host += list.substr(1, length);
    list.remove_prefix(end + 1);
  }
  return host;
}

}  // namespace

LaunchEnvironment LaunchEnvironment::read() {
  refuse_half(torchrun);
  std::optional<Found> found;
  const bool is_torchrun = is_set(torchrun.run);
  for (const Launcher& launcher : launchers) {
    const std::optional<Found> other = find(launcher);
    if (!other) continue;
    if (!found) {
      found = other;
      continue;
    }
    if (other->rank == found->rank && other->ranks == found->ranks) {
      // srun with PMI sets MPICH's variables as well.
      if (found->launcher->rank == std::string_view("PMI_RANK")) found = other;
      continue;
    }
    const bool is_shell = found->launcher == &torchrun && !is_torchrun;
    if (found->launcher == &torchrun ? is_torchrun : other->launcher->manages_resources) continue;
    if (other->ranks == 1 && other->launcher->manages_resources) continue;  // a script in a job of one task
    refuse(is_shell ? "RANK" : found->launcher->rank,
           fmt::format("two launchers differ: {} and {}; unset the variables of the one that did not start this process",
                       is_shell ? fmt::format("a shell (RANK={}, WORLD_SIZE={})", found->rank, found->ranks) : text(*found),
                       text(*other)));
  }
  if (!found) {
    for (const Launcher& launcher : launchers) refuse_half(launcher);
    for (const char* const variable : {"PMIX_RANK", "PMI_RANK"}) {
      if (is_set(variable)) {
        refuse(variable, "it is set, but no variable has the number of ranks; set RANK and WORLD_SIZE, or unset it");
      }
    }
    return {};
  }
  const Launcher& launcher = *found->launcher;
  LaunchEnvironment result;
  result.launcher = &launcher == &torchrun && !is_torchrun ? "shell" : launcher.name;
  result.rank = found->rank;
  result.ranks = found->ranks;
  result.local_rank = number_or(launcher.local_rank, result.rank);
  result.nodes = number_or(launcher.nodes, 0);
  if (launcher.run != nullptr) result.run_id = support::environment(launcher.run).value_or("");
  // After a restart, ranks of the earlier start must not be met.
  if (is_torchrun) result.run_id += "." + support::environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  if (const auto job = support::environment("SLURM_JOB_ID"); job && result.run_id.empty()) {
    result.run_id = fmt::format("{}.{}", *job, support::environment("SLURM_STEP_ID").value_or("batch"));
  }
  if (&launcher == &torchrun) {
    result.first_host = support::environment("MASTER_ADDR").value_or("");
  } else if (&launcher == &slurm) {
    result.first_host = first_host_of(support::environment("SLURM_STEP_NODELIST").value_or(""));
  }
  return result;
}

}  // namespace weir
