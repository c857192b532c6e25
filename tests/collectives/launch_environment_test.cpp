// SPDX-License-Identifier: Apache-2.0
#include "weir/launch_environment.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <string>
#include <utility>
#include <vector>

#include "weir/error.hpp"

// What launchers set, and what contradicts itself.

using namespace weir;

namespace {

using Variables = std::vector<std::pair<const char*, const char*>>;

struct Scope {
  explicit Scope(Variables v) : variables(std::move(v)) {
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  }
  ~Scope() {
    for (const auto& [name, value] : variables) ::unsetenv(name);
  }
  Variables variables;
};

LaunchEnvironment read(const Variables& variables) {
  const Scope scope(variables);
  return LaunchEnvironment::read();
}

void check_refused(const Variables& variables, const std::string& object, const std::string& sentence) {
  INFO(sentence);
  try {
    read(variables);
    FAIL("nothing was refused");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::invalid_environment);
    CHECK(error.object() == object);
    CHECK(error.detail() == sentence);
  }
}

}  // namespace

TEST_CASE("launch environment: a process that was started alone is rank 0 of 1") {
  const LaunchEnvironment alone = read({});
  CHECK(alone.rank == 0);
  CHECK(alone.ranks == 1);
  CHECK(alone.local_rank == 0);
  CHECK(alone.launcher.empty());
  CHECK(alone.run_id.empty());
  // A batch script of Slurm runs outside any step.
  CHECK(read({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NODELIST", "a"}}).launcher.empty());
}

TEST_CASE("launch environment: each launcher's variables") {
  struct Row {
    const char* launcher;
    Variables variables;
    const char* run_id;
  };
  // Rank 5 of 8, local rank 1.
  const Row rows[] = {
      {"torchrun",
       {{"RANK", "5"},
        {"WORLD_SIZE", "8"},
        {"LOCAL_RANK", "1"},
        {"TORCHELASTIC_RUN_ID", "r"},
        {"TORCHELASTIC_RESTART_COUNT", "2"}},
       "r.2"},
      {"shell", {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}, ""},
      {"JSM",
       {{"JSM_NAMESPACE_RANK", "5"},
        {"JSM_NAMESPACE_SIZE", "8"},
        {"JSM_NAMESPACE_LOCAL_RANK", "1"},
        {"OMPI_COMM_WORLD_RANK", "5"},
        {"OMPI_COMM_WORLD_SIZE", "8"},
        {"PMIX_RANK", "5"},
        {"PMIX_NAMESPACE", "n"}},
       "n"},
      {"MVAPICH", {{"MV2_COMM_WORLD_RANK", "5"}, {"MV2_COMM_WORLD_SIZE", "8"}, {"MV2_COMM_WORLD_LOCAL_RANK", "1"}}, ""},
      {"Open MPI",
       {{"OMPI_COMM_WORLD_RANK", "5"},
        {"OMPI_COMM_WORLD_SIZE", "8"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
        {"PMIX_RANK", "5"},
        {"PMIX_NAMESPACE", "1007747073"}},
       "1007747073"},
      {"PALS",
       {{"PALS_RANKID", "5"}, {"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"PALS_LOCAL_RANKID", "1"}, {"PALS_APID", "a"}},
       "a"},
      {"Flux",
       {{"FLUX_TASK_RANK", "5"},
        {"FLUX_JOB_SIZE", "8"},
        {"FLUX_TASK_LOCAL_ID", "1"},
        {"FLUX_JOB_ID", "f"},
        {"PMI_RANK", "5"},
        {"PMI_SIZE", "8"}},
       "f"},
      {"MPICH", {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}}, ""},
      {"Slurm",
       {{"SLURM_PROCID", "5"},
        {"SLURM_STEP_NUM_TASKS", "8"},
        {"SLURM_LOCALID", "1"},
        {"SLURM_JOB_ID", "7"},
        {"SLURM_STEP_ID", "0"}},
       "7.0"},
      {"Slurm",  // with PMI2
       {{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}, {"PMI_RANK", "5"}, {"PMI_SIZE", "8"}},
       ""},
      {"Slurm",  // with PMIx
       {{"SLURM_PROCID", "5"},
        {"SLURM_STEP_NUM_TASKS", "8"},
        {"SLURM_LOCALID", "1"},
        {"PMIX_RANK", "5"},
        {"PMIX_NAMESPACE", "s"}},
       ""},
  };
  for (const Row& row : rows) {
    INFO(row.launcher);
    const LaunchEnvironment found = read(row.variables);
    CHECK(found.launcher == row.launcher);
    CHECK(found.rank == 5);
    CHECK(found.ranks == 8);
    CHECK(found.local_rank == 1);
    CHECK(found.run_id == row.run_id);
  }
}

TEST_CASE("launch environment: machines") {
  const auto host = [](const char* list) {
    return read({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_NODELIST", list}}).first_host;
  };
  CHECK(host("login1") == "login1");
  CHECK(host("a,b") == "a");
  CHECK(host("node[003-007,009],login1") == "node003");
  CHECK(host("gpu-[7,9-12]-x") == "gpu-7-x");
  CHECK(host("rack[2-3]node[01-16]") == "rack2node01");
  CHECK(host("n[12]") == "n12");
  for (const char* const list : {"node[", "node[]", "node[1-2"}) {
    check_refused({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_NODELIST", list}},
                  "SLURM_STEP_NODELIST", "it has a bracket without a number or without an end; unset it, or start by srun");
  }
  const LaunchEnvironment slurm =
      read({{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_NUM_NODES", "2"}});
  CHECK(slurm.nodes == 2);
  CHECK(read({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "head"}}).first_host == "head");
}

TEST_CASE("launch environment: a launcher may run within another") {
  const Variables srun = {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  const auto within = [](Variables inner, const Variables& outer) {
    inner.insert(inner.end(), outer.begin(), outer.end());
    return read(inner);
  };
  CHECK(within({{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"TORCHELASTIC_RUN_ID", "r"}}, srun).rank == 9);
  CHECK(within({{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"TORCHELASTIC_RUN_ID", "r"}},
               {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}})
            .launcher == "torchrun");
  CHECK(within({{"OMPI_COMM_WORLD_RANK", "9"}, {"OMPI_COMM_WORLD_SIZE", "16"}}, srun).launcher == "Open MPI");
  CHECK(within({{"PMI_RANK", "9"}, {"PMI_SIZE", "16"}}, srun).launcher == "MPICH");
  CHECK(within({{"RANK", "1"}, {"WORLD_SIZE", "2"}}, srun).launcher == "shell");  // a script that copies Slurm's
  CHECK(within({{"RANK", "3"}, {"WORLD_SIZE", "4"}}, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}).rank == 3);
}

TEST_CASE("launch environment: what contradicts itself is refused") {
  check_refused({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, "RANK",
                "two launchers differ: a shell (RANK=1, WORLD_SIZE=2) and Open MPI (OMPI_COMM_WORLD_RANK=1, "
                "OMPI_COMM_WORLD_SIZE=4); unset the variables of the one that did not start this process");
  check_refused({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}, "RANK",
                "two launchers differ: a shell (RANK=0, WORLD_SIZE=1) and Slurm (SLURM_PROCID=1, SLURM_STEP_NUM_TASKS=2); "
                "unset the variables of the one that did not start this process");
  check_refused({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}},
                "OMPI_COMM_WORLD_RANK",
                "two launchers differ: Open MPI (OMPI_COMM_WORLD_RANK=0, OMPI_COMM_WORLD_SIZE=4) and MPICH (PMI_RANK=0, "
                "PMI_SIZE=2); unset the variables of the one that did not start this process");
  const auto half = [](const char* set, const char* other) {
    check_refused({{set, "1"}}, set,
                  std::string("it is set, but ") + other +
                      " is not, so this process cannot know its place; set both, or unset " + set);
  };
  half("RANK", "WORLD_SIZE");
  half("WORLD_SIZE", "RANK");
  half("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  half("FLUX_TASK_RANK", "FLUX_JOB_SIZE");
  half("PALS_RANKID", "PMI_SIZE");
  half("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE");
  half("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE");
  half("PMI_RANK", "PMI_SIZE");
  half("SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
  check_refused({{"PMIX_RANK", "1"}}, "PMIX_RANK",
                "it is set, but no variable has the number of ranks; set RANK and WORLD_SIZE, or unset it");
  const Scope scope({{"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  CHECK_THROWS_AS(LaunchEnvironment::read(), Error);
}
