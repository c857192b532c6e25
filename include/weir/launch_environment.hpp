// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weir/export.hpp"

namespace weir {

/// The position of this process among the processes that a launcher such as mpirun has started together.
struct LaunchEnvironment {
  int rank = 0;          ///< the rank of this process among all processes
  int ranks = 1;         ///< the number of processes
  int local_rank = 0;    ///< the rank among the processes of the same machine: use it to select the device
  std::string launcher;  ///< "torchrun", "Open MPI", "MPICH", "Slurm", … (see `read`); empty: the process was started alone
  int nodes = 0;         ///< the number of machines; 0: the launcher does not say
  std::string first_host;  ///< the machine of rank 0: MASTER_ADDR, or the first of Slurm's step; empty if it is not known
  std::string run_id;      ///< the launcher's name of this run; empty if it gives none. No secret

  /// Reads the variables of the first launcher in this list that has set them:
  ///
  /// | launcher | rank, ranks, local rank |
  /// |---|---|
  /// | torchrun | RANK, WORLD_SIZE, LOCAL_RANK, with TORCHELASTIC_RUN_ID |
  /// | shell | the same three without TORCHELASTIC_RUN_ID: a script has set them |
  /// | JSM | JSM_NAMESPACE_RANK, JSM_NAMESPACE_SIZE, JSM_NAMESPACE_LOCAL_RANK (jsrun) |
  /// | MVAPICH | MV2_COMM_WORLD_RANK, MV2_COMM_WORLD_SIZE, MV2_COMM_WORLD_LOCAL_RANK |
  /// | Open MPI | OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK |
  /// | PALS | PALS_RANKID, PMI_SIZE, PALS_LOCAL_RANKID |
  /// | Flux | FLUX_TASK_RANK, FLUX_JOB_SIZE, FLUX_TASK_LOCAL_ID |
  /// | MPICH | PMI_RANK, PMI_SIZE, MPI_LOCALRANKID (Hydra; also Intel MPI) |
  /// | Slurm | SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID (srun, with PMI2, PMIx or neither) |
  ///
  /// Without a local rank, all ranks are assumed to be on one machine. Throws `invalid_environment` for an invalid value;
  /// for a rank without a number of ranks, or the reverse; and if two launchers differ, unless one may have started the
  /// other: torchrun runs within any, and all but a shell run within Slurm, PALS or Flux.
  WEIR_API static LaunchEnvironment read();
};

}  // namespace weir
